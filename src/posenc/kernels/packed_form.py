"""A pairing and the order of axes in one number, as the compiled kernel takes them where a call is one token.

Passing them one by one takes longer than rotating it.
"""

from __future__ import annotations

from posenc.core.rotation import Pairing

#: Bits 0, 1 and 2: pairs are neighbours, time comes before heads, the cache is paged.
LAYOUTS = {"bhtd": 0, "bthd": 2}
PAGED = 4
#: From bit 3 on 12 bits each: dim, start, pairs, blocks, and the heads of the tables, 0 where all heads share one.
LIMIT = 1 << 12


def packed_form(pairing: Pairing, heads: int | None = None) -> int:
    """The form of these channels, to which the bits of a layout are added.

    -1, which no operator takes, where one needs more.
    """
    dim = pairing.dim
    if dim >= LIMIT or heads == 0:
        return -1
    form = (pairing.layout == "adjacent") | dim << 3 | pairing.start << 15 | pairing.width << 26 | pairing.blocks << 39
    return form if heads is None else form | heads << 51
