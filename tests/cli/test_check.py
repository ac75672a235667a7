"""The student check: right answers are recognised, planted mistakes named, unknown ones said to be unknown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from diagnosis import students
from diagnosis.students_beyond import BEYOND
from posenc import ALiBi, Learned, RoPE, Shaw, Sinusoidal, T5Bias, TransformerXL, XPos
from posenc.diagnosis import check_code
from posenc.diagnosis.code.user_file import load_target
from posenc.inspect.plain import as_plain
from posenc.models.difference import EVERYTHING
from posenc.testing.check_user_encoding import check_remote_encoding
from posenc.testing.encoding_server import UserEncoding


@pytest.fixture
def checked(tmp_path):
    """`check_code` of what a file with this code defines as `mine`, in this process."""

    def run(code, **options):
        path = tmp_path / "mine.py"
        path.write_text(code)
        return check_code(load_target(f"{path}:mine"), **options)

    return run


@pytest.mark.parametrize("name", students.RIGHT)
def test_right_answers_are_recognised(checked, name):
    code, encoding = students.RIGHT[name]
    report = checked(code)
    assert (report.exit_code, report.convention) == (0, encoding), report


@pytest.mark.parametrize("name", students.WRONG)
def test_planted_mistakes_are_named(checked, name):
    code, mistakes = students.WRONG[name]
    report = checked(code)
    assert (report.exit_code, [mistake.name for mistake in report.findings]) == (1, mistakes), report


@pytest.mark.parametrize("name", students.UNKNOWN)
def test_what_no_mistake_explains_is_said_to_be_so(checked, name):
    report = checked(students.UNKNOWN[name])
    assert report.exit_code == 1
    assert "none of the known mistakes explains it" in str(report)
    assert "first differs   position " in str(report)
    assert "expected" in str(report)
    assert "received" in str(report)


@pytest.mark.parametrize("name", BEYOND)
def test_biases_learned_tables_and_plain_tensors_are_named(checked, name):
    code, exit_code, named = BEYOND[name]
    report = checked(code)
    first = report.findings[0].name if report.findings else report.convention
    assert (report.exit_code, first) == (exit_code, named), report


@pytest.mark.parametrize("name", ["vectorised", "module, sequence first", "rotary, adjacent"])
def test_another_process_gives_the_same_report(student, checked, name):
    code, encoding = students.RIGHT[name]
    ran = student(code, "--json")
    assert (ran.code, ran.data) == (0, as_plain(checked(code)) | {"explained": True, "verdict": EVERYTHING}), ran
    assert ran.data["convention"] == encoding


@pytest.mark.nightly
def test_a_learned_table_is_consistent_unless_it_is_meant(student):
    ran = student(BEYOND["learned"][0])
    assert ran.code == 3
    assert ran.out.startswith("consistent; its numbers were compared with nothing\n")
    assert student(BEYOND["learned"][0], "--against", "Learned(dim=16, length=512)").code == 0
    assert student(BEYOND["learned"][0], "--against", "Learned(dim=16, length=100)").code == 1


def test_the_answer_in_words(student):
    ran = student(students.WRONG["frequencies repeated, half rotation"][0])
    assert ran.code == 1
    assert "Frequencies right, pairs mixed" in ran.out
    assert "What to do: " in ran.out
    assert "compared with   RoPE(dim=16, pairing='halves')" in ran.out
    assert student(students.RIGHT["vectorised"][0]).out.startswith("right\nIt is Sinusoidal(dim=16).\n")


def test_the_article_s_start_is_named(student):
    ran = student(students.RIGHT["the article's rotation matrices"][0])
    assert ran.code == 0
    assert "Positions start at 1, as in the article's rotary code" in ran.out


def test_another_base_is_a_mistake_unless_it_is_meant(student):
    code = students.WRONG["base 1000"][0]
    assert "if this one is meant, ask for it: base 1000." in student(code).out
    assert student(code, "--base", "1000").code == 0


def test_an_encoding_that_is_meant(student):
    code = students.WRONG["exponent i/d"][0]
    assert student(code, "--against", "Sinusoidal(dim=8, exponent='i/d')").code == 0
    ran = student(students.RIGHT["vectorised"][0], "--against", "Sinusoidal(dim=8, start=1)")
    assert (ran.code, "Positions start at -1." in ran.out) == (1, True)
    other = student(code, "--against", "ALiBi(heads=8)")
    assert (other.code, other.out.splitlines()[0]) == (1, "mistake: another kind of encoding")


@pytest.mark.nightly
def test_the_layout_that_is_meant(student):
    code = students.RIGHT["module, sequence first"][0]
    assert student(code, "--layout", "sequence-first").code == 0
    ran = student(code, "--layout", "batch-first", "--json")
    assert (ran.code, [one["name"] for one in ran.data["findings"]]) == (1, ["batch and position mixed"])
    assert "layout must be one of" in student(code, "--layout", "upside-down").err


def test_a_table_that_ends_with_an_error_is_told_not_blamed(student):
    ran = student(students.RIGHT["plain class"][0])
    assert ran.code == 0
    assert "It takes positions up to 599, and refuses 999: ValueError." in ran.out


@pytest.mark.nightly
def test_an_encoding_of_one_s_own_meets_the_conformance_suite(student):
    base = "from dataclasses import dataclass\nfrom posenc import NoPE\n"
    right = student(base + "mine = NoPE(dim=4)\n", "--json")
    assert (right.code, right.data["right"], right.data["encoding"]) == (0, True, "NoPE(dim=4)")
    assert {check["status"] for check in right.data["checks"]} == {"passed", "left out"}


def own(code, checks=(("twelve_heads", "passed", "", ""),), **options):
    """The report of an encoding, asked in this process, without its checks."""
    names: dict = {}
    exec(code, names)
    encoding = UserEncoding()
    encoding.target = names["mine"]
    encoding.suite = lambda: [list(check) for check in checks]
    asked = SimpleNamespace(ask=lambda question, **words: getattr(encoding, question)(**words))
    return check_remote_encoding(asked, **options)


REVERSED = """
from posenc import ALiBi
class mine(ALiBi):
    def matrix(self, query, key, params=None, *, dtype=None):
        return super().matrix(query, key, params, dtype=dtype)[::-1]
"""
NEW = """
import numpy as np
from dataclasses import dataclass
from posenc import Sinusoidal
@dataclass(frozen=True)
class mine(Sinusoidal):
    def embed(self, positions, params=None, *, dtype=None):
        return super().embed(positions, params, dtype=dtype) ** 3
"""


def test_heads_reversed_in_an_encoding_are_named():
    for options in ({}, {"against": ALiBi(heads=12)}):
        report = own(REVERSED, **options)
        assert (report.exit_code, report.findings[0].name) == (1, "order of heads")
        assert report.first_difference.head == 0
    assert own("from posenc import ALiBi as mine", against=ALiBi(heads=12)).right


def test_an_encoding_like_no_other_is_consistent_and_compared_with_nothing():
    report = own(NEW)
    assert (report.exit_code, report.right, report.consistent) == (3, False, True)
    assert str(report).startswith("consistent; its numbers were compared with nothing\n")
    assert own(NEW, against=Sinusoidal(dim=8)).exit_code == 1


#: Rotations whose queries, or whose head 0, are RoPE's.
KEYS = """
from posenc import RoPE
class mine(RoPE):
    roles_differ = "whose keys rotate by another base"
    def rotation(self, positions, params=None, *, role="both", dtype=None):
        base = 10_000.0 if role == "query" else 500.0
        return RoPE(self.dim, base).rotation(positions, dtype=dtype)
mine = mine(dim=8)
"""
HEADS = """
import numpy as np
from posenc import RoPE
from posenc.core.rotation import Rotation
class mine(RoPE):
    heads = 2
    def rotation(self, positions, params=None, *, role="both", dtype=None):
        one, two = (RoPE(self.dim, base).rotation(positions, dtype=dtype) for base in (10_000.0, 500.0))
        return Rotation(np.stack([one.cos, two.cos]), np.stack([one.sin, two.sin]), one.pairing, heads=2)
mine = mine(dim=8)
"""


@pytest.mark.parametrize("code", [KEYS, HEADS], ids=["keys", "heads"])
def test_a_rotation_is_right_where_every_head_of_queries_and_keys_is(code):
    report = own(code)
    assert (report.exit_code, report.right, report.consistent) == (3, False, True)
    assert "Heads, or queries and keys, rotate differently, as no published convention has it." in report.notes


def test_what_is_not_meant_is_no_part_of_what_is_right():
    adds = """
import numpy as np
from posenc import TransformerXL
class mine(TransformerXL):
    def values(self, weights, query_positions, key_positions, params=None):
        return TERM * np.ones(1)
mine = mine(dim=4, heads=2, model_dim=8)
"""
    meant = TransformerXL(dim=4, heads=2, model_dim=8)
    report = own(adds.replace("TERM", "1.0"), against=meant)
    assert (report.exit_code, report.findings[0].sentence) == (1, "values gives numbers where nothing is meant.")
    assert own(adds.replace("TERM", "0.0"), against=meant).right


def test_options_make_an_encoding_of_a_class():
    assert own("from posenc import Sinusoidal as mine", dim=8, base=50.0).convention == "Sinusoidal(dim=8, base=50.0)"
    with pytest.raises(ValueError, match=r"^base must be left out for an existing encoding"):
        own("from posenc import NoPE\nmine = NoPE(4)", base=50.0)
    with pytest.raises(ValueError, match=r"^base must be a field of NoPE"):
        own("from posenc import NoPE as mine", base=50.0)
    with pytest.raises(ValueError, match=r"^dim must be left out with against"):
        own("from posenc import NoPE as mine", dim=8, against=Sinusoidal(dim=8))
    other = own("from posenc import NoPE as mine", against=ALiBi(heads=8))
    assert (other.exit_code, [each.name for each in other.findings]) == (1, ["another kind of encoding"])


#: An encoding of each door, and one that differs from it in a field.
PAIRS = [
    (RoPE(dim=8), RoPE(dim=8, base=9_000.0)),
    (XPos(dim=8), XPos(dim=8, pairing="halves")),
    (Shaw(dim=4, clip=2), Shaw(dim=4, clip=3)),
    (T5Bias(heads=2), T5Bias(heads=2, bidirectional=False)),
    (Learned(dim=4, length=8), Learned(dim=4, length=9)),
    (Sinusoidal(dim=8), Sinusoidal(dim=10)),
]


@pytest.mark.parametrize(("encoding", "other"), PAIRS, ids=lambda encoding: type(encoding).__name__)
def test_every_door_is_compared(encoding, other):
    code = f"from posenc import *\nmine = {encoding!r}"
    assert own(code, against=encoding).right
    report = own(code, against=other)
    assert (report.exit_code, report.lines()[0]) != (0, "right")


def test_a_failed_check_is_no_pass():
    code = "from posenc import Sinusoidal\nmine = Sinusoidal(dim=8)"
    report = own(code, checks=[["twelve_heads", "failed", "heads differ", "models have twelve"]])
    assert (report.exit_code, report.lines()[0]) == (1, "a check fails")
    assert "failed   twelve_heads: heads differ" in report.lines()
    assert own(code, checks=[]).lines()[0] == "its checks did not run"
    assert own(code, checks=[]).exit_code == 1
