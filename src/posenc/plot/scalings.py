"""Scalings side by side: how much each slows every pair of a rotation to reach a longer context."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from posenc.core import validation
from posenc.encodings.rotates.rope import RoPE
from posenc.models.extension_planning.metrics import slowed_by
from posenc.models.extension_planning.planner import scaling_candidates
from posenc.plot import canvas


def scalings(
    encoding: RoPE, *, trained: int = 4096, target: int = 32768, ax: Axes | None = None, **keywords: Any
) -> Axes:
    """Trained frequency / new frequency of every pair against its wavelength, a line for each known scaling.

    Args:
        trained: The length the model was trained for, and the one to reach.
        target: The length the model was trained for, and the one to reach.
        keywords: For `Axes.plot`.

    Example:
        >>> from posenc import RoPE
        >>> [line.get_label() for line in scalings(RoPE(dim=64)).lines][:3]
        ['as it is', 'YaRN', 'Llama 3']
    """
    validation.instance("encoding", encoding, RoPE, "a rotation such as RoPE(dim=64)")
    trained = validation.integer("trained", trained, 2, 1 << 30)
    target = validation.integer("target", target, 1, 1 << 30)
    lengths, before = encoding.frequencies.wavelengths(), encoding.frequencies.radians()
    ax = canvas.single(ax)
    for index, way in enumerate(scaling_candidates(encoding, trained, target, min(4096, trained))):
        line = {"color": canvas.colour(index), "linestyle": canvas.style(index), "label": way.name}
        ax.loglog(lengths, slowed_by(before, way.encoding.frequencies.radians()), **{**line, **keywords})
    canvas.legend(ax, ax.lines)
    title = f"From {trained:,} to {target:,} positions, {canvas.name(encoding, 40)}"
    return canvas.finish(ax, title, "wavelength before scaling (positions)", "slowed by this factor")
