"""Remedies for two files: which keys to set, in place of words about code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.remedies_in_gguf import GGUFChange, gguf_changes
from posenc.models.config.layer_type_rules import ROTATES
from posenc.models.config.window_rules import WINDOW_KEYS
from posenc.models.keys_that_differ import DifferingValue, values_that_differ
from posenc.models.model_positions import ModelPositions
from posenc.models.reordered_rows import LLAMA_CPP, rotated_by

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

#: Parts of the names of keys and tensors of a GGUF file that say the same as keys of a config.
IN_GGUF = {
    frozenset({"rope_theta"}): (".rope.freq_base",), SCALING: (".rope.scaling.", "rope_f"),
    WIDTH: (".rope.dimension_count",),
}  # fmt: skip


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
    changes = gguf_changes(expected, actual) if findings and rotated_by(actual) == LLAMA_CPP else ()
    differing = _of_one_format(expected, actual)
    return tuple(_with_changes(_with_keys(finding, differing), changes) for finding in findings)


def note_of_keys(expected: ModelPositions, actual: ModelPositions) -> tuple[str, ...]:
    """Name the keys of a rotation that differ where no known mistake explains the numbers."""
    scaling = [value for value in _of_one_format(expected, actual) if value.name in SCALING | {"rope_theta"}]
    texts = [_change(value) for value in scaling]
    if rotated_by(actual) == LLAMA_CPP:
        texts = [change.remedy for change in gguf_changes(expected, actual)]
    return (f"the files differ in their keys. {_sentence(texts)}",) if texts else ()


def _of_one_format(expected: ModelPositions, actual: ModelPositions) -> tuple[DifferingValue, ...]:
    """The values that differ; () where one side alone is a GGUF file, whose keys have names of their own."""
    alike = (rotated_by(expected) == LLAMA_CPP) is (rotated_by(actual) == LLAMA_CPP)
    return values_that_differ(expected, actual) if alike else ()


def _with_changes(finding: Finding, changes: tuple[GGUFChange, ...]) -> Finding:
    """The finding with the keys and tensors of a GGUF file from which it follows."""
    parts = IN_GGUF.get(VALUES.get(finding.name, frozenset()), ())
    remedies = [change.remedy for change in changes if any(part in change.key for part in parts)]
    return replace(finding, fix=_sentence(remedies)) if remedies else finding


def _with_keys(finding: Finding, differing: Iterable[DifferingValue]) -> Finding:
    names = VALUES.get(finding.name, frozenset())
    causes = [value for value in differing if value.name in names]
    if finding.fix.startswith(SET_IT):
        causes = [value for value in differing if value.first is not None and value.second is not None]
        causes = [] if any(value.key == finding.name for value in causes) else causes
    if not causes:
        return finding
    said = [value for value in causes if _is_said(value, finding.sentence)]
    return replace(finding, fix=_sentence([_change(value) for value in said or causes]))


def _is_said(differing: DifferingValue, sentence: str) -> bool:
    """Whether a sentence states both values, as it does where several keys of one name differ."""
    numbers = {word.strip(".,:") for word in sentence.split()}
    values = [side.value for side in (differing.first, differing.second) if side is not None]
    return all(isinstance(value, int | float) and f"{value:g}" in numbers for value in values)


def _sentence(clauses: Iterable[str]) -> str:
    text = "; ".join(clauses)
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
