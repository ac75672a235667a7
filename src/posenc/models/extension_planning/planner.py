"""Plan a longer context: the ways there, ranked, with figures, what to tune, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.extension_planning.candidates import UNCHANGED, Way, ways
from posenc.models.extension_planning.metrics import LONGEST, Figures, base_bound, figures
from posenc.models.extension_planning.snippets import Target, rewrapped, sees_whole_context, snippets
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import pair_rotation, unwrapped

#: Beyond this the search for the least base takes too long to be waited for.
LONGEST_BOUND = 1 << 17


@dataclass(frozen=True)
class Planned:
    """One way with its figures;

    Args:
        snippets: Text by engine;.
        checked: How it was validated.
    """

    way: Way
    figures: Figures
    snippets: tuple[tuple[str, str], ...]
    checked: str


@dataclass(frozen=True)
class ContextPlan:
    """The ways to a length, the first ranked best.

    trained       the length that the model was trained for
    trained_from  where that length stands
    bound         the least base of Men et al. 2024 for this length; None beyond 131,072, where it is not searched
    left          layers that are not planned for
    """

    model_type: str
    encoding: RotaryEncoding
    trained: int
    trained_from: str
    length: int
    typical: int
    bound: float | None
    ways: tuple[Planned, ...]
    left: tuple[str, ...]

    def rotation(self, way: str) -> RotaryEncoding:
        """The model's rotation at the new length by one of the ways, "YaRN" say: the encoding to rotate with.

        Example:
            >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 64, "num_attention_heads": 4,
            ...           "num_hidden_layers": 2, "max_position_embeddings": 4096}
            >>> plan_context(config, length=16384).rotation("YaRN").scaling.factor
            4.0
        """
        encodings = {planned.way.name: planned.way.encoding for planned in self.ways}
        return rewrapped(self.encoding, encodings[validation.choice("way", way, tuple(encodings))])


def plan_context(
    config: Mapping[str, Any] | str | Path, *, length: int, typical: int | None = None, trained: int | None = None
) -> ContextPlan:
    """Ranked ways for a model to reach `length` positions.

    Args:
        config: As for `from_config`.
        typical: The length of most inputs, for what is lost there; 4096, or the trained length if that is shorter.
        trained: The length the model was trained for; the file's max_position_embeddings if left out. The figures are
            computed from the frequencies. The order is a rule of thumb: what disturbs the trained pairs least comes
            first, and changing nothing last. Small trained models agree with it in the main (`posenc extend`,
            docs/planning.md); only a test on your own text decides.

    Raises:
        ValueError: A value breaks its rule; the message names the argument or key.
        TypeError: A value breaks its rule; the message names the argument or key.

    Example:
        >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 4096, "num_attention_heads": 32,
        ...           "num_hidden_layers": 2, "max_position_embeddings": 4096}
        >>> [planned.way.name for planned in plan_context(config, length=16384).ways]
        ['Llama 3', 'YaRN', 'larger base', 'dynamic', 'linear', 'as it is']
    """
    length = validation.integer("length", length, 2, LONGEST)
    data = load_config(config)
    positions = from_config(data)
    group, left = _planned_group(positions)
    if trained is None:
        value = group.value("max_position_embeddings")
        trained, trained_from = validation.integer(value.key, value.value, 2, LONGEST), str(value)
    else:
        trained, trained_from = validation.integer("trained", trained, 2, LONGEST), "stated by the caller"
    typical = min(4096, trained) if typical is None else validation.integer("typical", typical, 2, LONGEST)
    encoding = group.rotary_encoding
    inner = unwrapped(encoding)
    if encoding is None or not isinstance(inner, RoPE):
        raise ValueError(
            f"config must have layers that rotate by one plain rotation; got {encoding!r:.100}. posenc has no plan for "
            "others."
        )
    target = Target(positions, group, inner, length)
    planned = [_planned(way, data, target, trained, typical) for way in ways(inner, trained, length, typical)]
    planned.sort(key=_rank)
    unrotated = (encoding.head_dim - inner.dim) // 2
    bound = base_bound(inner.dim, length, unrotated) if length <= LONGEST_BOUND else None
    return ContextPlan(
        positions.model_type, encoding, trained, trained_from, length, typical, bound, tuple(planned), left
    )


def _planned_group(positions: ModelPositions) -> tuple[LayerGroup, tuple[str, ...]]:
    """The layers that see the whole context, and what is left as it is."""
    part = "text" if "text" in positions.parts else positions.parts[0]
    whole = [group for group in positions.of(part) if group.rotary_encoding is not None and sees_whole_context(group)]
    if len({group.rotary_encoding for group in whole}) != 1:
        raise ValueError(
            f"config must have one rotation for the layers that see the whole context; got {len(whole)}. "
            "Plan each kind by itself."
        )
    others = [group for group in positions.groups if group not in whole]
    left = tuple(
        f"{group.part}, {group.attention}: "
        f"{'no rotation' if not group.rotary_encoding else 'it does not see the whole context'}"
        for group in others
    )
    return whole[0], left


def _planned(way: Way, data: Mapping[str, Any], target: Target, trained: int, typical: int) -> Planned:
    """A way with its figures and its text.

    Args:
        target: With the rotation as it is.
    """
    encoding = target.group.rotary_encoding
    before, new, short = (pair_rotation(rewrapped(encoding, one)) for one in (target.new, way.encoding, way.short))
    if before is None or new is None or short is None:
        raise ValueError("config must have a known rotation; this one is not. posenc has no plan for it.")
    text, checked = snippets(data, replace(target, new=way.encoding))
    return Planned(way, figures(before, new, trained, target.length, typical, short), tuple(text.items()), checked)


def _rank(planned: Planned) -> tuple[bool, float, float]:
    """What changes something first, and of it what disturbs least; then little change nearby."""
    return planned.way.name == UNCHANGED, planned.figures.disturbance, planned.figures.short
