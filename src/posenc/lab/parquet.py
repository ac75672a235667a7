"""The results of a folder as one Parquet table, written by DuckDB."""

from __future__ import annotations

import os
from pathlib import Path

from posenc.lab.store import NAME, read

#: A row for each run and test length. What only some tasks have is NULL elsewhere.
_QUERY = """
COPY (
    SELECT experiment.* EXCLUDE (test_lengths, options), CAST(to_json(experiment.options) AS VARCHAR) AS options,
           score.length AS test_length, score.accuracy, score.exact, score.loss, CAST(score.bleu AS DOUBLE) AS bleu,
           parameters, learned, seconds, memory
    FROM (SELECT unnest(result), unnest(result.scores) AS score
          FROM read_json($source, format = 'newline_delimited', maximum_object_size = 1073741824, sample_size = -1))
) TO '{target}' (FORMAT parquet)
"""


def write_parquet(folder: str | os.PathLike[str]) -> Path:
    """`results.parquet` in the folder, made from its results, which are checked first."""
    import duckdb

    source, target = Path(folder) / NAME, Path(folder) / "results.parquet"
    if not read(folder).results:
        raise ValueError(f"folder must hold results; got none in {str(folder)!r}. Run `posenc compare` first.")
    unfinished = target.with_name(".results.parquet.part")
    unfinished.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        connection.execute(_QUERY.format(target=str(unfinished).replace("'", "''")), {"source": str(source)})
    unfinished.replace(target)
    return target
