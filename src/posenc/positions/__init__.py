"""Where each token is: ranges, padding, packing, grids, media, random positions, distances; no encoding is here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from posenc.positions.augmented import augmented
from posenc.positions.bi_level import bi_level
from posenc.positions.coordinates import coordinates
from posenc.positions.coupled import coupled
from posenc.positions.distance import difference, steps
from posenc.positions.graph import laplacian, random_walk
from posenc.positions.grid import centres, grid, grid_from_mask, prefixed
from posenc.positions.random_floats import random_floats
from posenc.positions.randomised import randomised
from posenc.positions.sequences import decoding, documents, from_mask, packed, span
from posenc.positions.shifted import shifted
from posenc.positions.skip_wise import skip_wise

if TYPE_CHECKING:
    from posenc.positions.mixed_media import Film, Image, Segment, Text, Video, media
    from posenc.positions.symmetric_media import rope_tie, vrope

__all__ = [
    "Film",
    "Image",
    "Segment",
    "Text",
    "Video",
    "augmented",
    "bi_level",
    "centres",
    "coordinates",
    "coupled",
    "decoding",
    "difference",
    "documents",
    "from_mask",
    "grid",
    "grid_from_mask",
    "laplacian",
    "media",
    "packed",
    "prefixed",
    "random_floats",
    "random_walk",
    "randomised",
    "rope_tie",
    "shifted",
    "skip_wise",
    "span",
    "steps",
    "vrope",
]

#: Loaded when first asked for, so that `import posenc` stays quick.
_LATE = {
    **dict.fromkeys(("Film", "Image", "Segment", "Text", "Video", "media"), "mixed_media"),
    **dict.fromkeys(("rope_tie", "vrope"), "symmetric_media"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'posenc.positions' has no attribute {name!r}")
    return getattr(import_module(f"posenc.positions.{_LATE[name]}"), name)
