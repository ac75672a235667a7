"""The sources' questions on the command line: listed, shown, graded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc.cli import show
from posenc.cli.load import load
from posenc.inspect.questions import QUESTIONS, Grade, Question, grade, question

if TYPE_CHECKING:
    from posenc.cli.check import Check


def run(options: Check) -> int:
    """0 for a right answer (and where there is nothing to grade), 1 for a wrong one."""
    if options.target is not None:
        raise ValueError("target must be left out with a question; got both. Give a function as --answer FILE.py:NAME.")
    if options.question is None:
        _list(options.json)
        return 0
    asked = question(options.question)
    if options.answer is None:
        _ask(asked, options.json)
        return 0
    if asked.kind == "function":
        return _function(options, asked, options.answer)
    result = grade(asked, options.answer)
    if options.json:
        print(
            show.as_json({"question": asked.name, "answer": options.answer, "right": result.right, "said": result.said})
        )
    else:
        _tell(asked, result)
    return 1 if result.right is False else 0


def _list(as_json: bool) -> None:
    if as_json:
        print(show.as_json([_facts(asked) for asked in QUESTIONS]))
        return
    show.table(
        ("question", "source", "what it asks", "answered by"), [(q.name, q.source, q.asks, q.kind) for q in QUESTIONS]
    )
    show.say("", 'posenc check --question lecture-d4 --answer "..." grades an answer.')


def _ask(asked: Question, as_json: bool) -> None:
    if as_json:
        print(show.as_json(_facts(asked)))
        return
    show.heading(f"{asked.name} ({asked.source})")
    place = "FILE.py:NAME" if asked.kind == "function" else "VALUE" if asked.kind in ("number", "position") else '"..."'
    show.say(asked.asks, f"posenc check --question {asked.name} --answer {place}")


def _facts(asked: Question) -> dict[str, str]:
    return {"name": asked.name, "source": asked.source, "asks": asked.asks, "kind": asked.kind}


def _tell(asked: Question, result: Grade) -> None:
    heading = {True: "right", False: "wrong", None: asked.asks}[result.right]
    show.heading(heading)
    show.say(*(line for line in result.said if line != "Right."))


def _function(options: Check, asked: Question, answer: str) -> int:
    """A function is graded as `posenc check` would: it must rotate, and rightly."""
    from posenc.cli.check import examine, tell

    if ".py" not in answer:
        grade(asked, answer)
    outcome = examine(options, load(answer))
    rotates = outcome["door"] == "rotates"
    right = bool(outcome["right"]) and rotates
    if options.json:
        print(show.as_json({"question": asked.name, "answer": answer} | outcome | {"right": right}))
    elif rotates:
        tell(outcome)
    else:
        show.heading("wrong")
        show.say(f"It adds to its vectors ({outcome['convention']}), and a rotation is asked for.")
    return 0 if right else 1
