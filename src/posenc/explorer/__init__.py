"""What is shown to a reader: one self-contained page."""

from posenc.explorer.report import Report, Section

__all__ = ["Report", "Section"]
