"""The ways to make a trained rotation reach a longer length, each an encoding, with what its authors say of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, Scaling, YaRN


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
