"""Remedies by the keys of the user's file, in place of the names of fields that posenc gives what follows from them."""

from __future__ import annotations

from dataclasses import replace

from posenc.diagnosis.mistake import Finding
from posenc.models.keys_that_differ import keys_that_differ
from posenc.models.model_positions import ModelPositions

#: How a remedy begins that names no key.
SET_IT = "Set it to "


def by_keys_of_the_file(
    findings: tuple[Finding, ...], expected: ModelPositions, actual: ModelPositions
) -> tuple[Finding, ...]:
    """Name the keys that differ in remedies that would name a field of posenc alone.

    Args:
        findings: What is wrong.
        expected: What is meant.
        actual: What is there.

    Returns:
        The findings, each with a remedy that can be followed in the file, where its keys say the difference.
    """
    keys = keys_that_differ(expected, actual)
    if not keys:
        return findings
    remedy = f"Set {' and '.join(f'{key} to {one!r}, where it is {other!r}' for key, (one, other) in keys.items())}."
    return tuple(
        replace(finding, fix=remedy) if finding.fix.startswith(SET_IT) and finding.name not in keys else finding
        for finding in findings
    )
