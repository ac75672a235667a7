"""What `swap` refuses, with the reason, and what a swapped model refuses when it is called."""

from __future__ import annotations

import pytest
import torch
import transformers

import posenc
from posenc.transformers import swap
from transformers_adapter.tiny_models import TOKENS
from transformers_adapter.tiny_models import model as small

HEADS, HIDDEN = 4, 48

REFUSED = {
    "no model": (
        "llama",
        posenc.NoPE(dim=8),
        {},
        TypeError,
        r"model must be a loaded model of transformers; got 'llama'",
    ),
    "another module": (
        torch.nn.Linear(2, 2),
        posenc.NoPE(dim=8),
        {},
        TypeError,
        r"model must be a loaded model .* Linear",
    ),
    "not an encoding": (
        "Llama",
        "RoPE",
        {},
        TypeError,
        r"encoding must be an encoding.*; got 'RoPE' \(str\)\. Give RoPE",
    ),
    "other heads": (
        "Llama",
        posenc.ALiBi(heads=8),
        {},
        ValueError,
        r"encoding must have the model's heads, 4; got ALiBi",
    ),
    "other width": (
        "Llama",
        posenc.RoPE(dim=16),
        {},
        ValueError,
        r"encoding must have the model's head_dim, 12; got RoPE\(dim=16",
    ),
    "other channels": (
        "Llama",
        posenc.Sinusoidal(dim=12),
        {},
        ValueError,
        r"encoding must have the model's width, 48; got Sinusoidal",
    ),
    "two coordinates": (
        "Llama",
        posenc.axial("sam2", dim=12),
        {},
        ValueError,
        r"encoding must take one coordinate, .* which takes 2\. Use",
    ),
    "a name as layers": ("Llama", posenc.ALiBi(heads=4), {"layers": "0"}, TypeError, r"layers must be numbers .* '0'"),
    "truth as layers": (
        "Llama",
        posenc.ALiBi(heads=4),
        {"layers": [True]},
        TypeError,
        r"layers must be numbers .* True",
    ),
    "no such layer": ("Llama", posenc.ALiBi(heads=4), {"layers": [2]}, ValueError, r"layers must be some of \[0, 1\]"),
    "keys in between behind a window": (
        "Gemma3",
        posenc.CoPE(dim=16),
        {},
        ValueError,
        r"encoding must not read the keys in between .* a window of 4096",
    ),
    "added in one layer": (
        "Llama",
        posenc.Sinusoidal(dim=48),
        {"layers": [0]},
        ValueError,
        r"layers must be left out for Sinusoidal",
    ),
    "one layer behind a table": (
        "Bert",
        posenc.ALiBi(heads=4),
        {"layers": [0]},
        ValueError,
        r"layers must be left out .*position_embeddings",
    ),
    "a schedule of other length": (
        "Llama",
        posenc.PerLayer((None,)),
        {},
        ValueError,
        r"encoding must be a schedule for all of the model's 2 layers",
    ),
    "attention that is not reached": (
        "GPTJ",
        posenc.NoPE(dim=48),
        {},
        ValueError,
        r"model must do with positions .*'gptj': its attention does not go",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_before_anything_is_changed(case: str) -> None:
    kind, encoding, more, error, message = REFUSED[case]
    one = small(kind) if isinstance(kind, str) and kind != "llama" else kind
    with pytest.raises(error, match="^" + message):
        swap(one, encoding, **more)
    if isinstance(one, torch.nn.Module):
        assert not any("posenc" in name or each._forward_pre_hooks for name, each in one.named_modules())


def test_models_that_are_refused() -> None:
    sizes = {"vocab_size": 8, "d_model": 16, "d_ff": 8, "num_layers": 1, "num_heads": 2, "d_kv": 8}
    with pytest.raises(ValueError, match=r"^model must do with positions .*'t5': it has encoder and decoder"):
        swap(transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes)), posenc.NoPE(dim=16))
    with torch.device("meta"), pytest.raises(ValueError, match=r"^model must have its weights"):
        swap(small("Llama"), posenc.NoPE(dim=48))


def test_attention_that_cannot_take_what_adds_to_the_logits() -> None:
    one = small("Llama")
    one.config._attn_implementation = "flex_attention"
    with pytest.raises(ValueError, match=r"^model must attend by one of \['sdpa', 'eager'\] .* got 'flex_attention'"):
        swap(one, posenc.ALiBi(heads=HEADS))
    assert one.config._attn_implementation == "flex_attention"
    one = small("Llama", attn_implementation="eager")
    with pytest.raises(
        ValueError, match=r"^encoding must rotate all heads alike where attention is eager and 2 heads of"
    ):
        swap(one, posenc.PoPE(dim=12, heads=HEADS))
    capped = transformers.Gemma2Config(
        vocab_size=32,
        hidden_size=48,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=12,
        attn_implementation="eager",
    )
    with pytest.raises(
        ValueError, match=r"^model must attend by softmax of scaled logits alone, for ALiBi.*got softcap"
    ):
        swap(transformers.Gemma2ForCausalLM(capped), posenc.ALiBi(heads=HEADS))
    one = small("Llama")
    swap(one, posenc.ALiBi(heads=HEADS))
    one.set_attn_implementation("eager")
    with pytest.raises(ValueError, match=r"^model must keep the attention it was swapped with; got 'eager'"):
        one(TOKENS)


def test_calls_that_are_refused() -> None:
    one = small("Llama")
    filled = one(TOKENS).past_key_values
    with swap(one, posenc.ForgettingGate(heads=HEADS, model_dim=HIDDEN)):
        with torch.no_grad():
            assert one.generate(TOKENS, max_new_tokens=2, use_cache=False).shape == (2, 9)
        with pytest.raises(ValueError, match=r"^use_cache must be False for ForgettingGate"):
            one.generate(TOKENS, max_new_tokens=2)
        with pytest.raises(ValueError, match=r"^past_key_values must be filled by this model after the swap"):
            one(TOKENS[:, :1], past_key_values=filled)
    mask = torch.full((2, 1, 7, 7), -0.5)
    with swap(one, posenc.ALiBi(heads=HEADS)), pytest.raises(ValueError, match=r"^attention_mask must say which keys"):
        one(TOKENS, attention_mask=mask)
    layer = one.model.layers[0].self_attn
    with (
        swap(one, posenc.NoPE(dim=HIDDEN)),
        pytest.raises(ValueError, match=r"^position_ids must reach each attention layer"),
    ):
        layer(torch.zeros(1, 2, HIDDEN), position_embeddings=(torch.ones(1, 2, 12),) * 2)


def test_tables_and_embeddings_that_are_not_as_expected() -> None:
    one = small("Llama")
    with swap(one, posenc.RoPE(dim=12, pairing="halves")):
        part = one.model.layers[0].self_attn.posenc
        given = {"hidden_states": torch.zeros(1, 2, HIDDEN), "position_ids": torch.tensor([[0, 1]])}
        with pytest.raises(ValueError, match=r"^model must give each layer two tables, cosines and sines; got .*dict"):
            part.before(one, (), given | {"position_embeddings": {"main": 1}})
        with pytest.raises(ValueError, match=r"^model must give tables for 6 pairs of channels; got width 5"):
            part.before(one, (), given | {"position_embeddings": (torch.ones(1, 2, 5),) * 2})
    one.config.get_text_config = lambda: object()
    with pytest.raises(ValueError, match=r"^model must read tokens; got LlamaForCausalLM: .*vocab_size"):
        swap(one, posenc.NoPE(dim=HIDDEN))
