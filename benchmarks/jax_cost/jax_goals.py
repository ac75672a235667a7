"""What programs of JAX should cost at most, over JAX's own attention and over the formulas written by hand."""

from __future__ import annotations

from jax_cost.jax_programs import (
    ATTENTION,
    FORMULA,
    NAMES,
    PLAIN,
    POSENC,
    ROTATING,
    TABLE,
    decoding_title,
    prefill_title,
)
from measuring.goal import Goal

JAX = (
    *(
        Goal(title(name), "jax_programs", title(name), ATTENTION, PLAIN, 1.2, before)
        for title, before in ((decoding_title, "9.9 with RoPE"), (prefill_title, "0.7–0.9 with biases"))
        for name in NAMES
    ),
    Goal(ROTATING, "jax_programs", ROTATING, POSENC, FORMULA, 1.1, ""),
    Goal(TABLE, "jax_programs", TABLE, POSENC, FORMULA, 1.1, "1.6"),
)
