"""The layouts of released rotations over several axes: the coordinate and the frequency of each pair, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from posenc.core import validation
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.frequencies import Geometric, InRevolutions, Joined, Proportional, Scaling
from posenc.phase import Frequencies, Numerics

#: Axis and frequency index of each pair, and whether indices are counted anew on each axis.
Pairs = tuple[tuple[int, ...], tuple[int, ...], bool]


def bands(sections: tuple[int, ...]) -> Pairs:
    """Axes one after another, each with frequencies of its own: axes 0 0 1 1."""
    axis = tuple(axis for axis, count in enumerate(sections) for _ in range(count))
    return axis, tuple(index for count in sections for index in range(count)), True


def bands_last_first(sections: tuple[int, ...]) -> Pairs:
    """As `bands`, with the last axis first: axes 1 1 0 0."""
    axis, index, restarts = bands(sections[::-1])
    return tuple(len(sections) - 1 - one for one in axis), index, restarts


def slots_last_first(sections: tuple[int, ...]) -> Pairs:
    """Axes take turns, the last one first, each with frequencies of its own: axes 1 0 1 0."""
    count, pairs = len(sections), range(sum(sections))
    return tuple(count - 1 - pair % count for pair in pairs), tuple(pair // count for pair in pairs), True


def dealt(sections: tuple[int, ...]) -> Pairs:
    """Frequencies dealt out to the axes in turn, then put axis by axis: axes 0 0 1 1, indices 0 2 1 3."""
    count = len(sections)
    index = tuple(index for axis in range(count) for index in range(axis, sum(sections), count))
    return tuple(one % count for one in index), index, False


def dealt_in_place(sections: tuple[int, ...]) -> Pairs:
    """Frequencies dealt out to the axes in turn: axes 0 1 0 1."""
    return _shared(pair % len(sections) for pair in range(sum(sections)))


def chunks(sections: tuple[int, ...]) -> Pairs:
    """Frequencies cut into sections, one an axis: axes 0 0 1 1 2 2."""
    return _shared(bands(sections)[0])


def strides(sections: tuple[int, ...]) -> Pairs:
    """Shared frequencies: pair i reads axis i mod 3, or axis 0 (time) beyond that axis's section: 0 1 2 0 1 2 0 0."""
    reach = (0, 3 * sections[1], 3 * sections[2])
    return _shared(pair % 3 if pair < reach[pair % 3] else 0 for pair in range(sum(sections)))


def time_last(sections: tuple[int, ...]) -> Pairs:
    """Shared frequencies: height and width take turns on the fast ones, time has the slow ones: 1 2 1 2 0."""
    return _shared(1 + pair % 2 if pair < sections[1] + sections[2] else 0 for pair in range(sum(sections)))


def by_sixteens(sections: tuple[int, ...]) -> Pairs:
    """Shared frequencies, by sixteens: four pairs of time, then two of height and two of width, three times."""
    return _shared((0, 0, 0, 0, *3 * (1, 1, 2, 2))[pair % 16] for pair in range(sum(sections)))


def _shared(axes: Iterable[int]) -> Pairs:
    axis = tuple(axes)
    return axis, tuple(range(len(axis))), False


@dataclass(frozen=True)
class AxialLayout:
    """How a released rotation gives each pair its axis and frequency.

    Args:
        rule: Gives them from the sections.
        pairing: As in `AxialRoPE`.
        order: Order of the coordinates of the model's own positions, as `positions.grid` takes it: "hw" is (row,
            column), "wh" (column, row), "thw" (time, row, column); None where `used_by` names what makes them.
        used_by: Models and classes with this layout.
        axes: The number of axes, where the rule needs it.
        blocks: "axes" pairs channels inside a block for each axis.
        revolutions: Whether frequencies are whole revolutions, as in DINOv3.
        fixed_time: Whether the pairs of time do not rotate.
    """

    rule: Callable[[tuple[int, ...]], Pairs]
    pairing: PairLayout
    order: Literal["hw", "wh", "thw"] | None
    used_by: str
    axes: int | None = None
    blocks: Literal["one", "axes"] = "one"
    revolutions: bool = False
    fixed_time: bool = False


#: The first two rows differ in pairing alone, and so on: what is left is what released code really decides. "sam2" and
#: "eva02" differ in the order of coordinates, which an encoding does not hold: they make the same one.
LAYOUTS: Mapping[str, AxialLayout] = MappingProxyType({
    "qwen2-vl-vision": AxialLayout(
        bands, "halves", "hw", "Qwen2-VL, Qwen3-VL, GLM-4V and Ernie 4.5-VL vision; Cosmos (time, row, column)"
    ),
    "eva02": AxialLayout(
        bands,
        "adjacent",
        "hw",
        "EVA-02, timm RotaryEmbeddingCat, get_axial_freqs; Flux, Wan, CogVideoX of diffusers (time, row, column)",
    ),
    "sam2": AxialLayout(bands, "adjacent", "wh", "SAM 2, SAM 3, EdgeTAM, rope-vit axial"),
    "gemma4-vision": AxialLayout(bands, "halves", "wh", "Gemma 4 vision", blocks="axes"),
    "step3-vision": AxialLayout(bands_last_first, "halves", "hw", "Step 3 vision"),
    "inkling2-vision": AxialLayout(
        bands_last_first, "adjacent", "hw", "Inkling 2 vision; Llama 4 vision (positions from 1)"
    ),
    "kimi-vision": AxialLayout(slots_last_first, "halves", "hw", "Kimi K2.5 vision"),
    "dinov3": AxialLayout(bands, "halves", "hw", "DINOv3 (positions.centres, from -1 to 1)", revolutions=True),
    "pixtral": AxialLayout(dealt, "halves", "hw", "Pixtral", axes=2),
    "neomme": AxialLayout(dealt_in_place, "halves", "hw", "NeoMME; HunyuanImage 3 (positions.rope_tie)", axes=2),
    "vrope": AxialLayout(dealt_in_place, "halves", None, "VRoPE (positions.vrope)", axes=4),
    "qwen2-vl": AxialLayout(
        chunks,
        "halves",
        "thw",
        "M-RoPE: Qwen2-VL, Qwen2.5-VL; XD-RoPE of HunYuan-VL in vLLM (token, column, row, picture)",
    ),
    "glm4v": AxialLayout(chunks, "adjacent", "thw", "M-RoPE on adjacent pairs: GLM-4V, GLM-OCR"),
    "qwen3-vl": AxialLayout(
        strides, "halves", "thw", "interleaved M-RoPE: Qwen3-VL, Qwen3.5, timm RotaryEmbeddingMRope", axes=3
    ),
    "ernie4.5-vl": AxialLayout(
        time_last, "adjacent", "thw", "Ernie 4.5-VL (its file lists the section of time last)", axes=3
    ),
    "videorope": AxialLayout(time_last, "halves", "thw", "VideoRoPE", axes=3),
    "hope": AxialLayout(
        time_last,
        "halves",
        "thw",
        "HoPE of video models: VideoRoPE whose time does not rotate",
        axes=3,
        fixed_time=True,
    ),
    "lumos": AxialLayout(by_sixteens, "halves", "thw", "MM-RoPE of Lumos-1 (modeling_chameleon_mm_rope)", axes=3),
})  # fmt: skip


def axial(
    layout: str = "eva02",
    sections: tuple[int, ...] | None = None,
    *,
    dim: int | None = None,
    base: float | tuple[float, ...] = 10_000.0,
    frequencies: Frequencies | None = None,
    numerics: Numerics = "exact",
    scaling: Scaling | None = None,
) -> AxialRoPE:
    """Rotation of a released layout, for a head of 2·Σ sections channels.

    For an image, the layouts that share pairs out evenly need `dim` alone: `axial(dim=64)`, for positions `grid(14,
    20)`, say. The default layout is the most common one, "eva02": the first half of the channels rotate with the row,
    the second half with the column, in adjacent pairs.

    An encoding numbers coordinates and does not know which is the row. Give those of the model, in its own order, which
    its name stands for:

    - (row, column), `grid(height, width)`: "qwen2-vl-vision", "eva02", "step3-vision", "inkling2-vision",
      "kimi-vision", "dinov3", "pixtral", "neomme".
    - (column, row), `grid(height, width, order="wh")`: "sam2", "gemma4-vision".
    - (time, row, column), `grid(height, width, frames=frames)`: "qwen2-vl", "glm4v", "qwen3-vl", "ernie4.5-vl",
      "videorope", "hope", "lumos".
    - four sums of distances from the corners, `posenc.positions.vrope`: "vrope".

    Args:
        layout: One of these names.
        sections: Pairs of each axis, in the order of the coordinates of a position.
        dim: In place of sections, channels of a head, half of them for the rows of an image and half for its columns.
        base: Base of the frequencies; one an axis where each axis has frequencies of its own.
        frequencies: In their place; each axis with frequencies of its own takes the first, and axes that share them
            take one each.
        numerics: As in `RoPE`.
        scaling: As in `RoPE`.

    Returns:
        The encoding with the axes, frequencies and pairing of the layout.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> axial("qwen2-vl", (1, 1, 2)).axis, axial("qwen3-vl", (2, 1, 1)).axis
        ((0, 1, 2, 2), (0, 1, 2, 0))
        >>> axial("pixtral", (2, 2)).frequency_index
        (0, 2, 1, 3)
        >>> from posenc.positions import grid
        >>> axial("sam2", dim=256).rotation(grid(14, 20, order="wh")).cos.shape  # SAM 2: the column first
        (280, 128)
    """
    kind = LAYOUTS[validation.choice("layout", layout, tuple(LAYOUTS))]
    if frequencies is not None:
        validation.instance("frequencies", frequencies, Frequencies, "frequencies of posenc.frequencies, or None")
    sections = _sections(kind, layout, _of_an_image(kind, layout, sections, dim))
    axis, index, restarts = kind.rule(sections)
    _fit(kind, layout, sections, axis)
    if kind.fixed_time:
        _left_out("scaling", scaling, layout, "whose time does not rotate")
        # Half a pair more than rotate, to round down to them.
        scaling = Proportional((sum(sections) - sections[0] + 0.5) / sum(sections))
    widths = [2 * count for count in sections] if restarts else [2 * sum(sections)]
    given = base if isinstance(base, tuple | list) else (base,) * len(widths)
    bases = tuple(validation.real("base", one, 0.0, 1e30, above=True) for one in given)
    if len(bases) != len(widths):
        raise ValueError(f"base must be one number, or {len(widths)} for {layout!r}; got {base!r}. Give as many.")
    same_frequencies = len({*zip(widths, bases, strict=True)}) == 1
    if frequencies is None and same_frequencies and not kind.revolutions:
        encoding: dict[str, Any] = {"frequency_dim": widths[0], "base": bases[0], "scaling": scaling}
    else:
        _left_out("scaling", scaling, layout, "whose frequencies are not one geometric sequence")
        if frequencies is None and not same_frequencies:
            index = tuple(sum(sections[:one]) + within for one, within in zip(axis, index, strict=True))
        of_axes = [Geometric(width, one) for width, one in zip(widths, bases, strict=True)]
        joined = of_axes[0] if same_frequencies else Joined(tuple(of_axes))
        encoding = {"frequency_dim": frequencies or (InRevolutions(joined) if kind.revolutions else joined)}
    blocks = len(sections) if kind.blocks == "axes" else 1
    return AxialRoPE(
        axis=axis, frequency_index=index, pairing=kind.pairing, blocks=blocks, numerics=numerics, **encoding
    )


#: Rules that share pairs out evenly between rows and columns.
_EVEN = (bands, bands_last_first, slots_last_first, dealt, dealt_in_place)


def _of_an_image(kind: AxialLayout, layout: str, sections: Any, dim: int | None) -> Any:
    """Return the sections, or (dim/4, dim/4) for rows and columns of an image where `dim` is given in their place."""
    if (sections is None) == (dim is None):
        what = (
            f"sections={validation.shown(sections)} and dim={validation.shown(dim)}"
            if dim is not None
            else "neither sections nor dim"
        )
        raise ValueError(
            f"dim must be given, or sections, and not both; got {what}. Give axial({layout!r}, dim=64), say."
        )
    if dim is None:
        return sections
    if kind.rule not in _EVEN:
        raise ValueError(
            f"dim must be left out for {layout!r}, whose axes have different numbers of pairs; got "
            f"{validation.shown(dim)}. Give sections."
        )
    dim = validation.integer("dim", dim, 4)
    if dim % 4:
        raise ValueError(
            f"dim must be a multiple of 4, with as many pairs for rows as for columns; got {dim}. Give 64, say."
        )
    return dim // 4, dim // 4


def _sections(kind: AxialLayout, layout: str, sections: Any) -> tuple[int, ...]:
    if not isinstance(sections, tuple | list) or len(sections) < 2 or len(sections) != (kind.axes or len(sections)):
        raise ValueError(
            f"sections must be {kind.axes or 'two or more'} numbers of pairs, one an axis, for {layout!r}; got "
            f"{validation.shown(sections)}. Give as many."
        )
    return tuple(validation.integer("sections", count, 1, 1 << 16) for count in sections)


def _fit(kind: AxialLayout, layout: str, sections: tuple[int, ...], axis: tuple[int, ...]) -> None:
    """Refuse sections that are not the pairs an axis that the rule gives; in `strides` they are only limits."""
    if kind.rule is by_sixteens and len(axis) % 16:
        raise ValueError(
            f"sections must have a multiple of 16 pairs in all for {layout!r}, which shares them out by sixteens; got "
            f"{sections}, {len(axis)} pairs. Give (4, 6, 6) for a head of 32 channels, or a multiple of it."
        )
    counts = tuple(axis.count(one) for one in range(len(sections)))
    if (counts != sections and kind.rule is not strides) or (kind.blocks == "axes" and len({*sections}) > 1):
        raise ValueError(
            f"sections must be those of {layout!r} for as many pairs, {counts}; got {sections}. Use those."
        )


def _left_out(name: str, value: object, layout: str, reason: str) -> None:
    if value is not None:
        raise ValueError(f"{name} must be left out for {layout!r}, {reason}; got {value!r}. Leave it out.")
