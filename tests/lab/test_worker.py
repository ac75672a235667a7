"""What a worker process writes for the jobs it reads."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from posenc.lab import worker


def test_a_worker_writes_the_events_of_each_job_in_order_and_ends_with_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trial(*job: Any) -> Iterator[Any]:
        yield from (("begun", *job), ("done", *job))

    monkeypatch.setattr(worker, "trial", trial)
    jobs, events = io.BytesIO(b"".join(pickle.dumps((name, "corpus", 3)) for name in ("first", "second"))), io.BytesIO()
    worker.serve(jobs, events)
    events.seek(0)
    read = [pickle.load(events) for _ in range(4)]
    assert read == [(word, name, "corpus", 3) for name in ("first", "second") for word in ("begun", "done")]
    assert not events.read()
