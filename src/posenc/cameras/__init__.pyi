"""Every public name, listed once: `__init__.py` loads each from here when it is first asked for."""

from .cape import CaPE as CaPE
from .cape import cape_4dof as cape_4dof
from .cape import spherical as spherical
from .gta import GTA as GTA
from .prope import PRoPE as PRoPE
from .prope import projection as projection
from .transforms import CameraTransforms as CameraTransforms
