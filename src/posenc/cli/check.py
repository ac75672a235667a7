"""`posenc check`: a student's own code, and the sources' questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from posenc import parse
from posenc.cli.answer import Answer, Verb, of_report
from posenc.diagnosis import CodeReport, check_code
from posenc.diagnosis.code.user_file import load_target
from posenc.doors import Encoding


@dataclass(frozen=True)
class CheckVerb(Verb):
    """Check your own encoding against every published convention, and name the mistake.

    FILE.py is your own file: it is imported, so it runs. NAME is one of these, known by the names of arguments:
      f(length, dim)           a table, or rotation matrices such as the article's get_rotary_matrix
      f(positions, dim)        the same for given positions; f(position, dim) for one of them
      f(position, i, dim)      one number; i counts channels 0 ... dim-1
      f(x), f(x, positions)    vectors in, vectors with their positions added, or rotated, out; f(q, k, positions) too
      a class                  made with its width, then called like f(x): a torch module, or a class with __call__
      a posenc record          a class or object that derives from posenc.Encoding: runs all checks of posenc.testing

    It exits with 0 when all is right, 1 when a mistake is found, 2 when it could not be checked.

    examples:
      posenc check mine.py:MyEncoding
      posenc check mine.py:my_table --base 100
      posenc check mine.py:my_rope --against "RoPE(dim=16, pairing='halves')"
      posenc check mine.py:MyEncoding --layout batch-first --json
      posenc check --questions
      posenc check --question lecture-d8 --answer "0.1411 -0.99 0.2955 0.9553 0.03 0.9996 0.003 1"
      posenc check --question chapter-position --answer 7
      posenc check --question article-rotary --answer mine.py:my_rope
    """

    target: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="FILE.py:NAME")] = None
    """Your own function, class or object."""

    dim: int = 16
    """The width to ask for."""

    base: float = 10_000.0
    """The base that is meant."""

    against: Annotated[str | None, tyro.conf.arg(metavar="RECORD")] = None
    """The one record to compare with, in place of every published convention."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """batch-first or sequence-first, where x has a batch and only one of the two is right for you."""

    questions: bool = False
    """List the sources' questions."""

    question: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The question that --answer answers; without --answer, show it."""

    answer: Annotated[str | None, tyro.conf.arg(metavar="VALUE")] = None
    """A number, several numbers, or FILE.py:NAME where a function is asked for."""

    def run(self) -> Answer:
        if self.questions or self.question is not None:
            from posenc.cli import grade

            return grade.graded_answer(self.question, self.answer, self.target, self.report)
        if self.answer is not None:
            raise ValueError(
                "answer must come with a question; got --answer alone. Add --question NAME; "
                "`posenc check --questions` lists them."
            )
        if self.target is None:
            raise ValueError("target must be FILE.py:NAME; got nothing. Write posenc check mine.py:MyEncoding.")
        target = load_target(self.target)
        if isinstance(target, Encoding) or (isinstance(target, type) and issubclass(target, Encoding)):
            from posenc.cli import conform

            return conform.conformance_of(target, self.dim)
        report = self.report(target)
        return of_report(report, report.right)

    def report(self, target: Any) -> CodeReport:
        """What the options say of code that was loaded."""
        against = None if self.against is None else parse.record(self.against)
        layout: Any = self.layout  # which check_code judges
        return check_code(target, against=against, dim=self.dim, base=self.base, layout=layout)
