"""The position finder: positions where a sinusoidal encoding has the values that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.declared_fields import Base, Whole
from posenc.explorer.views.view import View, written
from posenc.inspect.plain import as_plain
from posenc.learn import find_positions

#: Each further value and position costs time; the page answers while the reader types.
MOST_VALUES, LARGEST = 16, 10_000_000
#: Characters of a value.
LONGEST = 40


@dataclass(frozen=True)
class FinderView(View):
    """Values to find positions for, by dimension, as texts that keep their digits: {"1088": "0.488814"}."""

    values: Mapping[str, str]
    dim: Annotated[int, Whole(2, 1 << 16)] = 5120
    base: Base = 10_000.0
    largest: Annotated[int, Whole(1, LARGEST)] = LARGEST

    def facts(self) -> dict[str, Any]:
        values = self._values()
        found = find_positions(values, dim=self.dim, base=self.base, largest=self.largest)
        fits = [
            {
                "encoding": written(fit.encoding),
                **{name: value for name, value in as_plain(fit).items() if name != "encoding"},
            }
            for fit in found.fits
        ]
        call = f"find_positions({values!r}, dim={self.dim}, base={self.base!r}, largest={self.largest})"
        return {
            "fits": fits,
            "lines": found.lines(),
            "code": f"from posenc.learn import find_positions\n\nprint({call})",
        }

    def _values(self) -> dict[int, str]:
        if not isinstance(self.values, Mapping) or not 0 < len(self.values) <= MOST_VALUES:
            raise ValueError(
                f"values must name from 1 to {MOST_VALUES} dimensions with their values; "
                f"got {validation.shown(self.values)}. Write 1088 = 0.488814, say."
            )
        values: dict[int, str] = {}
        for dimension, value in self.values.items():
            if not str(dimension).isdecimal() or len(str(dimension)) > 9 or not isinstance(value, str):
                raise ValueError(
                    f"values must be dimensions with their values; got {validation.shown(dimension)}. "
                    "Write 1088 = 0.488814, say."
                )
            if len(value.strip()) > LONGEST:
                raise ValueError(
                    f"values must have at most {LONGEST} characters each; got {len(value.strip())} for dimension "
                    f"{dimension}. Write fewer digits."
                )
            if int(dimension) in values:
                raise ValueError(f"values must name a dimension once; got {int(dimension)} twice. Leave one out.")
            values[int(dimension)] = value.strip()
        return values
