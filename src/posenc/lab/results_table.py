"""Results as a Parquet table from which every result can be read back. Loads no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result

TABLE = "results.parquet"
#: A row for each run and test length. What only some tasks have is NULL elsewhere.
_WRITE = """
COPY (
    SELECT experiment.* EXCLUDE (test_lengths, options), CAST(to_json(experiment.options) AS VARCHAR) AS options,
           score.length AS test_length, score.accuracy, score.exact, score.loss, CAST(score.bleu AS DOUBLE) AS bleu,
           CAST(to_json(score) ->> '$.chance' AS DOUBLE) AS chance, score.by_position AS by_position,
           parameters, learned, seconds, memory, curve, by_context, sample,
           CAST(to_json(versions) AS VARCHAR) AS versions
    FROM (SELECT *, unnest(scores) AS score
          FROM read_json($source, format = 'newline_delimited', maximum_object_size = 1073741824, sample_size = -1))
) TO '{target}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)
"""
#: Columns that are neither of the experiment nor of a score.
_OF_RUN = ("parameters", "learned", "seconds", "memory", "curve", "by_context", "sample", "versions")
_OF_SCORE = ("test_length", "accuracy", "exact", "loss", "bleu", "chance", "by_position")


def write_results_table(folder: str | os.PathLike[str], results: Collection[Result]) -> Path:
    """Write results as `results.parquet`, with a row for each run and test length.

    Args:
        folder: Gets the table.
        results: At least one.

    Returns:
        The path of the table.

    Raises:
        ValueError: There are no results.
    """
    import duckdb

    if not results:
        raise ValueError(f"folder must hold results; got none in {str(folder)!r}. Run `posenc compare` first.")
    target = Path(folder) / TABLE
    unfinished = target.with_name(f".{TABLE}.part")
    unfinished.unlink(missing_ok=True)
    with TemporaryDirectory() as passing, duckdb.connect() as connection:
        source = Path(passing) / "results.jsonl"
        source.write_text("".join(f"{result.to_json()}\n" for result in results), encoding="utf-8")
        connection.execute(_WRITE.format(target=str(unfinished).replace("'", "''")), {"source": str(source)})
    unfinished.replace(target)
    return target


def read_results_table(folder: str | os.PathLike[str]) -> dict[str, Result]:
    """Read back the results of a folder's `results.parquet`.

    Args:
        folder: Without a table it gives no results.

    Returns:
        The results by the identity of their run, as they were written.

    Raises:
        ValueError: The table is damaged or of something else.
    """
    path = Path(folder) / TABLE
    if not path.exists():
        return {}
    import duckdb

    rows: dict[str, list[dict[str, Any]]] = {}
    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT * FROM read_parquet($path)", {"path": str(path)})
            names = [column[0] for column in found.description]
            for values in found.fetchall():
                row = dict(zip(names, values, strict=True))
                rows.setdefault(_fields_of_run(row), []).append(row)
        results = [_result(fields, own) for fields, own in rows.items()]
    except (duckdb.Error, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must be a table of results as posenc writes it: {' '.join(str(error).split())[:200].rstrip('.')}. "
            "Move it away; its runs are then repeated."
        ) from None
    return {result.experiment.identity: result for result in results}


def _fields_of_run(row: dict[str, Any]) -> str:
    """Fields of the experiment as JSON, but for the test lengths, which its rows have."""
    fields = {name: value for name, value in row.items() if name not in (*_OF_RUN, *_OF_SCORE)}
    return json.dumps({**fields, "options": json.loads(row["options"])})


def _result(fields: str, rows: list[dict[str, Any]]) -> Result:
    run = rows[0]
    experiment = Experiment(**json.loads(fields), test_lengths=tuple(row["test_length"] for row in rows))
    return Result(
        experiment,
        tuple(Progress(**point) for point in run["curve"]),
        tuple(_score(row) for row in rows),
        _pairs(run["by_context"]),
        **{name: run[name] for name in ("parameters", "learned", "seconds", "memory", "sample") if name in run},
        versions=json.loads(run["versions"]),
    )


def _score(row: dict[str, Any]) -> LengthScore:
    measures = {name: row[name] for name in ("accuracy", "exact", "loss", "bleu", "chance") if name in row}
    return LengthScore(row["test_length"], **measures, by_position=_pairs(row.get("by_position")))


def _pairs(values: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(tokens), float(loss)) for tokens, loss in values or ())
