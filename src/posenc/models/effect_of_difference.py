"""Effect of a difference between two encodings on angles, values and logits, at three positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.models.pair_rotation import pair_rotation

#: Where the effect is measured: 1k, 8k and 128k.
POSITIONS = (1024, 8192, 131_072)


@dataclass(frozen=True)
class Effect:
    """The largest difference that two encodings make at one position.

    Attributes:
        position: In tokens; of a bias, the distance of the key.
        kind: "angle" of a rotation, "value" of an added vector, "bias" of a logit.
        largest: The difference; of an angle in radians, before whole revolutions are taken away.
        index: The pair of an angle, the channel of a value, the head of a bias.
    """

    position: int
    kind: str
    largest: float
    index: int

    def line(self) -> str:
        """Say the effect in a line.

        Returns:
            A line of text.
        """
        sentences = {
            "angle": "the angle differs by up to {} rad, in pair {}",
            "value": "a value differs by up to {}, in channel {}",
            "bias": "a logit differs by up to {}, in head {}",
        }
        return f"at {self.position:,} " + sentences[self.kind].format(f"{self.largest:.6g}", self.index)


def effects_between(first: Encoding | None, second: Encoding | None) -> tuple[Effect, ...]:
    """Measure the effects of the difference between two encodings of one door; empty where parameters are learned."""
    if first is None or second is None or first.shapes or second.shapes:
        return ()
    if isinstance(first, RotaryEncoding) and isinstance(second, RotaryEncoding):
        return _angles(first, second)
    if isinstance(first, AdditiveEncoding) and isinstance(second, AdditiveEncoding) and first.width == second.width:
        return tuple(
            _value(position, first, second) for position in POSITIONS if {"unlimited"} <= first.claims & second.claims
        )
    if isinstance(first, AttentionBias) and isinstance(second, AttentionBias) and first.heads == second.heads:
        return tuple(_bias(position, first, second) for position in POSITIONS)
    return ()


def _angles(first: RotaryEncoding, second: RotaryEncoding) -> tuple[Effect, ...]:
    """Return the effects of the largest frequency gap over the pairs that both have, in order; empty where equal."""
    one, other = pair_rotation(first), pair_rotation(second)
    if one is None or other is None:
        return ()
    gaps = [
        abs(mine * (1 if a < b else -1) - theirs * (1 if c < d else -1))
        for a, b, mine, c, d, theirs in zip(
            one.first, one.second, one.frequencies, other.first, other.second, other.frequencies, strict=False
        )
    ]
    pair = max(range(len(gaps)), key=gaps.__getitem__)
    if not gaps[pair]:
        return ()
    return tuple(Effect(position, "angle", float(position * gaps[pair]), pair) for position in POSITIONS)


def _value(position: int, first: AdditiveEncoding, second: AdditiveEncoding) -> Effect:
    rows = (np.asarray(encoding.embed([position], dtype=np.float64))[0] for encoding in (first, second))
    gap = np.abs(np.subtract(*rows))
    return Effect(position, "value", float(gap.max()), int(gap.argmax()))


def _bias(position: int, first: AttentionBias, second: AttentionBias) -> Effect:
    one, other = (
        np.asarray(encoding.matrix([position], [0], dtype=np.float64))[:, 0, 0] for encoding in (first, second)
    )
    gap = np.abs(one - other)
    gap[np.isnan(gap)] = math.inf
    return Effect(position, "bias", float(gap.max()), int(gap.argmax()))
