"""What we set out to reach, as data: each goal names the figure that decides it.

The goals were set beside a prototype, on a machine with AVX-512, as ratios of CPU time on one thread in interleaved rounds.
A run passes within 1.25 of its goal.
"""

from __future__ import annotations

from dataclasses import dataclass

from ours import CLONE, COPY, IN_PLACE, MULTIPLY, NEW, REFERENCE
from peers import EAGER

ALLOWED = 1.25


@dataclass(frozen=True)
class Goal:
    """A variant of a case of a benchmark, in time over another (`below`) or by its value, and what it should be at most."""

    what: str
    benchmark: str
    case: str
    variant: str
    below: str
    most: float
    prototype: str

    @property
    def gate(self) -> float:
        return ALLOWED * self.most

    @property
    def figure(self) -> str:
        return f"{self.variant} / {self.below}" if self.below else self.variant


LAYOUTS, KINDS = ("bthd", "bhtd"), ("float32", "bfloat16")
SHAPES = tuple(f"{layout} {kind} halves" for layout in LAYOUTS for kind in KINDS)
PREFILL = (
    Goal("q and k in place, bthd, float32", "rotate", SHAPES[0], IN_PLACE, MULTIPLY, 1.10, "0.97–1.04"),
    Goal("q and k in place, bthd, bfloat16", "rotate", SHAPES[1], IN_PLACE, MULTIPLY, 0.75, "0.46–0.60"),
    Goal("q and k in place, bhtd, float32", "rotate", SHAPES[2], IN_PLACE, COPY, 1.05, "0.92–0.97"),
    Goal("q and k in place, bhtd, bfloat16", "rotate", SHAPES[3], IN_PLACE, COPY, 1.35, "1.14–1.31"),
    Goal("new memory, bthd, float32", "rotate", SHAPES[0], NEW, COPY, 1.15, "1.06"),
    Goal("new memory, bthd, bfloat16", "rotate", SHAPES[1], NEW, COPY, 1.15, "1.08"),
    Goal("new memory, bhtd, float32", "rotate", SHAPES[2], NEW, COPY, 1.30, "1.22"),
    Goal("new memory, bhtd, bfloat16", "rotate", SHAPES[3], NEW, COPY, 2.00, "1.93"),
    *(Goal(f"new memory, default malloc, {name}", "memory", name, NEW, CLONE, 1.10, "1.05") for name in SHAPES),
)
AGAINST_EAGER = (
    *(Goal(f"in place, {name}", "rotate", name, IN_PLACE, EAGER, 0.18, "0.07–0.18") for name in SHAPES),
    *(Goal(f"in place, default malloc, {name}", "memory", name, IN_PLACE, EAGER, 0.05, "0.02–0.04") for name in SHAPES),
    *(Goal(f"decoding, 32 rows, {k}", "decode", f"batch 32 {k} halves", IN_PLACE, EAGER, 0.10, "0.07–0.09") for k in KINDS),
    *(Goal(f"decoding, one row, {k}", "decode", f"batch 1 {k} halves", IN_PLACE, EAGER, 0.15, "0.11–0.13") for k in KINDS),
    *(Goal(f"without the binary, {name}", "rotate", name, REFERENCE, EAGER, 1.00, "1.4 in bfloat16") for name in SHAPES),
)  # fmt: skip
TRAINING = tuple(
    goal
    for name in SHAPES
    for goal in (
        Goal(f"forward and backward, {name}", "train", name, NEW, "two copy_ of q and k", 1.00, "0.82–0.91 in place"),
        Goal(f"forward and backward, {name}", "train", name, NEW, EAGER, 0.15, "0.08–0.11 in place"),
    )
)
ERRORS = (
    Goal(
        "cosines and sines, positions to 10 million",
        "accuracy",
        "largest error of cosines and sines, float32, positions to 10 million",
        "posenc, from a turn",
        "",
        1.2e-7,
        "6e-8",
    ),
    Goal(
        "bfloat16 results not rounded correctly, percent",
        "accuracy",
        "percent of bfloat16 results not rounded correctly",
        "posenc, from a turn",
        "",
        0.1,
        "0.00",
    ),
    Goal(
        "sinusoidal table, 100 000 × 1024, error",
        "accuracy",
        "largest error of the sinusoidal table",
        "posenc, exact",
        "",
        1.2e-7,
        "6.9e-8",
    ),
)
OTHERS = (
    Goal(
        "sinusoidal table, 100 000 × 1024",
        "table",
        "100000 × 1024 sinusoidal",
        "posenc, exact",
        "fill_ of the same bytes",
        1.3,
        "1.10",
    ),
    Goal(
        "T5 bias in attention, 4096 tokens",
        "bias",
        "T5, 4096 tokens, 8 heads of 64, float32",
        "posenc, view made and used",
        "attention without bias",
        1.10,
        "1.03–1.06",
    ),
    Goal(
        "ALiBi in causal attention, 4096 tokens",
        "bias",
        "ALiBi, 4096 tokens, 8 heads of 64, float32",
        "posenc, view made and used",
        "causal attention without bias",
        1.25,
        "0.94–1.24",
    ),
    Goal(
        "import of the kernels, milliseconds",
        "imports",
        "milliseconds of an import",
        "posenc kernels, after posenc",
        "",
        5.0,
        "0.3",
    ),
)
GOALS: tuple[Goal, ...] = (*PREFILL, *AGAINST_EAGER, *TRAINING, *ERRORS, *OTHERS)
