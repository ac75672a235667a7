"""The same jobs on Ray, on a Ray cluster of two nodes, and through submitit give what the local engine gives."""

import sys
import tempfile
from pathlib import Path

import pytest

from posenc.lab.engines import cluster, local
from posenc.lab.engines.events import Event, Failure, Job

#: Ray forks before it starts another program, of which JAX warns where a test has loaded it before.
forks = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
JOBS = [Job(str(n), "builtins:range", (n,)) for n in range(1, 6)] + [Job("fails", "operator:truediv", (1, 0))]
LAST = {*(Event(n - 1, n - 1) for n in range(1, 6)), Event(5, Failure("ZeroDivisionError: division by zero"))}


def test_the_local_engine_ends_with_the_same():
    events = list(local.run(JOBS, workers=2))
    assert {event for event in events if event in LAST} == LAST


@forks
@pytest.mark.nightly
def test_ray_on_this_machine(monkeypatch):
    """Also where the last cluster of the machine was killed: Ray remembers its address, at which nobody answers."""
    import ray

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # not tmp_path, which is too long for sockets
        monkeypatch.setenv("RAY_TMPDIR", folder)
        remembered = Path(folder, "ray", "ray_current_cluster")
        remembered.parent.mkdir()
        remembered.write_text("127.0.0.1:1")
        assert set(cluster.run_on_ray(JOBS)) == LAST
    assert not ray.is_initialized()


@forks
@pytest.mark.nightly
def test_ray_without_a_gpu(monkeypatch):
    import ray
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ValueError, match="device must be one that the Ray cluster has; got 'cuda', and no machine"):
        next(cluster.run_on_ray(JOBS, gpus=1))
    assert not ray.is_initialized()


@forks
@pytest.mark.nightly
def test_ray_on_two_nodes(monkeypatch):
    import ray
    from ray.cluster_utils import Cluster

    nodes_of_ray = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes_of_ray.add_node(num_cpus=1)
        monkeypatch.setenv("RAY_ADDRESS", nodes_of_ray.address)
        where = [Job(str(n), "lab.test_cluster_engines:node", ()) for n in range(6)]
        nodes = {event.report for event in cluster.run_on_ray(where)}
        assert len(nodes) == 2, nodes
        assert set(cluster.run_on_ray(JOBS)) == LAST
    finally:
        ray.shutdown()
        nodes_of_ray.shutdown()


def node():
    """The Ray node that this runs on, after long enough for the other one to be asked as well."""
    import time

    import ray

    time.sleep(0.5)
    yield ray.get_runtime_context().get_node_id()


@forks
@pytest.mark.nightly
def test_submitit(tmp_path):
    assert set(cluster.run_on_slurm(JOBS, tmp_path, {"timeout_min": 5}, cluster="local")) == LAST
    gpus = [Job("gpus", "lab.pretend_trial:visible_gpus", ())]
    assert list(cluster.run_on_slurm(gpus, tmp_path, {"timeout_min": 5}, cluster="local", gpus=1)) == [Event(0, "0")]


def test_what_is_missing_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"ray must be installed here; it is not\. Run: pip install ray .*engine"):
        next(cluster.run_on_ray(JOBS))
    monkeypatch.setattr(cluster.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="slurm must be installed where this runs"):
        next(cluster.run_on_slurm(JOBS, tmp_path, {}))
    with pytest.raises(ValueError, match=r"slurm must be given parameters of submitit; .*speed"):
        next(cluster.run_on_slurm(JOBS, tmp_path, {"speed": 3}, cluster="local"))
