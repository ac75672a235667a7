"""How fast each pair of channels turns: ladders and scalings, a record each."""

from posenc.frequencies.bands import Bands
from posenc.frequencies.chosen import Chosen
from posenc.frequencies.directed import Directed
from posenc.frequencies.drawn import Drawn
from posenc.frequencies.dynamic_ntk import DynamicNTK
from posenc.frequencies.in_turns import InTurns
from posenc.frequencies.joined import Joined
from posenc.frequencies.ladder import Divisors, Geometric
from posenc.frequencies.linear import Linear
from posenc.frequencies.llama3 import Llama3
from posenc.frequencies.long_rope import LongRoPE
from posenc.frequencies.ntk_aware import NTKAware
from posenc.frequencies.ntk_by_parts import NTKByParts
from posenc.frequencies.ntk_fixed import NTKFixed
from posenc.frequencies.ntk_mixed import NTKMixed
from posenc.frequencies.proportional import Proportional
from posenc.frequencies.resonance import Resonance
from posenc.frequencies.scaling import Rescaled, Scaling
from posenc.frequencies.shifted import Shifted
from posenc.frequencies.yarn import YaRN, attention_of

__all__ = [
    "Bands",
    "Chosen",
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
    "Proportional",
    "Rescaled",
    "Resonance",
    "Scaling",
    "Shifted",
    "YaRN",
    "attention_of",
]
