"""The way in: help, version, one-line errors, exit codes, pipes and interrupts."""

from __future__ import annotations

import importlib
import os
import shlex
import subprocess
import sys

import pytest

from posenc.cli.main import VERBS, short_help

RUN = [sys.executable, "-m", "posenc"]


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_short_help(posenc, words):
    ran = posenc(*words)
    assert (ran.code, ran.out, ran.err) == (0, short_help() + "\n", "")
    assert all(verb in ran.out for verb in VERBS)


def test_version(posenc):
    from importlib.metadata import version

    assert posenc("--version") == (0, f"posenc {version('posenc')}\n", "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(posenc, verb):
    ran = posenc(verb, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: posenc {verb}")
    assert ran.out.count(f"  posenc {verb} ") >= 2 or f"  posenc {verb}\n" in ran.out


ARTICLE = ["check", "--question", "article-rotary", "--answer", "mine.py:f"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["lst"],
            f"posenc: verb must be one of {', '.join(VERBS)}; got 'lst'. Did you mean `posenc list`?",
        ),
        (
            ["xyzzy"],
            f"posenc: verb must be one of {', '.join(VERBS)}; got 'xyzzy'. `posenc --help` shows them.",
        ),
        (["--jsno"], "got '--jsno'"),
        (
            ["list", "--jsn"],
            "posenc list: Unrecognized options: --jsn. Did you mean --json? `posenc list --help` shows examples.",
        ),
        (["explain"], "posenc explain: ENCODING|SENTENCE|CONFIG|MODEL must be given: An encoding, a sentence, a"),
        (["plan"], "CONFIG|FOLDER must be given: A config.json, or its folder; --length INT must be given: The length"),
        (["explain", "RoPE(dim=8)", "--position", "x"], "posenc explain: Error parsing --position"),
        (["recover", "--dim"], "posenc recover: Missing value for argument '--dim'"),
        (["explain", "RoPE(dim=8)", "--position", "1e300"], "position must be a finite number"),
        (["explain", "RoPE(dim=8)", "--dims", "99"], "dims must be an integer from 0 to 7; got 99"),
        (["explain", "RoPE(dim=8)", "--versus", "x y"], "versus must be left out for an encoding"),
        (["explain", "PerLayer((RoPE(dim=8), None))"], "encoding must be an encoding"),
        (["explain", "Dog bites man"], "versus must be given with a sentence; got 'Dog bites man' alone. Add --versus"),
        (["explain", "RoPE"], "got 'RoPE' alone. Write it with its fields, RoPE(...)."),
        (["explain", " ", "--versus", "x"], "sentence"),
        (["recover", "--dim", "8"], "at must name a dimension and its value; got nothing"),
        (["recover", "--dim", "8", "--at", "3"], "at must be DIMENSION=VALUE; got '3'"),
        (["recover", "--dim", "8", "--at", "-1=0.5"], "posenc recover: "),
        (["recover", "--dim", "8", "--at", "1=x"], "values must be numbers; got 'x'"),
        (["recover", "--dim", "8", "--at", "1=nan"], "values must be numbers"),
        (["recover", "--dim", "8", "--at", "9=0.1"], "values must be an integer from 0 to 7; got 9"),
        (["recover", "--dim", "8", "--at", "1=0.1", "--at", "1=0.2"], "at must name a dimension once; got 1 twice"),
        (["recover", "--dim", "7", "--at", "1=0.1"], "dim must be even"),
        (["recover", "--dim", "8", "--at", "1=0.1", "--exponent", "3i"], "exponent must be one of"),
        (["recover", "--dim", "8", "--at", "1=0.1", "--base", "0"], "base must be a finite number above 0"),
        (["recover", "--dim", "8", "--at", "1=0.1", "--largest", "9999999999"], "largest must be an integer"),
        (["list", "RoP"], "name must be that of an encoding"),
        (["list", "--door", "windows"], "door must be one of adds, biases, rotates, scores; got 'windows'"),
        (["plot", "RoPE(dim=8)", "--picture", "mona", "--output", "x.png"], "picture must be one of heatmap"),
        (
            ["plot", "RoPE(dim=8)", "--picture", "rotation", "--output", "x.gif"],
            "output must end in .png, .svg, .pdf; got 'x.gif'",
        ),
        (
            ["plot", "RoPE(dim=8)", "--picture", "rotation", "--output", "no/such/x.png"],
            "output must be in an existing folder",
        ),
        (["plot", "ALiBi(heads=8)", "--picture", "heatmap", "--output", "x.png"], "encoding must be"),
        (["check"], "target must be FILE.py:NAME; got nothing"),
        (["check", "mine"], "target must be FILE.py:NAME, or a folder that exists; got 'mine'"),
        (["check", "no-such.py:f"], "target must name a file that exists; got 'no-such.py'"),
        (["check", "--answer", "3"], "answer must come with a question"),
        (["check", "--question", "nope"], "question must be one of"),
        (["check", "x.py:f", "--question", "lesson-1"], "target must be left out with a question"),
        ([*ARTICLE, "--dim", "8", "--output", "g.csv"], "output must come with code to check; got a question"),
        ([*ARTICLE, "--file", "x.py"], "file must come with code to check; got a question"),
        ([*ARTICLE, "--seconds", "-1"], "seconds must be a finite number above 0"),
        ([*ARTICLE, "--dim", "8", "--against", "RoPE(dim=8)"], "dim must be left out with against"),
        (
            ["claims", "shift_is_linear", "--workers", "2"],
            "workers must be left out without --run; got 2. Leave it out.",
        ),
        (["claims", "--engine", "ray"], "engine must be left out without --run; got 'ray'. Leave it out."),
    ],
)
def test_errors_are_one_line_and_exit_with_2(posenc, words, says):
    ran = posenc(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
    assert ran.err.startswith("posenc")
    assert says in ran.err
    assert not any(mark in ran.err for mark in ("Traceback", "│", "╭"))


def test_a_fault_of_our_own_is_one_line_too(posenc, monkeypatch):
    module = importlib.import_module("posenc.cli.list")
    monkeypatch.setattr(module.ListVerb, "run", lambda self: {}["lost"])
    ran = posenc("list")
    assert (ran.code, ran.out) == (70, "")
    assert ran.err.startswith("posenc list: KeyError: 'lost' (test_main.py, line ")
    assert ran.err.endswith("please report it.\n")
    assert posenc("list", "--json").data["error"] in ran.err


def test_a_package_that_is_missing_is_named_with_what_installs_it(posenc, monkeypatch):
    def run(self: object) -> None:
        importlib.import_module("no_such_package.part")

    monkeypatch.setattr(importlib.import_module("posenc.cli.list").ListVerb, "run", run)
    message = "no_such_package must be installed for this; it is not. Run: pip install no_such_package"
    assert posenc("list") == (2, "", f"posenc list: {message}\n")


@pytest.mark.parametrize(
    ("part", "package", "title"),
    [
        ("posenc.torch", "torch", "PyTorch"),
        ("posenc.jax", "jax", "JAX"),
        ("posenc.jax.flax", "flax", "flax"),
        ("posenc.plot", "matplotlib", "matplotlib"),
    ],
)
def test_a_front_door_without_its_library_says_what_to_install(part, package, title):
    code = f"import sys; sys.modules['{package}'] = None; import {part}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = f"{part} needs {title}, which is not installed. Run: pip install {package}"
    assert ran.stderr.strip().splitlines()[-1] == f"ModuleNotFoundError: {message}"


def test_an_interrupt_exits_with_130(posenc, monkeypatch):
    def stop(self: object) -> int:
        raise KeyboardInterrupt

    module = importlib.import_module("posenc.cli.list")
    monkeypatch.setattr(module.ListVerb, "run", stop)
    assert posenc("list") == (130, "", "posenc list: stopped.\n")
    assert posenc("list", "--json").data == {"error": "stopped."}
    module = importlib.import_module("posenc.cli.compare")
    monkeypatch.setattr(module.CompareVerb, "run", stop)
    said = "posenc compare: stopped. What is finished is kept: the same command goes on where it was.\n"
    assert posenc("compare", "--tier", "smoke") == (130, "", said)


def test_an_interrupt_while_the_program_loads_exits_with_130():
    code = """
import sys
class Interrupted:
    def find_spec(name, *_):
        if name == "posenc.cli.terminal": raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted)
from posenc.cli import main
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "posenc: stopped.\n")


def test_a_closed_pipe_is_quiet():
    """The reader takes one line and goes, as `posenc list --json | head -1` does."""
    running = subprocess.Popen(
        [*RUN, "explain", "Sinusoidal(dim=4096)", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.readline().startswith(b"Sinusoidal(dim=4096) at position 3")
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    assert (running.wait(60), said) == (141, b"")


FULL = "stdout must take what is printed; No space left on device. Send it somewhere else.\n"
CLOSED = "stdout must be open; it is closed. Send it to a file or to /dev/null.\n"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("explain 'RoPE(dim=8)' >/dev/full", 2, f"posenc explain: {FULL}"),
        ("explain --help >/dev/full", 2, f"posenc explain: {FULL}"),
        ("--help >/dev/full 2>/dev/full", 2, ""),
        ("list RoPE >&-", 2, f"posenc list: {CLOSED}"),
        ("list RoPE >&- 2>&-", 2, ""),
        ("nosuch 2>&-", 2, ""),
        ("list RoPE 2>&- <&- >/dev/null", 0, ""),
        ("explain 'RoPE(dim=8)' | true; exit ${PIPESTATUS[0]}", 141, ""),
    ],
)
def test_streams_that_are_full_closed_or_gone(command, code, message):
    """One line, or nothing where nobody can read it; never a traceback, nor an error among the output."""
    ran = subprocess.run(
        ["bash", "-c", f"{shlex.join(RUN)} {command}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", message)


def test_an_interrupt_that_loading_turns_into_an_error_is_an_interrupt():
    """As NumPy's compiled modules do: "Importing the numpy C-extensions failed"."""
    code = """
import os, signal, sys
class Loading:
    def find_spec(name, *_):
        if name == "posenc.cli.list":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("the C-extensions failed") from None
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Loading)
from posenc.cli import main
sys.exit(main(["list"]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "posenc list: stopped.\n")


def test_nothing_heavy_is_loaded_for_light_work():
    """torch, jax and matplotlib stay out of help, list and explain; tyro and rich out of the short help."""
    code = (
        "import sys; from posenc.cli import main; words = sys.argv[1:]; main(words); "
        "print(*sorted({'torch', 'jax', 'matplotlib', 'tyro', 'rich', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    )
    loaded = {}
    for words in (
        (),
        ("list",),
        ("explain", "RoPE(dim=8)"),
        ("recover", "--dim", "8", "--at", "0=0.1411", "--largest", "99"),
    ):
        ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        loaded[words] = set(ran.stderr.split())
    assert not loaded[()] & {"tyro", "rich", "torch", "jax", "matplotlib"}
    assert all(not names & {"torch", "jax", "matplotlib"} for names in loaded.values())


@pytest.mark.parametrize("columns", ["60", "200"])
def test_plain_and_within_the_width_when_not_a_terminal(columns):
    env = {**os.environ, "COLUMNS": columns, "NO_COLOR": "1"}
    ran = subprocess.run([*RUN, "list"], capture_output=True, text=True, check=True, env=env)
    assert "\x1b" not in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= int(columns)


@pytest.mark.parametrize("words", [("explain", "--help"), ("explain", "--no-such-option")])
def test_help_and_errors_end_in_a_terminal_of_one_column(words):
    env = {**os.environ, "COLUMNS": "1"}
    limited = ["sh", "-c", 'ulimit -t 20; exec "$@"', "sh"]  # seconds that a box that never ends would use up
    ran = subprocess.run([*limited, *RUN, *words], capture_output=True, text=True, check=False, env=env)
    assert (ran.returncode, "examples" in ran.stdout + ran.stderr) == (2 if ran.stderr else 0, True)
