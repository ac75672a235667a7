"""Every public entry answers each hostile call with an error that begins with the argument's name, or rightly."""

from __future__ import annotations

import inspect
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.call_corpus import VALUES, HostileCall, calls_of
from hostile.figures import FIGURES, keep_figures
from hostile.good_calls import PASSED_ON, GoodCall, entries, good_calls

#: What `make test` asks: so many calls of as many entries, drawn with a seed; `make nightly` asks all.
ENTRIES, CALLS, SEED = 16, 300, 20
#: Packages that load within a second, and answer soon.
QUICK = ("posenc", "posenc.positions", "posenc.cameras", "posenc.frequencies", "posenc.inspect", "posenc.torch")
#: Entries that read files or write them, and those that have no call without one; tests of their own open bad files.
OF_FILES = {f"posenc.models.{name}" for name in ("convert_checkpoint", "from_onnx", "plan_conversion", "read_table")}
#: Abstract methods and methods of results; the encodings and results that have them are asked.
OF_OTHERS = {
    "posenc.AdditiveEncoding.embed", "posenc.AttentionBias.bias",
    "posenc.AttentionScore.score", "posenc.AttentionScore.hidden_length", "posenc.AttentionScore.values",
    "posenc.RotaryEncoding.rotation", "posenc.torch.Angles.rotation", "posenc.torch.RotateValues.back",
    "posenc.torch.Score", "posenc.torch.Score.forward", "posenc.torch.Score.values",
    "posenc.models.LayerGroup.rotary_encoding_of", "posenc.models.Fused", "posenc.GridLearned.resized",
}  # fmt: skip


def faults(calls: list[HostileCall]) -> list[str]:
    """A line for each call that is not answered well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [f"{call}: {fault}" for call in calls if (fault := call.fault()) is not None]


def test_a_sample_of_hostile_calls_is_answered_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(SEED)
    asked = dict(drawn.sample(list(entries(QUICK).items()), ENTRIES))
    calls = [call for good in good_calls(asked) for call in calls_of(good)]
    assert faults(drawn.sample(calls, min(CALLS, len(calls)))) == []


@pytest.fixture
def no_group_is_left() -> Iterator[None]:
    """End the process group that attention over shared rows was asked in."""
    yield
    if (distributed := sys.modules.get("torch.distributed")) and distributed.is_initialized():
        distributed.destroy_process_group()


@pytest.mark.nightly
@pytest.mark.usefixtures("no_group_is_left")
def test_every_hostile_call_is_answered_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    lines, asked = [], set()
    for good in good_calls(entries()):
        calls = list(calls_of(good))
        assert len(calls) >= 10 or good.name in ("posenc.diagnosis.explain",), good.name
        found = faults(calls)
        tried[good.area] += len(calls)
        wrong[good.area] += len(found)
        lines += found
        asked.add(good.name)
    answered = {area: [count, count - wrong[area]] for area, count in tried.items()}
    keep_figures({"calls": answered, "all calls": [tried.total(), tried.total() - wrong.total()]})
    assert lines == []
    assert tried.total() >= 5000
    taking = {name for name, entry in entries().items() if set(inspect.signature(entry).parameters) - PASSED_ON}
    assert sorted(taking - asked - OF_FILES - OF_OTHERS) == []


def test_the_page_states_the_figures_of_the_last_run():
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))
    page = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    stated = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+)\s+calls", page)]
    assert stated == [kept["all calls"][0], kept["immense"][0]]
    assert all(tried == well for tried, well in (*kept["calls"].values(), kept["all calls"], kept["immense"]))


def test_each_fault_is_told():
    """Planted: an entry that takes anything, one that names another argument, one that fails in other words."""

    def takes(positions: int) -> int:
        return positions

    def misnames(positions: int) -> None:
        raise ValueError("distance must be a number; got another. Give one.")

    def fails(positions: int) -> None:
        raise AttributeError("no attribute 'shape'")

    def lines(positions: int) -> None:
        raise ValueError("positions must be\na number.")

    found = [
        HostileCall(GoodCall(f"here.{entry.__qualname__}", entry, {}), "positions", "objects").fault()
        for entry in (takes, misnames, fails, lines)
    ]
    assert found == [
        "taken without a word",
        "ValueError: distance must be a number; got another. Give one.",
        "AttributeError: no attribute 'shape'",
        "ValueError: positions must be a number.",
    ]
    assert len(VALUES) >= 30
