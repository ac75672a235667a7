"""Results on disk: nothing finished is lost, nothing damaged is used."""

import dataclasses
import os
import signal
import subprocess
import sys

import pytest

from lab.pretend_trial import EXPERIMENTS, FUNCTION, result_of
from posenc.lab.engines import local
from posenc.lab.engines.events import Event, Failure
from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.running import run_missing
from posenc.lab.store import NAME, Store, line_of, read, read_results_table, write_results_table
from posenc.lab.tasks.task_table import experiment

RESULTS = [result_of(experiment) for experiment in EXPERIMENTS[:3]]


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path) as store:
        for result in RESULTS:
            store.add(result)
    return tmp_path


def test_a_half_written_last_line_is_cut_off_before_the_next_result(folder):
    (folder / NAME).write_bytes((folder / NAME).read_bytes()[:-20])
    with Store(folder) as store:
        assert "half-written" in store.note
        store.add(result_of(EXPERIMENTS[9]))
    assert list(read(folder).results.values()) == [*RESULTS[:2], result_of(EXPERIMENTS[9])]
    assert not read(folder).note


@pytest.mark.nightly
def test_a_file_cut_at_any_byte_loses_at_most_the_last_result(folder):
    data = (folder / NAME).read_bytes()
    second = data.index(b"\n") + 1
    for end in range(second, len(data)):
        (folder / NAME).write_bytes(data[:end])
        with Store(folder) as store:
            kept = data[:end].count(b"\n")
            assert list(store.results.values()) == RESULTS[:kept]
            assert ("half-written" in store.note) == (data[end - 1] != 10)
            store.add(result_of(EXPERIMENTS[9]))
        assert len(read(folder).results) == kept + 1
        assert not read(folder).torn


def test_a_changed_character_anywhere_is_refused_with_its_line(folder):
    data = bytearray((folder / NAME).read_bytes())
    first = data.index(b"\n")
    for place in range(0, first, 7):
        changed = bytearray(data)
        changed[place] ^= 1
        (folder / NAME).write_bytes(changed)
        with pytest.raises(ValueError, match=r"results.jsonl, line 1 is damaged: .*Delete the line; its run is then"):
            read(folder)
        with pytest.raises(ValueError, match="line 1 is damaged"):
            Store(folder)
        assert (folder / NAME).read_bytes() == bytes(changed)


def test_a_line_of_another_version_is_refused(folder):
    text = RESULTS[0].to_json().replace('"seconds"', '"minutes"')
    from hashlib import sha256

    with (folder / NAME).open("a") as file:
        file.write(f'{{"digest":"{sha256(text.encode()).hexdigest()[:16]}","result":{text}}}\n')
    with pytest.raises(ValueError, match="line 4 is damaged: line must be a result as to_json writes it"):
        read(folder)


def test_a_run_that_is_there_twice_is_refused(folder):
    with (folder / NAME).open("a") as file:
        file.write(line_of(dataclasses.replace(RESULTS[1], seconds=5.0)))
    with pytest.raises(ValueError, match="line 4: its run is already in an earlier line"):
        read(folder)


def test_one_writer_at_a_time(folder):
    with Store(folder), pytest.raises(ValueError, match="out must not be in use; another comparison writes to"):
        Store(folder)
    with pytest.raises(ValueError, match="out must be a folder; got the file"):
        Store(folder / NAME)


def test_finished_runs_are_skipped_and_failures_are_told(folder):
    broken = dataclasses.replace(EXPERIMENTS[0], task="broken")
    with Store(folder) as store:
        steps = list(run_missing([*EXPERIMENTS[:4], broken], store, local.run, FUNCTION))
    done = [step.experiment for step in steps if isinstance(step.report, Result)]
    assert done == [EXPERIMENTS[3]]
    failed = [(step.experiment, step.report) for step in steps if isinstance(step.report, Failure)]
    assert failed == [(broken, Failure("ValueError: nothing can be learned"))]
    assert len(read(folder).results) == 4


def test_the_result_of_another_run_is_a_failure(tmp_path):
    def engine(jobs):
        yield Event(0, RESULTS[1])

    with Store(tmp_path) as store:
        (step,) = run_missing(EXPERIMENTS[:1], store, engine)
        assert "which is no result of this run" in step.report.message
        assert not store.results


def test_kill_9_loses_no_finished_run(tmp_path):
    """Stopped by SIGKILL at several moments while it writes; what was reported as finished is always there."""
    reported, kills = set(), 0
    for stop_after in (1, 2, 5, 9):
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.pretend_trial", str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(stop_after):
            if line := process.stdout.readline().strip():
                assert line not in reported, "a finished run was done again"
                reported.add(line)
        kills += process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        reported |= set(process.stdout.read().split())
        process.wait()
        process.stdout.close()
        assert reported <= read(tmp_path).results.keys()
    assert kills >= 3
    subprocess.run([sys.executable, "-m", "lab.pretend_trial", str(tmp_path)], check=True, capture_output=True)
    assert [result for result in read(tmp_path).results.values() if result not in map(result_of, EXPERIMENTS)] == []
    assert len(read(tmp_path).results) == len(EXPERIMENTS)


def test_a_table_has_a_row_for_each_run_and_length(folder):
    import duckdb

    path = write_results_table(folder, RESULTS)
    table = duckdb.sql(f"SELECT seed, test_length, accuracy, bleu FROM '{path}' ORDER BY ALL")
    assert table.fetchall() == [
        (seed, length, 0.9, None) for seed in range(3) for length in EXPERIMENTS[0].test_lengths
    ]
    with pytest.raises(ValueError, match="folder must hold results; got none in"):
        write_results_table(folder / "nowhere", ())


def test_every_result_is_read_back_from_a_table(folder):
    """Of every kind of task, with options of numbers and words, BLEU, chance, contexts and losses by position."""
    lm = experiment("RoPE(dim=16)", "character-lm", options=(("digest", "ab"), ("held_out", 0.25), ("text", "it's")))
    runs = [lm, experiment("NoPE(dim=64)", "needle", 7, options=(("depth", 0.5), ("needles", 2)), rate=0.1 + 0.2)]
    results = []
    for run in runs:
        scores = tuple(
            LengthScore(length, 1 / 3, 0.1, 0.7, 12.5 if run is lm else None, ((16, 0.1), (length, 2 / 3)), 1e-17)
            for length in run.test_lengths
        )
        contexts = ((16, 3.0), (64, 2.9)) if run is lm else ()
        versions = (("torch", "2"), ("device", 'an "x"'))
        results.append(Result(run, (Progress(10, 2.0),), scores, contexts, 9, 1, 0.1, 5, "a\nb é", versions))
    write_results_table(folder, results)
    assert read_results_table(folder) == {result.experiment.identity: result for result in results}
    (folder / NAME).unlink(missing_ok=True)
    with Store(folder) as store:
        assert store.results == read_results_table(folder)
        assert store.note == "Results restored from results.parquet: 2."
    assert read(folder).results == read_results_table(folder)


def test_a_table_tells_runs_apart_that_differ_in_their_test_lengths_alone(folder):
    """Rows of a run were once joined by its other fields: two runs became a third one that nobody did, or none."""
    import duckdb

    for lengths in (((32, 64), (128, 256)), ((64, 128, 256), (64, 128, 256, 512))):
        results = [result_of(dataclasses.replace(EXPERIMENTS[0], test_lengths=each)) for each in lengths]
        path = write_results_table(folder, results)
        assert list(read_results_table(folder).values()) == results
    old = folder / "old.parquet"  # without a column of test lengths, as tables were written once
    write_results_table(folder, RESULTS)
    duckdb.sql(f"COPY (SELECT * EXCLUDE (test_lengths) FROM '{path}') TO '{old}' (FORMAT parquet)")
    old.replace(path)
    assert list(read_results_table(folder).values()) == RESULTS


def test_runs_that_a_table_alone_has_join_those_of_the_file(folder):
    """As after a pull: a report would else write a table without them."""
    with Store(folder) as store:
        before = dict(store.results)
        write_results_table(folder, [*before.values(), other := result_of(EXPERIMENTS[9])])
    for number in (1, 0):
        with Store(folder) as store:
            assert store.results == before | {EXPERIMENTS[9].identity: other}
            assert store.note == "Results restored from results.parquet: 1." * number


def test_a_table_of_something_else_is_refused(tmp_path):
    import duckdb

    (tmp_path / "results.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(ValueError, match="must be a table of results as posenc writes it"):
        read_results_table(tmp_path)
    duckdb.sql(f"COPY (SELECT 1 AS seed) TO '{tmp_path / 'results.parquet'}' (FORMAT parquet)")
    with pytest.raises(ValueError, match="must be a table of results as posenc writes it"):
        Store(tmp_path)
