"""Every way to a longer context starts from the same trained model, and changes what it says it changes."""

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from posenc import RoPE
from posenc.cli import main
from posenc.frequencies import DynamicNTK
from posenc.lab.extension_study.run_study import _at_every_length, begun, extend, with_other_encoding
from posenc.lab.extension_study.study import (
    Extended,
    Extension,
    Study,
    plan_extension,
    read_extension,
    write_extension,
)
from posenc.lab.extension_study.study_summary import StudySummary, planned_ways, summaries
from posenc.lab.extension_study.ways import extension_candidates, searched
from posenc.lab.prepare import prepare
from posenc.lab.result import Progress
from posenc.lab.scoring import Examination, by_context, by_depth
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.lookup import Needle
from posenc.lab.tasks.task_table import experiment

SMALL = {"length": 16, "test_lengths": (16,), "steps": 2, "batch": 4, "width": 16, "heads": 2, "layers": 1, "warmup": 1}
NEEDLE = {**SMALL, "options": (("needles", 1),)}


def study(task="character-lm", seed=0, **changes):
    sizes = NEEDLE if task == "needle" else SMALL
    return Study(experiment("RoPE(dim=8)", task, seed, **sizes), 64, **{"tuning": 0, "sequences": 8, **changes})


@pytest.mark.nightly
@pytest.mark.parametrize(("task", "tuning"), [("character-lm", 2), ("needle", 0)])
def test_ways_are_measured_before_and_after_tuning(task, tuning, tmp_path):
    planned = study(task, tuning=tuning, candidates=5)
    *steps, found = extend(planned)
    assert all(isinstance(step, Progress) and step.step <= planned.experiment.steps for step in steps)
    before = {each.way: each for each in found.ways if not each.steps}
    assert len(found.ways) == len(before) * (2 if tuning else 1)
    assert [length for length, _ in before["YaRN"].values] == [16, 32, 48, 64]
    assert "LongRoPE" in before["searched"].encoding
    if not tuning:
        assert {len(values) for _, values in before["YaRN"].values} == {8}  # depths
    else:
        assert before["dynamic"].at(16) == before["as it is"].at(16)  # its frequencies follow the length
        assert before["dynamic"].at(64) != before["as it is"].at(64)
        assert before["linear"].at(16) != before["as it is"].at(16)
        tuned = {each.way: each for each in found.ways if each.steps}
        assert tuned["linear"].at(64) != before["linear"].at(64)
    write_extension(tmp_path, found)
    assert read_extension(tmp_path, planned) == found


def test_the_ways_are_those_of_the_planner_and_more():
    encoding = RoPE(dim=16)
    ways = {way.name: way for way in extension_candidates(encoding, 64, 256, 64)}
    assert set(planned_ways(encoding, 64, 256)) < set(ways)
    before = encoding.frequencies.radians()
    stopped = ways["slow pairs stopped"].long.frequencies.radians()
    rotating = before * 64 >= 2 * np.pi
    assert (stopped[rotating] == before[rotating]).all()
    assert not stopped[~rotating].any()
    found = searched(encoding, [2.0] * 8, 64, 256)
    assert found.long.frequencies.radians() == pytest.approx(before / 2)
    assert found.short.frequencies.radians() == pytest.approx(before)


def test_dynamic_reads_each_length_with_its_own_frequencies():
    """Those of the longest length were once used for every length beyond the trained one."""
    planned = study()
    trial, encoding = begun(planned)
    (dynamic,) = (way for way in extension_candidates(encoding, 16, 64, 16) if way.name == "dynamic")
    assert [dynamic.at(n, 16).scaling.length for n in planned.lengths] == [16, 32, 48, 64]
    measured = dict(_at_every_length(planned, trial, dynamic))
    for length in planned.lengths:
        own = replace(encoding, scaling=DynamicNTK(4.0, 16, length))
        alone = by_context(with_other_encoding(trial, own).examination, (16, 64), (length,), 8)
        assert measured[length] == (dict(alone)[length],)
    assert extension_candidates(encoding, 16, 64, 16)[1].at(32, 16).scaling.factor == 4.0


def test_depths_are_equally_many_and_in_order():
    class Early(torch.nn.Module):
        """Right where the needle stands in the first half."""

        def __init__(self, task):
            super().__init__()
            self.task, self.vocabulary = task, task.vocabulary

        def forward(self, tokens, *_, **__):
            where = (tokens < self.task.values).float().argmax(1)
            value = torch.where(where < tokens.shape[1] // 2, tokens.gather(1, where[:, None])[:, 0], -1)
            logits = torch.zeros((*tokens.shape, self.task.vocabulary))
            logits[value >= 0, -1, value[value >= 0]] = 1.0
            logits[value < 0, -1, self.task.vocabulary - 1] = 1.0
            return logits

    task = Needle(needles=1)
    trial = prepare(dataclasses.replace(study("needle").experiment, test_lengths=(16, 64)))
    found = by_depth(Examination(Early(task), task, 0, trial.place), 64, parts=4, sequences=16)
    assert found == (1.0, 1.0, 0.0, 0.0)


def made_up(losses):
    """Extensions of five seeds with these means of each way at the new length."""
    noise = (0.01, -0.02, 0.0, 0.02, -0.01)
    return [
        Extension(
            study(seed=seed),
            tuple(Extended(way, way, 0, ((16, (1.0,)), (64, (loss + noise[seed] * (1 + index),))))
                  for index, (way, loss) in enumerate(losses.items())),
        )
        for seed in range(5)
    ]  # fmt: skip


def test_a_summary_ranks_and_judges_against_no_change():
    (summary,) = summaries(made_up({"as it is": 2.0, "good": 1.0, "bad": 3.0, "same": 2.001}))
    assert summary.ranked(0) == ("good", "as it is", "same", "bad")
    said = summary.sentence(0)
    assert "As trained, good has the best mean. At 64, better than no change: good; worse: bad; undecided: same" in said
    assert "a verdict needs 5 seeds" in StudySummary(summary.extensions[:3]).sentence(0)
    _, rows, _ = summary.table()
    assert rows[0] == ("good", "1.000 ±0.000", "1.000 ±0.039")


def test_a_study_is_known_by_all_its_fields():
    one = study()
    assert Extension.from_json(Extension(one, ()).to_json()).study.identity == one.identity
    assert len({one.identity, study(seed=1).identity, study(tuning=1).identity, study(sequences=9).identity}) == 4
    assert [each.experiment.seed for each in plan_extension("RoPE(dim=16)", ("needle",), seeds=2)] == [0, 1]
    (planned,) = plan_extension("RoPE(dim=16)", ("character-lm",), seeds=1)
    assert planned.experiment.options == text_options(""), "the text of another Python is another study"
    assert "learning rate 0.002, text the task's own; tuned" in StudySummary((Extension(planned, ()),)).conditions()
    with pytest.raises(ValueError, match="length must be an integer from 2 to"):
        plan_extension("RoPE(dim=16)", ("needle",), length=0)


def test_studies_of_other_versions_are_not_gone_on_with(tmp_path, capsys):
    first, _ = plan_extension("RoPE(dim=16)", ("needle",), seeds=2)
    write_extension(tmp_path, Extension(first, (), versions=(("numpy", "1.0"),)))
    assert main(["extend", "--task", "needle", "--seeds", "2", "--out", str(tmp_path)]) == 2
    assert "out must hold results of one set of versions; " in capsys.readouterr().err


@pytest.mark.nightly
def test_the_command_goes_on_where_it_was(tmp_path, capsys):
    words = ["extend", "--task", "needle", "--steps", "4", "--length", "96", "--tuning", "1", "--out", str(tmp_path)]
    assert main([*words, "--seeds", "1"]) == 0
    (first,) = tmp_path.glob("*.json")
    before = first.stat().st_mtime_ns
    capsys.readouterr()
    assert main([*words, "--seeds", "2", "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["summaries"]
    assert said["seeds"] == [0, 1]
    assert first.stat().st_mtime_ns == before
    assert (tmp_path / "needle.png").read_bytes()[:4] == b"\x89PNG"
    first.write_text("{}")
    assert main(words) == 2
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--length", "64"], "length must exceed the trained length, 64; got 64"),
        (
            ["--encoding", "ALiBi(heads=4)"],
            "experiment must train a language model or the needle with one RoPE without",
        ),
        (["--seeds", "0"], "seeds must be 1 or more; got 0. Use 5 for a verdict."),
        (["--task", "needle", "--trained", "6", "--length", "12"], "length must be at least 6 for 2 needles; got 3"),
        (["--text", "missing.txt"], "text must name a readable file of UTF-8 text; got 'missing.txt'"),
    ],
)
def test_what_cannot_be_extended_is_refused_in_one_line(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["extend", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert not list(tmp_path.iterdir())
