"""Row: the catalog's entry for one encoding."""

from __future__ import annotations

from dataclasses import dataclass, fields

from posenc.core.doors import Encoding


@dataclass(frozen=True)
class Row:
    """Entry of the catalog: an encoding with its samples, source, names elsewhere and use.

    Args:
        encoding: Class of the encoding.
        samples: Encodings of that class in which every field matters; checks, docs and plots use them.
        paper: Source of the formula, as a sentence part.
        elsewhere: Names of the encoding in other libraries.
        use: When to use it, one sentence.
        title: Name of the row, where the class has several; the class's own name if empty.
    """

    encoding: type[Encoding]
    samples: tuple[Encoding, ...]
    paper: str
    elsewhere: tuple[str, ...]
    use: str
    title: str = ""

    @property
    def name(self) -> str:
        """Title of the row, else the name of its class."""
        return self.title or self.encoding.__name__

    @property
    def about(self) -> type:
        """Class whose docstring has the formula: the record inside that the title names, else the row's own class."""
        within = (type(getattr(self.samples[0], field.name)) for field in fields(self.samples[0]))
        return next((kind for kind in within if kind.__name__ == self.title), self.encoding)
