"""Facts on the positions of a model, group by group: base, pairs, wavelengths, and how many fit the context."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.models.layer_sentences import AXES, in_words
from posenc.models.model_positions import LayerGroup, Window
from posenc.models.pair_rotation import pair_rotation, unwrapped
from posenc.models.released.released_models import ReleasedModel


@dataclass(frozen=True)
class PositionFacts:
    """Facts on positions in one group of layers, which treats them alike.

    Attributes:
        part: Of the model, as in `LayerGroup`.
        layers: How many layers, of how many of this part; 0 of them where a vector is added before layer 0.
        of: How many layers this part has.
        encoding: Name of the encoding, or "none".
        sentences: What the layers do, in words.
        base: Of the frequencies, before a scaling; None without one.
        pairs: How channels lie in pairs, "adjacent" or "halves"; "" where nothing rotates.
        rotated: Channels of a head that rotate.
        width: Channels of a head, or of the vector that is added.
        scaling: Name of the scaling and its factor, or "".
        axes: Coordinates of a position.
        wavelengths: Positions of one revolution of each pair, fastest first.
        reach: Most positions that a query and the keys that it sees span: the context, or the window; None if unknown.
    """

    part: str
    layers: int
    of: int
    encoding: str
    sentences: tuple[str, ...]
    base: float | None = None
    pairs: str = ""
    rotated: int = 0
    width: int = 0
    scaling: str = ""
    axes: tuple[str, ...] = ()
    wavelengths: tuple[float, ...] = ()
    reach: int | None = None

    @property
    def whole(self) -> int | None:
        """How many pairs turn a whole circle within the reach; None where nothing rotates or the reach is unknown.

        These are the pairs with r = L/λ ≥ 1 of Peng et al. 2023, arXiv:2309.00071, §3.2, with the reach as L.
        """
        if not self.wavelengths or self.reach is None:
            return None
        return sum(length <= self.reach for length in self.wavelengths)


def position_facts(model: ReleasedModel) -> tuple[PositionFacts, ...]:
    """Facts of each group of a model's layers, in the order of the config.

    Example:
        >>> from posenc.models.released.released_models import models_called
        >>> (facts,) = position_facts(models_called("llama-3")[0])
        >>> facts.base, facts.pairs, facts.whole, len(facts.wavelengths)
        (500000.0, 'halves', 35, 64)
    """
    groups = model.positions.groups
    layers = Counter(group.part for group in groups for _ in group.layers)
    return tuple(_facts(group, layers[group.part], _reach(group, model.context)) for group in groups)


def _reach(group: LayerGroup, context: int | None) -> int | None:
    """Return the most positions that a query and its keys span: window or context; None for patches or if unknown."""
    if group.patches is not None:
        return None
    if context is None and group.length is not None and isinstance(group.length.value, int):
        context = group.length.value
    if not isinstance(group.window, Window):
        return context
    window = group.window.before + group.window.after + 1
    return window if context is None else min(window, context)


def _facts(group: LayerGroup, of: int, reach: int | None) -> PositionFacts:
    rotary = group.rotary_encoding
    inner, channels = unwrapped(rotary), group.channels
    first = group.encodings[0] if group.encodings else None
    scaling = getattr(inner, "scaling", None)
    return PositionFacts(
        part=group.part,
        layers=len(group.layers),
        of=of,
        encoding=type(inner or first).__name__ if first is not None else "none",
        sentences=tuple(in_words(group)),
        base=getattr(inner, "base", None),
        pairs=channels.layout if channels else "",
        rotated=channels.width if channels else 0,
        width=channels.dim if channels else getattr(first, "width", 0),
        scaling="" if scaling is None else f"{type(scaling).__name__} ×{getattr(scaling, 'factor', 1.0):g}",
        axes=AXES.get(inner.axes, ()) if isinstance(inner, AxialRoPE) and group.patches is None else (),
        wavelengths=_wavelengths(group),
        reach=reach,
    )


def _wavelengths(group: LayerGroup) -> tuple[float, ...]:
    rotation = None if group.rotary_encoding is None else pair_rotation(group.rotary_encoding)
    if rotation is None:
        return ()
    return tuple(2 * math.pi / radians if radians else math.inf for radians in rotation.radians().tolist())
