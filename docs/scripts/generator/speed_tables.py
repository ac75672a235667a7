"""docs/speed/: every figure and goal of a kind of processor, from the JSON that `make bench` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generator.text import WIDE, escaped, table

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
#: The kinds of processors, each with a folder of results: what the page calls it.
KINDS = {"avx2": "AVX2", "avx512bf16": "AVX-512 with bfloat16"}
#: In the order of the page: what is shown of each benchmark.
PARTS = {
    "whole_models": "Whole models",
    "attention": "Attention with an encoding",
    "attention_training": "Attention with an encoding, forward and backward",
    "attention_decoding": "Attention with an encoding, a query against a cache",
    "attention_one_row": "Attention with an encoding, one query of one sequence against a cache",
    "attention_windows": "Attention with an encoding, in windows and with new queries",
    "attention_shared": "A bias made once a step for all layers",
    "attention_memory": "Attention with an encoding, memory",
    "attention_models": "Whole models whose positions act inside attention",
    "attention_model_lengths": "The same models at other lengths",
    "attention_peers": "Attention with an encoding, compared with other libraries",
    "rotate": "Prefill: queries of 32 heads and keys of 8 heads of 128, 4096 tokens",
    "head_sizes": "Prefill: other shapes",
    "memory": "The same, with the default allocator",
    "decode": "Decoding: one token for each of 32 sequences, or of one",
    "train": "Forward and backward, 4096 tokens",
    "fallback": "Without the compiled kernel",
    "angles": "Cosines and sines computed in the kernel, compared with a table",
    "cache": "Rotated and written into a cache of keys and values",
    "embedding": "Embedding × scale + positions",
    "modules": "Modules, which make their rotation or table in each call",
    "lookup": "A learned table looked up and added",
    "add": "A sinusoidal table added",
    "table": "Making tables",
    "bias": "Relative biases in attention",
    "jax_programs": "Programs of JAX",
    "lab_models": "Training the lab's model, compared with the same model in plain PyTorch",
    "lab_catalog": "Training the lab's model with every encoding",
    "lab_memory": "Memory of a training step of the lab's model",
    "accuracy": "Accuracy",
    "scale": "To a million tokens",
    "imports": "Importing",
    "positions": "Positions of packed rows",
}
#: What is said before the figures of a benchmark.
SAID = {
    "attention": "Causal attention without an encoding skips the keys that no query of a block sees, so it is a hard "
    "floor. The goals above say where a cost is higher than was hoped, and why. Two figures depend on content: a "
    "forgetting gate that closes lets keys be left out (its first parameters halve a key's weight at each token; gates "
    "that stay open leave all), and CoPE counts no further than the last row of its table (here gates are half open).",
    "attention_shared": "`shared_bias` makes a bias as a matrix, and `attention` in each layer is given it. The last "
    "table says what it takes; it prints that too.",
    "attention_decoding": "A cache holds keys as `rotate_keys` gives them, which `Attention` does by itself. The row "
    "of a bias is made in each layer, or by `shared_bias` once a step for all of them.",
    "attention_memory": "What a call needs at once beyond its output.",
    "lab_memory": "The most that PyTorch holds at once in a training step, beyond what it holds between steps: "
    "parameters, gradients and the optimizer's state. PyTorch reports every block, so the load changes nothing here.",
}
#: How the reason ends of a goal whose benchmark has not been run.
NOT_RUN = " was not run"
#: Cases that a table has in columns, at most.
MANY = 12
METHOD = """\
- **Ratios, not times.** Each figure is the CPU time of an implementation divided by that of a
  [floor](../glossary.md#tests-and-measurements), which is named. All implementations run in one process, in interleaved
  rounds. A figure is the median of the ratios of the rounds, with the least and the greatest in parentheses. Short
  calls are repeated for at least 20 milliseconds. One thread.
- **Correct before fast.** Before anything is timed, its results are compared with the reference, computed from exact
  angles, within a bound that follows from the dtype and the largest position. If posenc is wrong, the run stops; if a
  peer is wrong, fails or is missing, it is listed with the reason and left out.
- **Two allocators.** By default, glibc maps every large block anew and the system clears it page by page, which costs
  more than a rotation. Unless stated otherwise, the allocator is set to keep its memory (`mallopt`), as allocators of
  servers do. This favours whoever allocates most, which is not posenc. The section with the default allocator has the
  figures without this setting.
- **Peers** are live, at pinned versions, each in the form and layout that suits it: Hugging Face transformers, eager
  and through `torch.compile`; one file of torchtune; x-transformers; rotary-embedding-torch; and the complex multiply
  of Meta's Llama, in our own code. The reference of posenc through `torch.compile` is listed as well."""


def read(kind: str) -> dict[str, Any]:
    """Results of the benchmarks on this kind of processor, by name, as far as they have been run."""
    paths = {name: RESULTS / kind / f"{name}.json" for name in (*PARTS, "goals")}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def page(kind: str) -> str:
    """The page of one kind of processor: its machines, its goals and all figures."""
    results = read(kind)
    parts = [
        WIDE + f"# Speed: {KINDS[kind]}",
        f"Every figure behind [Speed](../speed.md) on processors with {KINDS[kind]}.",
        f"## How it is measured\n\n{METHOD}",
        f"## Machines\n\n{_where(results)}",
        f"## Goals\n\n{_goals(results)}",
        *(_part(part, title, results[part]) for part, title in PARTS.items() if part in results),
    ]
    return "\n\n".join(parts) + "\n"


def _part(part: str, title: str, result: dict[str, Any]) -> str:
    """A benchmark, with what is to know before its figures."""
    return "\n\n".join([f"## {title}", *([SAID[part]] if part in SAID else []), _benchmark(result)])


def _where(results: dict[str, Any]) -> str:
    """The machines and versions, each once, with the load during each benchmark."""
    seen: dict[str, list[str]] = {}
    for name in PARTS:
        if name in results:
            seen.setdefault(_machine(results[name]["machine"]), []).append(f"{name} {_load(results[name])}")
    lines = "\n".join(f"- {said}\n  Measured so: {'; '.join(of)}." for said, of in seen.items())
    seconds = sum(result.get("seconds", 0) for result in results.values())
    return (
        f"{lines}\n\nIn parentheses: the number of processes that wanted a core before and after the benchmark (on an "
        "idle machine at most 1, the benchmark itself), the allocator, and the day for figures taken since 28 November "
        "2026. All benchmarks together took "
        f"{seconds / 60:.0f} minutes."
    )


def _machine(machine: dict[str, Any]) -> str:
    vectors, versions = machine["vectors"], machine["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{machine['processor']}; our kernel at level {vectors['kernel']}, PyTorch at {vectors['torch']}; "
        f"Python {machine['python']}, {packages}."
    )


def _load(result: dict[str, Any]) -> str:
    if "load" not in result:
        return "(failed)"
    before, after = (result["load"][when]["processes"] for when in ("before", "after"))
    day = f"; {result['date']}" if "date" in result else ""
    return f"({before:g}, {after:g}; {result['allocator']}{day})"


def _goals(results: dict[str, Any]) -> str:
    if "goals" not in results:
        return "No run has been judged yet."
    judged = results["goals"]["goals"]
    rows = [row for row in judged if not row["why"].endswith(NOT_RUN)]
    missing = sorted({row["why"].removesuffix(NOT_RUN) for row in judged if row["why"].endswith(NOT_RUN)})
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("reached", "within the gate")}
    said = (
        "The goals were set with a prototype on a machine with AVX-512 and bfloat16 instructions. "
        f"Of {len(rows)} goals, {count['reached']} are reached and {count['within the gate']} more are within the "
        "gate, 1.25 times the goal. Where the column of the prototype has a figure, take it for the floor: nothing "
        "faster is known."
    )
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        said += f" {len(judged) - len(rows)} more goals belong to benchmarks that have not been run here: {names}."
    cells = (
        (row["what"], f"`{row['figure']}`", _number(row["goal"]), row["prototype"], _measured(row), _verdict(row))
        for row in rows
    )
    return f"{said}\n\n" + table(["what", "which figure", "at most", "prototype", "measured", ""], cells)


def _measured(row: dict[str, Any]) -> str:
    return "" if row["measured"] is None else _number(row["measured"])


def _verdict(row: dict[str, Any]) -> str:
    return escaped(": ".join(part for part in (row["verdict"], row["why"]) if part))


def _benchmark(result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"No figures: the run {result['failed']}."
    ratios = [case for case in result["cases"] if "ratios" in case]
    values = [case for case in result["cases"] if "values" in case]
    parts = [
        _ratios([case for case in ratios if case["floor"] == floor], floor)
        for floor in dict.fromkeys(case["floor"] for case in ratios)
    ]
    parts += [_values(values)] if values else []
    left_out = [
        f"- {case['case']}: *{name}*: {escaped(why)}"
        for case in result["cases"]
        for name, why in case["left out"].items()
    ]
    return "\n\n".join([*parts, *(["Left out:\n\n" + "\n".join(left_out)] if left_out else [])])


def _ratios(cases: list[dict[str, Any]], floor: str) -> str:
    """A column a case, a row a variant, or the other way round where cases are many; CPU time over the floor."""
    names = dict.fromkeys(name for case in cases for name in case["ratios"])
    if len(cases) > MANY:
        rows = ([case["case"], *(_ratio(case["ratios"].get(name)) for name in names)] for case in cases)
        return table([f"× {floor}", *map(escaped, names)], rows)
    rows = ([escaped(name), *(_ratio(case["ratios"].get(name)) for case in cases)] for name in names)
    return table([f"× {floor}", *(case["case"] for case in cases)], rows)


def _ratio(figures: dict[str, float] | None) -> str:
    if figures is None:
        return ""
    return f"**{figures['median']:.2f}** ({figures['low']:.2f} to {figures['high']:.2f})"


def _values(cases: list[dict[str, Any]]) -> str:
    names = dict.fromkeys(name for case in cases for name in case["values"])
    rows = ([escaped(case["case"]), *(_number(case["values"].get(name)) for name in names)] for case in cases)
    return table(["", *map(escaped, names)], rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
