"""Files with every key of their class, as they are saved, are read; and what stands next to a rotation, against live
classes."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from posenc import FactorisedLearned, GridLearned, Learned
from posenc.models import from_config
from posenc.models.config.model_types import MODEL_TYPES
from write_model_classes import config_classes

pytestmark = pytest.mark.parity
#: Types whose defaults cannot be read, and what the error says.
UNREAD = {
    "cohere_compass_text": "rope_parameters must hold an object or null",  # its own defaults lack a type of layer
    "esm": "pad_token_id must be known",  # its own default is null, with which its embeddings cannot count
    "glm4_moe": "partial_rotary_factor must leave an even number of channels of a head of 42",
    "glm4v_moe_text": "partial_rotary_factor must leave an even number of channels of a head of 42",
    "glm4v_text": "mrope_section must add up to 64",
    "glm_image_text": "mrope_section must add up to 64",
    "hunyuan_vl_text": "mrope_section must list the pairs of each axis",  # its class cannot run without them either
    "pe_audio_video_encoder": "'timm_wrapper'",
    "pe_video_encoder": "'timm_wrapper'",
    "qwen3_omni_moe_text": "head_dim must be divided evenly among the axes; got 73",
}
#: Where the table of a tower stands, by the name of the parameter or module.
NAMES = (
    "pos_embed",
    "position_embedding",
    "position_embedding_table",
    "position_embeddings",
    "positional_embedding_vlm",
)


def whole(kind: Any, model_type: str) -> dict[str, Any]:
    """Every key of a class, as a file may have it."""
    return {**json.loads(kind().to_json_string(use_diff=False)), "model_type": model_type}


def test_every_key_of_every_type_is_understood():
    classes, failed = config_classes(), {}
    for model_type in sorted(name for name, row in MODEL_TYPES.items() if name in classes and not row.unsupported):
        try:
            from_config(whole(classes[model_type], model_type))
        except (ValueError, TypeError) as problem:
            failed[model_type] = str(problem)
    assert set(failed) == set(UNREAD), {key: failed.get(key) for key in set(failed) ^ set(UNREAD)}
    for model_type, said in UNREAD.items():
        assert said in failed[model_type]


def table_of(model_type: str) -> tuple[int, ...]:
    """The shape of the table of a live tower, rows and channels."""
    kind = config_classes()[model_type]
    module = importlib.import_module(kind.__module__.replace("configuration_", "modeling_"))
    config = kind()
    for name, found in vars(module).items():
        if not inspect.isclass(found) or not issubclass(found, torch.nn.Module) or found.__module__ != module.__name__:
            continue
        if "config" not in inspect.signature(found.__init__).parameters or "Vi" not in name:
            continue
        try:
            with torch.device("meta"):
                made = found(config)
        except Exception:  # a class of another part of the model
            continue
        for wanted in NAMES:
            own = getattr(made, wanted, None)
            if isinstance(own, torch.nn.Embedding):
                return tuple(own.weight.shape)
            if isinstance(own, torch.nn.Parameter):
                return tuple(own.shape)
    raise AssertionError(f"no table in {module.__name__}")


@pytest.mark.parametrize(
    "model_type",
    [name for name, row in MODEL_TYPES.items() if row.tables and row.axes],
)
def test_the_table_beside_a_rotation(model_type: str):
    before, *rest = from_config({"model_type": model_type}).groups
    (encoding,), live = before.encodings, table_of(model_type)
    assert (before.attention, before.layers) == ("embedding", ())
    assert any(group.rotary_encoding for group in rest)
    if isinstance(encoding, FactorisedLearned):
        assert live == (2, encoding.sizes[0], encoding.dims[0])
    else:
        assert isinstance(encoding, GridLearned | Learned)
        assert math.prod(live[:-1]) == encoding.shapes["table"][0]
        assert live[-1] == encoding.width


@pytest.mark.parametrize("pad", [0, 1])
def test_esm_without_rotation_reads_a_table(pad: int):
    from transformers.models.esm import modeling_esm

    kind = config_classes()["esm"]
    settings = {
        "vocab_size": 33,
        "hidden_size": 24,
        "num_attention_heads": 2,
        "pad_token_id": pad,
        "max_position_embeddings": 40,
    }
    live = modeling_esm.EsmEmbeddings(kind(**settings)).eval()
    tokens = torch.arange(2, 12)[None]
    before, layers = from_config({"model_type": "esm", **settings}).groups
    table = {"table": live.position_embeddings.weight.detach()}
    ours = before.encodings[0].embed(torch.arange(10) + before.offset, table)
    with torch.no_grad():
        theirs = live(tokens) - live.word_embeddings(tokens)
    assert (ours - theirs[0]).abs().max() <= 4 * 2.0**-24
    assert layers.encodings == ()


@pytest.mark.parametrize("model_type", ["wav2vec2-conformer", "wav2vec2-bert"])
def test_conformers_score_the_distance(model_type: str):
    """Terms b, c and d of Transformer-XL, with the rows of W_R in the class's order."""
    kind = config_classes()[model_type]
    module = importlib.import_module(kind.__module__.replace("configuration_", "modeling_"))
    settings = {
        "hidden_size": 24,
        "num_attention_heads": 2,
        "position_embeddings_type": "relative",
        "num_hidden_layers": 1,
    }
    config = kind(**settings, max_source_positions=32)
    stem = kind.__name__.removesuffix("Config")
    positions = getattr(module, f"{stem}RelPositionalEmbedding")(config)
    attention = getattr(module, f"{stem}SelfAttention")(config).eval()
    generator = torch.Generator().manual_seed(0)
    for weight in attention.parameters():
        weight.data = torch.randn(weight.shape, generator=generator) * 0.3
    (group,) = from_config({"model_type": model_type, **settings}).groups
    encoding = group.encodings[0]
    rows = torch.cat([torch.arange(0, 24, 2), torch.arange(1, 24, 2)])
    params = {
        "W_R": attention.linear_pos.weight.detach().T[rows].reshape(24, 2, 12).movedim(1, 0),
        "u": attention.pos_bias_u.detach(),
        "v": attention.pos_bias_v.detach(),
    }
    q, k = torch.randn(2, 1, 2, 9, 12, generator=generator)
    places = torch.arange(9)
    ours = encoding.score(q, k, places, places, params) + q @ k.mT / 12**0.5
    seen: list[torch.Tensor] = []
    _asked(module, attention, q, k, positions(torch.zeros(1, 9, 24)), seen)
    # Nine terms of a few units each, summed over 24 and 12 channels in float32.
    assert (ours - seen[0]).abs().max() <= 64 * 24 * 2.0**-24


def _asked(
    module: Any, attention: Any, q: torch.Tensor, k: torch.Tensor, relative: torch.Tensor, seen: list[Any]
) -> None:
    """The logits of the live functions for queries and keys that are given."""
    if hasattr(module, "_apply_relative_position_encoding"):
        holder = SimpleNamespace(
            linear_pos=attention.linear_pos, head_size=12, pos_bias_u=attention.pos_bias_u,
            pos_bias_v=attention.pos_bias_v,
            scaling=12**-0.5,
        )  # fmt: skip
        with torch.no_grad():
            query, scores = module._apply_relative_position_encoding(holder, q, k, relative)
            seen.append(query @ k.mT * 12**-0.5 + scores)
        return
    with torch.no_grad():
        seen.append(
            attention._apply_relative_embeddings(
                query_positions=q, key_positions=k, relative_position_embeddings=relative
            )
        )


def meta(model_type: str, settings: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters of a live model, by their names."""
    from transformers import AutoModel

    with torch.device("meta"):
        made = AutoModel.from_config(config_classes()[model_type](**settings))
    return {name: tuple(weight.shape) for name, weight in (*made.named_parameters(), *made.named_buffers())}


STAGED: dict[str, Any] = {
    "embed_dim": 16,
    "depths": [1, 2],
    "num_heads": [2, 4],
    "window_size": 4,
    "image_size": 32,
    "patch_size": 4,
}


@pytest.mark.parametrize("table", [False, True])
def test_swin_has_a_table_for_every_stage(table: bool):
    settings = {**STAGED, "use_absolute_embeddings": table}
    live = meta("swin", settings)
    *before, one, two = from_config({"model_type": "swin", **settings}).groups
    assert (one.layers, two.layers) == ((0,), (1, 2))
    shapes = [shape for name, shape in live.items() if name.endswith("relative_position_bias_table")]
    assert shapes == [group.encodings[0].shapes["table"] for group in (one, two, two)]
    assert [group.encodings[0].shapes["table"] for group in before] == [
        shape[1:] for name, shape in live.items() if name.endswith("position_embeddings")
    ]


@pytest.mark.parametrize("trained", [[0, 0], [8, 6]])
def test_swin_v2_has_a_network_for_every_stage(trained: list[int]):
    settings = {**STAGED, "window_size": 6, "pretrained_window_sizes": trained}
    live = meta("swinv2", settings)
    groups = from_config({"model_type": "swinv2", **settings}).groups
    widths = [shape for name, shape in live.items() if name.endswith("continuous_position_bias_mlp.2.weight")]
    encodings = [group.encodings[0] for group in groups for _ in group.layers]
    assert widths == [encoding.shapes["weight_out"] for encoding in encodings]
    # The second stage has a map of 4 by 4, smaller than the window.
    assert [encoding.window for encoding in encodings] == [(trained[0] or 6,) * 2, *[(trained[1] or 4,) * 2] * 2]


def test_wavlm_gates_the_buckets_of_its_first_layer():
    settings = {
        "hidden_size": 32,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_conv_pos_embedding_groups": 4,
        "num_buckets": 64,
        "max_bucket_distance": 100,
    }
    live = meta("wavlm", settings)
    (group,) = from_config({"model_type": "wavlm", **settings}).groups
    encoding = group.encodings[0]
    assert [shape for name, shape in live.items() if "rel_attn_embed" in name] == [encoding.encoding.shapes["table"]]
    assert encoding.encoding.max_distance == 100
    gates = [shape for name, shape in live.items() if name.endswith("gru_rel_pos_linear.weight")]
    assert gates == [encoding.shapes["weight"]] * 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depths": [1, 2, 3]}, "depths must have a number for each of 2 stages"),
        ({"depths": 3}, "depths must list a number for each stage"),
        ({"num_heads": [2, -1]}, "num_heads must be an integer from 1"),
        ({"pretrained_window_sizes": [7]}, "pretrained_window_sizes must have a number for each stage"),
    ],
)
def test_stages_that_make_no_sense(changed: dict[str, Any], message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        from_config({"model_type": "swinv2", **STAGED, **changed})
