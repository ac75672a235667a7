"""Grades of a class: every submission checked in a process of its own, in one table and one file."""

from __future__ import annotations

import csv
import io
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.cli.answer import Answer, attributes, columns
from posenc.cli.inputs import in_existing_folder
from posenc.cli.submissions import Submission, submissions
from posenc.cli.working import working
from posenc.core.plain_file import write_whole
from posenc.core.text_lines import escaped
from posenc.diagnosis import CodeReport
from posenc.inspect.plain import as_plain
from posenc.models.difference import EVERYTHING, PARTLY

#: Grades, and the exit code of `posenc check` for one submission; a class has that of the first that occurs in it.
GRADES = {"wrong": 1, "unchecked": 4, "unjudged": 3, "right": 0}
#: A class in the words of every comparison.
VERDICTS = {"wrong": "differ", "unchecked": "cannot be compared", "unjudged": PARTLY, "right": EVERYTHING}
#: Stands in the file for submissions whose turn has not come, so that an interrupted run is not taken for a whole one.
WAITING = "not graded yet"
#: What a spreadsheet would take for a formula where it begins a cell.
FORMULA = ("=", "+", "-", "@")
FIELDS = ("submission", "grade", "mistake", "explanation", "called_as", "largest_difference", "seconds")


@dataclass(frozen=True)
class ClassGrade:
    """Grade of a submission.

    Args:
        submission: Its name.
        grade: One of `GRADES`, or `WAITING`.
        mistake: Names of the mistakes that explain its numbers.
        explanation: The verdict in words, or why it could not be checked.
        called_as: How it was called.
        largest_difference: From the convention that it was compared with.
        seconds: How long it took.
    """

    submission: str
    grade: str = WAITING
    mistake: str = ""
    explanation: str = ""
    called_as: str = ""
    largest_difference: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Course:
    """How a class is graded.

    Args:
        folder: Its submissions.
        name: Function, class or object that each file is asked for; the only one that it defines if "".
        file: The file that is checked in the folder of each submission, or None.
        output: The file for the grades, or None.
        check: Reports on FILE.py:NAME, which runs in the folder that comes second.
    """

    folder: Path
    name: str
    file: str | None
    output: Path | None
    check: Callable[[str, Path], CodeReport]

    def __post_init__(self) -> None:
        if self.file is not None and (Path(self.file).name != self.file or not self.file.endswith(".py")):
            raise ValueError(f"file must be the name of a Python file; got {self.file!r:.100}. Write hw.py, say.")
        if self.output is None:
            return
        if self.output.suffix.lower() != ".csv" or self.output.is_dir():
            raise ValueError(f"output must be a file that ends in .csv; got {str(self.output)!r}. Write grades.csv.")
        in_existing_folder(self.output)


def class_folder(target: str) -> tuple[Path | None, str]:
    """Split a target FOLDER or FOLDER:NAME into folder and name ("" if not given); folder is None for FILE.py:NAME."""
    folder, _, name = target.rpartition(":")
    if target and Path(target).is_dir():
        return Path(target), ""
    if not folder or not Path(folder).is_dir():
        if ".py" not in target:
            raise ValueError(
                f"target must be FILE.py:NAME, or a folder that exists; got {target!r:.100}. Write "
                "mine.py:MyEncoding, for example."
            )
        return None, ""
    if not name.isidentifier():
        raise ValueError(f"target must be FOLDER or FOLDER:NAME; got {target!r:.100}. Write {folder}:my_rope, say.")
    return Path(folder), name


def graded_class(course: Course) -> Answer:
    """Read all submissions, then grade them one by one, so that none can alter another before it is checked."""
    handed_in = submissions(course.folder, course.file, course.output)
    grades = [ClassGrade(one.name) for one in handed_in]
    for index, one in enumerate(handed_in):
        _write(course.output, grades)
        with working(f"{index + 1} of {len(grades)}: {escaped(one.name, 60)}"):
            grades[index] = _graded(one, course)
    _write(course.output, grades)
    changed = _changed(handed_in, course)
    counts = Counter(one.grade for one in grades)
    worst = next(name for name in GRADES if counts[name])
    facts = {
        "verdict": VERDICTS[worst],
        "folder": str(course.folder),
        "counts": {name: counts[name] for name in GRADES},
        "changed": changed,
    }
    return Answer(
        lambda: facts | {"submissions": [as_plain(one) for one in grades]},
        lambda: _lines(grades, counts, changed, course.output),
        GRADES[worst],
    )


def _graded(submission: Submission, course: Course) -> ClassGrade:
    if submission.problem:
        return ClassGrade(submission.name, "unchecked", explanation=submission.problem)
    began = time.monotonic()
    with submission.written() as folder:
        target = f"{folder / submission.file}{course.name and f':{course.name}'}"
        try:
            report = course.check(target, folder)
        except ValueError as error:
            line = " ".join(str(error).split()).replace(f"{folder}/", "")
            return ClassGrade(submission.name, "unchecked", explanation=line, seconds=_since(began))
    grade = next(name for name, code in GRADES.items() if code == report.exit_code)
    said = list(itertools.takewhile(bool, report.lines()))[1 if report.findings or grade != "wrong" else 0 :]
    if report.first_difference is not None and not report.findings:
        said.append(f"({' '.join(report.first_difference.line().split())})")
    if failed := ", ".join(each.name for each in getattr(report, "failed", ())):
        said.append(f"({failed})")
    return ClassGrade(
        submission.name,
        grade,
        ", ".join(each.name for each in report.findings),
        " ".join(said),
        report.form,
        report.largest_difference if report.compared else None,
        _since(began),
    )


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)


def _changed(handed_in: Sequence[Submission], course: Course) -> list[str]:
    """Names of submissions that were added, removed or modified in the folder while the class was graded."""
    try:
        now = submissions(course.folder, course.file, course.output)
    except (ValueError, OSError):
        now = []
    return sorted({one.name for one in (*handed_in, *now) if one not in now or one not in handed_in})


def _lines(
    grades: Sequence[ClassGrade], counts: Counter[str], changed: Sequence[str], output: Path | None
) -> list[str]:
    headers = ("submission", "grade", "why", "seconds")
    rows = [(one.submission, one.grade, one.mistake or one.explanation, _plain(one.seconds)) for one in grades]
    lines = columns(headers, rows, numbers=(3,))
    counted = ", ".join(f"{counts[name]} {name}" for name in reversed(GRADES))
    lines += ["", f"{len(grades)} submission{'s' * (len(grades) != 1)}: {counted}"]
    if changed:
        lines.append(f"changed meanwhile, in the folder: {', '.join(changed)}. The grades are of what was read before.")
    return [*lines, *([f"wrote {output}"] if output else [])]


def _write(output: Path | None, grades: Sequence[ClassGrade]) -> None:
    """Write the grades as CSV for spreadsheets: UTF-8 with a byte order mark, cells escaped against formulas."""
    if output is None:
        return
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(FIELDS)
    for one in grades:
        table.writerow([_cell(value) for value in attributes(one, *FIELDS).values()])
    write_whole(output, text.getvalue().encode("utf-8-sig"))


def _cell(value: Any) -> str:
    text = escaped(_plain(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text


def _plain(value: Any) -> str:
    return "" if value is None else str(value)
