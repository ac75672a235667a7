"""The one search, on subjects that are plain encodings: order, pairs, topics, and what it leaves untried."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field

import numpy as np
import pytest

from posenc.diagnosis import Mistake, explain
from posenc.diagnosis.mistake import from_defaults, setting, with_fields
from posenc.diagnosis.rotation.observed_table import ObservedTable
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.encodings.rotates.rope import RoPE


@dataclass(frozen=True)
class Sum:
    """What is right is 10."""

    base: int = 10
    shift: int = 0
    doubled: bool = False

    @property
    def value(self) -> int:
        return (self.base + self.shift) * (2 if self.doubled else 1)


@dataclass
class Value:
    """Evidence that counts its looks, rough ones and exact ones."""

    value: int
    looks: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def fits(self, subject: Sum, exact: bool = True) -> bool:
        self.looks[exact] += 1
        return subject.value % 5 == self.value % 5 if not exact else subject.value == self.value


def read_off(subject: Sum, evidence: Value):
    yield with_fields(subject, base=evidence.value - subject.shift), {"base": evidence.value}


def mistake(name, change, **options):
    return Mistake(name, f"{name} happened.", "Undo it.", change, **options)


LATE = mistake("off by one", setting(shift=1))
EARLY = mistake("off by one", setting(shift=-1))
DOUBLED = mistake("doubled", setting(doubled=True))
BASE = Mistake("base", "The base is {base}.", "Use 10.", read_off)


def names(found):
    return None if found is None else [finding.name for finding in found.findings]


def test_the_first_single_mistake_wins():
    assert names(explain([Sum()], [LATE, BASE], Value(11))) == ["off by one"]
    assert names(explain([Sum()], [BASE, LATE], Value(11))) == ["base"]


def test_two_are_tried_where_one_does_not_explain():
    found = explain([Sum()], [DOUBLED, EARLY, LATE], Value(22))
    assert names(found) == ["doubled", "off by one"]
    assert found.subject == Sum(shift=1, doubled=True)
    assert explain([Sum()], [DOUBLED, EARLY, LATE], Value(22), most=1) is None


def test_numbers_read_off_the_evidence_stand_in_the_sentence():
    (finding,) = explain([Sum()], [DOUBLED, BASE], Value(77)).findings
    assert (finding.sentence, finding.fix) == ("The base is 77.", "Use 10.")
    assert str(finding) == "mistake: base\nThe base is 77.\nWhat to do: Use 10."


def test_mistakes_of_one_topic_are_never_tried_together():
    topic = [mistake("doubled", setting(doubled=True), topic="size"), mistake("late", setting(shift=1), topic="size")]
    assert explain([Sum()], topic, Value(22)) is None


def test_a_mistake_that_explains_anything_is_tried_alone():
    assert names(explain([Sum()], [DOUBLED, mistake("late", setting(shift=1), alone=True)], Value(11))) == ["late"]
    assert explain([Sum()], [DOUBLED, mistake("late", setting(shift=1), alone=True)], Value(22)) is None


def test_starts_come_before_mistakes_and_singles_before_pairs():
    found = explain([Sum(), Sum(base=20)], [DOUBLED, LATE], Value(21))
    assert (found.start, names(found)) == (Sum(base=20), ["off by one"])


def test_no_subject_is_tried_twice_and_few_exactly():
    evidence = Value(1_000_003)
    explain(
        [Sum()], [LATE, LATE, DOUBLED, mistake("nothing", lambda subject, _: [(subject, {}), (None, {})])], evidence
    )
    assert evidence.looks[False] == 3  # late, doubled, both
    assert evidence.looks[True] <= 1


def test_fields_are_changed_from_their_defaults_alone():
    assert from_defaults(Sum(shift=1), shift=2) is None
    assert from_defaults(Sum(shift=1), doubled=True) == Sum(shift=1, doubled=True)


@pytest.mark.parametrize("fields", [{"dim": 7}, {"no_such_field": 1}])
def test_what_a_constructor_refuses_is_none(fields):
    assert with_fields(RoPE(dim=8), **fields) is None


def test_a_candidate_is_compared_with_few_rows_of_a_long_table() -> None:
    """A full table of 131,072 rows took minutes: its sizes were read again for each of thousands of candidates."""
    angles = np.arange(65536)[:, None] * np.array([1.0, 0.01])
    table = ObservedTable(np.cos(angles), np.sin(angles), np.arange(65536), "float32")
    usage = RotationUsage(RoPE(dim=4))
    assert table.fits(usage, exact=False)
    assert table.attention_factor() == pytest.approx(1.0)
    tracemalloc.start()
    assert not table.fits(RotationUsage(RoPE(dim=4, base=500.0)), exact=False)
    assert table.attention_factor() == pytest.approx(1.0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < table.cos.nbytes / 8
