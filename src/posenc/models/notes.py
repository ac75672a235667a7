"""Notes on what a file says and nothing compares: unread positions, keys that a class ignores, what a caller waived."""

from __future__ import annotations

#: Objects of a config that hold the keys of a rotation, which older files state next to them.
ROTATIONS = ("rope_parameters", "rope_scaling")


class NotRead(str):
    """A note on what a model does with positions that posenc does not read, so that nothing compares it."""

    __slots__ = ()


class Idle(str):
    """A note on a key that the class of the model does not read; another program may."""

    __slots__ = ()

    @property
    def stated(self) -> str:
        """The key without its place in the file, and its value."""
        place, _, value = self.partition(" = ")
        return f"{place.rpartition('.')[2]} = {value}"

    @property
    def stated_in_place(self) -> str:
        """The key with its place, and its value; a key next to rope_parameters has the place of one inside it."""
        place, _, value = self.partition(" = ")
        *objects, key = place.split(".")
        return ".".join((*(name for name in objects if name not in ROTATIONS), f"{key} = {value}"))


class AsStated(Idle):
    """A note on a key of which two models are compared in no more than whether both state it."""

    __slots__ = ()


class Waived(NotRead):
    """A note on a key that concerns positions, which the caller lets go unread."""

    __slots__ = ()
