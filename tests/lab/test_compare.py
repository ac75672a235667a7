"""`posenc compare` and `posenc report` as a researcher uses them."""

import json
from pathlib import Path

import pytest

from posenc.cli import compare, main
from posenc.lab import running, store
from posenc.lab.comparison import comparison_plan, comparison_report, planned_runs
from posenc.lab.engines.events import Event, last_report

TINY = ["--steps", "6", "--batch", "4", "--width", "16", "--heads", "2", "--layers", "1", "--length", "8"]
TINY += ["--test-lengths", "8", "16", "--workers", "1"]
TWO = ["RoPE(dim=8)", "NoPE(dim=16)"]
MINE = "from posenc import RoPE\n\nMine = RoPE(dim=8)\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


@pytest.mark.nightly
def test_from_two_encodings_to_a_verdict_and_on_after_a_stop(here, capsys, monkeypatch):
    words = ["compare", *TWO, "mine.py:Mine", "--task", "fixed-offset", *TINY, "--out", "out"]
    assert main([*words, "--seeds", "1"]) == 0
    ran = capsys.readouterr()
    said = " ".join(ran.out.split())
    assert "No encoding learned anything, not even " in said
    assert "best mean: its 6 steps are too few" in said
    assert (here / "out" / "report.png").read_bytes()[:4] == b"\x89PNG"
    assert (here / "out" / "results.parquet").stat().st_size > 1000
    one = (here / "out" / store.NAME).read_bytes()

    with (here / "out" / store.NAME).open("ab") as file:
        file.write(one[:50])  # as if killed while it wrote
    assert main([*words, "--seeds", "2", "--json"]) == 0
    ran = capsys.readouterr()
    assert "half-written" in ran.err
    assert "3 of 6 runs are finished already." in ran.err
    assert (here / "out" / store.NAME).read_bytes().startswith(one)
    (setting,) = json.loads(ran.out)["settings"]
    assert setting["seeds"] == [0, 1]
    scores = setting["scores"]["accuracy at 8"]
    assert scores["mine.py:Mine"] == scores["RoPE(dim=8)"], (
        "the same encoding gives the same numbers under another name"
    )

    monkeypatch.setattr(running, "TRAIN", "nothing:runs_again")
    assert main(["report", "out", "--tensorboard"]) == 0
    events = list((here / "out" / "tensorboard").glob("*/events*"))
    assert len(events) == 6
    assert all(b"loss/training" in each.read_bytes() for each in events)
    assert "learning rate 0.002; positions range; seeds 0, 1" in " ".join(capsys.readouterr().out.split())

    (here / "mine.py").write_text(MINE + "# changed\n")
    assert main(words) == 2
    assert "FILE.py must be what it was when 'out' was begun; mine.py has changed since" in capsys.readouterr().err


def test_tiers_plan_what_they_say():
    for name, tier in comparison_plan.TIERS.items():
        runs = comparison_plan.plan_comparison((), (), name, changes={})
        assert {each.seed for each in runs} == set(range(tier.seeds))
        assert len({each.identity for each in runs}) == len(runs)
        assert {each.task for each in runs} == set(tier.tasks)
    (first, *_) = comparison_plan.plan_comparison(
        ("RoPE(dim=16)", "Learned(dim=64, length=32)"), ("copy",), "core", changes={}
    )
    assert first.steps == 2000, "a task that is named has its own budget"
    rates = [
        each.encoding_rate
        for each in comparison_plan.plan_comparison(("Learned(dim=64, length=9)",), ("copy",), "smoke", changes={})
    ]
    assert rates == [comparison_plan.ENCODING_RATE]
    assert comparison_plan.plan_comparison(("RoPE(dim=16)",), ("copy",), "smoke", changes={})[0].encoding_rate == 1.0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "--task", "kopy"], "; got 'kopy'. Did you mean copy?"),
        (["compare", "RoPE(dim=16"], "must be one call with balanced brackets"),
        (["compare", "RoPE(dim=64)", "--task", "copy"], "encoding must fit the model"),
        (
            ["compare", "Learned(dim=64, length=32)", "--task", "last"],
            "got Learned(dim=64, length=32): positions must be from 0 to",
        ),
        (["compare", "--text", "mine.py", "--task", "copy"], "task must be one that reads text, character-lm, bpe-lm,"),
        (["compare", "nothing.py:Mine", "--task", "copy"], "nothing.py"),
        (
            ["compare", "--text", "missing.txt"],
            "text must name a readable file of UTF-8 text; got 'missing.txt': no such",
        ),
        (
            ["compare", "--task", "parity", "--model", "encoder"],
            "model must be decoder for the task parity; got 'encoder'",
        ),
        (["compare", *TINY, "--device", "gpu"], "device must be cpu, cuda, cuda:NUMBER or mps; got 'gpu'. Write cuda"),
        (["compare", *TINY, "--device", "cuda:99"], "device must be one that PyTorch finds on this machine, cpu"),
        (["compare", *TINY[:-2], "--device", "mps", "--engine", "ray"], "device must be cpu or cuda with --engine ray"),
        (["compare", "--seeds", "0"], "seeds must be 1 or more; got 0"),
        (["report", "nowhere"], "folder must hold results; 'nowhere' is no folder. Run `posenc compare` first."),
    ],
)
def test_bad_input_is_one_line_before_any_training(here, capsys, words, says):
    assert main(words) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert says in err[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--text", "book.txt"], "text must be an absolute path on a Ray cluster, whose machines begin in other"),
        (["NoPE(dim=64)", "--task", "bpe-lm", "--tokenizer", "pieces"], "tokenizer must be an absolute path"),
        (["mine.py:Mine", "--task", "copy", "--width", "16", "--heads", "2"], "FILE.py must be an absolute path"),
    ],
)
def test_a_relative_path_is_refused_on_a_cluster_of_other_folders(here, capsys, monkeypatch, words, says):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    (here / "book.txt").write_text("A book. " * 1000)
    assert main(["compare", *words, "--engine", "ray"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert f"Write {here}" in line


def test_damaged_files_are_refused(here, capsys):
    (here / "out").mkdir()
    (here / "out" / store.NAME).write_text("{}\n")
    assert main(["report", "out"]) == 2
    assert "line 1 is damaged: it is not a result with its digest. Delete the line" in capsys.readouterr().err
    (here / "out" / store.NAME).write_text("")
    (here / "out" / planned_runs.NAME).write_text("[]")
    assert main(["compare", "NoPE(dim=64)", "--out", "out", "--task", "copy"]) == 2
    assert "plan.json is damaged" in capsys.readouterr().err


def test_failed_runs_are_counted_named_and_written_down(here, capsys, monkeypatch):
    def in_this_process(jobs):
        yield from (Event(index, last_report(job)) for index, job in enumerate(jobs))

    monkeypatch.setattr(compare.run_engine, "engine", lambda *given, **named: in_this_process)
    monkeypatch.setattr(running, "TRAIN", "lab.pretend_trial:fails_with_seed_1")
    monkeypatch.setattr(comparison_report, "write_report", lambda folder, found: ())
    words = ["compare", *TWO, "--task", "copy", *TINY, "--out", "out"]
    assert main([*words, "--seeds", "2"]) == 1
    err = capsys.readouterr().err
    assert f"2 of 4 runs failed. {Path('out/failures.txt')} says why" in err
    assert (here / "out" / planned_runs.FAILURES).read_text().splitlines() == [
        f"{encoding} on copy, seed 1 failed: ValueError: nothing can be learned" for encoding in TWO
    ]
    assert main([*words, "--seeds", "1"]) == 0
    assert not (here / "out" / planned_runs.FAILURES).exists()
    monkeypatch.setattr(running, "TRAIN", "builtins:missing")
    assert main([*words[:-1], "other", "--seeds", "1"]) == 2
    assert "2 of 2 runs failed. " in capsys.readouterr().err
