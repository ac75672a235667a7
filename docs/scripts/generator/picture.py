"""The picture of one encoding, small enough that a hundred of them stay below a megabyte or two."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from PIL import Image, PngImagePlugin

from generator import kinds
from posenc import plot
from posenc.catalog import Row
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.core.rotation import at_every_head
from posenc.frequencies import Geometric
from posenc.plot import canvas
from posenc.testing import door_probe

#: Bytes a picture may have.
LARGEST = 15_000
#: What is drawn is written into the file under this name, so that a picture of another encoding is found out.
RECORD = "encoding"
SIZE = (4.8, 2.8)


def picture(row: Row) -> bytes:
    """The row's picture as the bytes of a PNG; the same row gives the same bytes."""
    encoding, kind = kinds.drawn_encoding(row), kinds.kind(row)
    ax = canvas.single(None, SIZE)
    _DRAWN[kind](encoding, ax)
    ax.set_title("")
    return _small(ax, repr(encoding))


def encoding_of(data: bytes) -> str:
    """The repr of the encoding that a picture shows."""
    with Image.open(io.BytesIO(data)) as image:
        return str(getattr(image, "text", {}).get(RECORD, ""))


def _small(ax: Any, text: str) -> bytes:
    """A PNG of few colours, as sharp as the limit allows, with the encoding written into it."""
    info = PngImagePlugin.PngInfo()
    info.add_itxt(RECORD, text)
    for dpi, colours in ((120, 64), (100, 64), (100, 32), (85, 32), (72, 16), (60, 16)):
        with Image.open(io.BytesIO(plot.image(ax, "png", dpi=dpi).data)) as whole:
            few = whole.convert("RGB").quantize(colours, kmeans=4, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        few.save(buffer, format="png", optimize=True, pnginfo=info)
        if len(buffer.getvalue()) <= LARGEST:
            return buffer.getvalue()
    raise ValueError(f"picture must fit in {LARGEST} bytes; got {len(buffer.getvalue())}. Draw less.")


def _first_accepted(choices: Any, attempt: Callable[[Any], Any]) -> Any:
    """Result for the first choice that the encoding accepts: tables and grids end somewhere."""
    *most, last = choices
    for choice in most:
        try:
            return attempt(choice)
        except ValueError:
            continue
    return attempt(last)


def _lengths(encoding: Encoding) -> Any:
    """Positions to draw: what coordinates are meant for, or the longest row that the encoding takes."""
    if type(encoding).__name__ in kinds.COORDINATES:
        return [np.linspace(-1, 1, 101)]
    return [100, 64, 32, 16, 8, 5]


def _value(encoding: Any, ax: Any) -> None:
    _first_accepted(_lengths(encoding), lambda positions: plot.dimensions(encoding, (0,), positions, ax=ax))
    ax.get_legend().remove()


def _table(encoding: Any, ax: Any) -> None:
    _first_accepted(_lengths(encoding), lambda positions: plot.heatmap(encoding, positions, ax=ax))
    if "bounded" not in encoding.claims:  # one channel that grows would leave the others without a colour
        shown = ax.images[0]
        most = float(np.quantile(np.abs(np.ma.getdata(shown.get_array())), 0.95))
        shown.set_clim(-most, most)


def _frequencies(encoding: Any, ax: Any) -> None:
    plain = Geometric(dim=encoding.dim, base=encoding.base).radians()
    share = np.asarray(encoding.frequencies.radians()) / plain
    ax.axhline(1, color="#c8c8c8", linewidth=0.8, zorder=0)
    ax.plot(np.arange(len(share)), share, color=canvas.colour(0), marker=".", linewidth=1)
    ax.set(ylim=(-0.05, max(1.1, share.max() * 1.05)))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    canvas.finish(ax, "", "pair", "frequency / unscaled")


def _score(encoding: RotaryEncoding, ax: Any) -> None:
    distances = np.arange(101)
    ax.axhline(0, color="#c8c8c8", linewidth=0.8, zorder=0)
    every = _at_heads(encoding, distances, np.array([0]))[:2, :, 0]
    for head, scores in enumerate(every):
        ax.plot(distances, scores, color=canvas.colour(head), label=f"head {head}")
    if len(every) > 1:
        ax.legend(frameon=False)
    product = "output · v/√d" if "value" in encoding.roles else "q·k/√d"
    canvas.finish(ax, "", "distance: query position - key position", product)


def _rotated(encoding: RotaryEncoding, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
    """The product at the first head; shape (n, m)."""
    return _at_heads(encoding, query_positions, key_positions)[0]


def _at_heads(encoding: RotaryEncoding, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
    """q·k/√d of vectors of ones at these positions, whatever the encoding does to them; shape (1 or heads, n, m)."""
    params = door_probe.moved_parameters(encoding) or None
    first, second = ("output", "value") if "value" in encoding.roles else ("query", "key")
    if first == "output":  # the output is rotated back, so its side of the product is the inverse
        query_positions, key_positions = key_positions, query_positions
    q, k = (
        np.asarray(
            at_every_head(encoding.rotation(positions, params, role=role), np.ones((len(positions), encoding.head_dim)))
        )
        for positions, role in ((query_positions, first), (key_positions, second))
    )
    product = q @ np.swapaxes(k, -1, -2) / np.sqrt(encoding.head_dim)
    product = np.swapaxes(product, -1, -2) if first == "output" else product
    return product if product.ndim == 3 else product[None]


def _bias(encoding: AttentionBias, ax: Any) -> None:
    after = "symmetric" in encoding.claims or not encoding.bias(0, 3, 5, door_probe.moved_parameters(encoding) or None)
    ends = [(0, 101), (0, 33), (0, 9)] if after else [(-64, 65), (-16, 17), (-4, 5)]
    _first_accepted(ends, lambda span: plot.bias_by_distance(encoding, range(*span), ax=ax))


def _on_grid(encoding: Encoding, ax: Any, values: Callable[[np.ndarray, np.ndarray], np.ndarray], label: str) -> None:
    """Values of the place in the middle of a grid against every place: a square of the first two coordinates."""

    def attempt(side: int) -> None:
        middle, axes = side // 2, encoding.axes
        first, second = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
        rest = [np.full(side * side, middle)] * (axes - 2)
        positions = np.stack([first.ravel(), second.ravel(), *rest], -1)
        found = values(np.full((1, axes), middle), positions).reshape(side, side)
        steps = np.arange(side) - middle
        canvas.draw_heatmap(ax, found, steps, steps, label, {"cmap": canvas.SEQUENTIAL, "aspect": "equal"})
        canvas.finish(ax, "", "second coordinate", "first coordinate")

    _first_accepted([21, 13, 7, 5, 3], attempt)


def _likeness(encoding: AdditiveEncoding, ax: Any) -> None:
    params = encoding.init(np.random.default_rng(0)) or None
    _on_grid(
        encoding,
        ax,
        lambda middle, positions: (
            np.asarray(encoding.embed(middle, params)) @ np.asarray(encoding.embed(positions, params)).T
        ),
        "PE(centre) · PE(p)",
    )


def _score_on_grid(encoding: RotaryEncoding, ax: Any) -> None:
    _on_grid(encoding, ax, lambda middle, positions: _rotated(encoding, middle, positions), "q·k/√d")


def _bias_on_grid(encoding: AttentionBias, ax: Any) -> None:
    params = encoding.init(np.random.default_rng(0)) or None
    _on_grid(encoding, ax, lambda middle, positions: np.asarray(encoding.matrix(middle, positions, params))[0], "bias")


def _bias_of_pairs(encoding: AttentionBias, ax: Any) -> None:
    positions = np.arange(32)
    found = np.asarray(encoding.matrix(positions, positions, door_probe.moved_parameters(encoding)))[0]
    canvas.draw_heatmap(ax, found, positions, positions, "bias", {**canvas.centred(found), "aspect": "equal"})
    canvas.finish(ax, "", "key position", "query position")


def _logits(encoding: Encoding, ax: Any) -> None:
    def attempt(length: int) -> None:
        positions = np.arange(length)
        found = _scored(encoding, positions)
        canvas.draw_heatmap(ax, found, positions, positions, "logit", {**canvas.centred(found), "aspect": "equal"})
        canvas.finish(ax, "", "key position", "query position")

    _first_accepted([32, 16, 8, 5], attempt)


def _scored(encoding: Any, positions: np.ndarray) -> np.ndarray:
    """The score of head 0 for content drawn from a seed; positions of a grid run along its diagonal."""
    rng, axes = np.random.default_rng(0), int(encoding.axes)
    shape = (1, door_probe.number_of_heads(encoding), len(positions), door_probe.head_width(encoding))
    q, k = rng.standard_normal(shape), rng.standard_normal(shape)
    read = encoding.hidden_length(len(positions), len(positions))
    hidden = rng.standard_normal((1, read, encoding.model_dim)) if encoding.reads else None
    where = positions if axes == 1 else np.stack([positions // 4] + [positions % 4] * (axes - 1), -1)
    return np.asarray(encoding.score(q, k, where, where, door_probe.moved_parameters(encoding) or None, hidden=hidden))[
        0, 0
    ]


_DRAWN: dict[str, Callable[[Any, Any], None]] = {
    "value": _value,
    "table": _table,
    "likeness": _likeness,
    "frequencies": _frequencies,
    "score": _score,
    "score on a grid": _score_on_grid,
    "bias": _bias,
    "bias on a grid": _bias_on_grid,
    "bias of pairs": _bias_of_pairs,
    "logits": _logits,
}
assert set(_DRAWN) == set(kinds.CAPTIONS)
