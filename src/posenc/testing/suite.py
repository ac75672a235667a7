"""All checks together, and their outcomes for an encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.testing.checks import (
    array_libraries,
    claims_both_ways,
    corners,
    derived,
    encoding_fields,
    gradients,
    grid_axes,
    learning,
    module_life,
    position_inputs,
    precision,
    published,
    rows_of_a_batch,
    shapes,
    tracing,
)
from posenc.testing.named_check import Check, CheckFailed, Outcome, Report
from posenc.testing.one_coordinate import one_coordinate

THEMES = (
    encoding_fields,
    learning,
    shapes,
    position_inputs,
    rows_of_a_batch,
    claims_both_ways,
    derived,
    published,
    array_libraries,
    precision,
    gradients,
    corners,
    tracing,
    module_life,
    grid_axes,
)
#: Themes that see the encoding as it is; the others see it along a line where positions have several coordinates.
OF_THE_ENCODING = (encoding_fields, published, grid_axes)


def _along(check: Check) -> Check:
    """Make a check run on `one_coordinate(encoding)`, which takes one number per position."""
    return replace(check, run=lambda encoding: check.run(one_coordinate(encoding)))


def _unless_left_out(check: Check) -> Check:
    """Make a check pass without running for an encoding for which `left_out` gives a reason."""
    return replace(check, run=lambda encoding: None if check.left_out(encoding) else check.run(encoding))


#: Every check, in the order of the report: theme by theme, as they stand there.
ALL_CHECKS: tuple[Check, ...] = tuple(
    _unless_left_out(check if theme in OF_THE_ENCODING else _along(check))
    for theme in THEMES
    for check in vars(theme).values()
    if isinstance(check, Check)
)


def checks_for(encoding: Encoding) -> tuple[Check, ...]:
    """List the checks for an encoding's door and claims, slow ones and those of missing libraries too.

    For pytest: `@pytest.mark.parametrize("check", checks_for(MINE), ids=lambda check: check.name)`, and
    `check.run(MINE)` in the test.

    Args:
        encoding: Encoding to check.

    Returns:
        Checks in the order of the report.

    Raises:
        TypeError: `encoding` is no encoding of a door.

    Example:
        >>> from posenc import NoPE
        >>> [check.name for check in checks_for(NoPE(dim=4))][:2]
        ['encoding_is_frozen', 'equal_encodings_are_equal']
    """
    validation.instance("encoding", encoding, Encoding, "an encoding, derived from one of the four doors")
    return tuple(check for check in ALL_CHECKS if check.applies(encoding))


def check_encoding(
    encoding: Encoding,
    *,
    expected_failures: Mapping[str, str] | None = None,
    slow: bool = False,
    reference: Encoding | None = None,
) -> Report:
    """Run every check that applies to an encoding.

    Args:
        encoding: Encoding to check.
        expected_failures: Names of checks that fail, each with the reason; one that passes all the same is a failure.
        slow: Whether to run the checks that generate machine code too, seconds each.
        reference: Encoding whose numbers it must give. Without one the numbers of a class of your own are compared with
            nothing, and `published_numbers` is left out: every other check looks at consistency alone.

    Returns:
        Outcome of each check; a check that fails is in the report, not raised.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: `expected_failures` names no check of this encoding, or gives no reason.

    Example:
        >>> from posenc import NoPE
        >>> report = check_encoding(NoPE(dim=4))
        >>> report.ok, report.failed
        (True, ())
    """
    checks = checks_for(encoding)
    if reference is not None:
        validation.instance("reference", reference, Encoding, "an encoding, or None")
        checks = tuple(published.against(check, reference) for check in checks)
    reasons = {} if expected_failures is None else _reasons(expected_failures, checks)
    validation.truth("slow", slow)
    return Report(repr(encoding), tuple(_outcome(check, encoding, reasons.get(check.name), slow) for check in checks))


def _reasons(expected: Mapping[str, str], checks: tuple[Check, ...]) -> dict[str, str]:
    """Check the reasons for failures that are expected."""
    validation.instance("expected_failures", expected, Mapping, "a mapping from names of checks to reasons")
    unknown = sorted(set(expected) - {check.name for check in checks})
    if unknown:
        raise ValueError(
            f"expected_failures must name checks of this encoding; got {unknown}. See checks_for(encoding)."
        )
    for name, reason in expected.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(
                f"expected_failures must give a reason for {name!r}; got {validation.shown(reason)}. Say why it fails."
            )
    return dict(expected)


def _outcome(check: Check, encoding: Encoding, reason: str | None, slow: bool) -> Outcome:
    """Run a check, unless it is left out."""
    missing = [name for name in check.needs if find_spec(name) is None]
    if missing:
        return Outcome(check.name, "left out", f"{' and '.join(missing)} not installed", check.explains)
    if unasked := check.left_out(encoding):
        return Outcome(check.name, "left out", unasked, check.explains)
    if check.slow and not slow:
        return Outcome(check.name, "left out", "slow: ask for it with slow=True", check.explains)
    sentence = _failure(check, encoding)
    if reason is None:
        return Outcome(check.name, "passed" if sentence is None else "failed", sentence or "", check.explains)
    if sentence is None:
        return Outcome(check.name, "failed", f"expected to fail ({reason}), but it passed", check.explains)
    return Outcome(check.name, "expected", reason, check.explains)


def _failure(check: Check, encoding: Encoding) -> str | None:
    """Sentence of a check that fails; None where it holds."""
    try:
        check.run(encoding)
    except CheckFailed as failure:
        return str(failure)
    except Exception as error:  # whatever an encoding under test does is its failure, not the suite's
        return f"stopped with {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return None
