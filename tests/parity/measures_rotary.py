"""How far rotary embeddings of live peers lie from posenc, as numbers: what docs/conventions.md says, measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch

from posenc import DynamicNTK, FoPE, NTKAware, NTKByParts, NTKFixed, RoPE, XDRoPE, YaRN, axial
from posenc.frequencies import attention_of

LIKE = torch.zeros(())


def quiet(name: str) -> Any:
    """A module, imported without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def llama(dim: int = 64, longest: int = 2048, **rope: Any) -> Any:
    """The rotary module of a Llama model with these rope parameters."""
    module = quiet("transformers.models.llama.modeling_llama")
    config = module.LlamaConfig(
        head_dim=dim,
        hidden_size=4 * dim,
        num_attention_heads=4,
        max_position_embeddings=longest,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, **rope},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.LlamaRotaryEmbedding(config)


def most(left: Any, right: Any) -> float:
    return float((torch.as_tensor(left).double() - torch.as_tensor(right).double()).abs().max())


def before(end: int, count: int = 300) -> torch.Tensor:
    return torch.arange(end - count, end)


def pairing() -> float:
    """A head of ones at 512 places, rotated as a Llama model does, against neighbours in pairs."""
    ones, places = torch.ones(1, 1, 512, 64), torch.arange(512)
    apply = quiet("transformers.models.llama.modeling_llama").apply_rotary_pos_emb
    return most(apply(ones, ones, *llama()(LIKE, places[None]))[0], RoPE(dim=64).rotation(places)(ones, layout="bhtd"))


def cosine_of(module: Any, places: torch.Tensor) -> torch.Tensor:
    return module(LIKE, places[None])[0][0, :, :32]


def float32_angle(end: int) -> Callable[[], float]:
    """Cosines of the 300 places before `end`: angles in float32 against exact ones."""
    return lambda: most(cosine_of(llama(), before(end)), RoPE(dim=64).rotation(before(end)).cos)


def bfloat16_buffer(end: int) -> Callable[[], float]:
    """The same after the module was cast to bfloat16, frequencies and all."""
    return lambda: most(cosine_of(llama().to(torch.bfloat16), before(end)), RoPE(dim=64).rotation(before(end)).cos)


def multiplied_up() -> float:
    """Cosines before a million of 128 channels, whose angles are one float32 number multiplied up pair by pair."""
    step, angle = np.float32(10_000.0 ** (-2 / 128)), before(1_000_000).numpy().astype(np.float32)
    cosines = []
    for _ in range(64):
        cosines.append(np.cos(angle))
        angle = angle * step
    return most(np.stack(cosines, -1), RoPE(dim=128).rotation(before(1_000_000)).cos)


def x_transformers_bfloat16() -> float:
    module = quiet("x_transformers.x_transformers").RotaryEmbedding(64).bfloat16()
    return most(module(before(8000))[0][0, :, ::2].float().cos(), RoPE(dim=64).rotation(before(8000)).cos)


def rotary_embedding_torch_bfloat16() -> float:
    """A head of ones at places before 8000, rotated by a module that was cast to bfloat16."""
    module = quiet("rotary_embedding_torch").RotaryEmbedding(64, cache_if_possible=False).bfloat16()
    rotated = module.rotate_queries_or_keys(torch.ones(1, 1, 300, 64), offset=7700).detach()
    return most(rotated[0, 0], RoPE(dim=64).rotation(before(8000))(torch.ones(300, 64)))


def table_in_bfloat16() -> float:
    """Heads of normal numbers in bfloat16: cos, sin and both products rounded there, the product once here."""
    q = torch.randn(1, 4, 300, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    module = quiet("transformers.models.llama.modeling_llama")
    peer = module.apply_rotary_pos_emb(q, q, *llama()(q, torch.arange(300)[None]))[0]
    ours = RoPE(dim=64, pairing="halves").rotation(torch.arange(300))(q, layout="bhtd")
    return most(peer, ours)


def dynamic_next_to_a_longer_row() -> float:
    """Cosines of the row 0 … 511: alone, and in a batch with a row that ends at 8191."""
    row, longer = torch.arange(512), torch.arange(8192 - 512, 8192)
    alone = llama(rope_type="dynamic", factor=2.0)(LIKE, row[None])[0][0]
    together = llama(rope_type="dynamic", factor=2.0)(LIKE, torch.stack([row, longer]))[0][0]
    return most(alone, together)


def dynamic_in_a_record() -> float:
    """The same of ours: an encoding of a stated length has no batch."""
    encoding = RoPE(dim=64, scaling=DynamicNTK(factor=2.0, original=2048, length=2048))
    longer = torch.arange(8192 - 512, 8192)
    return most(
        encoding.rotation(torch.arange(512)).cos, encoding.rotation(torch.stack([torch.arange(512), longer])).cos[0]
    )


def longrope_next_to_a_longer_row() -> float:
    """LongRoPE with lists of ones and of fours: the row 0 … 511 alone, and next to one beyond the original length."""
    rope = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 4.0}
    rope["original_max_position_embeddings"] = 2048
    row, longer = torch.arange(512), torch.arange(8192 - 512, 8192)
    alone = llama(longest=8192, **rope)(LIKE, row[None])[0][0]
    together = llama(longest=8192, **rope)(LIKE, torch.stack([row, longer]))[0][0]
    return most(alone, together)


def share(found: Any, other: Any) -> float:
    """By how much one frequency exceeds another at most, as a share."""
    return float((torch.as_tensor(found).double() / torch.as_tensor(other).double() - 1).abs().max())


def yarn_ramp() -> float:
    """The released ramp, linear in the channel, over the paper's, linear in rotations: 128 channels, 16 times 4096."""
    rope = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
    scaling = NTKByParts(factor=16.0, original=4096)
    return share(llama(128, 65_536, **rope).inv_freq, RoPE(dim=128, scaling=scaling).frequencies.radians())


def yarn_truncate() -> float:
    """The settings of gpt-oss with and without its ends rounded to whole pairs."""
    rope = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "rope_theta": 150_000.0}
    cut, fractional = (llama(64, 131_072, truncate=truncate, **rope).inv_freq for truncate in (True, False))
    return share(cut, fractional)


def yarn_in_the_logits() -> float:
    """What YaRN's factor within cos and sin does to every logit at 16 times the length."""
    return YaRN(factor=16.0, original=4096).attention_factor ** 2


def yarn_mscale_alone() -> float:
    """mscale=0.707 and nothing else, factor 40: the ratio of the two readings of one file."""
    return attention_of("transformers", 40.0, 0.707, None) / attention_of("megatron", 40.0, 0.707, None)


def yarn_mscale_of_transformers() -> float:
    """The attention factor that transformers takes from that file."""
    rope = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 0.707}
    return float(llama(64, 163_840, **rope).attention_scaling)


def ntk_fixed() -> float:
    """How fast the first of 128 channels rotates under the fixed rule, 8 times longer."""
    return float(RoPE(dim=128, scaling=NTKFixed(8.0)).frequencies.radians()[0])


def sections() -> float:
    """How many of 64 pairs read another coordinate when the same sections are interleaved."""
    one, other = (axial(layout, (24, 20, 20)).axis for layout in ("qwen2-vl", "qwen3-vl"))
    return float(sum(left != right for left, right in zip(one, other, strict=True)))


def sections_over_channels() -> float:
    """A head of ones on a 16 × 16 image that begins at place 40 of HunYuan-VL: sections over channels, and over
    pairs."""
    rows, columns = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    line = 40 + torch.arange(256)
    places = torch.stack([line, columns.reshape(-1), rows.reshape(-1), torch.zeros_like(line)], -1)
    ones, sections = torch.ones(256, 128), (16, 16, 16, 16)
    return most(XDRoPE(sections=sections).rotation(places)(ones), axial("qwen2-vl", sections).rotation(places)(ones))


def fope_padding() -> float:
    """A head of ones at 512 places under both paddings of the frequencies that are left out."""
    encodings = [FoPE(dim=64, heads=2, length=512, padding=padding) for padding in ("one", "zero")]
    params = encodings[0].init(np.random.default_rng(0))
    one, zero = (
        encoding.rotation(np.arange(512), params)(np.ones((1, 2, 512, 64)), layout="bhtd") for encoding in encodings
    )
    return most(one, zero)


def partial_width() -> float:
    """A quarter of 64 channels rotated: frequencies over the rotated width against the whole head, pair 7."""
    whole = llama(64, rope_type="proportional", partial_rotary_factor=0.25).inv_freq[:8]
    return share(RoPE(dim=16).frequencies.radians(), whole)


def diffusers_ntk() -> float:
    """ntk_factor=8 of 32 channels, which leaves the exponent out: frequencies against the NTK rule's."""
    cosine, sine = quiet("diffusers.models.embeddings").get_1d_rotary_pos_embed(32, 2, use_real=True, ntk_factor=8.0)
    angles = torch.atan2(sine.double(), cosine.double())[1, ::2]
    return share(angles, RoPE(dim=32, scaling=NTKAware(8.0)).frequencies.radians())


def diffusers_float64() -> float:
    """Cosines before a million: frequencies of float32, its default, against float64, as Flux asks for."""
    function = quiet("diffusers.models.embeddings").get_1d_rotary_pos_embed
    narrow = function(64, before(1_000_000), use_real=True)[0]
    return most(narrow, function(64, before(1_000_000), use_real=True, freqs_dtype=torch.float64)[0])


def equinox_cache() -> float:
    """A second module, base 500,000, after a first of base 10,000 and the same width: vectors of ones, 50 places."""
    import equinox
    import jax.numpy as jnp
    import numpy as np

    ones = jnp.ones((50, 42), dtype=jnp.float32)
    made = (equinox.nn.RotaryPositionalEmbedding(42, theta=base, dtype=jnp.float32) for base in (1e4, 5e5))
    _, second = (np.asarray(module(ones)) for module in made)
    return most(second.copy(), RoPE(dim=42, base=5e5, pairing="halves").rotation(torch.arange(50))(torch.ones(50, 42)))


def xpos_cache() -> float:
    """The logit of a query at 4095 and a key cached at 100 when 101 were there, over the logit of the whole
    sequence."""
    peer = quiet("rotary_embedding_torch").RotaryEmbedding(dim=64, use_xpos=True, cache_if_possible=False)
    ones = torch.ones(1, 1, 4096, 64)
    query_positions, keys = peer.rotate_queries_and_keys(ones, ones)
    _, cached = peer.rotate_queries_and_keys(ones[:, :, :101], ones[:, :, :101])
    whole, decoded = (float(query_positions[0, 0, -1] @ key_positions[0, 0, 100]) for key_positions in (keys, cached))
    return decoded / whole


def x_transformers_width() -> float:
    """Channels that x-transformers rotates of a head of 64 when nothing is said."""
    decoder = quiet("x_transformers").Decoder(dim=64, depth=1, heads=1, rotary_pos_emb=True)
    return 2.0 * decoder.rotary_pos_emb.inv_freq.numel()


MEASURES: dict[str, Callable[[], float]] = {
    "pairing": pairing,
    "float32 angle at 131072": float32_angle(131_072),
    "float32 angle at 1000000": float32_angle(1_000_000),
    "bfloat16 buffer at 1000": bfloat16_buffer(1000),
    "bfloat16 buffer at 8000": bfloat16_buffer(8000),
    "bfloat16 of x-transformers": x_transformers_bfloat16,
    "bfloat16 of rotary-embedding-torch": rotary_embedding_torch_bfloat16,
    "table in bfloat16": table_in_bfloat16,
    "dynamic next to a longer row": dynamic_next_to_a_longer_row,
    "dynamic in an encoding": dynamic_in_a_record,
    "longrope next to a longer row": longrope_next_to_a_longer_row,
    "yarn ramp": yarn_ramp,
    "yarn truncate": yarn_truncate,
    "yarn in the logits": yarn_in_the_logits,
    "yarn mscale alone": yarn_mscale_alone,
    "yarn mscale of transformers": yarn_mscale_of_transformers,
    "partial width": partial_width,
    "diffusers ntk": diffusers_ntk,
    "diffusers float64": diffusers_float64,
    "equinox cache": equinox_cache,
    "xpos cache": xpos_cache,
    "sections": sections,
    "sections over channels": sections_over_channels,
    "fope padding": fope_padding,
    "multiplied up": multiplied_up,
    "ntk fixed": ntk_fixed,
    "x-transformers width": x_transformers_width,
}
