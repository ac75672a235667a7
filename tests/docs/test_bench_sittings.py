"""Benchmarks in sittings: what has figures of a day or later is not run again, and the shortest comes first."""

from __future__ import annotations

import importlib
from datetime import date
from pathlib import Path

import pytest


def test_a_sitting_takes_what_has_no_figures_since_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    run = importlib.import_module("run")
    last = {
        "rotate": {"date": "2026-11-28", "seconds": 90},
        "decode": {"date": "2026-11-27", "seconds": 30},
        "train": {"seconds": 20},
        "cache": {"date": "2026-11-29", "failed": "ended with status 1"},
    }
    monkeypatch.setattr(run, "results", lambda _: last)
    names = ["rotate", "decode", "angles", "train", "cache"]
    assert run.chosen(names, date(2026, 11, 28)) == ["train", "decode", "angles", "cache"]
    assert run.chosen(["table_cost", "rotate"], None) == ["embedding", "table", "add", "lookup", "rotate"]
    assert set(run.PARTS).isdisjoint(run.BENCHMARKS)
