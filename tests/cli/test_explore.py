"""`posenc explore` without a browser: files, ports that are taken, nonsense."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from posenc.lab.result import LengthScore, Progress, Result
from posenc.lab.store import Store
from posenc.lab.tasks.task_table import experiment


def test_it_writes_one_file_that_asks_nothing_of_a_network(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = posenc("explore", "ALiBi(heads=4)", "--output", "alibi.html")
    page = (tmp_path / "alibi.html").read_text(encoding="utf-8")
    assert (ran.code, ran.out, ran.err) == (0, "wrote alibi.html\n", "")
    assert "connect-src 'none'" in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_a_folder_of_results_becomes_a_view(posenc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = tuple(LengthScore(length, accuracy=0.5, exact=0.25, loss=1.0) for length in (32, 64, 128))
    with Store("comparison") as store:
        for seed in range(2):
            planned = experiment("RoPE(dim=16)", "fixed-offset", seed, steps=20, test_lengths=(32, 64, 128))
            store.add(Result(planned, (Progress(10, 2.0 + seed), Progress(20, 1.0)), scores))
    assert posenc("explore", "comparison", "--output", "results.html").code == 0
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    facts = next(one["facts"] for one in data["answers"] if one["view"] == "results")
    (setting,) = facts["settings"]
    assert data["first"] == "results"
    assert setting["candidates"][0]["losses"] == [2.5, 1.0]
    assert setting["candidates"][0]["scores"] == [0.5, 0.5, 0.5]
    (tmp_path / "comparison" / "results.jsonl").write_text("{}\n")
    refused = posenc("explore", "comparison", "--output", "results.html")
    assert (refused.code, "line 1 is damaged" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("RoPE(dim=7)",), "RoPE: dim must be an even integer"),
        (("nonsense",), "what must be an encoding"),
        (("nothing.json",), "nothing.json"),
        (("Sinusoidal(dim=100000)",), "encoding must have at most 4096 channels"),
        (("--output", "page.txt"), "output must end in .html"),
        (("--output", "no/where.html"), "output must be in an existing folder"),
        (("--output", "page.html", "--port", "80"), "port and no-browser must be left out"),
        (("--port", "70000"), "port must be from 0 to 65535"),
        (("--json",), "json must come with --output"),
    ],
)
def test_nonsense_is_one_line(posenc, tmp_path, monkeypatch, words, line):
    monkeypatch.chdir(tmp_path)
    ran = posenc("explore", *words)
    assert ran.code == 2
    assert line in ran.err
    assert ran.err.count("\n") == 1


def test_a_port_that_is_taken_is_named(posenc):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = posenc("explore", "--port", str(port), "--no-browser")
    assert ran.code == 2
    assert ran.err.startswith(f"posenc explore: port must be free; got {port}: Address already in use.")


def test_it_prints_its_address_answers_and_stops_on_ctrl_c():
    command = [sys.executable, "-m", "posenc", "explore", "RoPE(dim=8)", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", running.stdout.readline())[0]
        assert "RoPE(dim=8)" in urllib.request.urlopen(address).read().decode()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
    assert running.returncode in (0, 130)


def test_a_missing_library_is_named_with_what_to_run(posenc, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = posenc("explore", "--no-browser")
    assert ran.code == 2
    assert "uvicorn must be installed to explore; it is not. Run: pip install starlette uvicorn" in ran.err
