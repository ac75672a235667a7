"""Failure of an engine: the step at which it failed, and why."""

from __future__ import annotations


class EngineFailure(Exception):  # noqa: N818 (a row of the table, in the end)
    """An engine that gave no answer.

    Args:
        step: What was being done, "installing mlx 0.32.4" for example.
        reason: Why it ended, in a few words.
        expected: Whether it would fail so again: the engine, or the probe, does not know such a file.

    Example:
        >>> print(EngineFailure("running the prompts", "no answer within 120 s"))
        running the prompts: no answer within 120 s
    """

    def __init__(self, step: str, reason: str, *, expected: bool = False) -> None:
        super().__init__(step, reason)
        self.step, self.reason = step, " ".join(reason.split())[:400]
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.step}: {self.reason}"
