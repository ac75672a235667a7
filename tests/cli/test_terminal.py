"""In a real terminal each verb writes styles that the terminal understands: no codes spelled out, no markup left."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from models import checkpoints
from posenc.cli.main import VERBS
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.store import Store
from posenc.lab.tasks.task_table import experiment

#: Runs each command of a list, and says on a line of its own how it ended.
PROGRAM = """
import json, sys
from posenc.cli import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    print(f"<<{code}>>", flush=True)
"""
#: What a terminal acts on: styles, colours and moves of the cursor; links.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
#: What shows that such a code, or markup of rich, reached the reader as text.
RESIDUE = re.compile(r"\\x1b|\\033|\\u001b|\x1b|\[[0-9;]+m|\[/?(?:bold|dim|italic|red|green|blue|cyan|not )[^\]]*\]")

#: What shows that an answer is on its way.
SPINNER = re.compile(r"[⠀-⣿]")

#: A command for each verb that answers at once, and the exit code.
QUICK = [
    (0, "list", "RoPE"),
    (0, "list"),
    (0, "claims"),
    (0, "claims", "shift_is_linear"),
    (0, "explain", "RoPE(dim=8)", "--position", "3"),
    (0, "explain", "Sinusoidal(dim=8)", "--position", "0", "1", "2"),
    (0, "explain", "Dog bites man", "--versus", "Man bites dog"),
    (0, "explain", "Dog bites man", "--versus", "Man bites dog", "--all"),
    (0, "explain", "config.json"),
    (0, "manifest", "config.json"),
    (0, "recover", "--dim", "5120", "--at", "1088=0.488814"),
    (0, "plot", "Sinusoidal(dim=16)", "--picture", "heatmap", "--output", "heatmap.png"),
    (1, "check", "mine.py:mine"),
    (0, "plan", "config.json", "--length", "262144"),
    (1, "diff", "RoPE(dim=8)", "RoPE(dim=8, base=500.0)"),
    (1, "doctor", "config.json", "served.json"),
    (1, "preflight", "config.json", "served.json"),
    (0, "convert", "model", "--source", "halves", "--target", "adjacent", "--dry-run"),
    (0, "probe", "config.json", "--to", "probe", "--length", "8"),
    (0, "explore", "ALiBi(heads=4)", "--output", "alibi.html"),
    (0, "report", "comparison"),
    (0, "list", "--help"),
    (2, "list", "--dor", "biases"),
    (2, "lst"),
    (0, "list", "--models"),
    (0, "explain", "llama-3"),
    (0, "explain", "RoPE(dim=4)", "--key", "7", "--query-vector", *"1234", "--key-vector", *"5678"),
    (0, "check", "--questions"),
]
TINY = ["--steps", "6", "--batch", "4", "--width", "16", "--heads", "2", "--layers", "1", "--length", "8"]
TINY += ["--test-lengths", "8", "16", "--workers", "1"]
#: Verbs that train.
TRAINING = [
    (0, "compare", "RoPE(dim=8)", "mine[on].py:Mine", "--task", "fixed-offset", "--seeds", "2", *TINY, "--out", "new"),
    (0, "extend", "--task", "character-lm", "--trained", "16", "--length", "32", "--steps", "2", "--tuning", "1"),
    (0, "frequencies", "--encoding", "RoPE(dim=16)", "--steps", "2", "--seeds", "1", "--out", "roles"),
    (0, "tour", "--steps", "2"),
]


def in_terminal(commands: list[tuple[int | str, ...]], folder: Path, columns: int = 100, **set_too: str) -> str:
    """Run commands in one process; return what a terminal of so many columns is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", **set_too}
    words = [sys.executable, "-c", PROGRAM, json.dumps([command[1:] for command in commands])]
    parts: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, parts))
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment) as process:
        os.close(theirs)
        reader.start()
        assert process.wait(timeout=1200) == 0
    reader.join(timeout=30)
    os.close(ours)
    return b"".join(parts).decode()


def _read(terminal: int, parts: list[bytes]) -> None:
    try:
        while part := os.read(terminal, 65_536):
            parts.append(part)
    except OSError:  # Linux says so that nobody writes any more
        return


def results(folder: Path) -> None:
    """A finished comparison."""
    scores = tuple(LengthScore(length, accuracy=0.5, exact=0.25, loss=1.0) for length in (32, 64, 128))
    with Store(folder) as store:
        for seed in range(2):
            planned = experiment("RoPE(dim=16)", "fixed-offset", seed, steps=20, test_lengths=(32, 64, 128))
            store.add(Result(planned, (Progress(10, 2.0 + seed), Progress(20, 1.0)), scores))


#: Lines that no width breaks: commands and options to copy.
TO_COPY = re.compile(r" +(?:posenc|transformers, keys of config\.json:|vLLM:|llama\.cpp:) |usage:")


def check_terminal(commands: list[tuple[int | str, ...]], folder: Path, columns: int = 80) -> list[str]:
    """Each output, whose code is the one given, and in which nothing is left for the terminal but text that fits it."""
    shown = in_terminal(commands, folder, columns)
    outputs = re.split(r"<<(\d+)>>", shown)
    ended = [(int(code), out) for out, code in zip(outputs[::2], outputs[1::2], strict=False)]
    wrong = [(command, code, out) for command, (code, out) in zip(commands, ended, strict=True) if code != command[0]]
    assert not wrong
    for (_, out), command in zip(ended, commands, strict=True):
        assert not RESIDUE.search(ESCAPES.sub("", out)), (command, out)
        lines = [line.rstrip() for line in re.split(r"[\r\n]+", ESCAPES.sub("", out)) if not TO_COPY.match(line)]
        assert not [line for line in lines if len(line) > columns and " " in line.strip()], command
    return [out for _, out in ended]


#: Verbs that load a model or run engines; test_trace_verb.py and tests/engines run them without a terminal.
LOADING = {"audit", "engines", "trace"}


def test_every_verb_has_a_command() -> None:
    assert {command[1] for command in (*QUICK, *TRAINING)} >= set(VERBS) - LOADING


def prepare(folder: Path) -> None:
    """Write what the commands read."""
    folder.mkdir(exist_ok=True)
    checkpoints.for_examples(folder)
    results(folder / "comparison")
    (folder / "mine.py").write_text("def mine(length, dim):\n    return [[0.0] * dim] * length\n")


def test_verbs_in_a_terminal(tmp_path: Path) -> None:
    prepare(tmp_path)
    outputs = check_terminal(QUICK, tmp_path)
    assert outputs[0].lstrip().startswith("\x1b[1mRoPE\x1b[0m")  # it is a terminal, and headings are bold
    assert re.match(r"\s*\x1b\[1mname +door +claims +paper *\x1b\[0m", outputs[1])
    wrong = outputs[[command[1:] for command in QUICK].index(("list", "--dor", "biases"))]
    assert "Unrecognized options: --dor, biases. Did you mean --door?" in wrong


@pytest.mark.nightly
def test_no_verb_breaks_a_word(tmp_path: Path) -> None:
    """Every word of 80 columns is one of 1,000, where nothing needs breaking."""
    words = []
    for columns in (80, 1000):
        folder = tmp_path / str(columns)
        prepare(folder)
        outputs = check_terminal([command for command in QUICK if command[-1] != "--help"], folder, columns)
        words.append([set(ESCAPES.sub("", out).split()) for out in outputs])
    for command, narrow, wide in zip(QUICK, *words, strict=False):
        assert {word for word in narrow - wide if not SPINNER.match(word)} == set(), command


@pytest.mark.parametrize("columns", [80, 200])
def test_help_is_wrapped_at_the_width_and_plain_where_colours_are_unwanted(tmp_path: Path, columns: int) -> None:
    helps: list[tuple[int | str, ...]] = [(0, verb, "--help") for verb in ("check", "plot", "doctor")] + [(0, "--help")]
    plain = in_terminal(helps, tmp_path, columns, NO_COLOR="1")
    assert "\x1b" not in plain
    lines = [line.rstrip() for line in plain.splitlines()]
    assert max(len(line) for line in lines if not line.startswith(("  posenc ", "usage:"))) <= columns
    assert "FILE.py is your own file: it runs, in a process of its own with limits of time" in plain
    styled = in_terminal(helps, tmp_path, columns)
    assert "\x1b[1m" in styled
    assert [line.rstrip() for line in ESCAPES.sub("", styled).splitlines()] == lines


@pytest.mark.nightly
@pytest.mark.parametrize("command", TRAINING, ids=lambda command: command[1])
def test_training_in_a_terminal(tmp_path: Path, command: tuple[int | str, ...]) -> None:
    (tmp_path / "mine[on].py").write_text("from posenc import RoPE\n\nMine = RoPE(dim=8, base=500.0)\n")
    (shown,) = check_terminal([command], tmp_path)
    assert "mine.py" not in shown  # rich would take the name of a file for markup
