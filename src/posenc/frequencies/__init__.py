"""Records that say how fast each pair of channels rotates; angles are computed from them in `phase`."""

from posenc.frequencies.bands import Bands
from posenc.frequencies.chosen import Chosen
from posenc.frequencies.directed import Directed
from posenc.frequencies.drawn import Drawn
from posenc.frequencies.geometric import Divisors, Geometric
from posenc.frequencies.joined import Joined
from posenc.frequencies.projected import Projected
from posenc.frequencies.scalings.clipped import Clipped
from posenc.frequencies.scalings.dynamic_ntk import DynamicNTK
from posenc.frequencies.scalings.linear import Linear
from posenc.frequencies.scalings.llama3 import Llama3
from posenc.frequencies.scalings.long_rope import LongRoPE
from posenc.frequencies.scalings.ntk_aware import NTKAware
from posenc.frequencies.scalings.ntk_by_parts import NTKByParts
from posenc.frequencies.scalings.ntk_fixed import NTKFixed
from posenc.frequencies.scalings.ntk_mixed import NTKMixed
from posenc.frequencies.scalings.proportional import Proportional
from posenc.frequencies.scalings.resonance import Resonance
from posenc.frequencies.scalings.scaling import Rescaled, Scaling
from posenc.frequencies.scalings.yarn import YaRN, attention_of
from posenc.frequencies.shifted_exponent import Shifted
from posenc.frequencies.whole_turns import InTurns

__all__ = [
    "Bands",
    "Chosen",
    "Clipped",
    "Directed",
    "Divisors",
    "Drawn",
    "DynamicNTK",
    "Geometric",
    "InTurns",
    "Joined",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "NTKByParts",
    "NTKFixed",
    "NTKMixed",
    "Projected",
    "Proportional",
    "Rescaled",
    "Resonance",
    "Scaling",
    "Shifted",
    "YaRN",
    "attention_of",
]
