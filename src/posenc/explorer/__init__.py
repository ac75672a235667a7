"""One self-contained page for readers: the report and the tour; its numbers come from `inspect` and `lab`."""

from posenc.explorer.report import Report, Section

__all__ = ["Report", "Section"]
