"""Code of a user that is right: neither mypy nor basedpyright says anything about it."""

import numpy as np
import torch

import posenc
import posenc.torch
from posenc.attention import attention
from posenc.models import from_config

encoding = posenc.RoPE(dim=16, base=500_000.0, pairing="halves")
width: int = encoding.dim
rotation = encoding.rotation(np.arange(5))
cosines = rotation.cos
q, k = torch.randn(1, 8, 5, 16), torch.randn(1, 2, 5, 16)
positions = torch.arange(5)
rotated_q, rotated_k = posenc.torch.rotate(q, k, encoding.rotation(positions), layout="bhtd")
layer = posenc.torch.module(posenc.T5Bias(heads=8), seed=0)
attended = attention(
    q, k, k, query_positions=positions, key_positions=positions, layout="bhtd", encodings=[encoding]
).output
packed: list[int] = posenc.positions.packed([3, 2]).tolist()
read = from_config({"model_type": "llama", "rope_theta": 500000.0, "head_dim": 64, "num_hidden_layers": 16})
base = read.groups[0].rotary_encoding
