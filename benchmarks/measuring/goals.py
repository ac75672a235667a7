"""What we set out to reach, as data: each goal names the figure that decides it.

The goals were set against a prototype, on a machine with AVX-512, as ratios of CPU time on one thread in interleaved
rounds. A run passes within 1.25 of its goal. Processors that round to bfloat16 by themselves have goals of their own
for rotations in place.
"""

from __future__ import annotations

from attention_cost.attention_goals import ATTENTION, ATTENTION_REASONS
from attention_cost.attention_model_lengths import MODEL_LENGTHS, SLOWEST
from jax_cost.jax_goals import JAX
from measuring.goal import Goal
from measuring.ours import CLONE, COPY, IN_PLACE, MADE, MULTIPLY, NEW
from measuring.peers import EAGER
from rotary_cost.fallback import IN_PLACE as PLAIN
from rotary_cost.fallback import NEW as PLAIN_NEW

LAYOUTS, KINDS = ("bthd", "bhtd"), ("float32", "bfloat16")
SHAPES = tuple(f"{layout} {kind} halves" for layout in LAYOUTS for kind in KINDS)
IN_PLACE_GOALS = (
    Goal("q and k in place, bthd, float32", "rotate", SHAPES[0], IN_PLACE, MULTIPLY, 1.10, "0.97–1.04"),
    Goal("q and k in place, bthd, bfloat16", "rotate", SHAPES[1], IN_PLACE, MULTIPLY, 0.75, "0.46–0.60"),
    Goal("q and k in place, bhtd, float32", "rotate", SHAPES[2], IN_PLACE, COPY, 1.05, "0.92–0.97"),
    Goal("q and k in place, bhtd, bfloat16", "rotate", SHAPES[3], IN_PLACE, COPY, 1.35, "1.14–1.31"),
)
#: Of processors that round to bfloat16 by themselves; the prototype took 0.57 to 0.60 of a copy in bfloat16.
OTHER_SHAPES = ("2×3000×(24+6)×96", "2×2048×(16+16)×64")
IN_PLACE_BFLOAT16 = (
    *(
        Goal(
            f"in place, {layout}, {kind}, {pairing}",
            "rotate",
            f"{layout} {kind} {pairing}",
            IN_PLACE,
            COPY,
            most,
            "0.57–0.60" if (layout, kind, pairing) == ("bthd", "bfloat16", "halves") else "",
        )
        for (layout, pairing), goals in {
            ("bthd", "halves"): (0.60, 0.65),
            ("bthd", "adjacent"): (0.65, 0.75),
            ("bhtd", "halves"): (0.70, 0.80),
            ("bhtd", "adjacent"): (0.70, 0.80),
        }.items()
        for kind, most in zip(KINDS, goals, strict=True)
    ),
    *(
        Goal(
            f"in place, {shape}, {kind}, {pairing}", "head_sizes", f"{shape} {kind} {pairing}", IN_PLACE, COPY, most, ""
        )
        for shape in OTHER_SHAPES
        for kind, most in zip(KINDS, (0.70, 0.80), strict=True)
        for pairing in ("halves", "adjacent")
    ),
)
PREFILL = (
    Goal("new memory, bthd, float32", "rotate", SHAPES[0], NEW, COPY, 1.15, "1.06"),
    Goal("new memory, bthd, bfloat16", "rotate", SHAPES[1], NEW, COPY, 1.15, "1.08"),
    Goal("new memory, bhtd, float32", "rotate", SHAPES[2], NEW, COPY, 1.30, "1.22"),
    Goal("new memory, bhtd, bfloat16", "rotate", SHAPES[3], NEW, COPY, 2.00, "1.93"),
    *(Goal(f"new memory, default malloc, {name}", "memory", name, NEW, CLONE, 1.10, "1.05") for name in SHAPES),
)
AGAINST_EAGER = (
    *(Goal(f"in place, {name}", "rotate", name, IN_PLACE, EAGER, 0.18, "0.07–0.18") for name in SHAPES),
    *(Goal(f"in place, default malloc, {name}", "memory", name, IN_PLACE, EAGER, 0.05, "0.02–0.04") for name in SHAPES),
    *(Goal(f"decoding, 32 rows, {k}", "decode", f"batch 32 {k} halves", IN_PLACE, EAGER, 0.10,
        "0.07–0.09") for k in KINDS),
    *(Goal(f"decoding, one row, {k}", "decode", f"batch 1 {k} halves", IN_PLACE, EAGER, 0.15,
        "0.11–0.13") for k in KINDS),
)  # fmt: skip
FALLBACK = (
    *(Goal(f"without the binary, {name}", "fallback", f"4096 tokens {name}", PLAIN_NEW, EAGER, 1.0,
        "1.4 in bfloat16") for name in SHAPES),
    *(Goal(f"without the binary, decoding {rows}, {k}", "fallback", f"batch {rows} {k} halves", PLAIN_NEW, EAGER, 1.0,
        "") for rows in (32, 1) for k in KINDS),
    Goal("without the binary, adjacent, bthd, float32", "fallback", "4096 tokens bthd float32 adjacent", PLAIN, COPY,
        0.85, "0.72"),
)  # fmt: skip
ANGLES = tuple(
    Goal(f"angles in the kernel, {name}", "angles", name, MADE, IN_PLACE, 1.05, "0.95–1.03") for name in SHAPES
)
TRAINING = (
    *(
        Goal(
            f"forward and backward, {name}", "train", name, IN_PLACE, "two copy_ of q and k", 1.00, "0.82–0.91 in place"
        )
        for name in SHAPES
    ),
    *(
        Goal(f"forward and backward, {name}", "train", name, IN_PLACE, EAGER, 0.15, "0.08–0.11 in place")
        for name in SHAPES
    ),
)
FAR = "largest error of cosines and sines, float32, positions to 10 million"
ROUNDED = "percent of bfloat16 results not rounded correctly"
TABLE = "largest error of the sinusoidal table"
TABLES, FILL = (
    "posenc, kernel, into memory that is there",
    "fill_ of the same bytes",
)  # which writes memory that is there
ERRORS = (
    Goal(
        "cosines and sines, positions to 10 million",
        "accuracy",
        FAR,
        "posenc, angles in the kernel",
        "",
        1.2e-7,
        "6e-8",
    ),
    Goal(
        "bfloat16 not rounded correctly, percent", "accuracy", ROUNDED, "posenc, angles in the kernel", "", 0.1, "0.00"
    ),
    Goal("sinusoidal table of 100 000 rows, error", "accuracy", TABLE, "posenc, exact", "", 1.2e-7, "6.9e-8"),
)
FULL, CAUSAL = "attention without bias", "causal attention without bias"
VIEW = "posenc, view made and used"
BATCHES, FUSED = "8 × 2048 × 1024", ("posenc, one pass", "index_select(out=)")
CACHED = ("posenc, one pass", "transformers eager, and index_copy_")
OTHERS = (
    *(Goal(f"turned into a cache, 32 rows, {k}", "cache", f"batch 32 {k}", *CACHED, 0.20, "0.11–0.16") for k in KINDS),
    Goal("embedding × scale + positions, float32", "embedding", f"{BATCHES} float32", *FUSED, 1.15, "1.03"),
    Goal("embedding × scale + positions, bfloat16", "embedding", f"{BATCHES} bfloat16", *FUSED, 1.15, "1.67"),
    Goal("cosines and sines, 100 000 × 1024", "table", "100000 positions × 512 pairs", TABLES, FILL, 1.3, "1.10"),
    Goal("sinusoidal table, 100 000 × 1024", "table", "100000 × 1024 sinusoidal", TABLES, FILL, 1.3, "1.10"),
    Goal("T5 bias in attention", "bias", "T5, 4096 tokens, 8 heads of 64, float32", VIEW, FULL, 1.10, "1.03–1.06"),
    Goal("ALiBi in causal attention", "bias", "ALiBi, 4096 tokens, 8 heads of 64, float32", VIEW, CAUSAL, 1.25,
        "0.94–1.24"),
    *(Goal(f"{what} of {mean}, milliseconds", "positions", "milliseconds beyond writing, 64 packed rows of 8192",
        f"{what} of {mean}", "", 1.0, "") for what in ("positions, documents", "document numbers, documents")
        for mean in (64, 512, 8192)),
    *(Goal(f"a traced forward, width {width}", "tracing", f"forward of 2 × 256 tokens, width {width}", "posenc, trace",
        "stock", 1.3, "") for width in (256, 512, 1024)),
    *(Goal(f"wrong {what} of ten million", "positions", "wrong ids of ten million", what, "", 0.0, "")
        for what in ("positions", "document numbers")),
    Goal("import of the kernels, milliseconds", "imports", "milliseconds of an import", "posenc kernels, after posenc",
        "", 5.0, "0.3"),
)  # fmt: skip
BARE, FORMULA, POSENC = "the same arithmetic, nothing checked", "the plain formula", "posenc"
COUNTED, SHARES = "Python calls", "percent of posenc's Python calls that choose an array library"
ONE, TABLE, SQUARE = "{} of one position, dim {}", "{} of 4096 positions, dim {}", "ALiBi, 8 heads, {0} × {0}"
CALLED = tuple((call, dim) for call in ("RoPE.rotation", "Sinusoidal.embed") for dim in (64, 512))
CALLS = (
    *(Goal(name, "calls", name, POSENC, BARE, 1.5, "about 5") for name in (ONE.format(*one) for one in CALLED)),
    *(Goal(name, "calls", name, POSENC, FORMULA, 2.0, "2.5–4.1") for name in (TABLE.format(*one) for one in CALLED)),
    *(Goal(name, "calls", name, POSENC, FORMULA, 1.5, "2.7–5.2") for name in map(SQUARE.format, (64, 1024))),
    *(
        Goal(f"Python calls, {name}", "calls", COUNTED, name, "", 50, "332–385")
        for name in (ONE.format(*one) for one in CALLED)
    ),
    *(
        Goal(f"Python calls, {name}", "calls", COUNTED, name, "", most, before)
        for name, most, before in (
            ("module(RoPE) of one token", 60, "121"),
            ("module(RoPE) of one token, ours", 40, "90"),
            ("module(RoPE) of one token, files", 8, "22"),
            ("module(RoPE) of one token, two positions", 100, "208"),
            ("attention with RoPE, ours", 100, "226"),
            ("attention with RoPE, files", 15, "30"),
        )
    ),
    *(
        Goal(f"calls that choose a library, {verb}, percent", "calls", SHARES, verb, "", 25.0, before)
        for verb, before in (("posenc check", "73"), ("posenc tour", "46"))
    ),
)
EACH_CALL, READY = "posenc, module", "posenc, turn and rotate"
MODULES = (
    *(
        Goal(f"module of RoPE, {how}", "modules", f"RoPE, {how}", EACH_CALL, READY, 1.1, "8 to 115")
        for how in ("float32", "bfloat16", "float32, with gradients", "bfloat16, with gradients")
    ),
    *(
        Goal(f"module of Sinusoidal, {how}", "modules", f"Sinusoidal, {how}", EACH_CALL, "x + table", 1.25, "15")
        for how in ("float32", "bfloat16", "float32, with gradients", "bfloat16, with gradients")
    ),
    *(
        Goal(
            f"module of Learned, {what}, {kind}{how}",
            "lookup",
            f"{what}, {kind}{how}",
            EACH_CALL,
            "x + Embedding(positions)",
            1.25,
            "13 to 3400",
        )
        for how in ("", ", trained")
        for what in ("1 of 1024 × 512", "1 of 50000 × 256", "512 of 1024 × 512")
        for kind in KINDS
    ),
)
LINEAR = "a token at 1048576, over one at 65536"
SCALE = (
    *(Goal(f"linear in length: {name}", "scale", LINEAR, name, "", 1.25, "") for name in (IN_PLACE, MADE)),
    *(Goal(f"memory at a million tokens, bytes: {name}", "scale", f"bytes beyond what is given: {name}", "1048576", "",
        2.0**20, "") for name in (IN_PLACE, MADE)),
)  # fmt: skip
#: A whole model is never slower than stock; DINOv3 rotates in a way of its own, which `accelerate` refuses.
WHOLE_MODELS = tuple(
    Goal(f"a whole model against stock, {case}", "whole_models", case, "posenc, accelerate", "stock", SLOWEST, "")
    for case in (
        *(
            f"{model}, {step}"
            for model in ("Llama, float32", "Llama, bfloat16", "Qwen3, float32")
            for step in ("prefill of 512 tokens", "a token after 512", "training step")
        ),
        "ModernBERT, float32, forward",
        "ModernBERT, float32, training step",
    )
)
HUB = "Hugging Face kernels-community on CPU"
HUB_WHY = "it is no package that can be pinned, and needs AVX-512 for bfloat16"
ABSENT = (
    Goal(f"against {HUB}, bfloat16", "", "", IN_PLACE, HUB, 0.5, "0.33–0.44", HUB_WHY),
    Goal(f"against {HUB}, float32", "", "", IN_PLACE, HUB, 0.15, "0.09–0.13", HUB_WHY),
)
REST: tuple[Goal, ...] = (
    *PREFILL,
    *AGAINST_EAGER,
    *FALLBACK,
    *ANGLES,
    *TRAINING,
    *ERRORS,
    *OTHERS,
    *MODULES,
    *CALLS,
    *JAX,
    *SCALE,
    *ATTENTION,
    *MODEL_LENGTHS,
    *WHOLE_MODELS,
    *ABSENT,
)


def goals_of(kind: str) -> tuple[Goal, ...]:
    """The goals of a kind of processor, which is named by the instruction set of the kernel."""
    return (*(IN_PLACE_BFLOAT16 if kind == "avx512bf16" else IN_PLACE_GOALS), *REST)


#: Why a goal is not reached, by how its name begins; said where it is not.
SIXTEEN = (
    "without AVX-512's conversions, bfloat16 is widened and rounded in several steps of AVX2, about as long as memory "
    "takes"
)
TABLE_REASON = (
    "a product in double precision for each pair and the test of its rounding take about as long as the memory does"
)
IMPORT_REASON = "opening the library and telling PyTorch's autograd of it take most, and about as much as each other"
LOOKUP_REASONS = {
    f"module of Learned, {what}, bfloat16, trained": "the gradient of a bfloat16 table is summed in float32, in one of "
    "the same size, and rounded once; PyTorch's embedding sums it in bfloat16"
    for what in ("1 of 1024 × 512", "1 of 50000 × 256")
}
#: The same, of one kind of processor alone.
REASONS_OF = {
    "avx512bf16": {
        **ATTENTION_REASONS,
        **LOOKUP_REASONS,
        "decoding, 32 rows, float32": "a copy of queries and keys alone takes as long",
        "decoding, 32 rows, bfloat16": "these tokens lie in the caches, where the operator alone takes about twice as "
        "long as a copy",
        "forward and backward": "gradients are rotated into new memory, for others may hold the one that comes; the "
        "prototype overwrote it",
        "embedding × scale + positions": "rows of positions are read in float32, in bfloat16 twice the bytes of words",
        "turned into a cache": "a call for one token takes about as long as copying its keys and values",
        "without the binary, adjacent": "PyTorch's complex product fuses a product and a sum on some processors, which "
        "are not the bits of the reference",
        "new memory, default malloc": "memory is mapped and cleared page by page, which takes most of the time",
        "cosines and sines, 100 000": TABLE_REASON,
        "import of the kernels": IMPORT_REASON,
    }
}
REASONS = {
    **ATTENTION_REASONS,
    **LOOKUP_REASONS,
    "q and k in place, bthd, bfloat16": SIXTEEN,
    "q and k in place, bhtd, bfloat16": SIXTEEN,
    "q and k in place, bthd, float32": "the floor multiplies by a constant, and neither reads a table nor pairs "
    "channels",
    "new memory, bthd, bfloat16": SIXTEEN,
    "new memory, bhtd, bfloat16": SIXTEEN,
    "new memory, default malloc, bthd bfloat16": SIXTEEN,
    "new memory, default malloc, bhtd bfloat16": SIXTEEN,
    "in place, bthd bfloat16": SIXTEEN,
    "in place, bhtd bfloat16": SIXTEEN,
    "in place, default malloc, bthd bfloat16": SIXTEEN,
    "in place, default malloc, bhtd bfloat16": SIXTEEN,
    "decoding, 32 rows, float32": "on this machine a copy alone takes about as long as the goal",
    "decoding, 32 rows, bfloat16": SIXTEEN,
    "turned into a cache": "on this machine a copy of queries, keys and values alone takes up to half of the goal",
    "without the binary, adjacent": "PyTorch's complex product fuses a product and a sum on some processors, which are "
    "not the bits of the reference",
    "forward and backward": "gradients are turned into new memory, for others may hold the one that comes; the "
    "prototype overwrote it",
    "embedding × scale + positions, bfloat16": f"{SIXTEEN}; the rows of positions are read in float32, twice the bytes "
    f"of the words'",
    "cosines and sines, 100 000": TABLE_REASON,
    "sinusoidal table, 100 000": TABLE_REASON,
    "import of the kernels": IMPORT_REASON,
    "ALiBi": "a mask is read, where a kernel that knew slopes would compute it",
}
