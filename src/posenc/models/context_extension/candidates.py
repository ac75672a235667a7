"""The ways to make a trained rotation reach a longer length, each a record, with what its authors say of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, YaRN


@dataclass(frozen=True)
class Way:
    """One way.

    name: in a word.      record: the rotation that serves the new length; short: the one that serves inputs of the typical length,
    another where the frequencies follow the length.      tune: what to train, as its source says.      source: where that stands.
    """

    name: str
    record: RoPE
    short: RoPE
    tune: str
    source: str


_PLAIN = "none: nothing is changed, and what lies beyond the trained length was never seen"


def ways(record: RoPE, trained: int, length: int, typical: int) -> tuple[Way, ...]:
    """The ways that are known for this rotation, the unchanged one first."""
    stretch = length / trained
    found = [Way("as it is", record, record, _PLAIN, "arithmetic")]
    if stretch <= 1:
        return tuple(found)
    scaling = record.scaling
    if scaling is None:
        found += _of_plain(record, stretch, trained, length, typical)
    elif isinstance(scaling, YaRN):
        new = replace(record, scaling=replace(scaling, factor=scaling.factor * stretch))
        found.append(Way("YaRN, a larger factor", new, new, _YARN, _YARN_SOURCE))
    elif isinstance(scaling, Llama3):
        new = replace(record, scaling=replace(scaling, factor=scaling.factor * stretch))
        found.append(Way("Llama 3, a larger factor", new, new, _LLAMA3, _LLAMA3_SOURCE))
    elif isinstance(scaling, Linear):
        new = replace(record, scaling=Linear(scaling.factor * stretch))
        found.append(Way("linear, a larger factor", new, new, _LINEAR, _LINEAR_SOURCE))
    return tuple(found)


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


def _of_plain(record: RoPE, stretch: float, trained: int, length: int, typical: int) -> list[Way]:
    """Ways for a rotation without a scaling."""
    linear = replace(record, scaling=Linear(stretch))
    yarn = replace(record, scaling=YaRN(stretch, trained))
    llama = replace(record, scaling=Llama3(stretch, trained))
    found = [
        Way("YaRN", yarn, yarn, _YARN, _YARN_SOURCE),
        Way("Llama 3", llama, llama, _LLAMA3, _LLAMA3_SOURCE),
        Way("linear", linear, linear, _LINEAR, _LINEAR_SOURCE),
    ]
    if record.dim > 2:
        larger = replace(record, base=float(f"{record.base * stretch ** (record.dim / (record.dim - 2)):.6g}"))
        dynamic = replace(record, scaling=DynamicNTK(stretch, trained, length))
        served = replace(record, scaling=DynamicNTK(stretch, trained, max(typical, 1)))
        found += [
            Way("larger base", larger, larger, _NTK, _NTK_SOURCE),
            Way("dynamic", dynamic, served, _DYNAMIC, _DYNAMIC_SOURCE),
        ]
    return found
