"""Rotations next to those of attention, read from configs, against the live modules that make them."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers.rotary import config_class
from posenc.models import LayerGroup, from_config

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
POSITIONS = torch.tensor([0, 1, 2, 7, 40, 300, 5000, 9000])
INDEXERS = ("axk2", "deepseek_v32", "dots3_note_text", "glm_moe_dsa", "hy_v4")
SPARSE = "minimax_m3_sparse"
SIZES = {"hidden_size": 64, "q_lora_rank": 32, "num_attention_heads": 4, "num_key_value_heads": 4}


def live(config: Any, kind: str) -> Any:
    """The class of a config's modeling file whose name ends so."""
    folder = config.__module__.rsplit(".", 1)[0]
    module = importlib.import_module(f"{folder}.modeling_{folder.rsplit('.', 1)[1]}")
    return next(
        value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and name.endswith(kind)
        and "Vision" not in name
    )


def group_with(model_type: str, settings: dict[str, Any], attention: str) -> LayerGroup:
    groups = from_config({"model_type": model_type, **settings}, numerics="float32").groups
    return next(group for group in groups if group.attention == attention)


@pytest.mark.parametrize("model_type", INDEXERS)
def test_an_indexer_scores_as_is_read(model_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of which a live indexer takes the largest, from its own weights and the encoding that is read."""
    config = config_class(model_type)(**SIZES)
    group = group_with(model_type, SIZES, "indexed_attention")
    encoding = group.rotary_encoding_of("indexer")
    assert encoding is not None
    torch.manual_seed(0)
    own = config.per_layer_config[group.layers[0]] if model_type == "dots3_note_text" else config
    indexer = live(config, "Indexer")(own, group.layers[0]).eval()
    hidden, latent = torch.randn(1, 8, 64), torch.randn(1, 8, 32)
    table = live(config, "RotaryEmbedding")(config)
    more = {"layer_type": "indexed_attention"} if "layer_type" in inspect.signature(table.forward).parameters else {}
    seen: list[torch.Tensor] = []
    topk = torch.Tensor.topk
    monkeypatch.setattr(
        torch.Tensor, "topk", lambda scores, *k, **named: seen.append(scores) or topk(scores, *k, **named)
    )
    with torch.no_grad():
        rotations = table(hidden, POSITIONS[None], **more)
        indexer(hidden, latent, rotations, torch.zeros(1, 8, 8), POSITIONS[None])
        q = indexer.wq_b(latent).view(1, 8, indexer.n_heads, indexer.head_dim).double()
        k = indexer.k_norm(indexer.wk(hidden))[:, :, None].double()
        rotation = encoding.rotation(POSITIONS, dtype=torch.float64)
        q, k = (rotation(x, layout="bthd") for x in (q, k))
        scores = torch.relu(torch.einsum("bqhd,bkd->bqhk", q, k[:, :, 0]) * indexer.softmax_scale)
        weights = indexer.weights_proj(hidden).double() * indexer.n_heads**-0.5
        expected = torch.einsum("bqh,bqhk->bqk", weights, scores)
    # Angles of thousands of radians in float32.
    assert (seen[0] - expected).abs().max() <= 2e-4 * expected.abs().max()


def rotations_of(indexer: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """List what an indexer rotates from now on, before and after."""
    module, calls = importlib.import_module(type(indexer).__module__), []
    rotate = module.apply_rotary_pos_emb

    def noted(*vectors: torch.Tensor, **options: Any) -> Any:
        count = 2 if torch.is_tensor(vectors[-1]) and len(vectors) == 4 else 1
        rotated = rotate(*vectors, **options)
        calls.extend(zip(vectors[:count], rotated if count == 2 else (rotated,), strict=True))
        return rotated

    monkeypatch.setattr(module, "apply_rotary_pos_emb", noted)
    return calls


def test_an_indexer_over_means_of_blocks_rotates_as_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qwen 4: queries of every token, and keys of blocks, which stand where their first token does."""
    settings = {
        "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 4,
        "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 48, "indexer_budget": 8,
        "indexer_compress_ratio": 4, "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5,
                            "mrope_section": [6, 5, 5]},
    }  # fmt: skip
    config, group = (
        config_class("qwen4_exp_text")(**settings),
        group_with("qwen4_exp_text", settings, "indexed_attention"),
    )
    assert [kind == group.attention for kind in config.layer_types] == [False, False, False, True]
    queries, keys = group.roles
    assert (queries.role, queries.rate, keys.role, keys.rate) == ("indexer", 1, "compressor", 4)
    indexer = live(config, "Indexer")(config, 3).eval()
    places = torch.stack([POSITIONS, POSITIONS // 2, POSITIONS % 7])  # time, height and width
    hidden = torch.randn(1, 8, 64)
    table, calls = live(config, "RotaryEmbedding")(config)(hidden, places[:, None]), rotations_of(indexer, monkeypatch)
    with torch.no_grad():
        indexer(hidden, table, torch.ones(1, 1, 8, 8, dtype=torch.bool).tril(), None)
    (before, after), *blocks = calls
    rotation = queries.encoding.rotation(places.T, dtype=torch.float64)
    assert (rotation(before.double(), layout="bthd") - after).abs().max() <= 2e-4 * after.abs().max()
    assert [len(before) for before, _ in blocks] == [1, 1, 1, 1, 2]
    before, after = (vectors[:, 0] for vectors in blocks[-1])
    rotation = keys.encoding.rotation(places.T[:: keys.rate], dtype=torch.float64)
    assert (rotation(before.double()) - after).abs().max() <= 2e-4 * after.abs().max()


def test_an_indexer_of_sparse_layers_rotates_as_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """MiniMax-M3: layers with a 1 in the older file's list, with heads of the width that stands beside it."""
    sparse = {"sparse_attention_freq": [0, 1], "sparse_index_dim": 24, "sparse_num_index_heads": 2}
    settings = {
        "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_hidden_layers": 2,
        "sparse_attention_config": sparse,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5},
    }  # fmt: skip
    config, group = config_class("minimax_m3_vl_text")(**settings), group_with("minimax_m3_vl_text", settings, SPARSE)
    assert [kind == SPARSE for kind in config.layer_types] == [False, True]
    encoding = group.rotary_encoding_of("indexer")
    assert (group.layers, encoding.head_dim) == ((1,), 24)
    indexer = live(config, "Indexer")(config, 1).eval()
    hidden = torch.randn(1, 8, 64)
    table, calls = live(config, "RotaryEmbedding")(config)(hidden, POSITIONS[None]), rotations_of(indexer, monkeypatch)
    with torch.no_grad():
        indexer(hidden, table, None, torch.arange(8)[None])
    rotation = encoding.rotation(POSITIONS, dtype=torch.float64)
    for before, after in calls:
        assert (rotation(before.double(), layout="bhtd") - after).abs().max() <= 2e-4 * after.abs().max()
    assert len(calls) == 2


V4 = {
    "hidden_size": 64, "num_attention_heads": 4, "head_dim": 64, "num_hidden_layers": 3, "q_lora_rank": 32,
    "o_groups": 2, "o_lora_rank": 16, "index_head_dim": 32, "index_n_heads": 2, "partial_rotary_factor": 0.25,
    "compress_ratios": [0, 4, 128], "compress_rates": {"compressed_sparse_attention": 2,
    "heavily_compressed_attention": 4},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["CSACompressor", "HCACompressor"])
def test_compressed_keys_of_deepseek_v4_stand_where_they_are_read(kind: str) -> None:
    """Equal tokens give equal keys, but for their rotation: key i is key 0 at position i·rate."""
    attention = {"C": "compressed_sparse_attention", "H": "heavily_compressed_attention"}[kind[0]]
    settings = V4 | {"layer_types": ["sliding_attention", *sorted(V4["compress_rates"])]}
    settings.pop("compress_ratios")
    group = group_with("deepseek_v4", settings, attention)
    role = next(own for own in group.roles if own.role == "compressor")
    torch.manual_seed(0)
    config = config_class("deepseek_v4")(**settings)
    compressor = live(config, kind)(config).eval()
    with torch.no_grad():
        for weight in compressor.parameters():
            weight.normal_()
        hidden = torch.randn(1, 1, 64).expand(1, 16, 64)
        keys = compressor(hidden, torch.randn(1, 16, 32), torch.arange(16)[None], None, group.layers[0])[0]
    keys = keys.reshape(-1, 64).double()
    assert len(keys) == 16 // role.rate
    start = 1 if kind[0] == "C" else 0  # its first key lacks the overlap with one before
    rotation = role.encoding.rotation(role.rate * torch.arange(len(keys)), dtype=torch.float64)
    back = rotation.inverse()(keys)
    assert (back[start:] - back[start]).abs().max() <= 2e-5 * keys.abs().max()
    assert (keys[start:] - keys[start]).abs().max() > 0.1


def test_indexer_rope_interleave_says_how_an_indexer_pairs() -> None:
    for said, pairing in ((True, "adjacent"), (False, "halves")):
        settings = {**SIZES, "indexer_rope_interleave": said}
        encoding = group_with("glm_moe_dsa", settings, "indexed_attention").rotary_encoding_of("indexer")
        assert f"pairing='{pairing}'" in repr(encoding)
