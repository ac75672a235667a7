"""docs/speed.md: what positions cost in the cases that users ask about, from the JSON that `make bench` writes."""

from __future__ import annotations

from typing import Any, NamedTuple

from generator.speed_tables import KINDS, RESULTS, read
from generator.text import WIDE, table

#: Pictures in each folder of results, drawn by benchmarks/measuring/picture.py, and what they show.
PICTURES = {
    "cost.svg": "bars of CPU time relative to attention without an encoding, for each encoding",
    "speed.svg": "bars of CPU time relative to a copy, for each way of rotating",
}
INSIDE = "posenc, accelerate"
WITHOUT, ACCELERATED = "without positions", "posenc, accelerate"


class Case(NamedTuple):
    """A row of the first table: a case of a benchmark, our variant and that of a peer or of a stock model."""

    what: str
    floor: str
    benchmark: str
    name: str
    ours: str
    other: str = ""


_ATTENTION = "{}, 4096 tokens, 8 heads of 64, {{dtype}}"
_CAUSAL, _INSIDE = "causal attention", "posenc.torch.attention"
_DECODED = "{}, 4096 keys, a query of 8 rows, 8 heads of 64, {{dtype}}"
_STOCK, _SHARED = "transformers eager", "posenc.torch.attention, given a shared bias"
#: What a table calls the other variants.
OTHERS = {_STOCK: "transformers", _SHARED: "bias made once a step"}
CASES = (
    Case(
        "Rotate q and k of 4,096 tokens in place", "copy", "rotate", "bthd {dtype} halves", "posenc, in place", _STOCK
    ),
    Case("The same into new memory", "copy", "rotate", "bthd {dtype} halves", "posenc, new memory", _STOCK),
    Case("Rotate one token of 32 sequences", "copy", "decode", "batch 32 {dtype} halves", "posenc, in place", _STOCK),
    Case("Rotate, forward and backward", "two copies", "train", "bthd {dtype} halves", "posenc, in place", _STOCK),
    *(
        Case(f"Attention of 4,096 tokens with {name}", _CAUSAL, "attention", _ATTENTION.format(name), _INSIDE)
        for name in ("RoPE", "ALiBi", "T5", "Shaw", "CoPE", "FIRE")
    ),
    *(
        Case(
            f"One token of 8 sequences against 4,096 keys with {name}",
            "attention",
            "attention_decoding",
            _DECODED.format(name),
            _INSIDE,
            _SHARED,
        )
        for name in ("RoPE", "ALiBi", "FIRE")
    ),
    *(
        Case(f"One token of one sequence against 4,096 keys with {name}", "attention", "attention_one_row",
             f"{name}, one query, 4096 keys, 8 heads of 64, {{dtype}}", _INSIDE)
        for name in ("RoPE", "ALiBi", "Shaw", "CoPE")
    ),
    *(
        Case(f"Attention of 4,096 tokens with {name}, a window of 300", _CAUSAL, "attention_windows",
             f"{name}, 4096 tokens, window of 300, 8 heads of 64, {{dtype}}", _INSIDE)
        for name in ("RoPE", "ALiBi", "Shaw")
    ),
)  # fmt: skip


def pictures() -> dict[str, str]:
    """The pictures of each kind of processor, by the names that they have among the images."""
    paths = {_image(kind, name): RESULTS / kind / name for kind in KINDS for name in PICTURES}
    return {image: path.read_text(encoding="utf-8") for image, path in paths.items() if path.exists()}


def page() -> str:
    """The whole page."""
    results = {kind: read(kind) for kind in KINDS}
    of_parts = {
        part: [of[part] for of in results.values() if part in of] for part in ("whole_models", "attention_models")
    }
    pages = " and ".join(f"[{name}](speed/{kind}.md)" for kind, name in KINDS.items())
    parts = [
        WIDE + "# Speed",
        "Applying positions is bound by memory: a rotation reads and writes its queries and keys once, and the "
        "arithmetic takes less time than that. So each figure is the time of an implementation over that of a "
        "[floor](glossary.md#tests-and-measurements): a copy of the same numbers, or attention without an encoding.",
        "## What will it cost me?",
        "CPU time over the floor, one thread; the first figure is float32, the second bfloat16.",
        _costs(results),
        "A missing figure was not measured on that processor. All figures, with their spread, goals, peers, other "
        f"shapes and what was left out, are on the pages of {pages}.",
        *(_picture(kind, name, image, alt) for image, alt in PICTURES.items() for kind, name in KINDS.items()),
        "1× is the floor; axes are logarithmic. A rotation in place may cost less than a copy: it writes where it "
        "read.",
        f"## Whole models\n\n{_whole_models(of_parts['whole_models'])}",
        f"## Whole models whose positions act inside attention\n\n{_inside_attention(of_parts['attention_models'])}",
        "## How it is measured\n\nFigures are ratios of CPU time, medians of interleaved rounds in one process; what "
        f"is wrong is not timed. The pages of {pages} say more. Every figure comes from the committed JSON in "
        "`benchmarks/results`, which has a folder for each kind of processor. Run all benchmarks again with `make "
        "bench`, which takes hours; some of them with `python benchmarks/run.py rotate decode`, or a folder's with "
        '`python benchmarks/run.py attention_cost`. In sittings, `make bench BENCH="--since 2026-11-28 --minutes '
        '25"` runs those without figures of that day or later, the shortest first, until the time is up, and says '
        "what is left.",
        f"## On a GPU\n\n{_gpu()}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _costs(results: dict[str, dict[str, Any]]) -> str:
    """A row for each case that was measured, with ours and a peer's figures for each kind of processor."""
    heads = ["case", "floor", *(f"{who}, {name}" for name in KINDS.values() for who in ("posenc", "other"))]
    rows = []
    for case in CASES:
        found = [_figures(of, case, variant) for of in results.values() for variant in (case.ours, case.other)]
        if any(found):
            rows.append([case.what, case.floor, *found])
    return table(heads, rows)


def _figures(results: dict[str, Any], case: Case, variant: str) -> str:
    """Medians of a variant in float32 and bfloat16, as far as they were measured."""
    cases = {one["case"]: one.get("ratios", {}) for one in results.get(case.benchmark, {}).get("cases", ())}
    names = [case.name.format(dtype=dtype) for dtype in ("float32", "bfloat16")]
    medians = [cases.get(name, {}).get(variant, {}).get("median") for name in names]
    figures = " · ".join(f"{median:.2f}" for median in medians if median is not None)
    return f"{OTHERS[variant]} {figures}" if figures and variant in OTHERS else figures


def _image(kind: str, name: str) -> str:
    return name.replace(".svg", f"-{kind}.svg")


def _picture(kind: str, name: str, image: str, alt: str) -> str:
    """A picture of one kind of processor; nothing where its benchmarks have not been run."""
    drawn = (RESULTS / kind / image).exists()
    return f"![{name}: {alt}](images/{_image(kind, image)})" if drawn else ""


def _inside_attention(results: list[dict[str, Any]]) -> str:
    """Effect of speed on a model whose positions act inside attention."""
    ratios = [case["ratios"] for result in results for case in result["cases"] if "ratios" in case]
    faster = sorted(1.0 / of[INSIDE]["median"] for of in ratios if INSIDE in of)
    return (
        "Where positions act inside attention, they are a large part of a model's time, since the stock code makes and "
        "adds a number for each head and pair of tokens. Through `posenc.transformers.accelerate`, one line, "
        f"these models take {faster[0]:.1f} to {faster[-1]:.1f} times as many tokens a second at 1,024 tokens, with "
        "the same output. Part of this is the stock code's attention itself, which in DeBERTa, BLOOM and MPT is not "
        "PyTorch's fused one. T5, BLOOM and MPT keep their own code below 512 new tokens, where it is the faster one."
    )


def _whole_models(results: list[dict[str, Any]]) -> str:
    """Effect of speed on a whole model, in the figures of all its cases."""
    ratios = [case["ratios"] for result in results for case in result["cases"]]
    shares = [100.0 * (1.0 - of[WITHOUT]["median"]) for of in ratios if WITHOUT in of]
    ours = [of[ACCELERATED]["median"] for of in ratios if ACCELERATED in of]
    return (
        "A model spends most of its time in matrix products. In these models (4 layers of 512 channels, one thread), "
        f"leaving positions out altogether saves {max(0.0, min(shares)):.0f} to {max(shares):.0f} percent of the time: "
        "that is their share, and no implementation can save more. `accelerate` takes "
        f"{min(ours):.2f} to {max(ours):.2f} times the time of the stock model.\n\n"
        "So expect little of a faster rotation in a large model on a CPU. Calls with queries of fewer than 65,536 "
        "numbers, such as one token of one text, keep the model's own rotation, which is the faster one there. Ours "
        "pays where the rotation is a larger part of the step: in long sequences and narrow layers, which mostly read "
        "and write memory; in 16-bit numbers on processors without instructions for them; and, not measured here, in "
        "eager code on a GPU, which launches a kernel for every operation of a rotation."
    )


def _gpu() -> str:
    """Results of the kernel for accelerators."""
    known = (
        "The tests compare the Triton kernel with the reference in Triton's interpreter, in float32 bit "
        "for bit, and compile it for a GPU: memory is read and written 16 bytes at a time, and no register is spilled."
    )
    if (RESULTS / "gpu.json").exists():
        return f"{known} What `python benchmarks/gpu.py` measured is in `benchmarks/results/gpu.json`."
    return (
        f"{known} Its speed has not been measured yet; on a machine with a GPU, `python benchmarks/gpu.py` does that."
    )
