"""Layers of a model as a picture: a strip for each part, a colour for each group of layers."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from posenc.core import validation
from posenc.models import ModelPositions
from posenc.models.layer_sentences import in_words
from posenc.models.model_positions import LayerGroup
from posenc.plot import canvas
from posenc.plot.fonts import literal

#: Letters of a line in the legend.
LINE = 88
#: Where the colours begin again, a hatch tells the groups apart.
HATCHES = ("", "//", "..", "xx", "++")


def layers(model: ModelPositions, *, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the layers of a model, in the colour of the group that treats positions alike.

    Each part of the model is a strip with a block for each layer; the legend says what each group does.

    Args:
        model: The result of `posenc.models.from_config`.
        ax: Axes to draw into; a new figure if left out.
        keywords: Options of `Axes.broken_barh`.

    Returns:
        The Axes.

    Raises:
        TypeError: `model` is something else.
    """
    validation.instance("model", model, ModelPositions, "what posenc.models.from_config returns")
    parts = list(dict.fromkeys(group.part for group in model.groups))
    legend = [_legend_text(group) for group in model.groups]
    lines = sum(text.count("\n") + 1 for text in legend)
    ax = canvas.single(ax, (7.2, 0.4 * len(parts) + 0.18 * lines + 1.3))
    entries = []
    for index, (group, text) in enumerate(zip(model.groups, legend, strict=True)):
        hatch = HATCHES[index // len(canvas.COLOURS) % len(HATCHES)]
        look = {"facecolor": canvas.colour(index), "edgecolor": "white", "linewidth": 1.0, "hatch": hatch}
        row = parts.index(group.part)
        ax.broken_barh([(layer - 0.5, 1) for layer in group.layers], (row - 0.4, 0.8), **{**look, **keywords})
        entries.append(Patch(facecolor=look["facecolor"], edgecolor="white", hatch=hatch, label=text))
    most = max((layer for group in model.groups for layer in group.layers), default=0)
    ax.set_xlim(-0.5, most + 0.5)
    ax.set_ylim(len(parts) - 0.5, -0.5)
    ax.set_yticks(range(len(parts)), [literal(part) for part in parts])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=4.5, frameon=False, fontsize="small"
    )
    return canvas.finish(ax, literal(model.model_type), "layer", "")


def _legend_text(group: LayerGroup) -> str:
    count = f"{len(group.layers)} layer{'s' * (len(group.layers) != 1)}"
    head = f"{group.part}, {group.attention}, {count}"
    lines = [head, *(line for sentence in in_words(group) for line in textwrap.wrap(sentence, LINE))]
    return literal("\n".join(lines))
