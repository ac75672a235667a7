"""Decoding with the forgetting gate: a cache holds the gates of each token, not the input that they are made of.

A gate reads its own token alone (Lin et al. 2025, arXiv:2503.02130, eq. 1), so it is computed once, and no step reads
the inputs of all tokens again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posenc.core import arrays
from posenc.core.doors import AttentionScore
from posenc.encodings.scores.forgetting import ForgettingGate, GivenGates


def keeps_gates(encodings: Sequence[Any]) -> bool:
    """Whether a layer's cache can hold gates: no other encoding reads the inputs of the layer."""
    reading = [each for each in encodings if isinstance(each, AttentionScore) and each.reads]
    return len(reading) == 1 and isinstance(reading[0], ForgettingGate)


def log_gates(modules: Sequence[Any], x: Any) -> Any:
    """The logarithm of the gates of some tokens, (batch, n, heads), in float32 at least."""
    gate = next(each for each in modules if isinstance(each.encoding, ForgettingGate))
    with arrays.library(x).full_precision():
        return gate.encoding.log_gates(x, gate.params)


def of_given_gates(modules: Sequence[Any]) -> list[Any]:
    """Replace the forgetting gate among the encodings by `GivenGates`, which takes the gates that a cache holds."""
    return [GivenGates(each.encoding.heads) if isinstance(each.encoding, ForgettingGate) else each for each in modules]
