"""A table says no more than was looked at, of what was run, and as far as a layer sees."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.fake_engines import GOOD, fake_engine
from posenc.cli import main
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.verdict import Diagnosis
from posenc.engines import EngineTable, ask_all, engine_table
from posenc.engines import engine as engine_module
from posenc.engines.ask_engine import EngineReading
from posenc.engines.compare_engines import compare_engines, kept_answers
from posenc.engines.effect_on_logits import effects_on_logits
from posenc.engines.engine_cells import live_cells
from posenc.engines.engine_question import read_question, written_probe
from posenc.engines.reports import reports_of
from posenc.models import Chunks, ModelPositions, Window, from_config
from posenc.models.pair_rotation import pair_rotation
from posenc.probe.rotation_reading import LayerRotation

SIZES = {"hidden_size": 64, "num_attention_heads": 8, "vocab_size": 100}
#: Type that torchtitan has no code of: its row is made without running anything.
GEMMA = {"model_type": "gemma", **SIZES, "head_dim": 8, "num_hidden_layers": 2}


def applied(expected: ModelPositions, base: float) -> LayerRotation:
    """What an engine applies in layer 0 of a model if it takes another base."""
    encoding: Any = expected.groups[0].rotary_encoding
    found = pair_rotation(replace(encoding, base=base))
    radians = tuple(found.radians().tolist())  # type: ignore[union-attr]
    return LayerRotation(0, True, "halves", 1, 0, 2 * len(radians), radians, (1e-9,) * len(radians), 1.0, 1e-9)


def test_layers_that_draft_are_named_and_not_known(tmp_path: Path) -> None:
    config = {"model_type": "llama", **SIZES, "num_hidden_layers": 4, "num_nextn_predict_layers": 1}
    right = fake_engine(tmp_path, "right", GOOD.replace('(request["probe"])', '(request["probe"], 10_000.0)'))
    table = compare_engines(read_question(config, tmp_path, "tests"), [right], threading.Event(), lambda *_: None)
    assert table.fields[-1] == "draft"
    assert {name: cell.source for name, cell in table.rows[0].cells.items() if cell.source != "live"} == {
        "draft": "not known"
    }
    assert table.exit_code == 3
    assert [line.partition(":")[0] for line in table.meant] == ["layers 0-3", "draft, not asked, layer 4"]


def test_an_engine_is_asked_at_one_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "config.json", "--at", "vllm=0.33.0", "mlx-lm=1.0", "vllm=0.32.0"]) == 2
    assert "at must name an engine once; got 'vllm' twice" in capsys.readouterr().err


def test_a_table_without_rows_has_compared_nothing() -> None:
    table = EngineTable("config.json", "llama", ("pairs",), (), ())
    assert (table.verdict, table.exit_code) == ("no engine answered", 3)


def test_a_kept_table_reads_as_it_did(tmp_path: Path) -> None:
    first, again = (engine_table(GEMMA, engines=["torchtitan"], cache=tmp_path) for _ in range(2))
    assert again.lines() == first.lines()


def test_tables_and_answers_are_kept_with_what_the_engine_runs_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = read_question(GEMMA, tmp_path, "tests")
    engine = replace(fake_engine(tmp_path, "one", GOOD), requires=("torch",))
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    places = []
    for version, text in (("1.0", ""), ("2.0", ""), ("2.0", "# another")):
        (scripts / "rotated_scores.py").write_text(text)
        monkeypatch.setattr(engine_module, "RUNNERS", scripts)
        for module in (engine_module, ask_all):
            monkeypatch.setattr(module, "version_of", lambda _, version=version: version)
        places.append(kept_answers(question, engine, written_probe(question, gguf=False)).path)
        engine_table(GEMMA, engines=["torchtitan"], cache=tmp_path)
    assert len(set(places)) == 3
    assert len([*(tmp_path / "tables").iterdir()]) == 2


def test_a_factor_that_was_transcribed_stays_so_where_a_mistake_explains_it() -> None:
    expected = from_config({"model_type": "llama", **SIZES, "num_hidden_layers": 1})
    found = replace(applied(expected, 1e4), amplitude=1.2)
    verdict = Diagnosis(False, (Finding("attention factor", "The attention factor is 1.2 where 1 is meant.", "."),))
    cells = live_cells(EngineReading((found,), verdict, "1.0", (), "transcribed"), expected)
    assert (cells["amplitude"].source, cells["amplitude"].differs) == ("transcribed", True)
    assert (cells["frequencies"].source, cells["frequencies"].differs) == ("live", False)


@pytest.mark.parametrize("near", [Window(31), Window(3, 31), Chunks(32), None])
def test_logits_move_as_far_as_a_layer_sees(near: Window | Chunks | None) -> None:
    """For unit normal q and k, pair i adds |e^(iat) - e^(ibt)|² = 2(1 - cos((a - b)t)), and d/2 pairs are averaged."""
    expected = from_config({"model_type": "llama", **SIZES, "num_hidden_layers": 1})
    group = replace(expected.groups[0], window=near)
    change = effects_on_logits(group, applied(expected, 500.0), (512,))
    gaps = np.array([10_000.0 ** (-i / 4) - 500.0 ** (-i / 4) for i in range(4)])
    farthest = 512 if near is None else 31
    distances = np.unique(np.linspace(farthest / 2, farthest, 64).round())
    meant = np.sqrt(np.mean(2 * (1 - np.cos(np.outer(distances, gaps)))))
    assert change == {512: pytest.approx(meant, rel=1e-9)}


def test_reports_are_of_the_engine_and_of_no_namesake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"engine": "transformers", "mistakes": ["base"], "model_types": [], "thread": "x#1", "about": "y"}
    (tmp_path / "reports.json").write_text(json.dumps({"reports": [own]}))
    monkeypatch.setattr("posenc.engines.reports.REPORTS", tmp_path / "reports.json")
    found = [reports_of(name, "llama", ["base"]) for name in ("transformers", "transformers-4", "transformers.js")]
    assert found == [("x#1 (y)",), ("x#1 (y)",), ()]
