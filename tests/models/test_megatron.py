"""Megatron-LM's arguments, there and back."""

from __future__ import annotations

from argparse import Namespace

import pytest

from posenc import Learned, Partial, RoPE
from posenc.frequencies import Linear, Llama3, YaRN
from posenc.models import LayerGroup, ModelPositions, from_megatron, to_megatron

BASE = {"num_layers": 8, "hidden_size": 96, "num_attention_heads": 12, "position_embedding_type": "rope"}
BASE |= {"rotary_base": 500000, "max_position_embeddings": 4096}


def layers(encoding, still=()):
    groups = [LayerGroup("text", "full_attention", tuple(one for one in range(8) if one not in still), (encoding,))]
    return ModelPositions(
        "mine", tuple(groups + ([LayerGroup("text", "no rotation", tuple(still), ())] if still else []))
    )


def test_a_namespace_as_argparse_makes_it():
    found = from_megatron(
        Namespace(**BASE, rotary_percent=0.5, rotary_interleaved=True, kv_channels=None, use_rope_scaling=False)
    )
    (group,) = found.groups
    assert group.encodings == (Partial(RoPE(dim=4, base=5e5, pairing="adjacent"), 8),)
    assert group.value("rotary_base").source == "file"
    assert from_megatron(BASE).groups[0].value("rotary_percent").source == "class default"


def test_no_rope_freq_counts_like_the_list_that_it_stands_for():
    by_period = from_megatron(BASE | {"no_rope_freq": 4})
    by_list = from_megatron(BASE | {"no_rope_freq": [0, 0, 0, 1, 0, 0, 0, 1]})
    assert (
        [group.layers for group in by_period.groups]
        == [group.layers for group in by_list.groups]
        == [(0, 1, 2, 4, 5, 6), (3, 7)]
    )


def test_learned_positions_and_none():
    learned = from_megatron(BASE | {"position_embedding_type": "learned_absolute"})
    assert learned.groups[0].encodings == (Learned(dim=96, length=4096),)
    assert from_megatron(to_megatron(learned) | {"num_layers": 8}).groups[0].encodings == learned.groups[0].encodings
    assert from_megatron(BASE | {"position_embedding_type": "none"}).groups[0].encodings == ()
    bare = {name: value for name, value in BASE.items() if name != "position_embedding_type"}
    assert from_megatron(bare).groups[0].encodings == (Learned(dim=96, length=4096),)  # as its command line has it


def test_the_older_flag_is_the_rope_of_a_launch_script() -> None:
    """validate_args of Megatron-LM: use_rotary_position_embeddings sets position_embedding_type to "rope"."""
    script = {key: value for key, value in BASE.items() if key != "position_embedding_type"}
    for more in ({}, {"position_embedding_type": "learned_absolute"}, {"position_embedding_type": "none"}):
        found = from_megatron(script | more | {"use_rotary_position_embeddings": True})
        assert [(group.layers, group.encodings) for group in found.groups] == [
            (tuple(range(8)), (RoPE(8, 5e5, "halves"),))
        ]
        assert found.notes == ()
    assert from_megatron(script | {"use_rotary_position_embeddings": False}).groups[0].encodings == (Learned(96, 4096),)


def test_a_namespace_holds_the_defaults_of_arguments_that_do_not_count() -> None:
    defaults = {
        "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128, "rotary_scaling_factor": 1.0,
        "original_max_position_embeddings": 4096, "qk_pos_emb_head_dim": 64, "mrope_section": None,
        "apply_rope_fusion": True, "use_rotary_position_embeddings": False, "ddp_num_buckets": 8,
    }  # fmt: skip
    found = from_megatron(Namespace(**BASE, **defaults))
    assert (found.groups[0].encodings, found.notes) == (from_megatron(BASE).groups[0].encodings, ())
    for key in ("relative_attention_num_buckets", "rotary_scaling_factor"):
        with pytest.raises(ValueError, match=f"^{key} must be understood"):
            from_megatron(BASE | defaults | {key: 40})


@pytest.mark.parametrize("scaling", [None, Linear(4.0), Llama3(8.0), Llama3(32.0)])
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
@pytest.mark.parametrize("still", [(), (3, 7), (0, 5)])
def test_written_and_read_back(scaling, pairing, still):
    for encoding in (
        RoPE(dim=16, base=1e6, pairing=pairing, scaling=scaling),
        Partial(RoPE(dim=6, base=1e4, pairing=pairing, scaling=scaling), 10),
    ):
        positions = layers(encoding, still)
        again = from_megatron(to_megatron(positions))
        assert [(one.layers, one.encodings) for one in again.groups] == [
            (one.layers, one.encodings) for one in positions.groups
        ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"rotary_frobnication": 3}, "rotary_frobnication must be understood"),
        (
            {"position_embedding_type": "alibi"},
            "position_embedding_type must be one of 'rope', 'learned_absolute', 'none'",
        ),
        ({"multi_latent_attention": True}, "multi_latent_attention must be False"),
        ({"use_rope_scaling": True, "rotary_seq_len_interpolation_factor": 2}, "use_rope_scaling must come without"),
        ({"no_rope_freq": [1, 0]}, "no_rope_freq must have a 0 or 1 for each of 8 layers"),
        ({"rotary_percent": 1.5}, "rotary_percent must be a finite number"),
        ({"rotary_base": None, "num_layers": "many"}, "num_layers must be an integer"),
    ],
)
def test_bad_arguments(more, says):
    with pytest.raises((ValueError, TypeError), match=r"^[^\n]*$") as caught:
        from_megatron(BASE | more)
    assert says in str(caught.value)


def test_what_has_no_argument():
    with pytest.raises(TypeError, match="arguments must be a dict or a namespace"):
        from_megatron(3)
    with pytest.raises(ValueError, match="scaling must be linear, or Llama 3's"):
        to_megatron(layers(RoPE(dim=8, scaling=YaRN(4.0, 4096))))
    with pytest.raises(ValueError, match="one rotation of the first channels"):
        to_megatron(layers(Partial(RoPE(dim=4), 8, 4)))
