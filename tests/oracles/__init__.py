"""One scalar oracle an encoding, written from its source with Python numbers, math and mpmath alone.

An oracle reads the fields of a record and plain lists of parameters, and answers for one position (or one pair of
positions) at a time. By the door: `row(record, position, params)`, `rotated(record, x, position)`,
`bias(record, head, query, key, params)`, `score(record, head, q, k, query, key, params)` and `value(...)`.
"""

from __future__ import annotations

from types import ModuleType

from oracles import (
    alibi,
    count,
    divisor_pairs,
    learned,
    nope,
    normalised_count,
    one_sine,
    rope,
    shaw,
    sinusoidal,
    t5_bias,
    transformer_xl,
)

ORACLES: dict[str, ModuleType] = {
    "ALiBi": alibi,
    "Count": count,
    "DivisorPairs": divisor_pairs,
    "Learned": learned,
    "NoPE": nope,
    "NormalisedCount": normalised_count,
    "OneSine": one_sine,
    "RoPE": rope,
    "Shaw": shaw,
    "Sinusoidal": sinusoidal,
    "T5Bias": t5_bias,
    "TransformerXL": transformer_xl,
}
