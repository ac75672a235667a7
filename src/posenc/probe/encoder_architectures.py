"""Architectures with an encoder that a probe can be written for: masked prediction, and T5's encoder and decoder."""

from __future__ import annotations

from dataclasses import replace

from posenc.probe.architecture import ProbeArchitecture, biases
from posenc.probe.bucket_weights import FILLER

BERT = ProbeArchitecture(
    ("bert",),
    gguf="bert",
    quantity="row",
    keys=lambda sizes: {
        "hidden_size": sizes.hidden, "num_attention_heads": sizes.heads, "intermediate_size": sizes.inner,
        "vocab_size": sizes.vocabulary, "layer_norm_eps": 1e-12, "type_vocab_size": 2,
    },
    layer="bert.encoder.layer.{}.",
    embedding="bert.embeddings.word_embeddings.weight",
    table="bert.embeddings.position_embeddings.weight",
    embedding_norm="bert.embeddings.LayerNorm",
    head="cls.predictions.decoder.weight",
    final="",
    prediction="cls.predictions.transform.dense",
    prediction_norm="cls.predictions.transform.LayerNorm",
    q="attention.self.query",
    k="attention.self.key",
    v="attention.self.value",
    o="attention.output.dense",
    input_norm="",
    other_norms=("attention.output.LayerNorm", "output.LayerNorm"),
    biased_norms=True,
    balanced=True,
    encoder=True,
    one_key_head=False,
    zeros={
        **biases("attention.self", query="q", key="k", value="k"), **biases("attention.output", dense="h"),
        "intermediate.dense.weight": "ih", "intermediate.dense.bias": "i", "output.dense.weight": "hi",
        "output.dense.bias": "h",
    },
    outside={
        "bert.embeddings.token_type_embeddings.weight": "th", "cls.predictions.transform.dense.bias": "h",
        "cls.predictions.bias": "v", "cls.predictions.decoder.bias": "v",
        "bert.pooler.dense.weight": "hh", "bert.pooler.dense.bias": "h",  # as published files have it
    },
)  # fmt: skip
MODERNBERT = ProbeArchitecture(
    ("modernbert",),
    gguf="modern-bert",
    keys=lambda sizes: {
        "hidden_size": sizes.hidden, "num_attention_heads": sizes.heads, "intermediate_size": sizes.inner,
        "vocab_size": sizes.vocabulary, "norm_eps": 1e-12, "decoder_bias": True,
    },
    embedding="model.embeddings.tok_embeddings.weight",
    embedding_norm="model.embeddings.norm",
    first_norm=False,
    head="decoder.weight",
    final="model.final_norm",
    prediction="head.dense",
    prediction_norm="head.norm",
    q="attn.Wqkv",
    o="attn.Wo",
    fused="concatenated",
    input_norm="attn_norm",
    other_norms=("mlp_norm",),
    balanced=True,
    encoder=True,
    one_key_head=False,
    zeros={"mlp.Wi.weight": "Ih", "mlp.Wo.weight": "hi"},
    outside={"decoder.bias": "v"},
)  # fmt: skip
T5 = ProbeArchitecture(
    ("t5",),
    gguf="t5",
    quantity="bucket",
    keys=lambda sizes: {
        "d_model": sizes.hidden, "d_kv": sizes.head, "num_heads": sizes.heads, "d_ff": sizes.inner,
        "vocab_size": sizes.vocabulary, "layer_norm_epsilon": 1e-12, "feed_forward_proj": "relu",
        "decoder_start_token_id": FILLER,
    },
    head="",
)  # fmt: skip
UMT5 = replace(T5, model_types=("umt5",), gguf="", own_tables=True)

ENCODERS = (BERT, MODERNBERT, T5, UMT5)
