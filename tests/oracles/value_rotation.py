"""Values turn as keys would (Su et al. 2021, eq. 15); the output turns by minus its own position."""

from oracles import learned_rope, rope

ROLES = ("value", "output")


def rotated(encoding, x, position, role, params):
    place = position if role == "value" else -position
    if params:
        return learned_rope.rotated(encoding.encoding, x, place, "both", params)
    return rope.rotated(encoding.encoding, x, place)
