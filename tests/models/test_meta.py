"""params.json of Meta's releases, there and back."""

from __future__ import annotations

import json

import pytest

from posenc import Partial, RoPE
from posenc.frequencies import Linear, Llama3
from posenc.models import LayerGroup, ModelPositions, from_meta, to_meta

LLAMA_3_1 = {
    "dim": 4096, "ffn_dim_multiplier": 1.3, "multiple_of": 1024, "n_heads": 32, "n_kv_heads": 8, "n_layers": 32,
    "norm_eps": 1e-05, "rope_theta": 500000.0, "use_scaled_rope": True, "vocab_size": 128256,
}  # fmt: skip


def test_llama_3_1_from_a_file(tmp_path):
    path = tmp_path / "params.json"
    path.write_text(json.dumps(LLAMA_3_1))
    found = from_meta(path, stated={"rope_scaling_factor": 8.0})
    (group,) = found.groups
    assert group.layers == tuple(range(32))
    assert group.encodings == (RoPE(dim=128, base=5e5, pairing="adjacent", scaling=Llama3(8.0, 8192, 1.0, 4.0)),)
    assert group.value("rope_scaling_factor").source == "caller"
    assert group.value("rope_theta").source == "file"
    assert group.value("rope_high_freq_factor").source == "class default"
    with pytest.raises(ValueError, match="rope_scaling_factor must be known; neither the file nor the class has it"):
        from_meta(path)


def test_llama_2_needs_its_base_stated():
    params = {"dim": 4096, "n_heads": 32, "n_layers": 32, "norm_eps": 1e-5, "multiple_of": 256, "vocab_size": -1}
    with pytest.raises(ValueError, match="rope_theta must be known"):
        from_meta(params)
    found = from_meta(params, stated={"rope_theta": 10000.0})
    assert found.groups[0].encodings == (RoPE(dim=128, base=1e4, pairing="adjacent"),)


def test_layers_without_rotation():
    params = {
        "model": {"head_dim": 128, "n_layers": 8, "rope_theta": 5e5, "use_scaled_rope": False, "nope_layer_interval": 4}
    }
    rotating, still = from_meta(params).groups
    assert rotating.layers == (0, 1, 2, 4, 5, 6)
    assert (still.layers, still.encodings) == ((3, 7), ())


@pytest.mark.parametrize("scaling", [None, Llama3(8.0), Llama3(32.0), Llama3(16.0, 8192, 1.0, 1.0)])
@pytest.mark.parametrize("still", [(), (3, 7)])
def test_written_and_read_back(scaling, still):
    encoding = RoPE(dim=64, base=5e5, pairing="adjacent", scaling=scaling)
    groups = [LayerGroup("text", "full_attention", tuple(one for one in range(8) if one not in still), (encoding,))]
    groups += [LayerGroup("text", "no rotation", still, ())] if still else []
    again = from_meta(json.loads(json.dumps(to_meta(ModelPositions("mine", tuple(groups))))))
    assert [(group.layers, group.encodings) for group in again.groups] == [
        (group.layers, group.encodings) for group in groups
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"yarn": {"factor": 16}}, "yarn must be understood"),
        ({"rope_frobnication": 3}, "rope_frobnication must be understood"),
        ({"rope_theta": "5e5"}, "rope_theta must be a finite number"),
        ({"n_heads": 0}, "n_heads must be an integer from 1"),
        ({"use_scaled_rope": 1}, "use_scaled_rope must be True or False"),
        ({"n_layers": 10**9}, "n_layers must be an integer"),
    ],
)
def test_bad_files(more, says):
    with pytest.raises((ValueError, TypeError), match=r"^[^\n]*$") as caught:
        from_meta(LLAMA_3_1 | more, stated={"rope_scaling_factor": 8.0})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "says"),
    [
        (RoPE(dim=8, pairing="halves"), "pairing must be 'adjacent' over whole heads"),
        (Partial(RoPE(dim=8), dim=16), "pairing must be 'adjacent' over whole heads"),
        (RoPE(dim=8, scaling=Linear(2.0)), "scaling must be that of Llama 3"),
    ],
)
def test_what_the_file_cannot_say(encoding, says):
    with pytest.raises(ValueError, match=says):
        to_meta(ModelPositions("mine", (LayerGroup("text", "full_attention", (0,), (encoding,)),)))
