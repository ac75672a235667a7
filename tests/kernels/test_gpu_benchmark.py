"""The benchmark for GPUs, as far as it goes without one: what it says, what it compares, what it counts."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("gpu")
    for name in ("gpu", "gpu_cases"):
        sys.modules.pop(name, None)


def case(benchmark: Any, found: torch.Tensor, name: str = "posenc, here") -> Any:
    variant = sys.modules["gpu_cases"].Variant
    true = torch.tensor([1.0, -3.0], dtype=torch.float64)
    variants = {
        "floor": variant(lambda: lambda: (), right=False),
        name: variant(lambda: lambda: (found,)),
    }
    return benchmark.Case("a case", "floor", 8, (true,), variants)


def test_without_a_gpu_it_says_so_in_a_line(benchmark: Any, monkeypatch: Any, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for arguments in ([], ["--check"]):
        assert benchmark.main([*arguments, "--out", str(tmp_path / "gpu.json")]) == 0
        assert capsys.readouterr().out.count("\n") == 1
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit):
        benchmark.main(["--rounds", "0"])


def test_what_is_wrong_is_not_timed(benchmark: Any) -> None:
    for wrong in (torch.tensor([1.0, -3.0001]), torch.tensor([1.0, float("nan")])):
        with pytest.raises(SystemExit, match="further from the truth"):
            benchmark.checked(case(benchmark, wrong))
        peer = benchmark.checked(case(benchmark, wrong, "peer"))
        assert set(peer.runs) == {"floor"}
        assert "further from the truth" in peer.left_out["peer"]
    rounded = torch.tensor([1.0, -3.0 * (1 + 2**-8)]).to(torch.bfloat16)
    assert set(benchmark.checked(case(benchmark, rounded)).runs) == {"floor", "posenc, here"}


def test_ratios_are_to_the_floor_of_the_round(benchmark: Any, monkeypatch: Any, capsys: Any) -> None:
    times = {"floor": iter([1.0, 1.0, 2.0, 4.0]), "posenc, here": iter([1.0, 3.0, 2.0, 16.0])}
    found = benchmark.checked(case(benchmark, torch.tensor([1.0, -3.0])))
    names = {id(run): name for name, run in found.runs.items()}
    monkeypatch.setattr(benchmark, "elapsed", lambda run, calls: next(times[names[id(run)]]))
    figures = benchmark.measured(found, 3)
    assert figures["ratios"]["posenc, here"] == {"median": 3.0, "low": 1.0, "high": 4.0}
    assert figures["microseconds"] == {"floor": 2000.0, "posenc, here": 3000.0}
    benchmark.show(figures)
    assert "3.00" in capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed (Linux alone has it)")
def test_every_case_is_right_in_the_interpreter() -> None:
    ran = subprocess.run(
        [sys.executable, str(FOLDER / "gpu.py"), "--check"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.count("are right; left out: none") == 4


def test_what_was_measured_before_it_stopped_is_kept(benchmark: Any, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(benchmark, "cases", lambda *_, **__: iter(["first", "second"]))
    monkeypatch.setattr(benchmark, "checked", lambda case: case)
    monkeypatch.setattr(benchmark, "machine", dict)
    monkeypatch.setattr(benchmark, "show", lambda figures: None)

    def measured(case: str, rounds: int) -> str:
        if case == "second":
            raise KeyboardInterrupt
        return case

    monkeypatch.setattr(benchmark, "measured", measured)
    place = tmp_path / "gpu.json"
    with pytest.raises(KeyboardInterrupt):
        benchmark.main(["--out", str(place)])
    assert json.loads(place.read_text()) == {"benchmark": "gpu", "machine": {}, "cases": ["first"]}
    assert [path.name for path in tmp_path.iterdir()] == ["gpu.json"]
