"""Self-contained pages: the explorer and the lesson; their numbers come from the rest of posenc."""

from posenc.explorer.explorer import Explorer

__all__ = ["Explorer"]
