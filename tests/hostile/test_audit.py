"""No pickle, network or process at import, or in verbs whose work is neither a process nor a server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from models import checkpoints
from posenc.cli.main import VERBS

#: What Python's audit hooks call each of these. `eval` and `exec` are refused in the sources by ruff (S102, S307).
REFUSED = (
    "pickle.find_class", "socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request",
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty",
)  # fmt: skip
#: matplotlib asks fc-list for the fonts of the machine the first time that it is imported, and NumPy 2.0's testing asks
#: lscpu for the instructions of the processor; that is not posenc's doing.
HOOK = f"""
import json, sys
import matplotlib.font_manager
import numpy.testing
seen = []
sys.addaudithook(lambda event, arguments: seen.append(event) if event in {REFUSED!r} else None)
"""
PACKAGES = (
    "posenc", "posenc.models", "posenc.diagnosis", "posenc.inspect", "posenc.learn", "posenc.plot", "posenc.testing",
    "posenc.cli", "posenc.positions", "posenc.frequencies", "posenc.cameras", "posenc.probe", "posenc.engines",
)  # fmt: skip
EVERY_NAME = """
import importlib
for package in sys.argv[1:]:
    module = importlib.import_module(package)
    for name in dir(module):
        getattr(module, name)
print(json.dumps(seen))
"""
EVERY_VERB = """
from posenc.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (0, None):
            raise RuntimeError(f"{words} ended with {ended.code}") from ended
print()
print(json.dumps(seen))
"""


def events(script: str, *arguments: str) -> list[str]:
    """The refused events that a script sees in a Python of its own."""
    ran = subprocess.run([sys.executable, "-c", HOOK + script, *arguments], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_importing_every_public_name_starts_nothing():
    assert events(EVERY_NAME, *PACKAGES) == []


@pytest.mark.nightly
def test_importing_what_needs_more_than_numpy_starts_nothing():
    pytest.importorskip("transformers")
    assert events(EVERY_NAME, "posenc.torch", "posenc.caches", "posenc.jax", "posenc.transformers") == []


#: What a comparison that is in the docs wrote.
COMPARED = Path(__file__).parents[2] / "docs" / "comparisons" / "copy"
SIZES = ("--heads", "12", "--kv-heads", "4", "--head-dim", "10", "--width", "6")
#: Their work is a process of its own, training in several, a server, or a model of the user's file, which may do all.
OWN_PROCESSES = {"check", "compare", "explore", "extend", "frequencies", "tour", "engines", "trace", "audit"}


def test_verbs_open_no_connection_and_start_no_process(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "rope_theta": 1e4}))
    config, picture, converted = str(path), str(tmp_path / "picture.png"), str(tmp_path / "new.safetensors")
    weights = checkpoints.saved(tmp_path / "old.safetensors", checkpoints.model())
    compared = shutil.copytree(COMPARED, tmp_path / "compared")
    verbs = [
        ["list"],
        ["explain", "RoPE(dim=8)", "--position", "3"],
        ["explain", "Dog bites man", "--versus", "Man bites dog"],
        ["explain", config],
        ["manifest", config],
        ["diff", config, config],
        ["diff", "RoPE(dim=8)", "RoPE(dim=8)"],
        ["doctor", config, config],
        ["preflight", config, config],
        ["recover", "--dim", "5120", "--at", "1088=0.488814"],
        ["plan", config, "--length", "8192"],
        ["claims"],
        ["probe", config, "--to", str(tmp_path / "probe"), "--length", "8"],
        ["plot", "RoPE(dim=8)", "--picture", "rotation", "--output", picture],
        ["report", str(compared)],
        ["convert", str(weights), "--source", "adjacent", "--target", "halves", "--output", converted, *SIZES],
    ]
    assert {words[0] for words in verbs} == VERBS.keys() - OWN_PROCESSES
    assert events(EVERY_VERB, json.dumps(verbs)) == []


def test_the_hook_sees_what_it_refuses():
    assert events("import subprocess\nsubprocess.run([sys.executable, '-c', ''])\nprint(json.dumps(seen))")
