"""Frequency and wavelength of each pair, and how many pairs finish a revolution within a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core.declared_fields import Whole
from posenc.explorer.views.view import OfEncoding, script, written
from posenc.inspect import spectrum
from posenc.inspect.plain import as_plain


@dataclass(frozen=True)
class SpectrumView(OfEncoding):
    """Spectrum of an encoding, whose pairs are compared with the length `context`."""

    context: Annotated[int, Whole(1, 1 << 30)] = 4096

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        found = spectrum(encoding)
        return {
            **self.described(encoding),
            **{name: as_plain(getattr(found, name)) for name in ("exponents", "frequencies", "wavelengths", "ratio")},
            "context": self.context,
            "rotating": int((found.wavelengths <= self.context).sum()),
            "code": script(f"print(inspect.spectrum({written(encoding)}))"),
        }
