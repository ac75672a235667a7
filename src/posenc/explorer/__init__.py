"""Self-contained pages: the explorer, the lesson and reports; their numbers come from the rest of posenc."""

from posenc.explorer.explorer import Explorer
from posenc.explorer.report import Report, Section

__all__ = ["Explorer", "Report", "Section"]
