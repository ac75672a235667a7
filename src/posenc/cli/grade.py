"""The sources' questions on the command line: listed, asked, graded."""

from __future__ import annotations

from collections.abc import Callable

from posenc.cli.answer import Answer, Heading, attributes, columns, of_report
from posenc.diagnosis import CodeReport
from posenc.learn.course.questions import QUESTIONS, Question, grade, question

#: What stands for an answer of each kind.
PLACEHOLDERS = {"function": "FILE.py:NAME", "number": "VALUE", "position": "VALUE"}


def graded_answer(
    name: str | None, answer: str | None, target: str | None, check: Callable[[str], CodeReport]
) -> Answer:
    """List, ask or grade a question; exit code 1 for a wrong answer alone."""
    if target is not None:
        raise ValueError("target must be left out with a question; got both. Give a function as --answer FILE.py:NAME.")
    if name is None:
        return Answer(lambda: [_facts(one) for one in QUESTIONS], _list)
    asked = question(name)
    if answer is None:
        return Answer(lambda: _facts(asked), lambda: _ask(asked))
    if asked.kind == "function" and ".py" in answer:
        return _of_function(asked, answer, check(answer))
    graded = grade(asked, answer)
    facts = {"question": asked.name, "answer": answer, "right": graded.right, "lines": graded.lines}
    verdict = Heading("right" if graded.right else "wrong")
    lines = [verdict, *(line for line in graded.lines if line != "Right.")]
    return Answer(lambda: facts, lambda: lines, 0 if graded.right else 1)


def _list() -> list[str]:
    rows = [(one.name, one.source, one.asks, one.kind) for one in QUESTIONS]
    hint = 'posenc check --question lecture-d4 --answer "..." grades an answer.'
    return [*columns(("question", "source", "what it asks", "answered by"), rows), "", hint]


def _ask(asked: Question) -> list[str]:
    placeholder = PLACEHOLDERS.get(asked.kind, '"..."')
    command = f"posenc check --question {asked.name} --answer {placeholder}"
    return [Heading(f"{asked.name} ({asked.source})"), asked.asks, command]


def _facts(asked: Question) -> dict[str, str]:
    return attributes(asked, "name", "source", "asks", "kind")


def _of_function(asked: Question, answer: str, report: CodeReport) -> Answer:
    """Grade a function by its `posenc check` report; one that adds instead of rotating is wrong."""
    facts = {"question": asked.name, "answer": answer}
    if report.door == "rotates":
        return of_report(report, report.exit_code, **facts)
    wrong = f"It adds to its vectors ({report.convention}), and a rotation is asked for."
    of_code = of_report(report, 1, **facts)
    return Answer(lambda: of_code.facts() | {"right": False}, lambda: [Heading("wrong"), wrong], code=1)
