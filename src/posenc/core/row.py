"""What the catalog says of one encoding."""

from __future__ import annotations

from dataclasses import dataclass, fields

from posenc.core.doors import Encoding


@dataclass(frozen=True)
class Row:
    """One encoding: its class, samples, source, names abroad and use.

    Args:
        title: The name of a row whose encoding is an encoding of a class that has another row; the class's own name
            otherwise.
    """

    encoding: type[Encoding]
    samples: tuple[Encoding, ...]
    paper: str
    elsewhere: tuple[str, ...]
    use: str
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or self.encoding.__name__

    @property
    def about(self) -> type:
        """The class whose docstring has the formula: the encoding that a title names, else the encoding."""
        within = (type(getattr(self.samples[0], field.name)) for field in fields(self.samples[0]))
        return next((kind for kind in within if kind.__name__ == self.title), self.encoding)
