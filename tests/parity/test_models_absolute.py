"""Learned tables, sines, ALiBi, T5 and DeBERTa as from_config reads them, against live models of transformers
5.23.0."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from parity.test_tables_live import SCORED, WINDOWED
from posenc import ALiBi, DeBERTa, Learned, Partial, Sinusoidal, T5Bias
from posenc.models import LayerGroup, from_config
from posenc.models.config.added_tables import TextTable, embeddings_only
from posenc.models.config.config_classes import config_classes
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.model_types.no_positions import without_positions
from posenc.models.config.plain_layers import around_by_layer, global_and_local, scaled_by_keys

pytestmark = pytest.mark.parity
TOKENS = 6
#: Types of today's tests: one of each habit, and the most used. test_tables_live.py has the others, by night.
DAILY = frozenset({
    "albert", "bart", "bert", "big_bird", "biogpt", "blenderbot", "blenderbot-small", "camembert", "clip_text_model",
    "clip_vision_model", "convbert", "data2vec-text", "deit", "dinov2", "distilbert", "electra", "ernie", "flaubert",
    "gpt2", "gpt_bigcode", "gpt_neo", "ibert", "led", "longformer", "luke", "m2m_100", "marian", "mbart",
    "megatron-bert", "mobilebert", "mvp", "nllb-moe", "openai-gpt", "opt", "pegasus", "plbart", "rembert", "roberta",
    "roberta-prelayernorm", "siglip2_text_model", "siglip_text_model", "siglip_vision_model", "squeezebert", "vit",
    "whisper", "xglm", "xlm", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip
#: Readers of layers whose types are tested by their tables; test_captured_scales.py and test_windows_beside_tables.py
#: have the rest.
BESIDE_TABLES = (embeddings_only, around_by_layer, global_and_local, scaled_by_keys)
READERS = {name: getattr(row.reader, "func", row.reader) for name, row in MODEL_TYPES.items()}
#: What types add before layers that know no position: text tables, and vectors for patches.
ADDED = {name: row.tables for name, row in MODEL_TYPES.items() if READERS[name] in BESIDE_TABLES and name in DAILY}
TEXT = {name: tables for name, tables in ADDED.items() if isinstance(tables[0], TextTable)}
PATCHES = sorted(set(ADDED) - set(TEXT))


def small(model_type: str, **more: Any) -> dict[str, Any]:
    """Settings of a small model, by the names of its class."""
    known = config_classes()[model_type]
    names = known.names
    wanted = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    made = {names.get(key, key): value for key, value in wanted.items()}
    for key in ("encoder_layers", "decoder_layers", "num_layers"):
        if key in known.defaults:
            made[key] = 2
    for key in ("encoder_attention_heads", "decoder_attention_heads"):
        if key in known.defaults:
            made[key] = 4
    return made | more


def built(model_type: str, settings: dict[str, Any]) -> torch.nn.Module:
    import transformers

    settings = {"vocab_size": 99} | settings if model_type not in PATCHES and model_type != "whisper" else settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(model_type, **settings)
        kind = getattr(transformers, BUILT_BY.get(model_type, ""), transformers.AutoModel.from_config)
        return kind(config).eval()


def looked_up(
    model: torch.nn.Module, inputs: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Any, Any]]:
    """Every table that a forward pass reads, and the rows that it takes."""
    seen: list[tuple[Any, Any]] = []
    plain = torch.nn.functional.embedding

    def watched(index: torch.Tensor, weight: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        seen.append((tuple(weight.shape), index.reshape(-1)[:TOKENS].tolist()))
        return plain(index, weight, *rest, **named)

    monkeypatch.setattr(torch.nn.functional, "embedding", watched)
    with torch.no_grad():
        model(**inputs)
    return seen


def inputs(model_type: str) -> dict[str, torch.Tensor]:
    ids = torch.tensor([[10, 11, 12, 13, 14, 15]])
    if model_type == "whisper":
        return {"input_features": torch.zeros(1, 80, 3000), "decoder_input_ids": ids}
    if model_type.startswith("blenderbot"):
        return {"input_ids": ids, "decoder_input_ids": ids}
    return {"input_ids": ids}


LEARNED = [name for name, tables in TEXT.items() if any(table.kind == "learned" for table in tables)]
#: Classes of types that AutoModel does not build.
BUILT_BY = {"siglip_text_model": "SiglipTextModel", "siglip2_text_model": "Siglip2TextModel"}
DIMS = {"embedding_size": 24, "input_embedding_size": 24}
#: What some classes need before a small model can be built or run.
NEEDS: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "luke": {"entity_vocab_size": 9},
    "led": {"attention_window": [4, 4]},
    "squeezebert": {"embedding_size": 32},
    "whisper": {"max_source_positions": 1500},
    "xmod": {"default_language": "en_XX"},
}


@pytest.mark.parametrize("model_type", LEARNED)
def test_learned_tables(model_type: str, monkeypatch: pytest.MonkeyPatch):
    known = config_classes()[model_type]
    settings = small(model_type)
    for table in TEXT[model_type]:
        if table.kind == "learned":
            settings[known.names.get(table.rows, table.rows)] = 40
        if table.dim in DIMS:
            settings[table.dim] = DIMS[table.dim]
    settings |= NEEDS.get(model_type, {})
    groups = from_config({"model_type": model_type, **settings}).groups
    model = built(model_type, settings)
    seen = looked_up(model, inputs(model_type), monkeypatch)
    if model_type == "whisper":  # its decoder cuts rows out of the table without looking them up
        seen.append((tuple(model.decoder.embed_positions.weight.shape), list(range(TOKENS))))
    for group in groups:
        encoding = next(iter(group.encodings), None)
        if isinstance(encoding, Learned):
            assert ((encoding.length, encoding.dim), [group.offset + i for i in range(TOKENS)]) in seen, (
                encoding,
                group.offset,
                seen,
            )


@pytest.mark.parametrize("model_type", [name for name in TEXT if name not in LEARNED] + ["whisper"])
def test_sines(model_type: str):
    settings = small(model_type) | ({"pad_token_id": 0} if model_type == "marian" else {})
    group = from_config({"model_type": model_type, **settings}, numerics="float32").groups[0]
    encoding = group.encodings[0]
    assert isinstance(encoding, Sinusoidal)
    model = built(model_type, settings)
    found = next(module for name, module in model.named_modules() if name.endswith("embed_positions"))
    table = found.weight if hasattr(found, "weight") else found.weights
    ours = encoding.embed(torch.arange(30))
    start = encoding.start
    theirs = table.detach()[start : start + 30]
    if encoding.exponent == "2i/d":  # Marian's, computed in float64 and rounded: ours with exact numbers
        ours = torch.from_numpy(
            np.asarray(
                from_config({"model_type": model_type, **settings}).groups[0].encodings[0].embed(range(30)), np.float32
            )
        )
        assert (ours - theirs).abs().max() <= 2.0**-24
    else:
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("model_type", PATCHES)
def test_a_row_for_every_patch(model_type: str):
    """Of pictures that are no squares too, where the class takes them."""
    squares = model_type in ("clip_vision_model", "siglip_vision_model")
    settings = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 1}
    settings |= {"image_size": 48, "patch_size": 16} if squares else {"image_size": [48, 80], "patch_size": [16, 8]}
    (group,) = from_config({"model_type": model_type, **settings}).groups
    model = built(model_type, settings)
    tables = [tuple(p.shape[-2:]) for name, p in model.named_parameters() if "position" in name]
    encoding = group.encodings[0]
    assert encoding.sizes == ((3, 3) if squares else (3, 10))
    assert encoding.shapes["table"] in tables


@pytest.mark.parametrize("model_type", ["t5", "mt5", "umt5", "longt5", "switch_transformers"])
def test_buckets_of_t5(model_type: str):
    settings = small(model_type, d_kv=8, relative_attention_num_buckets=16, relative_attention_max_distance=40)
    if model_type == "switch_transformers":
        settings |= {"num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0, "num_decoder_layers": 2}
    groups = from_config({"model_type": model_type, **settings}).groups
    model = built(model_type, settings)
    for group in groups:
        (encoding,) = group.encodings
        assert isinstance(encoding, T5Bias)
        layer = next(
            module
            for name, module in model.named_modules()
            if name.startswith(group.part) and getattr(module, "has_relative_attention_bias", False)
        )
        table = layer.relative_attention_bias.weight.detach()
        assert tuple(table.shape) == encoding.shapes["table"]
        places = torch.arange(30)
        relative = places[None, :] - places[:, None]
        if model_type == "umt5":
            bucket = layer._relative_position_bucket(relative)
        else:
            bucket = layer._relative_position_bucket(
                relative,
                bidirectional=encoding.bidirectional,
                num_buckets=encoding.buckets,
                max_distance=encoding.max_distance,
            )
        assert torch.equal(encoding.matrix(places, places, {"table": table}), table[bucket].permute(2, 0, 1))
        assert getattr(layer, "scaling", 1.0) == group.logit_factor / 8**0.5


@pytest.mark.parametrize("heads", [4, 6])
def test_alibi_of_bloom_mpt_and_falcon(heads: int):
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    budget = (2 * heads + 4) * 2.0**-24  # powers in float32, of exponents up to 2·heads
    (bloom,) = from_config({"model_type": "bloom", "n_head": heads, "hidden_size": 8 * heads, "n_layer": 2}).groups
    assert bloom.encodings == (ALiBi(heads),)
    assert np.abs(_get_alibi_slopes(heads, torch.device("cpu")).numpy() / ALiBi(heads).slopes() - 1).max() <= budget
    config = {
        "model_type": "mpt",
        "n_heads": heads,
        "d_model": 8 * heads,
        "attn_config": {"alibi": True, "alibi_bias_max": 6},
    }
    encoding = from_config(config).groups[0].encodings[0]
    peer = -build_mpt_alibi_tensor(heads, 2, 6)[:, 0, 0].numpy()
    assert np.abs(peer / encoding.slopes() - 1).max() <= budget
    falcon = {"model_type": "falcon", "alibi": True, "num_attention_heads": heads, "hidden_size": 16 * heads}
    (group,) = from_config(falcon).groups
    assert (group.encodings, group.bias_factor) == ((ALiBi(heads),), 0.25)


def test_falcon_adds_its_bias_before_it_divides():
    """inv_norm_factor multiplies the sum of logits and bias."""
    import inspect

    from transformers.models.falcon import modeling_falcon

    source = inspect.getsource(modeling_falcon.FalconAttention.forward)
    assert source.index("attention_scores + alibi") < source.index("attention_logits *= self.inv_norm_factor")


@pytest.mark.parametrize("model_type", ["gptj", "codegen"])
@pytest.mark.parametrize("rotary", [4, 8])
def test_gptj_turns_its_first_channels(model_type: str, rotary: int):
    from importlib import import_module

    settings = {"n_embd": 32, "n_head": 4, "n_layer": 2, "rotary_dim": rotary, "n_positions": 64}
    (group,) = from_config({"model_type": model_type, **settings}, numerics="float32").groups
    module = import_module(f"transformers.models.{model_type}.modeling_{model_type}")
    sine, cosine = module.create_sinusoidal_positions(64, rotary).chunk(2, -1)
    rotation = group.rotary_encoding.rotation(torch.arange(64))
    assert torch.equal(rotation.sin, sine)
    assert torch.equal(rotation.cos, cosine)
    x = torch.randn(1, 64, 4, 8, generator=torch.Generator().manual_seed(0))
    theirs = module.apply_rotary_pos_emb(x[..., :rotary], sine[None], cosine[None])
    ours = rotation(x, layout="bthd")
    assert (ours[..., :rotary] - theirs).abs().max() <= 3 * 8 * 2.0**-24
    assert isinstance(group.rotary_encoding, Partial) == (rotary < 8)


@pytest.mark.parametrize("model_type", ["deberta", "deberta-v2"])
@pytest.mark.parametrize("kinds", ["c2p|p2c", ["p2c"]])
def test_deberta(model_type: str, kinds: Any):
    settings = small(model_type, relative_attention=True, pos_att_type=kinds, position_biased_input=False)
    settings |= {"max_position_embeddings": 64, "max_relative_positions": -1}
    if model_type == "deberta-v2":
        settings |= {"position_buckets": 8}
    (group,) = from_config({"model_type": model_type, **settings}).groups
    (encoding,) = group.encodings
    assert isinstance(encoding, DeBERTa)
    model = built(model_type, settings)
    assert tuple(model.encoder.rel_embeddings.weight.shape) == (2 * encoding.buckets, 32)
    assert encoding.terms == ("both" if isinstance(kinds, str) else "p2c")


def test_every_type_of_these_families_is_tested():
    """New readers need a test of their own, here or where these four are."""
    elsewhere = {"seamless_m4t", "swin", "swinv2", "wavlm"}  # test_models_by_hand.py, test_models_beside.py
    elsewhere |= {*SCORED, *WINDOWED}  # test_tables_live.py
    readers = {name for name, reader in READERS.items() if reader not in (None, *BESIDE_TABLES, without_positions)}
    assert readers - elsewhere == {
        "bloom", "deberta", "deberta-v2", "falcon", "longt5", "mpnet", "mpt", "mt5", "switch_transformers",
        "t5", "umt5",
    }  # fmt: skip


def test_mpnet():
    settings = small("mpnet", max_position_embeddings=40, relative_attention_num_buckets=16)
    groups: tuple[LayerGroup, ...] = from_config({"model_type": "mpnet", **settings}).groups
    model = built("mpnet", settings)
    table = model.encoder.relative_attention_bias.weight.detach()
    (bias,) = groups[1].encodings
    places = torch.arange(30)
    theirs = model.encoder.compute_position_bias(torch.zeros(1, 30, 32), num_buckets=16)[0]
    assert torch.equal(bias.matrix(places, places, {"table": table}), theirs)
    assert groups[0].offset == 2
