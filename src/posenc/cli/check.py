"""`posenc check`: a student's own code, the code of a class, and the sources' questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from posenc.cli.answer import Answer, Verb, of_report
from posenc.cli.class_grades import Course, class_folder, graded_class
from posenc.cli.inputs import encoding
from posenc.cli.terminal import UnjudgedError, say
from posenc.cli.working import working
from posenc.core.doors import Encoding
from posenc.core.text_lines import escaped
from posenc.diagnosis import CodeReport
from posenc.diagnosis.code.check_code import check_options, check_user_code
from posenc.diagnosis.code.check_file import GIGABYTES, SECONDS, RemoteCode, check_limits, in_child
from posenc.diagnosis.code.child_process import hide_streams
from posenc.diagnosis.code.user_file import file_and_name

#: The module that answers in the child process: user's code, and encodings too.
SERVER = "posenc.testing.encoding_server"
#: An encoding's checks take longer than calling a function.
ENCODING_SECONDS = 300.0


@dataclass(frozen=True)
class CheckVerb(Verb):
    """Check your own encoding against the published conventions, and name the mistake.

    FILE.py is your own file: it runs, in a process of its own with limits of time and memory. NAME may be left out
    where the file defines one thing alone. It is one of these, known by the names of arguments:
      f(length, dim)           a table, or rotation matrices such as the article's get_rotary_matrix
      f(positions, dim)        the same for given positions; f(position, dim) for one of them
      f(position, i, dim)      one number; i counts channels 0 ... dim-1
      f(length), f(positions)  one number for each position: a count, a count divided by the length, one sine
      f(x), f(x, positions)    vectors in, vectors with their positions added, or rotated, out; f(q, k, positions) too
      f(length, dim), f(x, positions)  cosines and sines too, as two results or complex numbers
      f(heads, length)         biases of ALiBi or T5; f(query_length, key_length), f(scores); f(heads) gives slopes
      a class                  made with its width or heads, then called: a torch module, or a class with __call__
      a posenc encoding        a class or object that derives from posenc.Encoding: also passes posenc.testing's checks

    FOLDER holds the submissions of a class, a Python file or a folder for each, which are checked one after the other.

    Exit code: 0 when the numbers are right, 1 when a mistake is found, 2 when the command was wrong, 3 when nothing is
    wrong but there was nothing to compare the numbers with, 4 when the code could not be checked. A class has the first
    of 1, 4, 3 and 0 that one of its submissions has.

    Some examples:
      posenc check mine.py:MyEncoding
      posenc check mine.py:my_table --base 100
      posenc check mine.py:my_rope --against "RoPE(dim=16, pairing='halves')"
      posenc check mine.py:MyEncoding --layout batch-first --json
      posenc check submissions:my_rope --against "RoPE(dim=16)" --seconds 20 --output grades.csv
      posenc check --questions
      posenc check --question lecture-d8 --answer "0.1411 -0.99 0.2955 0.9553 0.03 0.9996 0.003 1"
      posenc check --question chapter-position --answer 7
      posenc check --question article-rotary --answer mine.py:my_rope
    """

    target: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="FILE.py:NAME|FOLDER:NAME")] = None
    """Your own function, class or object; or that of each submission in a folder."""

    dim: int | None = None
    """The width to ask for; 16 if left out. Not with --against, which states it."""

    base: float | None = None
    """The base your code should use; 10000 if left out. Not with --against, which states it."""

    against: Annotated[str | None, tyro.conf.arg(metavar="ENCODING")] = None
    """The one encoding to compare with, in place of the published conventions."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """The order of axes that x must have: batch-first or sequence-first."""

    file: Annotated[str | None, tyro.conf.arg(metavar="FILE.py")] = None
    """The file to check in the folder of each submission; its only Python file if left out."""

    output: Annotated[Path | None, tyro.conf.arg(metavar="FILE.csv")] = None
    """Where the grades of a class go as well, for a spreadsheet."""

    seconds: float | None = None
    """How long your code, or each submission, may take in all; 60, or 300 for an encoding, if left out."""

    memory: float | None = None
    """GiB of memory that your code may use; 4 if left out."""

    questions: bool = False
    """List the sources' questions."""

    question: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The question that --answer answers; without --answer, show it."""

    answer: Annotated[str | None, tyro.conf.arg(metavar="VALUE")] = None
    """A number, several numbers, or FILE.py:NAME if the question asks for a function."""

    def run(self) -> Answer:
        if self.questions or self.question is not None:
            return self._graded()
        if self.answer is not None:
            raise ValueError(
                "answer must come with a question; got --answer alone. Add --question NAME; "
                "`posenc check --questions` lists them."
            )
        if self.target is None:
            raise ValueError("target must be FILE.py:NAME; got nothing. Write posenc check mine.py:MyEncoding.")
        self._check_options()
        course = self._course(self.target)
        hide_streams()  # a file could write a verdict of its own where the report goes
        if course is not None:
            return graded_class(course)
        with working("calling the code, and searching for its mistake"):
            report = self.report(self.target)
        return of_report(report, report.exit_code, verdict=report.verdict)

    def _check_options(self) -> None:
        """Refuse options that no code could be checked under, before any runs."""
        check_options(self._against, self.dim, self.base, self.layout)
        check_limits(self._seconds, self._memory)

    @property
    def _against(self) -> Encoding | None:
        return None if self.against is None else encoding("against", self.against, "Give one of its layers.")

    @property
    def _seconds(self) -> float:
        return SECONDS if self.seconds is None else self.seconds

    @property
    def _memory(self) -> float:
        return GIGABYTES if self.memory is None else self.memory

    def _course(self, target: str) -> Course | None:
        """The class whose folder the target is, or None."""
        folder, name = class_folder(target)
        if folder is not None:
            return Course(folder, name, self.file, self.output, self._checked)
        for option in ("file", "output"):
            if getattr(self, option) is not None:
                raise ValueError(
                    f"{option} must come with the folder of a class; got {target!r:.100}, which is none. Leave "
                    f"--{option} out, or name a folder."
                )
        return None

    def report(self, target: str) -> CodeReport:
        """Report on the code that FILE.py:NAME stands for, under the options."""
        file_and_name(target)
        try:
            return self._checked(target)
        except ValueError as error:
            raise UnjudgedError(str(error)) from None

    def _checked(self, target: str, folder: Path | None = None) -> CodeReport:
        limits = {"seconds": self._seconds, "memory": self._memory}
        show = _show if folder is None else None
        with in_child(target, server=SERVER, show=show, folder=folder, **limits) as code:
            if code.is_encoding:
                code.child.left = ENCODING_SECONDS if self.seconds is None else self.seconds
                return self._encoding_report(code, self._against)
            return check_user_code(code, against=self._against, dim=self.dim, base=self.base, layout=self.layout)

    def _encoding_report(self, code: RemoteCode, against: Encoding | None) -> CodeReport:
        from posenc.testing.check_user_encoding import check_remote_encoding

        if self.layout is not None:
            raise ValueError("layout must be left out for an encoding, which takes positions; got one. Leave it out.")
        return check_remote_encoding(code, against=against, dim=self.dim, base=self.base)

    def _graded(self) -> Answer:
        from posenc.cli import grade

        is_code = self.answer is not None and ".py" in self.answer
        listed = ("question", "answer") if self.questions else ()
        names = ("dim", "base", "against", "layout", "file", "output", "seconds", "memory", *listed)
        stated = [name for name in names if getattr(self, name) is not None]
        refused = [name for name in stated if not is_code or self.questions or name in ("file", "output")]
        if refused:
            raise ValueError(f"{refused[0]} must come with code to check; got a question. Leave --{refused[0]} out.")
        if is_code:
            self._check_options()
            hide_streams()
        return grade.graded_answer(self.question, self.answer, self.target, self.report)


def _show(line: str) -> None:
    """Print a line of the user's code's own output to stderr, marked with "|", apart from the report."""
    say(f"| {escaped(line)}")
