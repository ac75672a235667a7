"""Find the verb, give it its options, print its answer, and report every error in one line."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import io
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posenc.cli.help_text import HelpPage, wrapped_help
from posenc.cli.terminal import (
    UnjudgedError,
    flushed_stdout,
    noticed_interrupts,
    say,
    wide_enough,
    write_every_character,
)
from posenc.core.text_lines import escaped

USAGE = 2
#: The command was right, and what it names could not be judged.
UNJUDGED = 4
#: Verbs that compare, and their verdict where they cannot, as --json prints it.
COMPARISONS = ("check", "diff", "preflight", "doctor", "trace", "audit")
CANNOT = "cannot be compared"
#: Verbs that keep each result on disk as it comes, so that the same command goes on after a stop.
RESUMED = ("compare", "extend", "claims", "frequencies")
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
#: What an error of the Python API advises.
WAIVED_KEYS = re.compile(r"waive=(?P<keys>\((?:'[^'\\]*', ?)*(?:'[^'\\]*',?)\))")
#: What colours and styles are to a terminal.
STYLE = re.compile(r"\x1b\[[0-9;]*m")

#: Task of each verb. Its file has its name, and is loaded only when it is called.
VERBS = {
    "tour": "see positional encoding at work on real text, in one page",
    "explain": "the worked numbers of an encoding, or what order does to a sentence",
    "manifest": "all positions of a model, layer by layer and role by role, as one file",
    "explore": "turn, click and compare encodings and models in a browser",
    "plot": "draw a picture of an encoding into a file",
    "recover": "find the position that a value came from",
    "list": "every encoding with its door, its claims and its paper",
    "check": "check your own encoding, and name the mistake",
    "plan": "ways to a longer context, with figures and what to write",
    "diff": "what differs between two encodings or models, and what it does to angles",
    "preflight": "everything to check of two files of one model before it is served",
    "doctor": "do two implementations agree about positions; if not, which mistake is it",
    "trace": "which positions a loaded model uses while it runs, and the first wrong one",
    "audit": "does a loaded model compute the same, however its tokens are given",
    "probe": "a tiny checkpoint that shows which positions an engine applies",
    "engines": "what every engine makes of a file, run here side by side",
    "compare": "train small models that differ in their encoding alone, with verdicts",
    "extend": "use a small trained model at a longer context, in every known way",
    "frequencies": "what each rotary pair of a trained model is worth to it",
    "report": "tables, verdicts and a picture of a finished comparison",
    "claims": "what the source documents claim, with verdicts and figures",
    "convert": "convert a checkpoint from one pairing of channels to the other",
}

#: Files of verbs whose name a public module has.
FILES = {"audit": "model_audit", "frequencies": "rotary_roles"}

EXAMPLES = (
    'posenc explain "RoPE(dim=8)" --position 3',
    'posenc explain "Dog bites man" --versus "Man bites dog"',
    "posenc recover --dim 5120 --at 1088=0.488814",
    'posenc plot "Sinusoidal(dim=128)" --picture heatmap --output heatmap.png',
    "posenc check mine.py:MyEncoding",
    "posenc doctor config.json served.json",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; exit code 0, 1 where a check found a mistake or two things differ, 2 for wrong usage.

    docs/command-line.md lists the others.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    verb = words[0] if words and words[0] in VERBS else ""
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        return _complain(verb, "stdout must be open; it is closed. Send it to a file or to /dev/null.", USAGE)
    write_every_character()
    with noticed_interrupts() as interrupts:
        return _answered(verb, words, interrupts)


def _answered(verb: str, words: list[str], interrupts: Sequence[int]) -> int:
    """Run a verb and return its exit code; report any error in one line, after Ctrl-C as an interrupt."""
    try:
        return _run(verb, words)
    except KeyboardInterrupt:
        return _stopped(verb, words)
    except BrokenPipeError:
        # Whoever read the output has gone: what is left goes nowhere, so that closing it says nothing either.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if interrupts:
            return _stopped(verb, words)
        if isinstance(error, ValueError | TypeError | OSError | ImportError):
            return _failed(verb, words, _line(error), UNJUDGED if isinstance(error, UnjudgedError) else USAGE)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        fault = f"{type(error).__name__}: {error} ({where}). This is a fault of posenc: please report it."
        return _failed(verb, words, fault, BUG)


def _run(verb: str, words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        with flushed_stdout():
            print(short_help())
        return 0
    if words[0] in ("--version", "-V"):
        from importlib.metadata import version

        with flushed_stdout():
            print(f"posenc {version('posenc')}")
        return 0
    if not verb:
        near = difflib.get_close_matches(words[0], list(VERBS), n=1)
        advice = f"Did you mean `posenc {near[0]}`?" if near else "`posenc --help` shows them."
        raise ValueError(f"verb must be one of {', '.join(VERBS)}; got {words[0]!r}. {advice}")
    command = _parsed(verb, words[1:])
    if command is None:
        return 0
    answer = command.run()
    with flushed_stdout():
        answer.show(command.json)
    return int(answer.code)


def verb_class(name: str) -> Any:
    """Class of a verb: `CheckVerb` of posenc.cli.check, say."""
    return getattr(importlib.import_module(f"posenc.cli.{FILES.get(name, name)}"), f"{name.title()}Verb")


def short_help() -> str:
    """Verbs, and examples to copy."""
    width = max(map(len, VERBS)) + 2
    verbs = [f"  {name:<{width}}{does}" for name, does in VERBS.items()]
    lines = [
        "posenc: positional encodings, exact and explained.",
        "",
        "usage: posenc VERB ...      posenc VERB --help      posenc --version",
        "",
        *verbs,
        "",
        "examples:",
        *(f"  {example}" for example in EXAMPLES),
    ]
    return wrapped_help("\n".join(lines))


def _parsed(verb: str, words: list[str]) -> Any:
    """Parse the words into a verb object with its options; None if --help was shown."""
    kind = verb_class(verb)
    import tyro

    printed, page = io.StringIO(), HelpPage(sys.stdout)
    try:
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(printed), wide_enough():
            return tyro.cli(kind, args=words, prog=f"posenc {verb}", config=(tyro.conf.FlagCreatePairsOff,))
    except SystemExit as stop:
        if not stop.code:
            with flushed_stdout():
                print(wrapped_help(page.getvalue()), end="")
            return None
    raise ValueError(_unboxed(printed.getvalue(), verb))


def _unboxed(text: str, verb: str) -> str:
    """Reduce tyro's boxed error to one line: its first part, and the option that it suggests, if any."""
    parts: list[list[str]] = [[]]
    for row in STYLE.sub("", text).splitlines():  # tyro draws in colours where stdout is a terminal
        if not row.startswith(("│", "|")):  # the second where stdout is not of Unicode
            continue
        inside = row.strip("│|").strip()
        if inside and not inside.strip("─-"):
            parts.append([])
        elif inside:
            parts[-1].append(inside)
    near = next((part[1].split()[0] for part in parts if len(part) > 1 and part[0].startswith("Perhaps")), "")
    message = _missing(" ".join(parts[0])) or "the options could not be read"
    return f"{message.rstrip('.:')}.{f' Did you mean {near}?' if near else ''} `posenc {verb} --help` shows examples."


def _missing(message: str) -> str:
    """Message with "NAME must be given" for each argument that was left out."""
    left_out = re.sub(r"^Missing from posenc \w+: ", "", message)
    if left_out == message:
        return message
    arguments = (argument.strip(" .") for argument in left_out.split("(required)"))
    return "; ".join(
        re.sub(r"^((?:--[a-z-]+ )?\S+) (.*)$", r"\1 must be given: \2", argument) for argument in arguments if argument
    )


def _line(error: BaseException) -> str:
    """An error as one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'file'}: {error.strerror}. Name another file."
    if isinstance(error, ModuleNotFoundError) and error.name and str(error).startswith("No module named"):
        return f"{error.name} must be installed for this; it is not. Run: pip install {error.name.partition('.')[0]}"
    return WAIVED_KEYS.sub(_as_option, " ".join(str(error).split())) or type(error).__name__


def _as_option(advice: re.Match[str]) -> str:
    """Rewrite advice such as waive=('key', 'other') as command-line options: --waive key other."""
    return " ".join(["--waive", *(shlex.quote(key) for key in ast.literal_eval(advice["keys"]))])


def _stopped(verb: str, words: list[str]) -> int:
    """Say that Ctrl-C ended a verb, and how to go on where it keeps what it has done."""
    more = " What is finished is kept: the same command goes on where it was." if verb in RESUMED else ""
    return _failed(verb, words, f"stopped.{more}", INTERRUPTED)


def _failed(verb: str, words: list[str], message: str, code: int) -> int:
    """Say in a line what went wrong; as JSON too where JSON was asked for, with the verdict of a comparison."""
    if "--json" in words:
        verdict = {"verdict": CANNOT} if verb in COMPARISONS else {}
        with contextlib.suppress(OSError, ValueError), flushed_stdout():
            print(json.dumps({**verdict, "error": message}, indent=2))
    return _complain(verb, message, code)


def _complain(verb: str, message: str, code: int) -> int:
    say(escaped(f"posenc{f' {verb}' if verb else ''}: {message}"))
    return code
