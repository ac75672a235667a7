"""The benchmarks: what is wrong is not timed, goals are judged as they are written, and the picture shows the committed
figures."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def test_every_benchmark_can_be_run(bench: Any) -> None:
    run = bench("run")
    for name in run.BENCHMARKS:
        assert callable(run.benchmark(name).run), name


def test_what_attention_is_given_is_right(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row of these benchmarks at a small size, compared and not timed."""
    attention, one, windows = (bench(f"attention_cost.attention{part}") for part in ("", "_one_row", "_windows"))
    monkeypatch.setattr(bench("measuring.measure"), "ratios", lambda *_, **__: {"ratios": {}})
    for module, length in ((one, 64), (windows, 65)):
        monkeypatch.setattr(module, "LENGTH" if module is windows else "STEPS", length)
    monkeypatch.setattr(windows, "SLIDING", 7)
    monkeypatch.setattr(windows, "QUERIES", 9)
    cases = [attention.case(name, 40, torch.float32) for name in attention.RECORDS]
    with torch.no_grad():
        cases += [one.case(name, 16, dtype) for dtype in (torch.float32, torch.bfloat16) for name in one.BY_CALL]
        cases += [one.layer(name, 16) for name in one.IN_LAYER]
        cases += [*map(windows.window, windows.WINDOWS), *map(windows.new_queries, windows.NEW)]
    assert not [case["left out"] for case in cases if case["left out"]]


def test_what_is_wrong_or_fails_is_not_timed(bench: Any) -> None:
    measure, one = bench("measuring.measure"), torch.ones(3)

    def absent() -> Any:
        raise ImportError("peer is not installed")

    makers = {
        "copy_": measure.floor(lambda: one.clone().copy_(one)),
        "posenc": lambda: measure.timed(lambda: one + 1.0),
        "a peer that is wrong": lambda: measure.timed(lambda: one + 1.1),
        "a peer without numbers": lambda: measure.timed(lambda: one * float("nan")),
        "a peer that is not there": absent,
    }
    case = measure.compared("a case", "copy_", makers, one + 1.0, 1e-3, rounds=1)
    assert set(case["ratios"]) == {"copy_", "posenc"}
    assert case["ratios"]["copy_"]["median"] == 1.0
    assert case["left out"]["a peer that is not there"] == "ImportError: peer is not installed"
    assert case["left out"]["a peer that is wrong"].startswith("differs from what is right by 0.1")
    assert "inf" in case["left out"]["a peer without numbers"]
    with pytest.raises(SystemExit, match="posenc differs"):
        measure.compared("a case", "copy_", makers, one, 1e-3, rounds=1)


def test_goals_are_judged_by_ratios_of_the_same_round(bench: Any) -> None:
    judge, goal = bench("measuring.judge"), bench("measuring.goals").goals_of("avx2")[0]
    taken = {goal.variant: [1.0, 2.0, 30.0], goal.below: [1.0, 2.0, 10.0]}
    case = {"case": goal.case, "left out": {}, "microseconds": taken}
    row = judge.judged({goal.benchmark: {"cases": [case]}}, "avx2")[0]
    assert (row["measured"], row["verdict"], row["gate"]) == (1.0, "reached", 1.25 * goal.most)
    assert [judge.verdict(goal, goal.most * part) for part in (1.2, 1.3)] == ["within the gate", "not reached"]
    left_out = judge.judged({goal.benchmark: {"cases": [case | {"left out": {goal.variant: "no kernel"}}]}}, "avx2")[0]
    assert (left_out["measured"], left_out["why"]) == (None, f"{goal.variant}: no kernel")
    assert judge.judged({}, "avx2")[0]["why"] == f"{goal.benchmark} was not run"


def test_picture_and_judgement_are_of_the_committed_figures(bench: Any) -> None:
    picture, run = bench("measuring.picture"), bench("run")
    assert picture.kinds() == ["avx2", "avx512bf16"]
    for kind in picture.kinds():
        for name, panels in picture.pictures(picture.read(kind)).items():
            drawn = picture.RESULTS / kind / name
            assert picture.fingerprint(panels) in drawn.read_text(encoding="utf-8"), "benchmarks/measuring/picture.py"
            assert drawn.stat().st_size < 150_000
        kept = json.loads((run.RESULTS / kind / "goals.json").read_text(encoding="utf-8"))["goals"]
        assert not [row for row in kept if row["why"].startswith("no case") or row["why"].endswith("was not measured")]
        judged = bench("measuring.judge").judged(run.results(kind), kind)
        assert kept == json.loads(json.dumps(judged)), "run benchmarks/run.py --judge"


def test_processors_with_bfloat16_have_goals_of_their_own(bench: Any) -> None:
    goals_of = bench("measuring.goals").goals_of
    names = {kind: {goal.what for goal in goals_of(kind)} for kind in ("avx2", "avx512", "avx512bf16")}
    assert names["avx2"] == names["avx512"] != names["avx512bf16"]
    assert {"in place, bthd, bfloat16, halves", "in place, 2×2048×(16+16)×64, bfloat16, adjacent"} <= names[
        "avx512bf16"
    ]
