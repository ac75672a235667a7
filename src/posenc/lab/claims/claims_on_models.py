"""Claims that one figure or one config decides: numbers printed in the sources, and encodings of released models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc import Learned, Sinusoidal
from posenc.core.doors import AttentionBias, RotaryEncoding
from posenc.lab.claims.claim import Computation, computed
from posenc.models import from_config


@computed(
    statement="PE(3) at width 4 begins 0.1411, -0.9899.",
    sources=("lecture",),
    rule="cos 3 to four digits: supported if it is -0.9899.",
    note="cos 3 = -0.98999, which rounds to -0.9900.",
)
def printed_digits_of_the_lecture() -> Computation:
    """Compare cos 3 with the value that the lecture prints."""
    return round(math.cos(3), 4) == -0.9899, {"cos 3": math.cos(3)}


@computed(
    statement="The sines of 2, 3 and 4 are 0.87, 0.19 and -0.90.",
    sources=("notes",),
    rule="The sines to two digits: each is supported if it is as printed.",
    note="None of the three printed values is the sine of its number.",
)
def printed_sines_of_the_notes() -> Computation:
    """Compare the sines of 2, 3 and 4 with the values that the notes print."""
    printed = {2: 0.87, 3: 0.19, 4: -0.90}
    figures = {f"sin {angle}": math.sin(angle) for angle in printed}
    parts = {f"sin {angle}": abs(math.sin(angle) - value) < 0.005 for angle, value in printed.items()}
    return parts, figures


@computed(
    statement="The value 0.85 gives the position of the word book, 2.",
    sources=("chapter",),
    rule="n^(2/d) · arccos 0.85 with n = 100 and d = 16: supported if it is 2 to a tenth.",
    note="The value stands in the row of the word before, and gives its position, 1.",
)
def position_of_book() -> Computation:
    """Compute the position from the value 0.85 by the chapter's formula, and compare it with the stated 2."""
    position = float(100 ** (2 / 16) * np.arccos(0.85))
    return abs(position - 2) < 0.1, {"position": position}


@computed(
    statement="With d = 5120 and n = 10000, a value of 0.488814 at dimension 1088 was generated at k = 7.",
    sources=("chapter",),
    rule="The formula at k = 7: supported if it gives the printed value to six digits.",
    note="At k = 7 the stated formula gives 0.835. The printed value belongs to an exponent of i/d in place of 2i/d.",
)
def position_of_the_practice_question() -> Computation:
    """Compute the value at k = 7 of the chapter's practice question, and compare it with the printed one."""
    value = float(Sinusoidal(dim=5120).embed(np.array([7]))[0, 1088])
    other = float(np.sin(7 / 10000 ** (544 / 5120)))
    return abs(value - 0.488814) < 1e-6, {"at k = 7": value, "with exponent i/d": other}


@computed(
    statement="BERT and GPT use learned encodings, and some modern models rotary or relative ones.",
    sources=("lesson",),
    rule=(
        "The config of BERT, GPT-2, Llama 3 and T5 with the sizes of their smallest release, as posenc reads it: each "
        "part is supported if the encoding is of the kind that the source says."
    ),
    note="BERT and GPT-2 add a learned table at the input, Llama 3 rotates, T5 adds a bias by distance.",
)
def models_use_what_the_lesson_says() -> Computation:
    """Encodings of four released models."""
    sizes = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 512}
    configs: dict[str, tuple[dict[str, Any], type]] = {
        "BERT is learned": ({"model_type": "bert", **sizes}, Learned),
        "GPT-2 is learned": ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_positions": 1024}, Learned),
        "Llama 3 is rotary": ({"model_type": "llama", **sizes, "rope_theta": 500_000.0}, RotaryEncoding),
        "T5 is relative": ({"model_type": "t5", "d_model": 512, "num_layers": 6, "num_heads": 8}, AttentionBias),
    }
    parts, figures = {}, {}
    for part, (config, kind) in configs.items():
        encodings = {each for group in from_config(config).groups for each in group.encodings}
        parts[part] = bool(encodings) and all(isinstance(each, kind) for each in encodings)
        figures[f"{part.partition(' is ')[0]}: different encodings"] = len(encodings)
    return parts, figures


@computed(
    statement="Llama 4 no longer knows absolute positions, only relative ones.",
    sources=("chapter",),
    rule=(
        "The config of Llama 4 Scout as posenc reads it: supported if no layer's queries depend on their position "
        "alone, which a factor of the queries would be."
    ),
    note=(
        "Three layers of four rotate and know distances alone. Each fourth does not rotate, and from position 8,192 on "
        "multiplies its queries by a factor of their absolute position."
    ),
)
def llama_4_is_relative_only() -> Computation:
    """Count the layers of Llama 4 that rotate, and those that scale queries by their position."""
    config = {
        "model_type": "llama4_text", "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40,
        "head_dim": 128, "max_position_embeddings": 10_485_760, "rope_theta": 500_000.0,
        "attn_temperature_tuning": True, "floor_scale": 8192, "attn_scale": 0.1, "no_rope_layers": [1, 1, 1, 0] * 12,
    }  # fmt: skip
    groups = from_config(config).groups
    scaled = sum(len(group.layers) for group in groups if group.query_temperature is not None)
    rotated = sum(len(group.layers) for group in groups if group.rotary_encoding is not None)
    return scaled == 0, {"layers that rotate": rotated, "layers that scale queries by position": scaled}
