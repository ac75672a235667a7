"""Plan a longer context: candidates, ranked, with figures, what to tune, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.extension_planning.metrics import LONGEST, Figures, base_bound, figures
from posenc.models.extension_planning.snippets import Target, rewrapped, sees_whole_context, snippets
from posenc.models.model_positions import Chunks, LayerGroup, ModelPositions
from posenc.models.pair_rotation import pair_rotation, unwrapped
from posenc.models.served_length import served_at

#: Beyond this the search for the least base takes too long to be waited for.
LONGEST_BOUND = 1 << 17


@dataclass(frozen=True)
class ScalingCandidate:
    """A rotation that reaches a longer length, with what its authors say of it.

    Attributes:
        name: In a word.
        encoding: Serves the new length.
        short: Serves inputs of the typical length; another one where frequencies follow the length.
        tune: What to train, as its source says.
        source: Where that stands.
    """

    name: str
    encoding: RoPE
    short: RoPE
    tune: str
    source: str


#: The name of the candidate that changes nothing.
UNCHANGED = "as it is"
_PLAIN = "none: nothing is changed, and what lies beyond the trained length was never seen"


def scaling_candidates(encoding: RoPE, trained: int, length: int, typical: int) -> tuple[ScalingCandidate, ...]:
    """The candidates that are known for this rotation, the unchanged one first."""
    stretch = length / trained
    # Both lists of LongRoPE were trained, so that neither is a change; dynamic NTK changes without training.
    short = encoding if isinstance(encoding.scaling, LongRoPE) else served_at(encoding, typical)
    unchanged = ScalingCandidate(UNCHANGED, served_at(encoding, length), short, _PLAIN, "arithmetic")
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


def _scaled(encoding: RoPE, scaling: Scaling, more: str = "") -> ScalingCandidate:
    """The candidate of one scaling; `more` goes behind its name."""
    scaled, (name, tune, source) = replace(encoding, scaling=scaling), _STRETCHED[type(scaling)]
    return ScalingCandidate(name + more, scaled, scaled, tune, source)


def _of_plain(encoding: RoPE, stretch: float, trained: int, length: int, typical: int) -> list[ScalingCandidate]:
    """Candidates for a rotation without a scaling."""
    scalings = (YaRN(stretch, trained), Llama3(stretch, trained), Linear(stretch))
    candidates = [_scaled(encoding, scaling) for scaling in scalings]
    if encoding.dim > 2:
        larger = replace(encoding, base=float(f"{encoding.base * stretch ** (encoding.dim / (encoding.dim - 2)):.6g}"))
        dynamic = replace(encoding, scaling=DynamicNTK(stretch, trained, length))
        served = replace(encoding, scaling=DynamicNTK(stretch, trained, max(typical, 1)))
        candidates += [
            ScalingCandidate("larger base", larger, larger, _NTK, _NTK_SOURCE),
            ScalingCandidate("dynamic", dynamic, served, _DYNAMIC, _DYNAMIC_SOURCE),
        ]
    return candidates


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate with its figures, and what to write to run it.

    Attributes:
        candidate: The rotation, with its source.
        figures: What it does to the trained pairs.
        snippets: The text to write, by engine.
        checked: How the text was validated; why there is none.
    """

    candidate: ScalingCandidate
    figures: Figures
    snippets: tuple[tuple[str, str], ...]
    checked: str


@dataclass(frozen=True)
class ContextPlan:
    """Ranked candidates for a longer context, from `plan_context`.

    Attributes:
        model_type: As the config names it.
        encoding: The rotary encoding of the layers that see the whole context, as trained.
        trained: Positions that the model takes as its file is.
        trained_from: Where that length stands.
        length: Positions to reach.
        typical: Positions of most inputs.
        bound: The least base of Men et al. 2024 for `length`; None beyond 131,072 positions, where it is not searched.
        candidates: The best first, by a rule of thumb.
        left: Layers that are not planned for.
    """

    model_type: str
    encoding: RotaryEncoding
    trained: int
    trained_from: str
    length: int
    typical: int
    bound: float | None
    candidates: tuple[RankedCandidate, ...]
    left: tuple[str, ...]

    def rotary_encoding(self, name: str) -> RotaryEncoding:
        """Return the encoding that rotates the model's queries and keys by one of the candidates.

        Args:
            name: Of the candidate, "YaRN" for example.

        Returns:
            The encoding, with the width of the model's heads.

        Raises:
            ValueError: No candidate has this name.

        Example:
            >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 64, "num_attention_heads": 4,
            ...           "num_hidden_layers": 2, "max_position_embeddings": 4096}
            >>> plan_context(config, length=16384).rotary_encoding("YaRN").scaling.factor
            4.0
        """
        encodings = {ranked.candidate.name: ranked.candidate.encoding for ranked in self.candidates}
        return rewrapped(self.encoding, encodings[validation.choice("name", name, tuple(encodings))])


def plan_context(
    config: Mapping[str, Any] | str | Path, *, length: int, typical: int | None = None, trained: int | None = None
) -> ContextPlan:
    """Rank the scalings of a rotation that take a model to a longer context.

    Figures are computed from the frequencies. The order is a rule of thumb: what disturbs the trained pairs least comes
    first, and changing nothing last. Small trained models mostly agree with it (`posenc extend`, docs/planning.md);
    only a test on your own text decides.

    Args:
        config: As for `from_config`.
        length: Positions to reach, from 2 to 4,194,304.
        typical: Positions of most inputs, for what is lost there; None for 4096, or `trained` if that is shorter.
        trained: Positions that the model takes as its file is; None for the file's max_position_embeddings, or the
            length that its YaRN or Llama 3 scaling reaches, original · factor, where that is longer, and of YaRN
            where it is shorter too.

    Returns:
        The plan, the best candidate first.

    Raises:
        ValueError: A length is out of range, a key of the config cannot be read, or the layers that see the whole
            context do not rotate by one plain RoPE, or have a window within the trained length.
        TypeError: A length is no whole number, or `config` is no config.

    Example:
        >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 4096, "num_attention_heads": 32,
        ...           "num_hidden_layers": 2, "max_position_embeddings": 4096}
        >>> [ranked.candidate.name for ranked in plan_context(config, length=16384).candidates]
        ['Llama 3', 'YaRN', 'larger base', 'dynamic', 'linear', 'as it is']
    """
    length = validation.integer("length", length, 2, LONGEST)
    data = load_config(config)
    positions = from_config(data)
    group, left = _planned_group(positions)
    encoding = group.rotary_encoding
    inner = unwrapped(encoding)
    if encoding is None or not isinstance(inner, RoPE):
        raise ValueError(
            f"config must have layers that rotate by one plain rotation; got {encoding!r:.100}. posenc has no plan for "
            "others."
        )
    if trained is None:
        trained, trained_from = _length_of_file(group, inner.scaling)
    else:
        trained, trained_from = validation.integer("trained", trained, 2, LONGEST), "stated by the caller"
    _require_unseen_distances(group, trained, length)
    typical = min(4096, trained) if typical is None else validation.integer("typical", typical, 2, LONGEST)
    if isinstance(inner.scaling, LongRoPE):  # trained with the list that serves this length
        inner = served_at(inner, length)
    target = Target(positions, group, inner, length)
    candidates = scaling_candidates(inner, trained, length, typical)
    ranked = sorted((_measured(candidate, data, target, trained, typical) for candidate in candidates), key=_rank)
    unrotated = (encoding.head_dim - inner.dim) // 2
    bound = base_bound(inner.dim, length, unrotated) if length <= LONGEST_BOUND else None
    return ContextPlan(
        positions.model_type, encoding, trained, trained_from, length, typical, bound, tuple(ranked), left
    )


def _require_unseen_distances(group: LayerGroup, trained: int, length: int) -> None:
    """Refuse a longer length for layers whose windows keep every distance within the trained one.

    Layers with other roles see more: DeepSeek-V4 has compressed keys of all positions as well as a window.
    """
    window = None if group.roles else group.window
    farthest = None if window is None else window.size - 1 if isinstance(window, Chunks) else window.before
    if farthest is not None and farthest < trained < length:
        raise ValueError(
            f"length must bring distances that the layers have not seen in {trained:,} positions; got {length:,}, "
            f"where queries see {window}. There is nothing to plan."
        )


def _length_of_file(group: LayerGroup, scaling: Scaling | None) -> tuple[int, str]:
    """Return the positions that a model takes as its file is, and what says so.

    Advice to add a scaling often leaves max_position_embeddings as it was.
    """
    value = next((one for one in group.values if one.name == "max_position_embeddings"), None)
    if value is None:
        raise ValueError(
            "trained must be given where the config states no length; got None. Add it: trained=8192, for example."
        )
    declared = validation.integer(value.key, value.value, 2, LONGEST)
    if isinstance(scaling, YaRN | Llama3):
        reached = round(scaling.original * scaling.factor)
        if reached > declared or (reached < declared and isinstance(scaling, YaRN)):
            reached = validation.integer("original · factor", reached, 2, LONGEST)
            return (
                reached,
                f"{type(scaling).__name__}: {scaling.original} positions times its factor {scaling.factor:g}",
            )
    return declared, str(value)


def _planned_group(positions: ModelPositions) -> tuple[LayerGroup, tuple[str, ...]]:
    """Return a group of layers that see the whole context, and a line for each group that is not planned for."""
    part = positions.main_part
    groups = [group for group in positions.groups if group.part == part]
    whole = [group for group in groups if group.rotary_encoding is not None and sees_whole_context(group)]
    if len({group.rotary_encoding for group in whole}) != 1:
        raise ValueError(
            f"config must have one rotation for the layers that see the whole context; got {len(whole)}. "
            f"{'Plan each kind by itself' if whole else 'There is none to plan for'}."
        )
    others = [group for group in positions.groups if group not in whole]
    left = tuple(
        f"{group.part}, {group.attention}: "
        f"{'no rotation' if not group.rotary_encoding else 'it does not see the whole context'}"
        for group in others
    )
    return whole[0], left


def _measured(
    candidate: ScalingCandidate, data: Mapping[str, Any], target: Target, trained: int, typical: int
) -> RankedCandidate:
    """Add figures and config snippets to a candidate; `target.new` is the unchanged rotation."""
    rotations = (target.new, candidate.encoding, candidate.short)
    before, new, short = (pair_rotation(rewrapped(target.group.rotary_encoding, rope)) for rope in rotations)
    if before is None or new is None or short is None:
        raise ValueError("config must have a known rotation; this one is not. posenc has no plan for it.")
    text, checked = snippets(data, replace(target, new=candidate.encoding))
    numbers = figures(before, new, trained, target.length, typical, short)
    return RankedCandidate(candidate, numbers, tuple(text.items()), checked)


def _rank(ranked: RankedCandidate) -> tuple[bool, float, float]:
    """Sort key: changed first, then least disturbance, then least change nearby."""
    return ranked.candidate.name == UNCHANGED, ranked.figures.disturbance, ranked.figures.short
