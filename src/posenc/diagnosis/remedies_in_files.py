"""Remedies for two files: which keys to set, in place of words about code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from posenc.diagnosis.mistake import Finding
from posenc.models.config.layer_type_rules import ROTATES
from posenc.models.config.window_rules import WINDOW_KEYS
from posenc.models.keys_that_differ import DifferingValue, values_that_differ
from posenc.models.model_positions import ModelPositions

#: How a remedy begins that names no key of the file.
SET_IT = "Set it to "
#: Characters of a value that are shown; a longer one is to be copied.
LONGEST = 60
#: Values that say how a rotation is scaled.
SCALING = frozenset(
    {
        "rope_type", "factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate", "mscale",
        "mscale_all_dim", "attention_factor", "low_freq_factor", "high_freq_factor", "short_factor", "long_factor",
        "short_mscale", "long_mscale", "alpha",
    }
)  # fmt: skip
#: Values that say which channels of a head rotate.
WIDTH = frozenset(
    {
        "partial_rotary_factor", "rotary_dim", "head_dim", "qk_rope_head_dim", "qk_nope_head_dim", "hidden_size",
        "num_attention_heads",
    }
)  # fmt: skip
#: Values that a finding of two files may follow from.
VALUES = (
    {
        "base": frozenset({"rope_theta"}), "section sizes": frozenset({"mrope_section"}),
        "window": frozenset(WINDOW_KEYS),
    }
    | dict.fromkeys(
        (
            "scaling ignored", "scaling added", "scaling applied twice", "exponent of NTK", "ramp of the paper",
            "attention factor ignored", "attention factor twice", "attention factor", "truncate", "scaling factor",
            "original length", "ramp ends", "lists swapped", "scheme",
        ),
        SCALING,
    )
    | dict.fromkeys(("partial ignored", "rotated width", "head width", "start"), WIDTH)
    | dict.fromkeys(
        ("layer plan", "layer plan shifted", "NoPE layers ignored", "NoPE layers inverted"), frozenset(ROTATES)
    )
)  # fmt: skip


def by_keys_of_the_file(
    findings: tuple[Finding, ...], expected: ModelPositions, actual: ModelPositions
) -> tuple[Finding, ...]:
    """Name the keys that differ in the remedies of findings that follow from them.

    Args:
        findings: What is wrong.
        expected: What is meant.
        actual: What is there.

    Returns:
        The findings, each with a remedy that can be followed in the file, where its keys say the difference.
    """
    differing = values_that_differ(expected, actual)
    return tuple(_with_keys(finding, differing) for finding in findings)


def note_of_keys(expected: ModelPositions, actual: ModelPositions) -> tuple[str, ...]:
    """Name the keys of a rotation that differ where no known mistake explains the numbers."""
    scaling = [value for value in values_that_differ(expected, actual) if value.name in SCALING | {"rope_theta"}]
    return (f"the files differ in their keys. {_sentence(scaling)}",) if scaling else ()


def _with_keys(finding: Finding, differing: Iterable[DifferingValue]) -> Finding:
    names = VALUES.get(finding.name, frozenset())
    causes = [value for value in differing if value.name in names]
    if finding.fix.startswith(SET_IT):
        causes = [value for value in differing if value.first is not None and value.second is not None]
        causes = [] if any(value.key == finding.name for value in causes) else causes
    if not causes:
        return finding
    said = [value for value in causes if _is_said(value, finding.sentence)]
    return replace(finding, fix=_sentence(said or causes))


def _is_said(differing: DifferingValue, sentence: str) -> bool:
    """Whether a sentence states both values, as it does where several keys of one name differ."""
    numbers = {word.strip(".,:") for word in sentence.split()}
    values = [side.value for side in (differing.first, differing.second) if side is not None]
    return all(isinstance(value, int | float) and f"{value:g}" in numbers for value in values)


def _sentence(differing: Iterable[DifferingValue]) -> str:
    text = "; ".join(_change(value) for value in differing)
    return f"{text[0].upper()}{text[1:]}."


def _change(differing: DifferingValue) -> str:
    key, meant, got = differing.key, differing.first, differing.second
    if meant is None:
        return f"leave out {key}, which is {_shown(got and got.value)}"
    if len(repr(meant.value)) > LONGEST:
        return f"copy {key} of the expected file"
    there = f", where it is {_shown(got.value)}" if got is not None and got.source == "file" else ""
    return f"set {key} to {_shown(meant.value)}{there}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
