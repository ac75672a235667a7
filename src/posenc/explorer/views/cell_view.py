"""A cell of a table: the formula of the encoding with the numbers of this cell in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Whole
from posenc.core.doors import AdditiveEncoding, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import Rotation
from posenc.explorer.views.table_view import values_of
from posenc.explorer.views.view import OfEncoding
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.plain import as_plain
from posenc.inspect.rotation_matrix import pair_channels
from posenc.learn import worked
from posenc.learn.worked_examples.worked_logits import score_width


@dataclass(frozen=True)
class CellView(OfEncoding):
    """A cell of a table: channel `column` at `position`; for encodings of logits, the pair (`position`, `key`)."""

    position: Any = 0
    column: Annotated[int, Whole(0)] = 0
    key: Any = 0
    head: Annotated[int, Whole(0)] = 0

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        found = worked(encoding, _position("position", self.position), **self._options(encoding))
        return {
            **self.described(encoding),
            "formula": found.formula,
            "steps": as_plain(found.steps),
            "notes": list(found.notes),
            "errata": [entry.line() for entry in found.errata],
            "value": as_plain(self.value(encoding)),
        }

    def value(self, encoding: Encoding) -> float:
        """Value of the cell in the table."""
        position = np.array([_position("position", self.position)])
        if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
            key = np.array([_position("key", self.key)])
            found = values_of(encoding, np.concatenate([position, key]), self.head).values
            return float("nan") if found is None else float(found[0, 1])
        if isinstance(encoding, AdditiveEncoding):
            return float(np.asarray(encoding.embed(position, drawn_params(encoding)))[0, self.column])
        rotation = encoding.rotation(position, drawn_params(encoding), role=encoding.roles[0])
        if not isinstance(rotation, Rotation) or rotation.heads is not None:
            found = values_of(encoding, position, self.head).values
            return float("nan") if found is None else float(found[0, self.column])
        first, second = pair_channels(rotation)
        table = {**dict(zip(first, rotation.cos[0], strict=True)), **dict(zip(second, rotation.sin[0], strict=True))}
        return float(table.get(self.column, float("nan")))

    def _options(self, encoding: Encoding) -> dict[str, Any]:
        if isinstance(encoding, AdditiveEncoding):
            return {"dims": [self.column]}
        if isinstance(encoding, RotaryEncoding):
            rotation = encoding.rotation(
                np.array([_position("position", self.position)]), drawn_params(encoding), role=encoding.roles[0]
            )
            ones = None if isinstance(rotation, Rotation) and rotation.heads is None else np.ones(encoding.head_dim)
            return {"dims": [self.column], "vector": ones}
        options: dict[str, Any] = {"dims": [self.head], "key": _position("key", self.key)}
        if isinstance(encoding, AttentionScore) and not (encoding.gathers or encoding.reads):
            options["vector"] = np.ones(score_width(encoding))
        return options


def _position(name: str, value: Any) -> Any:
    """Check a position: one number, or up to 3 as a tuple; `worked` checks that it fits the encoding's axes."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return _coordinate(name, value)
    if len(value) > 3:
        raise ValueError(f"{name} must be at most 3 numbers; got {len(value)}. Give one for each axis.")
    return tuple(_coordinate(name, one) for one in value)


def _coordinate(name: str, value: Any) -> float:
    number = validation.real(name, value, -(2**53), 2**53)
    return int(number) if number == int(number) else number
