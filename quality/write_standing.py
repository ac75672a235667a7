"""Write the standing, what every engine makes of published configs: data of the explorer, and the page docs/engines.md.

Every engine's process answers all configs in one go, and what it refuses there is not asked again. Answers are kept in
the cache, so a stopped run goes on. --seconds ends the asking; what was not answered by then is not known. --only asks
some engines alone, and --models about some configs; what is stored of the others stays. --page writes the page alone,
from the stored data.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from posenc.core.text_lines import escaped
from posenc.engines.ask_all import PROBE_ROOMS
from posenc.engines.ask_engine import request_to, run_requests
from posenc.engines.cache_folder import cache_folder, source_digest
from posenc.engines.compare_engines import KeptAnswer, compare_engines, kept_answers
from posenc.engines.engine import Engine, named
from posenc.engines.engine_failure import EngineFailure
from posenc.engines.engine_process import Stopped, plain_json
from posenc.engines.engine_question import EngineQuestion, read_question, written_probe
from posenc.engines.environments import environment_of
from posenc.engines.known_engines import known_engines
from posenc.engines.side_by_side import EngineTable

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "src" / "posenc" / "models" / "released" / "configs.json"
STANDING = ROOT / "src" / "posenc" / "explorer" / "standing.json"
PAGE = ROOT / "docs" / "engines.md"
SCHEMA = {"schema": "posenc.standing", "version": 1}
#: A line of a snippet's part of the page: the engine, the field, and the configs whose cells it shows.
SHOWS = re.compile(r"^(?:### (?P<title>.*)|Shows (?P<engine>\S+), (?P<field>\w+): (?P<models>.*)\.)$", re.MULTILINE)
START, END = "<!-- standing: written by quality/write_standing.py -->", "<!-- end of standing -->"
NOT_ASKED = "not asked, since this run was ended before"


def main() -> None:
    """Ask, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--only", nargs="*", help="names of engines")
    parser.add_argument("--models", nargs="*", help="names of configs")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    held = [one for one in json.loads(CONFIGS.read_text())["configs"] if one.get("engines", True)]
    unknown = set(options.models or ()) - {one["name"] for one in held}
    if unknown:
        parser.error(f"--models must name configs of {CONFIGS.name}; got {', '.join(sorted(unknown))}")
    if not options.page:
        engines = (
            known_engines() if options.only is None else tuple(named(known_engines(), one) for one in options.only)
        )
        chosen = [one for one in held if options.models is None or one["name"] in options.models]
        tables = _tables(chosen, engines, cache_folder(options.cache), options.seconds)
        part = options.only is not None or options.models is not None
        stored = json.loads(STANDING.read_text()) if part else {}
        data = _with_stored(_data(chosen, tables), stored, [one["name"] for one in held])
        STANDING.write_text(json.dumps(data, indent=1) + "\n")
    stored = json.loads(STANDING.read_text())
    text = PAGE.read_text()
    before, rest = text.split(START)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{START}\n\n{page(stored, shown_cells(after))}\n{END}{after}")


def _tables(held: list[dict[str, Any]], known: tuple[Engine, ...], cache: Path, seconds: float) -> list[EngineTable]:
    code, stop, began = source_digest(PROBE_ROOMS), threading.Event(), time.monotonic()
    questions = [read_question(one["config"], cache, code) for one in held]
    end = threading.Timer(seconds, stop.set)
    end.daemon = True
    end.start()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        engines = sorted(known, key=lambda engine: engine.kind)  # functions first: they are quick
        asked = {pool.submit(_answer_all, engine, questions, cache, stop): engine.name for engine in engines}
        for one in concurrent.futures.as_completed(asked):
            say(f"{asked[one]} answered {one.result()} more configs, {time.monotonic() - began:.0f} s")
    tables = []
    for one, question in zip(held, questions, strict=True):
        engines = [engine for engine in known if not stop.is_set() or _is_answered(engine, question)]
        table = compare_engines(
            question, engines, threading.Event(), lambda *_: None, spell=not stop.is_set(), refusals=True
        )
        tables.append(table)
        say(f"{one['name']}: {table.verdict}, {time.monotonic() - began:.0f} s")
    return tables


def _is_answered(engine: Engine, question: EngineQuestion) -> bool:
    """Whether an engine's answer is kept, or it is known to have none."""
    try:
        return _is_kept(kept_answers(question, engine, written_probe(question, gguf=engine.gguf)))
    except EngineFailure:
        return True


def _is_kept(answer: KeptAnswer) -> bool:
    """Whether there is an answer, or a refusal of an earlier run."""
    return answer.path.is_file() or answer.refusal.is_file()


def _answer_all(engine: Engine, questions: list[EngineQuestion], cache: Path, stop: threading.Event) -> int:
    """Let one process answer all questions, so that the engine is imported once."""
    waiting = []
    for question in questions:
        probe = written_probe(question, gguf=engine.gguf)
        with contextlib.suppress(EngineFailure):
            answer = kept_answers(question, engine, probe)
            if not _is_kept(answer):
                waiting.append(answer)
    try:
        environment = environment_of(engine, cache, stop, lambda *_: None)
        with tempfile.TemporaryDirectory() as place:
            requests = [
                request_to(engine, environment, one.probe, one.path, Path(place) / str(number))
                for number, one in enumerate(waiting)
            ]
            (Path(place) / "request.json").write_bytes(plain_json(requests))
            for number, one in enumerate(waiting):
                one.path.parent.mkdir(parents=True, exist_ok=True)
                (Path(place) / str(number)).mkdir()
            if requests:
                run_requests(engine, Path(place), engine.seconds + 60.0 * len(requests), stop)
    except Stopped:
        say(f"{engine.name}: stopped")
    except EngineFailure as failure:
        say(f"{engine.name}: {failure}")
    return sum(one.path.is_file() for one in waiting)


def say(text: str) -> None:
    """Tell how far the run is."""
    print(escaped(text), file=sys.stderr, flush=True)


def _data(held: list[dict[str, Any]], tables: list[EngineTable]) -> dict[str, Any]:
    """The stored data: small, and without what a reader can look up."""
    engines = {
        row.engine: {"version": row.version, "kind": row.kind, "files": row.files}
        for table in reversed(tables)
        for row in table.rows
        if row.version and not row.failure and row.files
    }
    models = [
        {
            "name": one["name"], "source": one["source"], "config": one["config"],
            "model_type": table.model_type, "fields": table.fields,
            "meant": table.meant, "engines": {row.engine: _row(row) for row in table.rows},
        }
        for one, table in zip(held, tables, strict=True)
    ]  # fmt: skip
    return {**SCHEMA, "engines": engines, "models": models}


def _with_stored(data: dict[str, Any], stored: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The data, with what is stored of engines and configs that were not asked, and the numbers of cells."""
    before = {model["name"]: model for model in stored.get("models", ())}
    now = {
        model["name"]: {**model, "engines": {**before.get(model["name"], {}).get("engines", {}), **model["engines"]}}
        for model in data["models"]
    }
    models = [{**before, **now}[name] for name in names if name in before or name in now]
    cells = [cell for model in models for row in model["engines"].values() for cell in row["cells"].values()]
    counts = {
        "cells": sum(len(model["fields"]) for model in models) * len(known_engines()),
        "live": sum(cell["source"] == "live" for cell in cells),
    }
    return {**data, "engines": {**stored.get("engines", {}), **data["engines"]}, **counts, "models": models}


def _row(row: Any) -> dict[str, Any]:
    cells = {
        name: {"source": cell.source, "differs": cell.differs} | ({"value": cell.value} if cell.differs else {})
        for name, cell in row.cells.items()
    }
    why = next((cell.value for cell in row.cells.values() if cell.source == "not known"), "")
    facts = {"effects": row.effects, "reports": row.reports, "write": row.write, "why": why}
    return {"cells": cells} | {name: value for name, value in facts.items() if value}


def shown_cells(text: str) -> dict[tuple[str, str, str], str]:
    """Titles of snippets, by the engine, the field and the config whose cell each shows."""
    shown, title = {}, ""
    for found in SHOWS.finditer(text):
        title = found["title"] or title
        for model in (found["models"] or "").split("; ") if found["engine"] else ():
            shown[found["engine"], found["field"], model] = title
    return shown


def _linked(title: str) -> str:
    """A link to a heading of the page."""
    return f"[{title}](#{re.sub(r'[^a-z0-9_ -]', '', title.lower()).replace(' ', '-')})"


def page(stored: dict[str, Any], shown: dict[tuple[str, str, str], str]) -> str:
    """The generated part of the page."""
    names = [engine.name for engine in known_engines()]
    share = stored["live"] / stored["cells"]
    versions = ", ".join(f"{name} {_version(stored, name)}" for name in names if name in stored["engines"])
    lines = [
        f"Run with {versions}. {stored['live']:,} of {stored['cells']:,} cells ({share:.0%}) are live.",
        "",
        "✓ all fields that were seen are as the file says · ✗ some are not, see below · – not known",
        "",
        "| config | " + " | ".join(names) + " |",
        "| --- |" + " :-: |" * len(names),
    ]
    for model in stored["models"]:
        marks = [_mark(model["engines"].get(name, {"cells": {}})) for name in names]
        lines.append(f"| {model['name']} | {' | '.join(marks)} |")
    return "\n".join([*lines, "", *_not_known(stored, names), "## Differences", "", *_differences(stored, shown), ""])


def _not_known(stored: dict[str, Any], names: list[str]) -> list[str]:
    """Why cells of a whole row are not known, with the number of configs."""
    why: dict[tuple[str, str], int] = {}
    for model in stored["models"]:
        for name in names:
            row = model["engines"].get(name)
            if row is None:
                why[name, NOT_ASKED] = why.get((name, NOT_ASKED), 0) + 1
            elif _mark(row) == "–":
                reason = re.split(r"; got | \(supported|\. The following", row.get("why", ""))[0]
                why[name, reason] = why.get((name, reason), 0) + 1
    lines = [f"- {name}, {count} of {len(stored['models'])}: {reason}" for (name, reason), count in why.items()]
    return ["Not known, by engine and number of configs:", "", *lines, ""]


def _version(stored: dict[str, Any], name: str) -> str:
    return stored["engines"].get(name, {}).get("version", "").split(" on ")[0]


def _mark(row: dict[str, Any]) -> str:
    cells = row["cells"].values()
    if any(cell["differs"] for cell in cells):
        return "✗"
    return "✓" if any(cell["source"] == "live" for cell in cells) else "–"


def _differences(stored: dict[str, Any], shown: dict[tuple[str, str, str], str]) -> list[str]:
    """A part for each kind of difference of each engine, with the configs that it is seen on."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for model in stored["models"]:
        for name, row in model["engines"].items():
            for field, cell in row["cells"].items():
                if cell["differs"]:
                    found.setdefault((name, field, cell["value"]), []).append({"model": model["name"], **row})
    lines = []
    for (name, field, value), rows in sorted(found.items(), key=lambda item: item[0][:2]):
        models = ", ".join(row["model"] for row in rows)
        lines += [f"**{name} {_version(stored, name)}, {field}** ({models}): {value}", ""]
        effects = rows[0].get("effects", {})
        if effects and field != "window":
            by_length = sorted((int(length), change) for length, change in effects.items())
            said = ", ".join(f"{change:.2g} up to {length:,}" for length, change in by_length)
            lines += [f"Logits move by {said} tokens apart.", ""]
        for report in rows[0].get("reports", ()):
            lines += [f"Reported: {report}", ""]
        if rows[0].get("write"):
            lines += [f"To write: {rows[0]['write']}", ""]
        titles = dict.fromkeys(shown[name, field, row["model"]] for row in rows if (name, field, row["model"]) in shown)
        if titles:
            lines += [f"Without posenc: {'; '.join(map(_linked, titles))}", ""]
    return lines


if __name__ == "__main__":
    main()
