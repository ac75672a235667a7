"""Correct implementations of other libraries, in float32 and forms of their own, which `check_code` must call right."""

from __future__ import annotations

import pytest
import torch

from posenc import RoPE
from posenc.diagnosis import check_code, diagnose

pytestmark = pytest.mark.parity


def whisper(length, channels):
    from transformers.models.whisper.modeling_whisper import sinusoids

    return sinusoids(length, channels)


def diffusers_table(embed_dim, positions):
    from diffusers.models.embeddings import get_1d_sincos_pos_embed_from_grid

    return get_1d_sincos_pos_embed_from_grid(embed_dim, positions, output_type="pt")


def rotary_embedding_torch(q):
    from rotary_embedding_torch import RotaryEmbedding

    return RotaryEmbedding(dim=q.shape[-1], cache_if_possible=False).rotate_queries_or_keys(q[None], seq_dim=-2)[0]


def llama(q, k, position_ids):
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    sizes = {"hidden_size": q.shape[-1], "num_attention_heads": 1, "head_dim": q.shape[-1]}
    cos, sin = LlamaRotaryEmbedding(LlamaConfig(**sizes, rope_theta=10_000.0))(q, position_ids[None])
    return tuple(one[0] for one in apply_rotary_pos_emb(q[None], k[None], cos, sin))


class T5:
    def __init__(self, num_heads, num_buckets=32):
        from transformers.models.t5.configuration_t5 import T5Config
        from transformers.models.t5.modeling_t5 import T5Attention

        sizes = {"num_heads": num_heads, "d_model": 8 * num_heads, "d_kv": 8}
        config = T5Config(**sizes, relative_attention_num_buckets=num_buckets, is_decoder=False)
        self.attention = T5Attention(config, has_relative_attention_bias=True)

    def __call__(self, query_length, key_length):
        return self.attention.compute_bias(query_length, key_length).detach()


def bloom(num_heads, length):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    return build_alibi_tensor(torch.ones(1, length), num_heads, torch.float32)


def peer_encoding(x):
    from positional_encodings.torch_encodings import PositionalEncoding1D

    return x + PositionalEncoding1D(x.shape[-1])(x)


RIGHT = {
    "transformers, Whisper": (whisper, "Sinusoidal(dim=16, layout='concatenated', exponent='i/(d/2-1)')"),
    "diffusers": (diffusers_table, "Sinusoidal(dim=16, layout='concatenated')"),
    "rotary-embedding-torch": (rotary_embedding_torch, "RoPE(dim=16)"),
    "transformers, Llama": (llama, "RoPE(dim=16, pairing='halves')"),
    "transformers, BLOOM": (bloom, "ALiBi(heads=8, form='signed')"),
    "positional-encodings": (peer_encoding, "Sinusoidal(dim=16)"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_correct_implementation_is_right(name):
    code, convention = RIGHT[name]
    report = check_code(code)
    assert (report.exit_code, report.convention) == (0, convention), report


def test_t5_of_transformers_has_the_buckets_of_t5():
    from posenc import T5Bias

    report = check_code(T5, against=T5Bias(heads=8))
    assert report.right, report


def test_the_method_of_a_module_that_rotates_is_called_as_it_is_and_after_a_cast():
    from rotary_embedding_torch import RotaryEmbedding

    module = RotaryEmbedding(dim=16)
    for target in (module, module.rotate_queries_or_keys):
        report = check_code(target)
        assert report.right, report
        assert "rotate_queries_or_keys" in report.form or "RotaryEmbedding" in report.form
        assert "Of 128 channels it rotates the first 16 alone." in report.notes
    cast = check_code(RotaryEmbedding(dim=16).bfloat16().rotate_queries_or_keys)
    assert [finding.name for finding in cast.findings] == ["16-bit angles"]


def test_the_doctor_reads_the_frequencies_of_a_module_that_rotates():
    from rotary_embedding_torch import RotaryEmbedding

    meant, module = RoPE(dim=16), RotaryEmbedding(dim=16)
    for actual in (module, module.rotate_queries_or_keys):
        found = diagnose(meant, actual)
        assert found.agree
        assert found.looked_at == ("frequencies",)
    assert [finding.name for finding in diagnose(RoPE(dim=16, base=5e5), module).findings] == ["base"]
    assert diagnose(meant, RotaryEmbedding(dim=16).bfloat16()).findings[0].name == "frequencies in bfloat16"


def test_the_doctor_sends_code_to_the_check():
    for code in (rotary_embedding_torch, torch.nn.Linear):
        with pytest.raises(TypeError, match=r"^actual must be .*Code of your own goes to posenc check FILE.py:NAME"):
            diagnose(RoPE(dim=16), code)
