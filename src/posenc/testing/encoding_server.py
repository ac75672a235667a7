"""Child process that answers about an encoding of a user's own: its checks, and its effects as numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.code.child_server import UserFile, answer_requests

#: Values for the fields that an encoding may have without a default.
FIELDS = {"heads": 8, "length": 64, "model_dim": 16, "head_dim": 16, "dim": 16}
#: Characters of an encoding that are sent.
LONGEST = 2_000


class UserEncoding(UserFile):
    """User's file whose target is an encoding or its class, with the answers about it."""

    encoding: Encoding

    def build(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Make the encoding and describe it: its door, its repr and whether it learns."""
        self.encoding = user_encoding(self.target, fields)
        return {
            "door": self.encoding.door,
            "encoding": repr(self.encoding)[:LONGEST],
            "learned": bool(self.encoding.shapes),
        }

    def field_names(self) -> list[str]:
        """Names of the fields of a class; an existing encoding takes none."""
        is_class = isinstance(self.target, type)
        return [field.name for field in dataclasses.fields(self.target) if field.init] if is_class else []

    def suite(self) -> list[list[str]]:
        """Run the checks."""
        from posenc.testing.suite import check_encoding

        outcomes = check_encoding(self.encoding).outcomes
        return [[each.name, each.status, each.sentence, each.explains] for each in outcomes]

    def positions(self) -> np.ndarray:
        """Positions at which the effects of the encoding are compared."""
        from posenc.testing.effects import positions_within

        return positions_within(self.encoding)

    def effects(self, params: dict[str, Any], positions: np.ndarray) -> dict[str, np.ndarray]:
        """All that the encoding does at some positions."""
        from posenc.testing.effects import effects

        return effects(self.encoding, params, positions)


def main() -> None:
    """Answer the parent process until it closes the pipe."""
    served = UserEncoding()
    answer_requests(
        served.answers()
        | {name: getattr(served, name) for name in ("field_names", "build", "suite", "positions", "effects")}
    )


def user_encoding(target: Any, fields: dict[str, Any]) -> Encoding:
    """Return an encoding as it is, or make it of its class with these fields and plain values for others.

    Raises:
        ValueError: A field is not the class's, or is given for an existing encoding, or the class asks for more.
    """
    if isinstance(target, Encoding):
        if fields:
            raise ValueError(
                f"{next(iter(fields))} must be left out for an existing encoding; got {repr(target)[:100]}. Name its "
                "class, or leave the option out."
            )
        return target
    known = {field.name: field for field in dataclasses.fields(target) if field.init}
    missing = [name for name in fields if name not in known]
    if missing:
        raise ValueError(f"{missing[0]} must be a field of {target.__name__}; it has {', '.join(known)}. Leave it out.")
    required = [name for name, field in known.items() if field.default is dataclasses.MISSING]
    values = FIELDS | fields
    unknown = [name for name in required if name not in values]
    if unknown:
        raise ValueError(
            "target must be an encoding, or a class whose fields have defaults; "
            f"{target.__name__} asks for {unknown[0]!r}. Make an encoding in the file and name that."
        )
    try:
        return target(**{name: values[name] for name in {*required, *fields}})  # type: ignore[no-any-return]
    except Exception as error:
        raise ValueError(
            f"{target.__name__}: {type(error).__name__}: {error}. Make an encoding in the file and name that."
        ) from None
