"""Scalings side by side: how much each slows every pair, to reach a longer context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core.declared_fields import Whole
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.views.view import OfEncoding, script, written
from posenc.inspect.plain import as_plain
from posenc.models.extension_planning.metrics import figures, slowed_by
from posenc.models.extension_planning.planner import scaling_candidates
from posenc.models.pair_rotation import pair_rotation

#: Where figures can still be computed while a slider moves.
LONGEST = 1 << 20


@dataclass(frozen=True)
class ScalingsView(OfEncoding):
    """Scalings of a rotary encoding from the length `trained` to the length `target`."""

    trained: Annotated[int, Whole(2, LONGEST)] = 4096
    target: Annotated[int, Whole(2, LONGEST)] = 32768

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        if not isinstance(encoding, RoPE):
            raise ValueError(
                f"encoding must be a rotation, RoPE(dim=128), to be scaled; got {written(encoding)}. Write RoPE(...)."
            )
        typical = min(4096, self.trained)
        found = scaling_candidates(encoding, self.trained, self.target, typical)
        return {
            **self.described(encoding),
            "wavelengths": as_plain(encoding.frequencies.wavelengths()),
            "ways": [self._way(way.name, way.encoding, way.short, encoding, typical) for way in found],
            "code": script(*(f"{written(way.encoding)}  # {way.name}" for way in found)),
        }

    def _way(self, name: str, new: RoPE, short: RoPE, before: RoPE, typical: int) -> dict[str, Any]:
        rotations = [pair_rotation(encoding) for encoding in (before, new, short)]
        measured = None
        if all(rotation is not None for rotation in rotations):
            one, two, three = rotations
            measured = figures(one, two, self.trained, self.target, typical, three)  # type: ignore[arg-type]
        return {
            "name": name,
            "encoding": written(new),
            "slowed": as_plain(slowed_by(before.frequencies.radians(), new.frequencies.radians())),
            "figures": as_plain(measured),
        }
