"""Plan a longer context: the ways there, ranked, with figures, what to tune, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, Scaling, YaRN
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
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


@dataclass(frozen=True)
class Way:
    """One way to reach a longer length.

    name    in a word
    encoding  the rotation that serves the new length
    short   the rotation that serves inputs of the typical length; another one where the frequencies follow the length
    tune    what to train, as its source says
    source  where that stands
    """

    name: str
    encoding: RoPE
    short: RoPE
    tune: str
    source: str


#: The name of the way that changes nothing.
UNCHANGED = "as it is"
_PLAIN = "none: nothing is changed, and what lies beyond the trained length was never seen"


def ways(encoding: RoPE, trained: int, length: int, typical: int) -> tuple[Way, ...]:
    """The ways that are known for this rotation, the unchanged one first."""
    stretch = length / trained
    unchanged = Way(UNCHANGED, encoding, encoding, _PLAIN, "arithmetic")
    if stretch <= 1:
        return (unchanged,)
    scaling = encoding.scaling
    if scaling is None:
        return (unchanged, *_of_plain(encoding, stretch, trained, length, typical))
    if not isinstance(scaling, YaRN | Llama3 | Linear):
        return (unchanged,)
    return unchanged, _scaled(encoding, replace(scaling, factor=scaling.factor * stretch), ", a larger factor")


_LINEAR = "all weights, on long text: within 1,000 steps"
_LINEAR_SOURCE = "Chen et al. 2023, arXiv:2306.15595, abstract"
_YARN = "all weights, on long text: a tenth of the tokens that earlier methods need; often used without"
_YARN_SOURCE = "Peng et al. 2023, arXiv:2309.00071, abstract"
_LLAMA3 = "all weights: it was released with continued pre-training on long text"
_LLAMA3_SOURCE = "Grattafiori et al. 2024, arXiv:2407.21783"
_NTK = "nothing at first, since it was proposed for models that are not tuned; tuning helps"
_NTK_SOURCE = "Peng et al. 2023, arXiv:2309.00071, §3.1"
_DYNAMIC = (
    "nothing: inputs up to the trained length see what was trained; do not change the length while keys are cached"
)
_DYNAMIC_SOURCE = "Peng et al. 2023, arXiv:2309.00071, §3.3"

#: Of scalings with a factor: the name, what to train, and where that stands.
_STRETCHED: dict[type[Scaling], tuple[str, str, str]] = {
    YaRN: ("YaRN", _YARN, _YARN_SOURCE),
    Llama3: ("Llama 3", _LLAMA3, _LLAMA3_SOURCE),
    Linear: ("linear", _LINEAR, _LINEAR_SOURCE),
}


def _scaled(encoding: RoPE, scaling: Scaling, more: str = "") -> Way:
    """The way of one scaling.

    Args:
        more: Behind its name.
    """
    scaled, (name, tune, source) = replace(encoding, scaling=scaling), _STRETCHED[type(scaling)]
    return Way(name + more, scaled, scaled, tune, source)


def _of_plain(encoding: RoPE, stretch: float, trained: int, length: int, typical: int) -> list[Way]:
    """Ways for a rotation without a scaling."""
    scalings = (YaRN(stretch, trained), Llama3(stretch, trained), Linear(stretch))
    candidates = [_scaled(encoding, scaling) for scaling in scalings]
    if encoding.dim > 2:
        larger = replace(encoding, base=float(f"{encoding.base * stretch ** (encoding.dim / (encoding.dim - 2)):.6g}"))
        dynamic = replace(encoding, scaling=DynamicNTK(stretch, trained, length))
        served = replace(encoding, scaling=DynamicNTK(stretch, trained, max(typical, 1)))
        candidates += [
            Way("larger base", larger, larger, _NTK, _NTK_SOURCE),
            Way("dynamic", dynamic, served, _DYNAMIC, _DYNAMIC_SOURCE),
        ]
    return candidates
