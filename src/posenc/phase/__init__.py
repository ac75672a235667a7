"""Products of positions and frequencies, their cosines and sines; `frequencies` says which frequencies.

Everything that rotates, waves or decays with position passes through here, so that exactness is settled once: `phase`
gives the angle as a whole number of 2^-170 revolutions, `cosine_sine` the cosines and sines that encodings are made of.
"""

import lazy_loader

#: Every public name is listed once, in `__init__.pyi`, and its module is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
