"""What a worker process writes for the jobs it reads."""

import io
import pickle

from posenc.lab.engines import local
from posenc.lab.engines.events import Failure, Finished, Job


def test_a_worker_writes_the_reports_of_each_job_in_order_and_ends_with_its_input():
    first, broken, last = (
        Job("first", "builtins:range", (2,)),
        Job("broken", "builtins:int", ("x\ny",)),
        Job("last", "builtins:str", ("ab",)),
    )
    jobs, reports = io.BytesIO(b"".join(map(pickle.dumps, (first, broken, last)))), io.BytesIO()
    local.do_jobs(jobs, reports)
    reports.seek(0)
    read = [pickle.load(reports) for _ in range(7)]
    message = "ValueError: invalid literal for int() with base 10: 'x\\ny'"
    assert read == [0, 1, Finished(), Failure(message), "a", "b", Finished()]
    assert not reports.read()
