"""Whatever an engine does, its row says in one line at which step it failed, and all other rows are filled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engines.fake_engines import GOOD, WRONG, fake_engine
from posenc.cli import main
from posenc.engines import EngineTable, engine_table, environments
from posenc.engines.ask_engine import request_to, run_requests
from posenc.engines.cell import Cell
from posenc.engines.compare_engines import compare_engines, kept_answers
from posenc.engines.engine import Engine, Package
from posenc.engines.engine_process import Stopped
from posenc.engines.engine_question import read_question, written_probe
from posenc.engines.environments import Environment
from posenc.engines.side_by_side import EngineRow

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 3, "rope_theta": 5e5,
    "max_position_embeddings": 4096, "vocab_size": 100,
}  # fmt: skip
#: What the row of each must say.
SAYS = {
    "crashes": "running the prompts: it crashed (SIGSEGV)",
    "hangs": "loading the model: no answer within 2 s; it was ended",
    "prints nothing": "reading its answer: the process ended well and wrote none",
    "ends": "importing its runner: it ended with code 7: Error: no kernel",
    "raises": "loading the model: KeyError: 'rope_theta\\nmissing'",
    "is missing": "importing its runner: ModuleNotFoundError: No module named 'an_engine_that_nobody_has'",
    "returns fewer logits": "reading its answer: answers must have shape",
    "returns no prompt": "reading its answer: answers must hold channel_0; it is missing.",
    "returns text": "reading its answer: answers must have shape",
}


def table_of_fakes(engines: list[Engine], cache: Path) -> EngineTable:
    return compare_engines(
        read_question(CONFIG, cache, "tests"), engines, threading.Event(), lambda *_: None, workers=4
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> EngineTable:
    folder = tmp_path_factory.mktemp("engines")
    wrong = [
        fake_engine(folder, name, source, seconds=2.0 if name == "hangs" else 60.0) for name, source in WRONG.items()
    ]
    return table_of_fakes([*wrong, fake_engine(folder, "good", GOOD)], folder / "cache")


@pytest.mark.parametrize("name", SAYS)
def test_a_failure_names_its_step_in_one_line(table: EngineTable, name: str) -> None:
    (row,) = (row for row in table.rows if row.engine == name)
    assert row.failure.startswith(SAYS[name])
    assert "\n" not in row.failure
    assert {cell.source for cell in row.cells.values()} == {"not known"}
    assert f"{name}: {row.failure}" in table.lines()


def test_the_other_rows_are_filled(table: EngineTable) -> None:
    row = table.rows[-1]
    assert (row.engine, row.version, row.failure) == ("good", "1.0", "")
    assert {name: (cell.source, cell.differs) for name, cell in row.cells.items()} == {
        "pairs": ("live", False), "channels": ("live", False), "frequencies": ("live", True),
        "amplitude": ("live", False), "window": ("live", False),
    }  # fmt: skip
    assert row.cells["frequencies"].value == "The base is 10000 where 500000 is meant."
    assert table.exit_code == 1
    # For unit normal q and k, pair i adds |e^(iat) - e^(ibt)|² = 2(1 - cos((a - b)t)), and d/2 pairs are averaged.
    gaps = np.array([10_000.0 ** (-i / 4) - 500_000.0 ** (-i / 4) for i in range(4)])
    distances = np.unique(np.linspace(2048, 4096, 64).round())
    change = np.sqrt(np.mean(2 * (1 - np.cos(np.outer(distances, gaps)))))
    assert row.effects[4096] == pytest.approx(change, rel=1e-3)


def installing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: str) -> tuple[EngineTable, Path]:
    """A table with an engine that pip, a script here, is to install."""
    script = tmp_path / "pip.py"
    script.write_text(pip, encoding="utf-8")
    monkeypatch.setattr(environments, "PIP", (sys.executable, str(script)))
    engine = fake_engine(tmp_path, "new", GOOD)
    engine = Engine("new", "whole model", engine.runner, (Package("new-engine", "1.0", 1000, {"f": "0" * 64}),))
    return table_of_fakes([engine, fake_engine(tmp_path, "good", GOOD)], tmp_path / "cache"), tmp_path / "cache"


#: What pip, a script here, does, and what the row says; the first by day, the others by night.
FAILED_INSTALLATIONS = {
    "no network": (
        "import sys; sys.exit('ERROR: No matching distribution found for new-engine==1.0')",
        "downloading new-engine 1.0: it ended with code 1: ERROR: No matching distribution found",
    ),
    "full disk": (
        "import sys; sys.exit('ERROR: Could not install packages: [Errno 28] No space left on device')",
        "downloading new-engine 1.0: it ended with code 1: ERROR: Could not install packages: [Errno 28] No space",
    ),
    "other hash": (
        "import sys; sys.exit('ERROR: THESE PACKAGES DO NOT MATCH THE HASHES')",
        "downloading new-engine 1.0: it ended with code 1: ERROR: THESE PACKAGES DO NOT MATCH THE HASHES",
    ),
    "no compiler": (
        "import sys; sys.exit('ERROR: command gcc failed: No such file')",
        "downloading new-engine 1.0: it ended with code 1: ERROR: command gcc failed",
    ),
    "folders that come and go": (
        "import os, sys, tempfile, time\nend = time.monotonic() + 3\nwhile time.monotonic() < end:\n"
        "    for one in [tempfile.mkdtemp() for _ in range(50)]:\n        os.rmdir(one)\n"
        "sys.exit('ERROR: it is over')",
        "downloading new-engine 1.0: it ended with code 1: ERROR: it is over",
    ),
    "nothing": (
        "import pathlib, sys\nplace = sys.argv[sys.argv.index('--dest') + 1]\npathlib.Path(place).mkdir()",
        "installing new-engine: pip downloaded no file of that name",
    ),
}


@pytest.mark.parametrize(
    ("pip", "says"),
    [
        pytest.param(*failed, id=name, marks=[] if name == "no network" else [pytest.mark.nightly])
        for name, failed in FAILED_INSTALLATIONS.items()
    ],
)
def test_an_installation_that_fails_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: str, says: str
) -> None:
    table, cache = installing(tmp_path, monkeypatch, pip)
    assert table.rows[0].failure.startswith(says)
    assert table.rows[1].failure == ""
    left = [path.name for path in (cache / "environments").rglob("*") if path.is_file() and path.suffix != ".done"]
    assert left == []


def test_pip_is_looked_for_without_loading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finder of setuptools gives distutils up in the whole process where it is asked for pip; inductor needs it."""
    asked = []

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    table, _ = installing(tmp_path, monkeypatch, "import sys; sys.exit('ERROR: it is over')")
    assert table.rows[0].failure.endswith("it is over")
    assert "pip" not in asked


def test_a_disk_without_room_is_told_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    table, _ = installing(tmp_path, monkeypatch, "raise SystemExit('pip was called')")
    assert table.rows[0].failure == "making its environment: the disk has 1 MB left where 268 MB are needed"


@pytest.mark.nightly
def test_a_download_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    pip = f"""
import pathlib, sys, zipfile
words = sys.argv
if "download" in words:
    line = pathlib.Path(words[words.index("--requirement") + 1]).read_text().split("==")[0]
    with open({str(log)!r}, "a") as file: file.write(line + "\\n")
    if line == "second" and not pathlib.Path({str(tmp_path / "again")!r}).exists(): sys.exit("ERROR: connection lost")
    place = pathlib.Path(words[words.index("--dest") + 1]); place.mkdir()
    (place / f"{{line}}-1.0-py3-none-any.whl").write_bytes(line.encode())
else:
    pathlib.Path(words[words.index("--target") + 1]).mkdir()
"""
    script = tmp_path / "pip.py"
    script.write_text(pip, encoding="utf-8")
    monkeypatch.setattr(environments, "PIP", (sys.executable, str(script)))
    runner = fake_engine(tmp_path, "two", GOOD).runner
    engine = Engine("two", "whole model", runner, (Package("first", "1.0"), Package("second", "1.0")))
    assert "connection lost" in table_of_fakes([engine], tmp_path / "cache").rows[0].failure
    (tmp_path / "again").touch()
    row = table_of_fakes([engine], tmp_path / "cache").rows[0]
    assert (row.failure, set(row.files)) == ("", {"first-1.0-py3-none-any.whl", "second-1.0-py3-none-any.whl"})
    assert log.read_text().split() == ["first", "second", "second"]
    assert [path.name for path in (tmp_path / "cache" / "environments").iterdir()] == [
        environments.environment_folder(engine, tmp_path / "cache").name
    ]


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    source = f"""
import pathlib, time
def answer(request, step):
    while True:
        pathlib.Path({str(mark)!r}).touch()
        time.sleep(0.05)
"""
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    question = read_question(CONFIG, tmp_path / "cache", "tests")
    with pytest.raises(Stopped):
        compare_engines(question, [fake_engine(tmp_path, "slow", source)], stop, lambda *_: None)
    mark.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not mark.exists()


def test_a_kept_table_is_read_without_anything_that_reads_a_probe(tmp_path: Path) -> None:
    """A repeated question imports neither torch nor what reads probes and configs, and so takes well under a second."""
    script = """
import json, sys
from posenc.engines import ask_all
ask_all.kept_json = lambda path: json.loads(sys.argv[1])
table = ask_all.engine_table({"model_type": "llama"}, engines=["mlx-lm"], cache=sys.argv[2])
assert table.file == "config.json"
heavy = ("torch", "transformers", "posenc.probe", "posenc.diagnosis", "posenc.models")
loaded = [name for name in sys.modules if name in heavy]
assert not loaded, loaded
"""
    held = json.dumps(EngineTable("config.json", "llama", (), (), ()).plain())
    subprocess.run([sys.executable, "-c", script, held, str(tmp_path)], check=True)


def test_answers_are_kept_by_content_and_damage_is_no_answer(tmp_path: Path) -> None:
    count = tmp_path / "count"
    right = GOOD.replace('(request["probe"])', '(request["probe"], 500_000.0)')
    source = right + f"\nopen({str(count)!r}, 'a').write('x')\n"
    engine = fake_engine(tmp_path, "counted", source)
    first = table_of_fakes([engine], tmp_path / "cache")
    assert table_of_fakes([engine], tmp_path / "cache") == first
    assert count.read_text() == "x"
    (kept,) = (tmp_path / "cache" / "answers").iterdir()
    kept.write_text("{}")
    assert table_of_fakes([engine], tmp_path / "cache").rows[0].cells == first.rows[0].cells
    assert count.read_text() == "xx"


def test_a_refusal_of_a_run_over_many_files_is_kept_until_anything_that_it_hangs_on_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = read_question(CONFIG, tmp_path / "cache", "tests")
    engine = fake_engine(tmp_path, "refuses", WRONG["raises"])

    def asked(engine: Engine, *, refusals: bool) -> str:
        (row,) = compare_engines(question, [engine], threading.Event(), lambda *_: None, refusals=refusals).rows
        return row.failure

    kept = kept_answers(question, engine, written_probe(question, gguf=False))
    request = request_to(engine, Environment(None, {}), kept.probe, kept.path, tmp_path)
    (tmp_path / "request.json").write_text(json.dumps([request]))
    kept.refusal.parent.mkdir(parents=True)
    run_requests(engine, tmp_path, 60.0, threading.Event())
    assert kept.refusal.read_text().startswith("KeyError")
    kept.refusal.write_text("an older run")
    assert asked(engine, refusals=True) == "answering: an older run"
    assert asked(engine, refusals=False).startswith("loading the model: KeyError")
    monkeypatch.setattr("posenc.engines.engine.version_of", lambda name: "another")
    assert asked(replace(engine, requires=("json",)), refusals=True).startswith("loading the model: KeyError")
    monkeypatch.undo()
    changed = fake_engine(tmp_path, "refuses", WRONG["raises"] + "# changed")
    assert asked(changed, refusals=True).startswith("loading the model: KeyError")


@pytest.mark.nightly
def test_what_to_write_is_a_spelling_that_was_run(tmp_path: Path) -> None:
    reads_the_old_key = GOOD.replace('engine()(request["probe"])', 'engine()(request["probe"], config_of(request))')
    reads_the_old_key += """
import json, pathlib
def config_of(request):
    return json.loads((pathlib.Path(request["probe"]) / "config.json").read_text()).get("rope_theta", 10_000.0)
"""
    new = {key: value for key, value in CONFIG.items() if key != "rope_theta"}
    new["rope_parameters"] = {"rope_type": "default", "rope_theta": 5e5}
    question = read_question(new, tmp_path / "cache", "tests")
    engines = [fake_engine(tmp_path, "old", reads_the_old_key), fake_engine(tmp_path, "good", GOOD)]
    old, never = compare_engines(question, engines, threading.Event(), lambda *_: None).rows
    assert old.write.startswith('"rope_theta": 500000.0 beside rope_parameters; it was run')
    assert (never.differs, never.write) == (True, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"engines": ["vlmm"]}, "engines must be one of"),
        ({"engines": []}, r"engines must name one; got \[\]"),
        ({"engines": "vllm"}, "engines must be a tuple of words; got 'vllm'"),
        ({"at": ["vllm"]}, "at must be a dict of versions by name; got"),
        ({"cache": 3}, "cache must be a path; got 3"),
        ({"stop": True}, "stop must be an Event; got True"),
        ({"watch": "progress"}, "watch must be a function; got 'progress'"),
        ({"at": {"mlx-lm": "latest"}}, "at must give a version such as 1.2.3 of mlx-lm; got 'latest'"),
        ({"engines": ["mlx-lm"], "at": {"vllm": "1.0"}}, "at must be"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments: dict[str, object], says: str, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        engine_table(CONFIG, **{"cache": tmp_path, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize("config", [3, np.broadcast_to(1.0, 10**10), "no such file"])
def test_what_is_no_config_is_refused_before_anything_is_read(
    config: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reads_files in ("source_digest", "chosen_engines"):
        monkeypatch.setattr(f"posenc.engines.ask_all.{reads_files}", lambda *_: pytest.fail("files were read"))
    with pytest.raises((TypeError, OSError), match=r"config must be a path|no such file"):
        engine_table(config, cache=tmp_path)  # type: ignore[arg-type]


def test_a_file_without_an_architecture_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 64}))
    assert main(["engines", str(tmp_path / "config.json"), "--cache", str(tmp_path / "cache")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "model_type" in printed.err
    assert printed.err.count("\n") == 1


def test_parts_that_no_engine_is_asked_about_are_named(tmp_path: Path) -> None:
    sizes = {"hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 3, "vocab_size": 100}
    scaling = {"type": "mrope", "mrope_section": [2, 3, 3]}
    config = {
        "model_type": "qwen2_5_vl",
        "text_config": {"model_type": "qwen2_5_vl_text", **sizes, "rope_scaling": scaling},
        "vision_config": {"depth": 4, "hidden_size": 128, "num_heads": 4, "patch_size": 14},
    }
    table = compare_engines(read_question(config, tmp_path / "cache", "tests"), [], threading.Event(), lambda *_: None)
    assert [line.partition(":")[0] for line in table.meant] == ["layers 0-2", "vision, not asked, layers 0-3"]


def test_a_table_without_an_answer_says_so() -> None:
    silent = EngineRow("one", "1.0", "model", {"pairs": Cell("not known", "")}, {}, failure="starting it: no Python")
    table = EngineTable("config.json", "llama", ("pairs",), (), (silent,))
    assert (table.verdict, table.exit_code) == ("no engine answered", 3)


def test_other_roles_are_cells_that_say_why_they_are_not_known(tmp_path: Path) -> None:
    config = {
        "model_type": "deepseek_v32", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8, "index_head_dim": 16, "index_n_heads": 2,
    }  # fmt: skip
    engines = [fake_engine(tmp_path, "one", GOOD), fake_engine(tmp_path, "two", GOOD)]
    table = compare_engines(read_question(config, tmp_path, "tests"), engines, threading.Event(), lambda *_: None)
    assert table.fields[-1] == "indexer"
    assert [line for line in table.unknown() if "indexer" in line] == [
        "not known, indexer, one, two: queries and keys of attention are asked alone"
    ]
    assert table.exit_code == 3
