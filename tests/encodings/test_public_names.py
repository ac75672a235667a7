"""What `import posenc` gives: every encoding by name, and nothing slow."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import get_args

import posenc
from posenc.core.doors import Claim, Encoding


def test_every_row_is_a_public_name() -> None:
    for row in posenc.CATALOG:
        assert getattr(posenc, row.encoding.__name__) is row.encoding
        assert {row.name, row.encoding.__name__} <= set(posenc.__all__)


def test_every_public_encoding_is_a_row() -> None:
    doors = {"Encoding", "AdditiveEncoding", "RotaryEncoding", "AttentionBias", "AttentionScore"}
    named = {
        name
        for name in posenc.__all__
        if isinstance(value := getattr(posenc, name), type) and issubclass(value, Encoding)
    }
    assert named == {row.encoding.__name__ for row in posenc.CATALOG} | doors


def test_encodings_claim_the_words_that_a_claim_may_be_and_each_is_claimed() -> None:
    claimed = {claim for row in posenc.CATALOG for sample in row.samples for claim in sample.claims}
    assert claimed == set(get_args(Claim))


def test_names_are_sorted_once_each_and_there() -> None:
    assert len(set(posenc.__all__)) == len(posenc.__all__)
    assert all(hasattr(posenc, name) for name in posenc.__all__)


def test_the_version_is_that_of_the_package() -> None:
    assert posenc.__version__ == version("posenc")


def test_every_row_has_samples_of_its_class_a_source_and_a_use() -> None:
    for row in posenc.CATALOG:
        assert row.samples
        assert len(set(row.samples)) == len(row.samples)
        assert all(type(sample) is row.encoding for sample in row.samples)
        assert row.paper
        assert row.use.endswith(".")


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(posenc, "RoPe")


def test_importing_is_quick() -> None:
    """Beyond NumPy's own time, which is not ours, at most 75 ms: half of the 150 ms promised for both."""
    program = (
        "import time, numpy, decimal, dataclasses, typing\n"
        "start = time.process_time()\nimport posenc\nprint(time.process_time() - start)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(runs) < 0.075
