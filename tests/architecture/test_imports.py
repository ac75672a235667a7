"""What importing posenc costs and brings in; what its public names are."""

import importlib
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import posenc

SOURCE = Path(__file__).parents[2] / "src"
PUBLIC = [*(".".join(stub.relative_to(SOURCE).parent.parts) for stub in SOURCE.rglob("__init__.pyi")), "posenc.jax"]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_no_heavy_library():
    loaded = json.loads(run("import sys, json, posenc; print(json.dumps(sorted(sys.modules)))"))
    for heavy in ("torch", "jax", "matplotlib", "tokenizers", "rich", "tyro", "transformers"):
        assert heavy not in loaded


def test_import_is_quick():
    # posenc costs less than NumPy, which it needs anyway (about 50 ms on an idle machine): a ratio, which a busy
    # machine keeps.
    clock = "import time; now = time.process_time"
    code = f"{clock}; a = now(); import numpy; b = now(); import posenc; print([b - a, now() - b])"
    times = [json.loads(run(code)) for _ in range(5)]
    own = min(own / numpy for numpy, own in times)
    assert own < 1.0, f"import posenc took {statistics.median(own for _, own in times):.3f} s of CPU time beyond NumPy"


def test_every_encoding_of_the_catalog_is_a_public_name():
    for row in posenc.CATALOG:
        assert getattr(posenc, row.encoding.__name__) is row.encoding
        assert {row.name, row.encoding.__name__} <= set(posenc.__all__)


def test_public_names_exist_and_are_sorted_once():
    assert len(set(posenc.__all__)) == len(posenc.__all__)
    for name in posenc.__all__:
        assert hasattr(posenc, name)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_dir_shows_the_public_names(name):
    package = importlib.import_module(name)
    for attribute in package.__all__:
        getattr(package, attribute)  # whatever loading a name leaves in the package must not show
    assert dir(package) == sorted(package.__all__)
