"""The parameters of a record's parts."""

from __future__ import annotations

from collections.abc import Mapping

from posenc._array import Array
from posenc.doors import Params


def part_params(params: Params, prefix: str) -> Mapping[str, Array]:
    """The parameters of one part, under their own names."""
    return {name.removeprefix(f"{prefix}."): value for name, value in params.items() if name.startswith(f"{prefix}.")}
