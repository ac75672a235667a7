"""Several encodings in one picture, told apart by colour, style and label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes

from posenc.core import validation
from posenc.core.doors import Encoding, Params
from posenc.plot import canvas
from posenc.plot.by_distance import bias_by_distance, score_by_distance
from posenc.plot.fonts import literal
from posenc.plot.frequency import wavelengths

#: Pictures that have a line for an encoding, and their titles.
PICTURES: Mapping[str, tuple[Callable[..., Axes], str]] = {
    "wavelengths": (wavelengths, "Wavelengths"),
    "score_by_distance": (score_by_distance, "Score by distance"),
    "bias_by_distance": (bias_by_distance, "Bias by distance"),
}
#: Encodings that colours and styles tell apart.
MOST = 12


def together(
    picture: Literal["wavelengths", "score_by_distance", "bias_by_distance"],
    encodings: Sequence[Encoding],
    *,
    labels: Sequence[str] | None = None,
    params: Sequence[Params | None] | None = None,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the same picture of several encodings into one, each with a colour, a style and a label.

    Args:
        picture: Name of the picture.
        encodings: Up to twelve encodings.
        labels: A label for each; the encodings themselves if left out.
        params: Learned parameters of each; drawn with seed 0, and called untrained, if left out.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of the picture, for all encodings.

    Returns:
        The Axes.

    Raises:
        TypeError: An encoding does not fit the picture.
        ValueError: The picture has no line for an encoding, labels or params do not fit, or scores mean different
            things.

    Example:
        >>> from posenc import RoPE
        >>> axes = together("wavelengths", [RoPE(dim=64), RoPE(dim=64, base=500_000)], labels=["10k", "500k"])
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['10k', '500k']
    """
    draw, title = PICTURES[validation.choice("picture", picture, tuple(PICTURES))]
    for one in _counted("encodings", encodings, "encodings"):
        validation.instance("encodings", one, Encoding, "encodings, such as [RoPE(dim=8), RoPE(dim=8, base=500.0)]")
    validation.integer("encodings, counted,", len(encodings), 1, MOST)
    learned = _one_each("params", [None] * len(encodings) if params is None else params, encodings)
    names = [canvas.name(one, params=own) for one, own in zip(encodings, learned, strict=True)]
    named = names if labels is None else [literal(label) for label in _one_each("labels", labels, encodings)]
    if len(set(named)) < len(named):
        raise ValueError(f"labels must differ, to tell encodings apart; got {', '.join(named)}. Give others.")
    meanings: list[str] = []
    for index, (encoding, own, label) in enumerate(zip(encodings, learned, named, strict=True)):
        own_params = {} if picture == "wavelengths" else {"params": own}
        look = {"color": canvas.colour(index), "linestyle": canvas.style(index), "label": label, "marker": ""}
        ax = draw(encoding, ax=ax, **own_params, **look, **keywords)
        meanings.append(ax.get_ylabel())
    if len(set(meanings)) > 1:
        raise ValueError(f"encodings must have scores of one meaning; got {', '.join(set(meanings))}. Draw them apart.")
    ax = canvas.single(ax)
    handles, texts = ax.get_legend_handles_labels()
    first = dict(zip(reversed(texts), reversed(handles), strict=True))  # a head of each encoding, and what is marked
    shown = [text for text in dict.fromkeys(texts) if text in first]
    canvas.legend(ax, shown, handles=[first[text] for text in shown], labels=shown, loc="upper left",
                  bbox_to_anchor=(0, -0.18))  # fmt: skip
    return canvas.finish(ax, title, ax.get_xlabel(), ax.get_ylabel())


def _one_each(name: str, values: Sequence[Any], encodings: Sequence[Encoding]) -> Sequence[Any]:
    if len(_counted(name, values, "one for each encoding")) != len(encodings):
        raise ValueError(f"{name} must be {len(encodings)}, one for each encoding; got {len(values)}. Give as many.")
    return values


def _counted(name: str, values: Sequence[Any], items: str) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{name} must be a list, {items}; got {validation.shown(values)}. Give a list.")
    return values
