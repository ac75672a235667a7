"""Files of a lab folder that are none: each is refused in one line that names it, without waiting or filling memory."""

import os
import resource
import signal
from pathlib import Path

import pytest

from lab.pretend_trial import EXPERIMENTS, result_of
from posenc.cli import main
from posenc.diagnosis.code.user_file import load_target
from posenc.lab import store, tokens
from posenc.lab.claims.findings import read_findings
from posenc.lab.comparison import planned_runs
from posenc.lab.extension_study.study import Study, read_extension
from posenc.lab.models.model_folder import read_folder
from posenc.lab.tasks.task_table import experiment

STUDY = Study(experiment("RoPE(dim=16)", "needle"), 256)
#: What each reads in a folder, and how.
READERS = {
    "results.jsonl": store.read,
    "results.jsonl of a writer": store.Store,
    "plan.json": planned_runs.read_plan,
    f"needle-seed-0-{STUDY.identity}.json": lambda folder: read_extension(folder, STUDY),
    "findings.json": lambda folder: read_findings(folder / "findings.json"),
    "book.txt": lambda folder: tokens.read_text(folder / "book.txt"),
    "mine.py": lambda folder: load_target(f"{folder / 'mine.py'}:Mine"),
    "config.json": lambda folder: read_folder(str(folder), fine_tune=False),
}
MEMORY = 512 << 20
DEEP = b'{"experiments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.fixture(autouse=True)
def bounded():
    """Little more memory than now, and a quarter of a minute: a file without an end must not take the machine."""
    limits, size = resource.getrlimit(resource.RLIMIT_AS), int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (size * resource.getpagesize() + MEMORY, limits[1]))
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(15)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    resource.setrlimit(resource.RLIMIT_AS, limits)


def _too_long(*_):
    raise TimeoutError("the file was waited for")


def _hole(path: Path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no room


WRONG = {
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "deep JSON": lambda path: path.write_bytes(DEEP + b"\n"),
    "a terabyte": _hole,
    "a long line": lambda path: path.write_bytes(b"[" + b" " * (store.LONGEST_LINE + 9) + b"]\n"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 9 + b"\n"),
    "no UTF-8": lambda path: path.write_bytes(b'{"files": "\xff\xfe"}\n'),
}
#: What the message says of kinds that are the same for all readers.
SAID = {"a link to /dev/zero": "it is a device", "a pipe": "it is a pipe", "a folder": "it is a folder"}
OTHERWISE = {"book.txt": "text must ", "config.json": "model must be decoder, encoder, "}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_such_file_is_refused_in_one_line(tmp_path, name, wrong):
    if (name, wrong) == ("book.txt", "deep JSON"):
        return  # brackets are text as well
    path = tmp_path / name.split()[0]
    WRONG[wrong](path)
    with pytest.raises(ValueError, match=r"\w") as caught:
        READERS[name](tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    assert message.endswith(".")
    assert (path.name in message or str(tmp_path) in message) or name in OTHERWISE or name == "mine.py", message
    if name in OTHERWISE:
        assert message.startswith(OTHERWISE[name])
    elif wrong in SAID:
        assert SAID[wrong] in message
        assert "must be a plain file; " in message


def test_plain_files_of_every_reader_are_still_read(tmp_path):
    """The guard refuses nothing that is one: results whose last line is half-written after a kill, as before."""
    line = store.line_of(result_of(EXPERIMENTS[0])).encode()
    (tmp_path / store.NAME).write_bytes(line + line[:-20])
    assert (len(store.read(tmp_path).results), store.read(tmp_path).torn) == (1, len(line) - 20)
    (tmp_path / store.NAME).write_bytes(line.replace(b"\n", b"\r\n"))
    assert len(store.read(tmp_path).results) == 1


@pytest.mark.parametrize("wrong", SAID)
@pytest.mark.parametrize("words", [("report",), ("explore", "--output", "page.html"), ("compare", "--tier", "smoke")])
def test_verbs_say_so_with_exit_code_2(tmp_path, monkeypatch, capsys, words, wrong):
    monkeypatch.chdir(tmp_path)
    Path("found").mkdir()
    WRONG[wrong](Path("found/results.jsonl"))
    arguments = ["--out", "found"] if words[0] == "compare" else ["found"]
    assert main([words[0], *arguments, *words[1:]]) == 2
    said = capsys.readouterr().err
    assert (
        f"posenc {words[0]}: found/results.jsonl must be a plain file; {SAID[wrong]}. It is no file of results" in said
    )
    assert said.count("\n") == 1
