"""What attention with an encoding should cost at most, over causal attention without one."""

from __future__ import annotations

from attention_cost.attention import AUTO, CAUSAL, LENGTHS, RECORDS, title
from attention_cost.attention_decoding import KEYS, PLAIN, ROWS, SHARED, STEP
from attention_cost.attention_memory import MEMORY
from attention_cost.attention_one_row import BY_CALL, CALL, IN_LAYER, PLAIN_LAYER, layer_title
from attention_cost.attention_one_row import KEYS as ROW_KEYS
from attention_cost.attention_one_row import PLAIN as ROW_PLAIN
from attention_cost.attention_one_row import STEP as LAYER_STEP
from attention_cost.attention_one_row import title as row_title
from attention_cost.attention_shared import GIVEN, NAME, shared_title
from attention_cost.attention_training import CAUSAL_TRAINED, LENGTH, TRAINED
from attention_cost.attention_windows import FULL, MOST, NEW, WINDOWED, WINDOWS, new_title, window_title
from measuring.goal import Goal
from torch import bfloat16, float32

#: At most, and what it cost when the goals were set: the mask made whole, 1024 tokens in float32.
COSTS = {
    "RoPE": (1.08, "1.32"),
    "ALiBi": (1.2, "6.8"),
    "KERPLE": (1.2, "8.0"),
    "T5": (1.2, "9.3"),
    "Sandwich": (1.2, ""),
    "FIRE": (4.0, "31"),
    "Shaw": (2.0, "5.1"),
    "DeBERTa": (2.6, "10"),
    "CoPE": (6.0, "33"),
    "forgetting gate": (1.4, "4.5"),
    "Transformer-XL": (2.5, ""),
    "distance bank": (2.5, ""),
    "DAPE": (5.0, ""),
    "PaTH": (5.0, ""),
}
#: With gradient, where it is not the same.
COSTS_TRAINED = {"DeBERTa": 5.0, "DAPE": 10.0}
DTYPES = (float32, bfloat16)
STEPS = tuple(name for name, encoding in RECORDS.items() if encoding.door != "scores")


def _row_goal(name: str, keys: int) -> float:
    """At few keys a call costs what is called; at many, what is computed."""
    if keys < 64:
        return 8.0
    return _step_goal(name)


def _step_goal(name: str) -> float:
    return 2.5 if RECORDS[name].door == "scores" else 1.2


def _name(name: str, length: int, dtype: object) -> str:
    return f"attention, {name}, {length}, {str(dtype).removeprefix('torch.')}"


ATTENTION = (
    *(
        Goal(_name(name, length, dtype), "attention", title(name, length, dtype), AUTO, CAUSAL, most, before)
        for dtype in DTYPES
        for length in LENGTHS
        for name, (most, before) in COSTS.items()
    ),
    *(
        Goal(f"attention in training, {name}", "attention_training", f"{title(name, LENGTH, float32)}, trained",
            TRAINED, CAUSAL_TRAINED, COSTS_TRAINED.get(name, most), "")
        for name, (most, _) in COSTS.items()
    ),
    *(
        Goal(f"attention, a query of {ROWS} rows, {name}, {str(dtype).removeprefix('torch.')}", "attention_decoding",
            title(name, KEYS, dtype).replace("tokens", f"keys, a query of {ROWS} rows"), STEP, PLAIN, 1.2, "")
        for dtype in DTYPES
        for name in STEPS
    ),
    *(
        Goal(f"attention, a query of {ROWS} rows, {name}, {str(dtype).removeprefix('torch.')}, row made once a step",
            "attention_decoding", title(name, KEYS, dtype).replace("tokens", f"keys, a query of {ROWS} rows"), SHARED,
            PLAIN, 1.2, "")
        for dtype in DTYPES
        for name in STEPS
        if RECORDS[name].door == "biases"
    ),
    *(
        Goal(f"attention, one query, {name}, {keys} keys, {str(dtype).removeprefix('torch.')}", "attention_one_row",
            row_title(name, keys, dtype), CALL, ROW_PLAIN, _row_goal(name, keys), "")
        for keys, dtype in ((16, float32), (4096, float32), (4096, bfloat16))
        for name in BY_CALL
    ),
    *(
        Goal(f"Attention.step, {name}, {keys} keys", "attention_one_row", layer_title(name, keys), LAYER_STEP,
            PLAIN_LAYER, _step_goal(name), "")
        for keys in ROW_KEYS
        for name in IN_LAYER
    ),
    *(
        Goal(f"attention in a window, {name}", "attention_windows", window_title(name), WINDOWED, CAUSAL, MOST, "")
        for name in WINDOWS
    ),
    *(
        Goal(f"attention of new queries, {name}", "attention_windows", new_title(name), WINDOWED, FULL, 1.2, "")
        for name in NEW
    ),
    *(
        Goal(f"{_name(NAME, length, dtype)}, made once a step", "attention_shared", shared_title(length, dtype), GIVEN,
            CAUSAL, 1.4, "")
        for dtype in DTYPES
        for length in LENGTHS
    ),
    *(
        Goal(f"attention, MiB at 8192 tokens, {name}", "attention_memory", MEMORY, name, "", 64.0, "")
        for name in RECORDS
    ),
)  # fmt: skip

IN_BFLOAT16 = (
    "on a processor with matrix instructions for bfloat16, attention without an encoding takes 0.4 of its time in "
    "float32, while attention with what is added to the logits, made in float32, takes 0.4 (biases) to 1.1 of it: "
    "PyTorch has no product of bfloat16 numbers with a float32 result on a CPU"
)
READ = (
    "a mask is read, in float32, and the pieces at the diagonal hold keys that no query sees; the fused kernel leaves "
    "them out by itself"
)
READ_IN_FLOAT32 = (
    "a mask is read in float32, 4 bytes a pair and head, and attention without an encoding takes 0.4 of its time in "
    "float32 on a processor with matrix instructions for bfloat16"
)
BY_DISTANCE = (
    "the product with a vector a distance is half of what attention multiplies; where keys have vectors too it is made "
    "twice, with distances that no pair has, and their products are added transposed, a nanosecond a pair; "
    "Transformer-XL makes and projects its sinusoids in each call"
)
TRAINED_BY_DISTANCE = (
    "the backward pass forms the weights again and sums the gradient of each distance, in plain PyTorch: the five "
    "products are half of its time, the rest passes over the logits that fused attention does not make"
)
NETWORK = "each pair runs a network of 32 channels, whose products alone take as long as attention"
#: Why a goal is not reached, by how its name begins; the first that fits is said.
ATTENTION_REASONS = {
    **{f"{_name(NAME, length, bfloat16)}, made once a step": READ_IN_FLOAT32 for length in LENGTHS},
    **{_name(name, length, bfloat16): IN_BFLOAT16 for name in COSTS for length in LENGTHS if name != "RoPE"},
    **{f"attention, {name},": READ for name in ("ALiBi", "KERPLE", "T5", "Sandwich")},
    **{f"attention, {name},": BY_DISTANCE for name in ("DeBERTa", "Transformer-XL", "distance bank")},
    **{f"{_name(NAME, length, float32)}, made once a step": READ for length in LENGTHS},
    **{f"attention, {name},": NETWORK for name in ("FIRE", "DAPE")},
    "attention, RoPE": "rotated queries and keys are new tensors, which the default allocator maps page by page",
    "attention, PaTH": "a tile meets its own keys block by block, and reflects all earlier keys once",
    "attention, forgetting gate": "the sums between a query and its nearest keys are formed in float64",
    "attention in training, T5": TRAINED_BY_DISTANCE,
    "attention in training, KERPLE": TRAINED_BY_DISTANCE,
    "attention in training": "tiles are computed again for the gradient, and the gradients of what is gathered or "
    "skewed are matrices of a tile each",
    f"attention, a query of {ROWS} rows": "the row of the bias is made in each call, for as many keys as are read; "
    "shared_bias makes it once for all layers",
    **dict.fromkeys(
        ("attention in a window, Shaw", "attention in a window, forgetting gate"),
        "the score of each pair in the window is made in plain PyTorch, in several passes over the logits",
    ),
    "attention, one query, forgetting gate": "the gates of all keys are made from the layer's inputs, which "
    "are as many numbers as the keys, in each call",
    "attention, one query": "at 16 keys a call is its checks in Python, many times as long as the fused kernel; at "
    "4096 the row of the encoding is made in each call",
    "Attention.step": "a call is its checks in Python, beside four products and two copies",
    "attention, MiB": "every key has vectors of its own, for all heads, which are made at once",
}
