"""Rotary classes that are asked in ways of their own, against what from_config reads."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from model_peers.ledger import BY_HAND
from model_peers.rotary import peer
from posenc.models import from_config

pytestmark = pytest.mark.parity
LIKE = torch.zeros(())
DINO = (
    "dinov3_vit.DINOv3ViTRopePositionEmbedding",
    "eomt_dinov3.EomtDinov3RotaryEmbedding",
    "sapiens2.Sapiens2RopePositionEmbedding",
)
PROTEINS = ("esm.EsmRotaryEmbedding", "evolla.EvollaSaProtRotaryEmbedding")
SPEECH = (
    "wav2vec2_bert.Wav2Vec2BertRotaryPositionalEmbedding",
    "wav2vec2_conformer.Wav2Vec2ConformerRotaryPositionalEmbedding",
)


def test_the_list_is_this_file():
    assert {*DINO, *PROTEINS, *SPEECH, "llama4.Llama4VisionRotaryEmbedding"} == BY_HAND


def read(name: str, settings: dict[str, Any]) -> Any:
    groups = from_config(
        {"model_type": peer(name).model_type, **settings}, numerics="float32", waive=("esmfold_config",)
    )
    (group,) = [group for group in groups.groups if group.rotation is not None]
    return group


@pytest.mark.parametrize("name", DINO)
@pytest.mark.parametrize(("width", "heads", "base"), [(384, 6, 100.0), (256, 4, 100.0), (256, 2, 1000.0)])
def test_dino_turns_by_centres_of_patches(name: str, width: int, heads: int, base: float):
    one = peer(name)
    settings = {"hidden_size": width, "num_attention_heads": heads}
    settings |= {"rope_parameters": {"rope_theta": base}} if "eomt" in name else {"rope_theta": base}
    module = one.built(one.configured(settings)).eval()
    patch = one.configured(settings).patch_size
    patch = patch if isinstance(patch, int) else patch[0]
    cos, sin = module(torch.zeros(1, 3, 3 * patch, 5 * patch))
    rows, columns = ((torch.arange(n) + 0.5) / n * 2 - 1 for n in (3, 5))
    centres = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1).reshape(15, 2)
    turn = read(name, settings).rotation.turn((2 * math.pi * centres.double()).float())
    pairs = width // heads // 2
    # The peer raises its base to other fractions, i · 4/d in float32: a few roundings of angles up to 2π.
    for ours, theirs in ((turn.cos, cos), (turn.sin, sin)):
        assert torch.equal(theirs[:, :pairs], theirs[:, pairs:])
        assert (ours - theirs[:, :pairs]).abs().max() <= 12 * 2 * math.pi * 2.0**-24
    x = torch.randn(1, 1, 15, width // heads, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, cos, sin)[0]
    assert (turn(x, layout="bhtd") - theirs).abs().max() <= 16 * 2 * math.pi * 4 * 2.0**-24


@pytest.mark.parametrize("name", PROTEINS)
@pytest.mark.parametrize(("width", "heads", "base"), [(768, 12, 10_000.0), (320, 20, 500.0)])
def test_esm_rotates_where_its_file_says_rotary(name: str, width: int, heads: int, base: float):
    one = peer(name)
    settings = {
        "hidden_size": width,
        "num_attention_heads": heads,
        "rope_theta": base,
        "position_embedding_type": "rotary",
    }
    module = one.built(one.configured(settings))
    record = read(name, settings).rotation
    assert torch.equal(record.frequencies.float32(LIKE), module.inv_freq)
    positions = torch.arange(9)
    cos, sin = module(torch.zeros(1, 9, 8), positions[None])
    x = torch.randn(1, heads, 9, width // heads, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, cos, sin)[0]
    assert (record.turn(positions)(x, layout="bhtd") - theirs).abs().max() <= 3 * 8 * 2.0**-24


@pytest.mark.parametrize("name", SPEECH)
@pytest.mark.parametrize(("width", "heads", "base"), [(64, 4, 10_000), (96, 2, 777)])
def test_conformers_rotate_the_input_of_the_layer(name: str, width: int, heads: int, base: int):
    one = peer(name)
    settings = {
        "hidden_size": width, "num_attention_heads": heads, "rotary_embedding_base": base, "position_embeddings_type": "rotary",
    }  # fmt: skip
    module = one.built(one.configured(settings))
    record = read(name, settings).rotation
    assert torch.equal(record.frequencies.float32(LIKE), module.inv_freq)
    x = torch.randn(1, 9, width, generator=torch.Generator().manual_seed(0))
    attention = next(
        kind
        for label, kind in vars(one.module).items()
        if label.endswith("ConformerSelfAttention") or label.endswith("BertSelfAttention")
    )
    theirs = attention._apply_rotary_embedding(SimpleNamespace(num_heads=heads, head_size=width // heads), x, module(x))
    ours = record.turn(torch.arange(9))(x.view(1, 9, heads, -1), layout="bthd").reshape(1, 9, width)
    assert (ours - theirs).abs().max() <= 3 * 8 * 2.0**-24


@pytest.mark.parametrize(("width", "heads", "image", "base"), [(768, 16, 448, 10_000.0), (256, 4, 70, 500.0)])
def test_llama4_vision_counts_patches_from_one(width: int, heads: int, image: int, base: float):
    one = peer("llama4.Llama4VisionRotaryEmbedding")
    settings = {"hidden_size": width, "num_attention_heads": heads, "image_size": image, "patch_size": 14}
    settings["rope_parameters"] = {"rope_theta": base, "rope_type": "default"}
    theirs = one.built(one.configured(settings)).freqs_ci[:-1, 0]
    side = image // 14
    places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2)
    turn = read(one.name, settings).rotation.turn(places + 1)
    assert torch.equal(turn.cos, theirs.real)
    assert torch.equal(turn.sin, theirs.imag)
    x = torch.randn(1, side**2, heads, width // heads, generator=torch.Generator().manual_seed(0))
    table = one.built(one.configured(settings)).freqs_ci[:-1]
    out = one.module.vision_apply_rotary_emb(x, x, table)[0]
    assert (turn(x, layout="bthd") - out).abs().max() <= 3 * 8 * 2.0**-24
