"""Reports whose user had what is added to the logits, for all heads: ALiBi and T5."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as alibi_of_bloom
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as alibi_of_falcon
from transformers.models.t5.modeling_t5 import T5Attention

from field_reports.files import config_file, npz, safetensors, saved
from field_reports.report import BIAS, Evidence, harmless, mistake
from field_reports.stock import tiny


def dumped(folder: Path, config: Any, arrays: Mapping[str, Any], part: str | None = None) -> Evidence:
    """A config's folder and an .npz file."""
    expected = config_file(folder, "model", saved(config))
    return Evidence(expected, npz(folder / "bias.npz", arrays), part=part)


def bloom(heads: int = 8) -> Any:
    return tiny("bloom", hidden_size=8 * heads, n_head=heads, n_layer=2)


def falcon() -> Any:
    return tiny("falcon", alibi=True, num_attention_heads=8, hidden_size=512, multi_query=False)


def of_slopes(slopes: np.ndarray, length: int = 100) -> np.ndarray:
    """Minus slope times distance, (heads, n, n), for keys up to the query and after it alike."""
    places = np.arange(length)
    return -slopes[:, None, None] * np.abs(places[:, None] - places)


def paper_slopes(heads: int) -> np.ndarray:
    """Of a number of heads that is a power of two."""
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)


@mistake(BIAS, "bias", "ml-explore/mlx#3071", "ml-explore/mlx#343", names={"slope"})
def one_series_of_slopes_for_12_heads(folder: Path) -> Evidence:
    """For 12 heads ALiBi's code takes the slopes of 8 and every other one of 16; mlx took one geometric series."""
    return dumped(folder, bloom(12), {"bias": of_slopes(paper_slopes(12))})


@mistake(BIAS, "bias", "paiml/aprender#2143", names={"slope"})
def slopes_counted_from_head_0(folder: Path) -> Evidence:
    """Head h had 2^(-8h/n) for 2^(-8(h+1)/n), so that the first slope was 1."""
    return dumped(folder, bloom(), {"bias": of_slopes(2.0 ** -np.arange(8.0))})


@mistake(BIAS, "bias", "flashinfer-ai/flashinfer#1606", "bigscience-workshop/Megatron-DeepSpeed#227",
         names={"slope", "shard", "first 4"})  # fmt: skip
def slopes_of_the_first_shard_repeated(folder: Path) -> Evidence:
    """Two ranks of four heads each computed slopes from head 0 of their own: the last four heads had those of the first
    four."""
    return dumped(folder, bloom(), {"bias": of_slopes(np.tile(paper_slopes(8)[:4], 2))})


@mistake(BIAS, "bias", "keras-team/keras-hub#2977", "ofirpress/attention_with_linear_biases#20",
         names={"left out", "no bias", "zero", "missing", "not added"})  # fmt: skip
def no_bias_while_decoding(folder: Path) -> Evidence:
    """The bias was made of the window of queries, one token wide, and came out as zero: Falcon decoded without
    positions."""
    arrays = {"bias": np.zeros((8, 1, 60)), "query_positions": np.array([59]), "key_positions": np.arange(60)}
    return dumped(folder, falcon(), arrays)


@mistake(BIAS, "bias", "NVIDIA/TensorRT-Model-Connect#32", names={"√", "sqrt", "root", "1/", "scale", "factor"})
def bias_of_falcon_not_scaled_with_the_logits(folder: Path) -> Evidence:
    """Falcon adds the bias to q·k and divides both by the root of the head's width; an engine added it after the
    division, eight times too large."""
    return dumped(folder, falcon(), {"bias": of_slopes(paper_slopes(8))})


@mistake(
    BIAS,
    "scale",
    "tenstorrent/tt-metal#42891",
    "tenstorrent/tt-metal#55337",
    names={"√", "sqrt", "root", "1/", "scale", "factor"},
)
def bias_of_bloom_scaled_with_the_logits(folder: Path) -> Evidence:
    """A fused kernel multiplies the mask that it is given by the scale of the logits: ALiBi given as a mask shrinks by
    the root of the head's width, here 8."""
    config = tiny("bloom", hidden_size=512, n_head=8, n_layer=2)
    return dumped(folder, config, {"bias": of_slopes(paper_slopes(8)) / 8})


@mistake(BIAS, "bias", "HabanaAI/vllm-fork#503", "bigscience-workshop/Megatron-DeepSpeed#101",
         names={"bfloat16", "bf16", "narrow", "rounded", "precision"})  # fmt: skip
def biases_in_bfloat16_at_long_range(folder: Path) -> Evidence:
    """slope · position in bfloat16, in which positions beyond 256 lose their last digits; a switch for float32 was
    added to mend long sequences."""
    mask = torch.ones(1, 900)
    row = alibi_of_bloom(mask, 8, torch.float32).to(torch.bfloat16).expand(8, 900, 900)
    expected = config_file(folder, "model", saved(bloom()))
    return Evidence(expected, safetensors(folder / "bias.safetensors", {"bias": row}))


@mistake(BIAS, "bias", "huggingface/candle#1312", names={"bucket", "distance", "reach"})
def furthest_distances_beyond_the_last_bucket(folder: Path) -> Evidence:
    """A port of T5 left out the minimum that keeps far tokens in the last bucket, so that they fell into buckets of the
    other direction."""
    t5, length = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64), 400
    table = torch.randn(32, 4, generator=torch.Generator().manual_seed(3)).numpy()
    places = np.arange(length)
    relative = places[None] - places[:, None]
    far = np.abs(relative)
    with np.errstate(divide="ignore"):
        large = 8 + (np.log(far / 8) / np.log(128 / 8) * 8).astype(np.int64)
    bucket = np.where(far < 8, far, large) + 16 * (relative > 0)
    bias = table[np.clip(bucket, 0, 31)].transpose(2, 0, 1)
    return dumped(folder, t5, {"bias": bias, "table": table}, part="encoder")


@mistake(BIAS, "bias", "google-research/text-to-text-transfer-transformer#415", "lucidrains/x-transformers#10",
         names={"direction", "bidirectional", "two-sided", "one-sided", "bucket"})  # fmt: skip
def buckets_of_both_directions_in_the_decoder(folder: Path) -> Evidence:
    """T5's decoder has all 32 buckets for what lies before a token; ports that split them between before and after are
    right in the encoder alone."""
    t5 = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64)
    return dumped(folder, t5, stock_t5_arrays(t5, both_ways=True), part="decoder")


@mistake(BIAS, "bias", "NVIDIA/TensorRT-LLM#13870", names={"left out", "no bias", "zero", "missing", "not added"})
def bias_of_t5_dropped_with_a_cache(folder: Path) -> Evidence:
    """With a cache the decoder took another path, which knows no bias: from the second token on there was none."""
    t5 = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64)
    table = stock_t5_arrays(t5, both_ways=False)["table"]
    arrays = {"bias": np.zeros((4, 1, 50)), "query_positions": np.array([49]), "key_positions": np.arange(50)}
    return dumped(folder, t5, arrays | {"table": table}, part="decoder")


def stock_t5_arrays(config: Any, both_ways: bool, length: int = 200) -> dict[str, np.ndarray]:
    """The bias of T5's own attention, as an encoder's or a decoder's, and its table."""
    torch.manual_seed(0)
    config = type(config)(**{**config.to_dict(), "is_decoder": not both_ways})
    attention = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    torch.nn.init.normal_(attention.relative_attention_bias.weight)
    with torch.no_grad():
        bias = attention.compute_bias(length, length)[0]
        table = attention.relative_attention_bias.weight.clone()
    return {"bias": bias.numpy(), "table": table.numpy()}


@harmless(BIAS, "bias", "bigscience-workshop/Megatron-DeepSpeed#101", "mosaicml/examples#307")
def stock_bloom_bias_by_keys(folder: Path) -> Evidence:
    """BLOOM adds slope · key where the paper has minus slope · distance: rows differ by a number each, which no softmax
    sees. 12 heads."""
    bias = alibi_of_bloom(torch.ones(1, 100), 12, torch.float32).expand(12, 100, 100)
    return dumped(folder, bloom(12), {"bias": bias.numpy()})


@harmless(BIAS, "bias", "NVIDIA/TensorRT-Model-Connect#32")
def stock_falcon_bias(folder: Path) -> Evidence:
    """Falcon's own code, which rounds slope · key to bfloat16 on its way and divides by the root of the head's
    width."""
    bias = alibi_of_falcon(torch.ones(1, 100), 8, torch.float32).expand(8, 100, 100) / 8
    return dumped(folder, falcon(), {"bias": bias.numpy()})


@harmless(BIAS, "bias", "huggingface/transformers#8518", "ml-explore/mlx-examples#113")
def stock_t5_encoder_bias(folder: Path) -> Evidence:
    """The bias of T5's own attention in the encoder, without the table it was read from."""
    t5 = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64)
    return dumped(folder, t5, {"bias": stock_t5_arrays(t5, both_ways=True)["bias"]}, part="encoder")


@harmless(BIAS, "bias", "google-research/text-to-text-transfer-transformer#415")
def stock_t5_decoder_bias(folder: Path) -> Evidence:
    """The bias of T5's own attention in the decoder; what it says of later keys is masked."""
    t5 = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64)
    return dumped(folder, t5, stock_t5_arrays(t5, both_ways=False), part="decoder")
