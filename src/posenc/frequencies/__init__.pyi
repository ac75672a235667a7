"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .bands import Bands as Bands
from .combined import Chosen as Chosen
from .combined import InRevolutions as InRevolutions
from .combined import Joined as Joined
from .directed import Directed as Directed
from .geometric import Divisors as Divisors
from .geometric import Geometric as Geometric
from .projected import Drawn as Drawn
from .projected import Projected as Projected
from .scalings.clipped import Clipped as Clipped
from .scalings.linear import Linear as Linear
from .scalings.llama3 import Llama3 as Llama3
from .scalings.long_rope import LongRoPE as LongRoPE
from .scalings.ntk import DynamicNTK as DynamicNTK
from .scalings.ntk import NTKAware as NTKAware
from .scalings.ntk import NTKFixed as NTKFixed
from .scalings.ntk import NTKMixed as NTKMixed
from .scalings.ntk_by_parts import NTKByParts as NTKByParts
from .scalings.proportional import Proportional as Proportional
from .scalings.resonance import Resonance as Resonance
from .scalings.riflex import RIFLEx as RIFLEx
from .scalings.scaling import Rescaled as Rescaled
from .scalings.scaling import Scaling as Scaling
from .scalings.yarn import YaRN as YaRN
from .scalings.yarn import attention_of as attention_of
from .shifted_exponent import Shifted as Shifted
