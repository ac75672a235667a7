"""Arrays from files, their types, and what two configs say next to positions: each against what was written."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc.diagnosis.compare_models import compare_embedding_scales
from posenc.diagnosis.named_arrays import NamedArray, as_rounded, from_file


def test_numbers_are_of_the_narrowest_type_that_holds_them() -> None:
    steps = np.arange(1, 65)
    for values, narrowest in (
        (steps / 64, "bfloat16"),  # 6 bits of 8
        (1 + steps / 1024, "float16"),  # 10 bits of 11
        (1 + steps / 2**20, "float32"),  # 20 bits of 24
        (1 + steps / 2**40, "float64"),
    ):
        assert as_rounded(NamedArray(values, "float64")).dtype == narrowest
    assert as_rounded(NamedArray(np.ones(64), "float64")).dtype == "float64"  # one number tells nothing


def npz(path: Path, name: str, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.npy", data)
    return path


def npy(array: np.ndarray, version: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def safetensors(path: Path, dtype: str, shape: list[int], size: int, name: str = "cos") -> Path:
    header = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    return path


def test_files_that_hold_no_arrays_of_positions_are_refused(tmp_path: Path) -> None:
    cases: list[tuple[Path, str]] = [
        (tmp_path / "a.pt", "actual must not be a pickle, which can run any code when loaded; got a.pt"),
        (tmp_path / "none.npz", "actual must be a file that exists; got"),
        (npz(tmp_path / "two.npz", "cos", npy(np.ones(3), (2, 0))),
            "actual must be a readable .npz file; got two.npz: cos.npy is of version (2, 0)"),
        (npz(tmp_path / "objects.npz", "cos", npy(np.array([{}], object), (1, 0))),
            "actual must be a readable .npz file; got objects.npz: cos.npy holds no plain array"),
        (safetensors(tmp_path / "a.safetensors", "F32", [0], 0), "cos must hold numbers; got none, of shape [0]"),
        (safetensors(tmp_path / "b.safetensors", "BOOL", [2], 2), "cos must be of floats or integers, at most"),
        (safetensors(tmp_path / "c.safetensors", "F32", [2], 8, "lm_head.weight"),
            "actual must hold arrays of a positional encoding; c.safetensors has 1 tensors and none named"),
    ]  # fmt: skip
    for path, says in cases:
        with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
            from_file(path)
        assert str(caught.value).startswith(says)


def test_frequencies_of_a_checkpoint_and_bfloat16_are_read(tmp_path: Path) -> None:
    (found,) = from_file(safetensors(tmp_path / "a.safetensors", "F32", [2], 8, "layers.0.rotary.inv_freq")).values()
    assert (found.values.tolist(), found.dtype) == ([0.0, 0.0], "float32")
    (found,) = from_file(safetensors(tmp_path / "b.safetensors", "BF16", [2], 4)).values()
    assert (found.values.tolist(), found.dtype) == ([0.0, 0.0], "bfloat16")


@pytest.mark.parametrize(
    ("expected", "actual", "meant"),
    [
        ({"model_type": "bart", "scale_embedding": True}, {"model_type": "bart"}, True),
        ({"model_type": "m2m_100", "scale_embedding": False}, {"model_type": "m2m_100"}, False),
        ({"model_type": "m2m_100", "scale_embedding": True}, {"model_type": "m2m_100"}, None),
        ({"model_type": "bart", "scale_embedding": False}, {"model_type": "bart"}, None),
        ({"model_type": "m2m_100"}, {"model_type": "bart"}, True),
        ({"model_type": "biogpt", "scale_embedding": False}, {"model_type": "biogpt"}, False),
        ({"model_type": "llama", "scale_embedding": True}, {"model_type": "llama"}, None),
        ({"model_type": "whisper", "scale_embedding": True}, {"model_type": "whisper"}, None),
        ({"model_type": "big_bird", "rescale_embeddings": True}, {"model_type": "big_bird"}, True),
        ({"model_type": "bart", "scale_embedding": True}, None, None),
    ],
)
def test_a_scale_of_the_embedding_is_compared_as_the_classes_fill_it_in(
    expected: dict[str, Any], actual: dict[str, Any] | None, meant: bool | None
) -> None:
    """M2M100Config has scale_embedding=True where a file is silent, BartConfig False; LlamaConfig has no such key."""
    found = compare_embedding_scales(expected, actual)
    if meant is None:
        assert found == ()
        return
    (finding,) = found
    assert f"cale_embedding{'s' * ('big' in str(expected))} is {not meant} where {meant} is meant" in finding.sentence
    assert f"={meant}: it decides" in finding.fix
