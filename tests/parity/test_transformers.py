"""Against transformers 5.23.0, live: frequencies first, then tables, then rotated tensors, buckets and slopes."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from posenc import ALiBi, RelativeBias, RoPE, Shaw, Sinusoidal, T5Bias, TransformerXL

#: Positions of two rows: from the start, and near the largest that Llama 3.1 claims.
POSITIONS = torch.stack([torch.arange(40), torch.arange(131_072 - 40, 131_072)])


class Models:
    """Modeling files of transformers by family, each imported when first asked for."""

    def __getattr__(self, family: str) -> ModuleType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(f"transformers.models.{family}.modeling_{family}")


@pytest.fixture(scope="module")
def models() -> Models:
    pytest.importorskip("transformers")
    assert version("transformers") == "5.23.0"
    return Models()


def llama(models: Models, dim: int, base: float) -> Any:
    from transformers import LlamaConfig

    config = LlamaConfig(
        head_dim=dim,
        hidden_size=4 * dim,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    return models.llama.LlamaRotaryEmbedding(config)


@pytest.mark.parametrize(("dim", "base"), [(64, 10_000.0), (128, 500_000.0), (10, 1_000_000.0)])
def test_llama_frequencies_and_tables_are_bit_equal(models: Models, dim: int, base: float) -> None:
    peer = llama(models, dim, base)
    encoding = RoPE(dim=dim, base=base, pairing="halves", numerics="float32")
    assert torch.equal(encoding.frequencies.float32(torch.zeros(())), peer.inv_freq)
    cosine, sine = peer(torch.zeros(()), POSITIONS)
    rotation = encoding.rotation(POSITIONS)
    assert torch.equal(rotation.cos, cosine[..., : dim // 2])
    assert torch.equal(rotation.sin, sine[..., dim // 2 :])


def test_llama_frequencies_are_the_exact_ones_to_float32(models: Models) -> None:
    """Power and quotient round once each in float32, to 2 ulp: 3 units in the last place in all."""
    peer = llama(models, 128, 500_000.0).inv_freq.double().numpy()
    exact = RoPE(dim=128, base=500_000.0).frequencies.radians()
    assert np.abs(peer / exact - 1).max() <= 3 * 2.0**-23


def test_llama_rotates_as_halves(models: Models) -> None:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 12, 40, 64, generator=generator)
    k = torch.randn(2, 4, 40, 64, generator=generator)
    cosine, sine = llama(models, 64, 10_000.0)(q, POSITIONS)
    peer_q, peer_k = models.llama.apply_rotary_pos_emb(q, k, cosine, sine)
    rotation = RoPE(dim=64, pairing="halves", numerics="float32").rotation(POSITIONS)
    assert torch.equal(rotation(q, layout="bhtd"), peer_q)
    assert torch.equal(rotation(k, layout="bhtd"), peer_k)
    adjacent = RoPE(dim=64, pairing="adjacent", numerics="float32").rotation(POSITIONS)
    assert (adjacent(q, layout="bhtd") - peer_q).abs().max() > 0.5


def test_llama_in_bfloat16_rounds_once_where_the_peer_rounds_thrice(models: Models) -> None:
    q = torch.randn(2, 12, 40, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    cosine, sine = llama(models, 64, 10_000.0)(q, POSITIONS)
    peer = models.llama.apply_rotary_pos_emb(q, q, cosine, sine)[0]
    ours = RoPE(dim=64, pairing="halves", numerics="float32").rotation(POSITIONS)(q, layout="bhtd")
    # The peer rounds wave, product and sum to 8 bits: at most 4 half units of the largest sum.
    assert (ours.float() - peer.float()).abs().max() <= 4 * 2.0**-8 * 2 * q.float().abs().max()


def test_whisper_table_is_bit_equal(models: Models) -> None:
    encoding = Sinusoidal(dim=384, layout="concatenated", exponent="i/(d/2-1)", numerics="float32")
    assert torch.equal(encoding.embed(torch.arange(1500)), models.whisper.sinusoids(1500, 384))


@pytest.mark.parametrize("dim", [16, 1024, 33])
def test_m2m_100_table_is_bit_equal(models: Models, dim: int) -> None:
    odd = "zero" if dim % 2 else "error"
    encoding = Sinusoidal(dim=dim, layout="concatenated", exponent="i/(d/2-1)", odd=odd, numerics="float32")
    peer = models.m2m_100.M2M100SinusoidalPositionalEmbedding.get_embedding(1026, dim)
    assert torch.equal(encoding.embed(torch.arange(1026)), peer)


def test_musicgen_table_is_bit_equal_with_the_cosine_first(models: Models) -> None:
    encoding = Sinusoidal(dim=64, layout="concatenated", exponent="i/(d/2-1)", first="cosine", numerics="float32")
    peer = models.musicgen.MusicgenSinusoidalPositionalEmbedding.get_embedding(300, 64)
    assert torch.equal(encoding.embed(torch.arange(300)), peer)


def test_speecht5_table_is_bit_equal(models: Models) -> None:
    """The interleaved table of 2017 as PyTorch's tutorial computes it, exp(2i · -ln 10000 / d)."""
    peer = models.speecht5.SpeechT5ScaledPositionalEncoding(0.0, dim=48, max_len=600).pe
    encoding = Sinusoidal(dim=48, numerics="float32")
    assert torch.equal(encoding.embed(torch.arange(600)), peer.reshape(600, 48))


def test_roformer_table_is_the_exact_one(models: Models) -> None:
    """The peer's angles are float64, good to 2^-53 · 512; ours are exact, so both round to one float32 or its
    neighbour."""
    peer = models.roformer.RoFormerSinusoidalPositionalEmbedding(512, 64).create_weight()
    ours = Sinusoidal(dim=64, layout="concatenated").embed(torch.arange(512))
    assert (ours - peer).abs().max() <= 2.0**-24


def test_xlnet_sinusoid_is_the_exact_one_to_float32(models: Models) -> None:
    """XLNet raises a power where our float32 numerics of a sinusoid take an exponential: compared with the exact
    table."""
    frequencies = 1 / torch.pow(10000, torch.arange(0, 32, 2.0) / 32)
    peer = models.xlnet.XLNetModel.positional_embedding(torch.arange(-50, 50).float(), frequencies)[:, 0]
    ours = Sinusoidal(dim=32, layout="concatenated").embed(torch.arange(-50, 50))
    # A frequency is off by 3 ulp and the angle rounds once: 4 · 2^-24 · 50 of a radian, and the wave rounds once.
    assert (ours - peer).abs().max() <= 8 * 2.0**-24 * 50 + 2.0**-24


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (320, 800), (32, 256), (16, 64), (64, 2000)])
def test_t5_buckets(models: Models, buckets: int, max_distance: int, both: bool) -> None:
    distance = torch.arange(-3000, 3001)
    peer = models.t5.T5Attention._relative_position_bucket(distance, both, buckets, max_distance)
    encoding = T5Bias(heads=1, buckets=buckets, max_distance=max_distance, bidirectional=both)
    assert torch.equal(encoding.bucket(distance), peer)


def test_t5_bias_of_a_layer(models: Models) -> None:
    from transformers import T5Config

    layer = models.t5.T5Attention(T5Config(d_model=48, num_heads=12, d_kv=4), has_relative_attention_bias=True)
    table = layer.relative_attention_bias.weight.detach()
    peer = layer.compute_bias(9, 200).detach()[0]
    assert torch.equal(T5Bias(heads=12).matrix(torch.arange(9), torch.arange(200), {"table": table}), peer)


@pytest.mark.parametrize("heads", [1, 8, 12, 14, 16, 71])
def test_alibi_slopes(models: Models, heads: int) -> None:
    """The peers raise powers in float32, of exponents up to 2·heads: relative error within 2·heads of half an ulp."""
    ours = ALiBi(heads=heads).slopes()
    budget = (2 * heads + 4) * 2.0**-24
    bloom = models.bloom._get_alibi_slopes(heads, torch.device("cpu")).double().numpy()
    assert np.abs(bloom / ours - 1).max() <= budget
    mpt = -models.mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, 0].double().numpy()
    assert np.abs(mpt / ours - 1).max() <= budget
    falcon = models.falcon.build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), heads, torch.float32)[:, 0, 1]
    # Falcon rounds slope times position to bfloat16.
    assert np.abs(falcon.double().numpy() / ours - 1).max() <= 2.0**-8


def test_alibi_of_bloom_is_ours_but_for_a_constant_of_each_row(models: Models) -> None:
    """BLOOM adds slope · key, which under a causal mask softmax cannot tell from -slope · distance."""
    bloom = models.bloom.build_alibi_tensor(torch.ones(1, 30), 12, torch.float32)
    ours = ALiBi(heads=12).matrix(torch.arange(30), torch.arange(30))
    rest = ours - bloom
    for query in range(30):
        visible = rest[:, query, : query + 1]
        assert (visible - visible[:, :1]).abs().max() <= 60 * 2.0**-23 * 29


@pytest.mark.parametrize(("clip", "ahead"), [(5, None), (5, 2), (64, 8)])
def test_shaw_keys_are_relative_key_of_wav2vec2_bert(models: Models, clip: int, ahead: int | None) -> None:
    encoding = Shaw(dim=8, clip=clip, ahead=ahead)

    class Layer:
        left_max_position_embeddings, right_max_position_embeddings = clip, encoding.clip_ahead
        scaling = 1 / math.sqrt(8)
        distance_embedding = torch.nn.Embedding(encoding.rows, 8)

    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 12, 6, 8, generator=generator), torch.randn(2, 12, 20, 8, generator=generator)
    peer = models.wav2vec2_bert._apply_relative_key_position_encoding(Layer, q, k)[1].detach()
    table = Layer.distance_embedding.weight.detach()
    params = {"relative_keys": table, "relative_values": table}
    ours = encoding.score(q, k, torch.arange(6), torch.arange(20), params)
    # Eight products of normal numbers, partial sums below 64.
    assert (ours - peer).abs().max() <= 2 * 10 * 64 * 2.0**-24


def test_transformer_xl_is_the_position_score_of_xlnet(models: Models) -> None:
    from transformers import XLNetConfig

    config = XLNetConfig(d_model=24, n_head=3, d_head=8, n_layer=1, d_inner=8, attn_type="bi", dropout=0.0)
    layer = models.xlnet.XLNetRelativeAttention(config).eval()
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(3, 8, generator=generator) for _ in range(2))
    layer.r_w_bias.data, layer.r_r_bias.data = u, v
    projection = torch.randn(24, 3, 8, generator=generator)
    q, k = torch.randn(7, 2, 3, 8, generator=generator), torch.randn(7, 2, 3, 8, generator=generator)
    steps = torch.arange(7, -7, -1.0)  # from the key first in line to past the last, as the peer orders them
    frequencies = 1 / torch.pow(10000, torch.arange(0, 24, 2.0) / 24)
    r = models.xlnet.XLNetModel.positional_embedding(steps, frequencies)
    r_head = torch.einsum("ibh,hnd->ibnd", r, projection).expand(-1, 2, -1, -1)
    peer = layer.rel_attn_core(q, k, torch.zeros(7, 2, 3, 8), r_head, output_attentions=True)[1].detach()
    q, k = (x.permute(1, 2, 0, 3) for x in (q, k))
    params = {"W_R": projection.permute(1, 0, 2), "u": u, "v": v}
    places = torch.arange(7)
    logits = TransformerXL(dim=8, heads=3, model_dim=24).score(q, k, places, places, params)
    ours = torch.softmax(logits + q @ k.transpose(-1, -2) / math.sqrt(8), -1)
    # 8 · 24 products with partial sums below 512, angles of the peer off by 7 · 4 · 2^-24; a weight moves by twice
    # that.
    assert (ours - peer.permute(2, 3, 0, 1)).abs().max() <= 2 * (200 + 28) * 512 * 2.0**-24
    mirrored = TransformerXL(dim=8, heads=3, model_dim=24).score(q, k, -places, -places, params)
    wrong = torch.softmax(mirrored + q @ k.transpose(-1, -2) / math.sqrt(8), -1)
    assert (wrong - peer.permute(2, 3, 0, 1)).abs().max() > 0.1


def test_relative_bias_is_the_table_of_swin_on_one_axis(models: Models) -> None:
    peer = next(kind for name, kind in vars(models.swin).items() if name.endswith("RelativePositionBias"))(12, (1, 7))
    table = torch.randn(13, 12, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        peer.relative_position_bias_table.copy_(table)
        wanted = peer()[0]
    assert torch.equal(
        RelativeBias(heads=12, clip=6).matrix(torch.arange(7), torch.arange(7), {"table": table}), wanted
    )
