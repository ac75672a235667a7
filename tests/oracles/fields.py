"""Fields that an oracle reads of an encoding, for pins that need no encoding."""

from types import SimpleNamespace


class Fields(SimpleNamespace):
    """Any fields; equal to itself alone, so that what an oracle remembers of one is never told of another."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__
