"""A short name for what an encoding computes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from posenc.models.canonical import canonical

#: Characters of a fingerprint, four bits each: among a million encodings, two share one by chance once in 37 million
#: tries.
LENGTH = 16


def fingerprint(encoding: Any) -> str:
    """Sixteen hexadecimal digits that are equal exactly where the mathematics is equal, in every release of posenc.

    Equal: other spellings of one function, such as `Partial` of its own full width, a scaling by 1, the slopes of ALiBi
    by two rules that agree for this number of heads. Not part of it: `numerics`, which says how numbers are rounded,
    how learned parameters are first drawn, and which keys a query sees (`LayerGroup.window`). Encodings inside
    encodings are compared one by one. Frequencies count to 40 digits, factors to 12. Different: the pairing, since it
    says which channels of a checkpoint belong together. TypeError for anything else.

    Args:
        encoding: Any encoding of an encoding, `PerLayer`, or what `from_config` returns; None is a layer without
            positions.

    Example:
        >>> from posenc import Linear, RoPE
        >>> fingerprint(RoPE(dim=64)), fingerprint(RoPE(dim=64, scaling=Linear(factor=1.0)))
        ('d8fdfb247d052c29', 'd8fdfb247d052c29')
    """
    text = json.dumps(canonical(encoding), separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
