"""Encodings whose positions are cameras: what is done to queries, keys, values and the output of multi-view attention.

No door is here: a camera is a matrix, no coordinate, and its maps of queries and keys are no rotations.
"""

from posenc.cameras.cape import CaPE, cape_4dof, spherical
from posenc.cameras.gta import GTA
from posenc.cameras.prope import PRoPE, projection
from posenc.cameras.transforms import CameraTransforms

__all__ = ["GTA", "CaPE", "CameraTransforms", "PRoPE", "cape_4dof", "projection", "spherical"]
