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
from posenc import axial
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
    "seamless_m4t.SeamlessM4TConformerRotaryPositionalEmbedding",
)
HUNYUAN = "hunyuan_vl.HunYuanVLRotaryEmbedding"
#: Attention layers that have the name, and what makes their tables.
MEMORIES = {
    "edgetam_video.EdgeTamVideoRoPECrossAttention": "edgetam_video.EdgeTamVideoVisionRotaryEmbedding",
    "edgetam_video.EdgeTamVideoRoPESelfAttention": "edgetam_video.EdgeTamVideoVisionRotaryEmbedding",
    "sam2_video.Sam2VideoRoPEAttention": "sam2_video.Sam2VideoVisionRotaryEmbedding",
    "sam3.Sam3ViTRoPEAttention": "sam3.Sam3ViTRotaryEmbedding",
    "sam3_tracker_video.Sam3TrackerVideoRoPEAttention": "sam3_tracker_video.Sam3TrackerVideoVisionRotaryEmbedding",
}


def test_the_list_is_this_file():
    alone = {"clvp.ClvpRotaryPositionalEmbedding", "efficientloftr.EfficientLoFTRRotaryEmbedding", HUNYUAN}
    assert {*DINO, *PROTEINS, *SPEECH, *MEMORIES, *alone, "llama4.Llama4VisionRotaryEmbedding"} == set(BY_HAND)


def read(name: str, settings: dict[str, Any]) -> Any:
    groups = from_config(
        {"model_type": peer(name).model_type, **settings}, numerics="float32", waive=("esmfold_config",)
    )
    (group, *others) = [group for group in groups.groups if group.rotary_encoding is not None]
    assert all(other.rotary_encoding == group.rotary_encoding for other in others)  # SAM 3's layers differ in windows
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
    encoding = read(name, settings).rotary_encoding
    assert encoding == axial("dinov3", dim=width // heads, base=base, numerics="float32")  # so positions are the same
    rotation = encoding.rotation(centres)
    pairs = width // heads // 2
    # The peer raises its base to other fractions, i · 4/d in float32: a few roundings of angles up to 2π.
    for ours, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
        assert torch.equal(theirs[:, :pairs], theirs[:, pairs:])
        assert (ours - theirs[:, :pairs]).abs().max() <= 12 * 2 * math.pi * 2.0**-24
    x = torch.randn(1, 1, 15, width // heads, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, cos, sin)[0]
    assert (rotation(x, layout="bhtd") - theirs).abs().max() <= 16 * 2 * math.pi * 4 * 2.0**-24


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
    encoding = read(name, settings).rotary_encoding
    assert torch.equal(encoding.frequencies.float32(LIKE), module.inv_freq)
    positions = torch.arange(9)
    cos, sin = module(torch.zeros(1, 9, 8), positions[None])
    x = torch.randn(1, heads, 9, width // heads, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, cos, sin)[0]
    assert (encoding.rotation(positions)(x, layout="bhtd") - theirs).abs().max() <= 3 * 8 * 2.0**-24


@pytest.mark.parametrize("name", SPEECH)
@pytest.mark.parametrize(("width", "heads", "base"), [(64, 4, 10_000), (96, 2, 777)])
def test_conformers_rotate_the_input_of_the_layer(name: str, width: int, heads: int, base: int):
    one = peer(name)
    of_heads = "speech_encoder_attention_heads" if "seamless" in name else "num_attention_heads"
    settings = {
        "hidden_size": width, of_heads: heads, "rotary_embedding_base": base, "position_embeddings_type": "rotary",
    }  # fmt: skip
    module = one.built(one.configured(settings))
    encoding = read(name, settings).rotary_encoding
    assert torch.equal(encoding.frequencies.float32(LIKE), module.inv_freq)
    x = torch.randn(1, 9, width, generator=torch.Generator().manual_seed(0))
    attention = next(
        kind
        for label, kind in vars(one.module).items()
        if label.endswith("ConformerSelfAttention") or label.endswith("BertSelfAttention")
    )
    theirs = attention._apply_rotary_embedding(SimpleNamespace(num_heads=heads, head_size=width // heads), x, module(x))
    ours = encoding.rotation(torch.arange(9))(x.view(1, 9, heads, -1), layout="bthd").reshape(1, 9, width)
    assert (ours - theirs).abs().max() <= 3 * 8 * 2.0**-24


@pytest.mark.parametrize(("width", "heads", "image", "base"), [(768, 16, 448, 10_000.0), (256, 4, 70, 500.0)])
def test_llama4_vision_counts_patches_from_one(width: int, heads: int, image: int, base: float):
    one = peer("llama4.Llama4VisionRotaryEmbedding")
    settings = {"hidden_size": width, "num_attention_heads": heads, "image_size": image, "patch_size": 14}
    settings["rope_parameters"] = {"rope_theta": base, "rope_type": "default"}
    theirs = one.built(one.configured(settings)).freqs_ci[:-1, 0]
    side = image // 14
    places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2)
    rotation = read(one.name, settings).rotary_encoding.rotation(places + 1)
    assert torch.equal(rotation.cos, theirs.real)
    assert torch.equal(rotation.sin, theirs.imag)
    x = torch.randn(1, side**2, heads, width // heads, generator=torch.Generator().manual_seed(0))
    table = one.built(one.configured(settings)).freqs_ci[:-1]
    out = one.module.vision_apply_rotary_emb(x, x, table)[0]
    assert (rotation(x, layout="bthd") - out).abs().max() <= 3 * 8 * 2.0**-24


def scores(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
    """Attention of (1, heads, n, d) without a mask, its heads side by side."""
    weights = torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1)
    return (weights @ v).transpose(1, 2).reshape(1, q.shape[2], heads * v.shape[-1])


@pytest.mark.parametrize("name", sorted(MEMORIES))
def test_attention_over_pictures(name: str):
    """Whole layers, their outputs against attention of our own: queries and keys rotated by row and column."""
    one, rows, columns, width, heads = peer(name), 4, 5, 64, 2
    whole = "memory_attention_" if "sam3.Sam3ViT" not in name else ""
    settings = {f"{whole}hidden_size": width, f"{whole}num_attention_heads": heads}
    config = one.configured(settings)
    cross = "Cross" in name
    layer = (one.rotary(config, width) if cross else one.built(config)).eval()
    generator = torch.Generator().manual_seed(0)
    for weight in layer.parameters():
        weight.data = torch.randn(weight.shape, generator=generator) * width**-0.5
    places = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1).reshape(-1, 2)
    tables = peer(MEMORIES[name]).built(config)(torch.zeros(1, rows * columns, width), position_ids=places.T[None])
    x = torch.randn(1, rows * columns, width, generator=generator)
    rotation = read(name, settings).rotary_encoding.rotation(places)
    q, k, v = (
        made(x).view(1, -1, heads, width // heads).transpose(1, 2)
        for made in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    ours = layer.o_proj(scores(rotation(q, layout="bhtd"), rotation(k, layout="bhtd"), v, heads))
    with torch.no_grad():
        if whole:
            more = {"position_embeddings_k": tables, "rope_k_repeat": 1} if cross else {}
            theirs = layer(x[None], x[None], x[None], position_embeddings=tables, **more)[0]
        else:
            theirs = layer(x.view(1, rows, columns, width), position_embeddings=tables)[0]
    # A few roundings of each sum of 64 products of numbers about 4.
    assert (ours.reshape(-1) - theirs.reshape(-1)).abs().max() <= 64 * 4 * 2.0**-24


@pytest.mark.parametrize(("width", "heads", "base"), [(256, 8, 10_000.0), (64, 4, 500.0)])
def test_efficientloftr_turns_all_heads_together(width: int, heads: int, base: float):
    one = peer("efficientloftr.EfficientLoFTRRotaryEmbedding")
    settings: dict[str, Any] = {"hidden_size": width, "num_attention_heads": heads}
    settings["rope_parameters"] = {"rope_type": "default", "rope_theta": base, "partial_rotary_factor": heads / 2}
    module = one.built(one.configured({**settings, "out_features": [64, 64, 128, width]}))
    cos, sin = (table.reshape(-1, width) for table in module(torch.zeros(1, width, 24, 16)))
    places = torch.stack(torch.meshgrid(torch.arange(6), torch.arange(4), indexing="ij"), -1).reshape(-1, 2)
    rotation = read(one.name, settings).rotary_encoding.rotation(places + 1)
    for ours, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
        assert torch.equal(ours, theirs[:, ::2])
        assert torch.equal(ours, theirs[:, 1::2])
    x = torch.randn(1, 24, 1, width, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, cos[None], sin[None], unsqueeze_dim=2)[0]
    assert (rotation(x, layout="bthd") - theirs).abs().max() <= 3 * 8 * 2.0**-24
    with pytest.raises(ValueError, match="partial_rotary_factor must be half of num_attention_heads"):
        read(one.name, {**settings, "rope_parameters": {"rope_theta": base, "partial_rotary_factor": 1.0}})


@pytest.mark.parametrize(("width", "heads", "projection"), [(768, 12, 768), (256, 2, 512), (128, 4, 64)])
def test_clvp_turns_the_first_channels_of_a_head(width: int, heads: int, projection: int):
    one = peer("clvp.ClvpRotaryPositionalEmbedding")
    settings = {"hidden_size": width, "num_attention_heads": heads, "projection_dim": projection}
    module = one.built(one.configured(settings))
    encoding = read(one.name, settings).rotary_encoding
    inner = getattr(encoding, "encoding", encoding)
    assert torch.equal(inner.frequencies.float32(LIKE), module.inv_freq)
    angles = module(torch.zeros(1, 9, width))[0]
    x = torch.randn(1, heads, 9, inner.head_dim, generator=torch.Generator().manual_seed(0))
    theirs = one.module.apply_rotary_pos_emb(x, x, x, angles.cos(), angles.sin(), torch.arange(9)[None])[0]
    assert (inner.rotation(torch.arange(9))(x, layout="bhtd") - theirs).abs().max() <= 3 * 8 * 2.0**-24


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0, "mrope_section": [8, 8, 8, 8]},
        {"type": "xdrope", "alpha": 50.0, "factor": 1.0, "xdrope_section": [4, 12, 16], "beta_fast": 32},
        {"rope_type": "default", "mrope_section": [2, 10, 10, 10]},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048, "mrope_section": [16, 8, 8]},
    ],
    ids=lambda rope: f"{len(rope.get('mrope_section', [1, 2, 3]))} axes, {rope.get('rope_type', 'xdrope')}",
)
def test_hunyuan_cuts_its_sections_through_pairs(rope: dict[str, Any]):
    settings = {"head_dim": 64, "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
    one = peer(HUNYUAN)
    module = one.built(one.configured(settings | {"rope_parameters": {"rope_theta": 5e4} | rope}))
    encoding = read(HUNYUAN, settings | {"rope_theta": 5e4, "rope_scaling": rope}).rotary_encoding
    places = torch.randint(0, 4000, (9, encoding.axes), generator=torch.Generator().manual_seed(0))
    cos, sin = module(torch.zeros(1, 9, 8), places.T[:, None])
    rotation = encoding.rotation(places, dtype=torch.float32)
    assert torch.equal(rotation.cos, cos[0])
    assert torch.equal(rotation.sin, sin[0])
    x = torch.randn(1, 4, 9, 64, generator=torch.Generator().manual_seed(1))
    theirs, _ = one.module.apply_rotary_pos_emb(x, x, cos, sin)
    assert torch.equal(rotation(x, layout="bhtd"), theirs)


@pytest.mark.parametrize(("width", "heads"), [(768, 12), (96, 4)])
def test_roformer_rotates_whole_heads(width: int, heads: int):
    from transformers.models.roformer import modeling_roformer as live

    settings = {"hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": 2, "rotary_value": False}
    (group,) = from_config({"model_type": "roformer", **settings}).groups
    table = live.RoFormerSinusoidalPositionalEmbedding(9, width // heads).create_weight()
    rotation = group.rotary_encoding.rotation(torch.arange(9))
    # Both are rounded once, its own from float64.
    assert (torch.cat([rotation.sin, rotation.cos], -1) - table).abs().max() <= 2.0**-24
    q = torch.randn(1, heads, 9, width // heads, generator=torch.Generator().manual_seed(0))
    theirs, _ = live.RoFormerSelfAttention.apply_rotary_position_embeddings(table[None, None], q, q)
    assert (rotation(q, layout="bhtd") - theirs).abs().max() <= 3 * 8 * 2.0**-24
    with pytest.raises(ValueError, match="rotary_value must be understood"):
        from_config({"model_type": "roformer", **settings, "rotary_value": True})
