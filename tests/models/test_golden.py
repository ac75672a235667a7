"""The golden vectors: made again they are the same bytes, posenc's own tables equal them, and the manifest says what
they are."""

from __future__ import annotations

import importlib.util
import io
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from posenc import parse
from posenc.models.pair_rotation import pair_rotation

FOLDER = Path(__file__).resolve().parents[2] / "golden"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())
#: float64: the angle is rounded three times and the wave once, 3.5 units; a product with a factor adds 2.
ULPS = 5.5
#: Entries that `make test` computes again; `make nightly` all.
SAMPLE = {"plain", "yarn_untruncated", "two_bases", "resonance_yarn", "tensor2tensor", "paper_12", "t5_both", "deberta",
          "alibi_signed", "octaves", "sections"}  # fmt: skip
ENTRIES = [(file, name) for file, own in MANIFEST["files"].items() for name in own["entries"]]


@cache
def arrays(file: str) -> Any:
    return np.load(FOLDER / file, allow_pickle=False)


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_make", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close(got: Any, golden: np.ndarray) -> bool:
    """Within units in the last place; where a wave is exactly 0, within what 170 bits leave of a rotation."""
    return bool(np.all(np.abs(np.asarray(got) - golden) <= ULPS * np.spacing(np.abs(golden)) + 2.0**-140))


def test_a_sample_made_again_is_the_same(make: ModuleType) -> None:
    seen = set()
    for file in MANIFEST["files"]:
        stored = arrays(file)
        for name, array in make.made(file.removesuffix(".npz"), only=SAMPLE):
            seen.add(name.split("/")[0])
            assert array.dtype == stored[name].dtype
            np.testing.assert_array_equal(array, stored[name])
    assert seen == SAMPLE


@pytest.mark.nightly
def test_everything_made_again_is_the_same_bytes(make: ModuleType, tmp_path: Path) -> None:
    make.main(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (FOLDER / path.name).read_bytes(), path.name


def test_packing_knows_neither_date_nor_machine(make: ModuleType) -> None:
    packed = make.packed([("a/b", np.arange(3.0)), ("scalar", np.array(2.5))])
    assert packed == make.packed([("a/b", np.arange(3.0, dtype=">f8")), ("scalar", np.array(2.5))])
    read = np.load(io.BytesIO(packed))
    assert read["a/b"].tolist() == [0.0, 1.0, 2.0]
    assert read["scalar"].shape == ()


def test_the_manifest_lists_every_array_and_nothing_else() -> None:
    for file, own in MANIFEST["files"].items():
        stored = arrays(file)
        listed = {
            f"{name}/{key}": shape for name, entry in own["entries"].items() for key, shape in entry["arrays"].items()
        }
        assert set(stored.files) == {*listed, *({own["along"]} & {"positions", "distances", "coordinates"})}
        assert all(list(stored[name].shape) == shape for name, shape in listed.items())


def test_they_are_small_and_reach_far() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000
    assert arrays("rotary.npz")["positions"].max() == 2**20


@pytest.mark.parametrize(("file", "name"), ENTRIES)
def test_posenc_gives_these_numbers(file: str, name: str) -> None:
    stored, entry = arrays(file), MANIFEST["files"][file]["entries"][name]
    encoding = parse.record(entry["posenc"])
    golden = {key: stored[f"{name}/{key}"] for key in entry["arrays"]}
    if file == "rotary.npz":
        _rotation(encoding, golden, stored["positions"])
    elif file == "axes.npz":
        rotation = encoding.rotation(stored["positions"][:, : encoding.axes])
        assert close(rotation.cos, golden["cos"])
        assert close(rotation.sin, golden["sin"])
        assert golden["axis"].tolist() == list(encoding.axis)
        assert golden["pairs"].tolist() == _channels(encoding)
    elif file == "slopes.npz":
        assert close(encoding.slopes(), golden["slopes"])
    elif file == "buckets.npz":
        _buckets(encoding, golden["bucket"], stored["distances"])
    elif file == "distances.npz":
        bias = encoding.matrix([0], stored["distances"])[:, 0]
        assert np.allclose(bias, golden["bias"], rtol=1e-13, atol=1e-13)  # sandwich sums 64 waves
    else:
        places = stored["positions" if file == "sinusoidal.npz" else "coordinates"]
        assert close(encoding.embed(places), golden["table"])


def _rotation(encoding: Any, golden: dict[str, np.ndarray], positions: np.ndarray) -> None:
    rotation, pairs = encoding.rotation(positions), pair_rotation(encoding)
    assert pairs is not None
    assert close(pairs.radians(), golden["frequencies"])
    assert pairs.factor == pytest.approx(float(golden["attention_factor"]), rel=1e-15)
    assert golden["pairs"].tolist() == _channels(encoding)
    assert close(rotation.cos, golden["cos"])
    assert close(rotation.sin, golden["sin"])
    rotated = rotation(np.broadcast_to(golden["vector"], (len(positions), pairs.dim)))
    assert np.allclose(rotated, golden["rotated"], rtol=0.0, atol=8 * 2.0**-52)  # two products and their sum, below 2


def _channels(encoding: Any) -> list[list[int]]:
    pairs = pair_rotation(encoding)
    assert pairs is not None
    return [list(pair) for pair in zip(pairs.first, pairs.second, strict=True)]


def _buckets(encoding: Any, golden: np.ndarray, distances: np.ndarray) -> None:
    if hasattr(encoding, "bucket"):
        assert encoding.bucket(distances).tolist() == golden.tolist()
        return
    # DeBERTa shows the row it read: each row of the table holds its own number, and the query is one unit vector.
    table = np.zeros((encoding.heads, 2 * encoding.buckets, encoding.dim))
    table[:, :, 0] = np.arange(2 * encoding.buckets)
    names = {name: np.zeros(shape) for name, shape in encoding.shapes.items()} | {"position_keys": table}
    q, k = np.zeros((1, 1, 1, encoding.dim)), np.zeros((1, 1, len(distances), encoding.dim))
    q[..., 0] = np.sqrt(3.0 * encoding.dim)
    read = encoding.score(q, k, np.array([[0]]), distances[None], names)
    assert np.round(read[0, 0, 0]).astype(int).tolist() == golden.tolist()
