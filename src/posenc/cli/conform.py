"""A record of one's own, given to the conformance suite."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from posenc.cli.answer import Answer
from posenc.cli.show import Heading
from posenc.doors import Encoding

#: Values for the fields that a record may have without a default.
FIELDS = {"heads": 4, "length": 64, "model_dim": 16, "head_dim": 16}


def conformance_of(target: Any, dim: int) -> Answer:
    """Run every check that applies; exit code 0 when all hold."""
    from posenc.testing import check_encoding

    report = check_encoding(own_record(target, dim))

    def lines() -> Iterator[str]:
        yield Heading("right" if report.ok else "a check fails")
        counts = f"{len(report.passed)} checks hold, {len(report.failed)} fail, {len(report.left_out)} left out"
        yield f"{report.encoding}: {counts}"
        for one in report.failed:
            yield from ("", f"failed   {one.name}: {one.sentence}", f"         {one.explains}")
        yield from (f"left out {one.name}: {one.sentence}" for one in report.left_out)

    facts = {"right": report.ok, "record": report.encoding, "checks": report.outcomes}
    return Answer(lambda: facts, lines, 0 if report.ok else 1)


def own_record(target: Any, dim: int) -> Encoding:
    """The record: as it is, or the class with plain values for what has no default."""
    if isinstance(target, Encoding):
        return target
    required = [
        field.name for field in dataclasses.fields(target) if field.init and field.default is dataclasses.MISSING
    ]
    values = {"dim": dim, **FIELDS}
    unknown = [name for name in required if name not in values]
    if unknown:
        raise ValueError(
            "target must be a record, or a class whose fields have defaults; "
            f"{target.__name__} asks for {unknown[0]!r}. Make a record in the file and name that."
        )
    try:
        record = target(**{name: values[name] for name in required})
    except Exception as error:
        raise ValueError(
            f"{target.__name__}: {type(error).__name__}: {error}. Make a record in the file and name that."
        ) from None
    return record  # type: ignore[no-any-return]
