"""docs/speed.md: what was measured, how, what was to be reached, and every figure, from the JSON that `make bench` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generator.text import WIDE, escaped, table

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
PICTURE = RESULTS / "speed.svg"
#: In the order of the page: what is shown of each benchmark.
PARTS = {
    "rotate": "Prefill: queries of 32 heads and keys of 8 heads of 128, 4096 tokens",
    "memory": "The same, into memory that malloc maps anew",
    "decode": "Decoding: a token a sequence, 32 sequences or one",
    "train": "Forward and backward, 4096 tokens",
    "fallback": "Without the binary",
    "angles": "Cosines and sines made in the kernel, against a table",
    "cache": "Turned, and written into a cache of keys and values",
    "embedding": "Embedding × scale + positions",
    "add": "A sinusoidal table added",
    "table": "Making tables",
    "bias": "Relative biases in attention",
    "accuracy": "How right it is",
    "scale": "To a million tokens",
    "imports": "Importing",
}
METHOD = """\
- **Ratios, not times.** Each figure is CPU time of the process over that of a floor, which is named: what reads and writes as many bytes and computes
  nothing. The floor and every other way run one after the other in one process, in rounds there and back; a figure is the median of the rounds' ratios, beside it the
  least and the greatest. A short call is repeated for at least 20 milliseconds. One thread.
- **Right before fast.** Nothing is timed before its numbers have been compared with the reference, from exact angles, within a bound that follows from the dtype and the
  farthest position. Of ours, one that is wrong stops the run; a peer that is wrong, fails or is not there is named with its reason and left out.
- **Two allocators.** Memory that is asked for anew costs more than a rotation where malloc maps every large block and the system clears it page by page, as glibc does by
  itself. Except where it says otherwise, the allocator is set to keep its memory (`mallopt`: no block mapped apart, nothing trimmed), as those of servers do. That favours
  whoever allocates most, which is not us; the part on *malloc* has the same without it.
- **Peers** at pinned versions, live, each in the form and layout that suits it: Hugging Face transformers as it is and through `torch.compile`, torchtune's one file,
  x-transformers, rotary-embedding-torch, and the complex multiply of Meta's Llama, written by us. Our own definition through `torch.compile` stands beside them."""


def read() -> dict[str, Any]:
    """What the benchmarks wrote, by name; those that have not been run are not there."""
    paths = {name: RESULTS / f"{name}.json" for name in (*PARTS, "goals")}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def page() -> str:
    """The whole page."""
    results = read()
    parts = [
        WIDE + "# Speed",
        "Applying positions is bound by memory: a rotation reads and writes its queries and keys once, and computes less than the time that takes. So each way of "
        "doing it is set beside the floor, a copy of the same numbers, and beside what others do. Every figure on this page comes from the committed JSON in "
        "`benchmarks/results`; run it again with `make bench`, or a part of it with `python benchmarks/run.py rotate decode`.",
        f"## How it is measured\n\n{METHOD}",
        f"## Where\n\n{_where(results)}",
        "![Bars of CPU time over a copy, for each way of turning](images/speed.svg)",
        "Read it so: 1× is a copy of queries and keys from memory to memory. In place can be below it, as it writes where it read. The axis is of powers: as far as from 1 to 2 is "
        "from 10 to 20.",
        f"## What was to be reached\n\n{_goals(results)}",
        *(f"## {title}\n\n{_benchmark(results[name])}" for name, title in PARTS.items() if name in results),
        f"## On a GPU\n\n{_gpu()}",
    ]
    return "\n\n".join(parts) + "\n"


def _gpu() -> str:
    """What is known of the kernel for accelerators."""
    known = (
        "The kernel in Triton is tested in Triton's interpreter, in float32 to the bits of the reference, and compiled for a GPU by every run of the tests: "
        "memory read and written 16 bytes at a time, nothing spilled."
    )
    if (RESULTS / "gpu.json").exists():
        return f"{known} What `python benchmarks/gpu.py` measured is in `benchmarks/results/gpu.json`."
    return f"{known} How long it takes has not been measured: no GPU was at hand. `python benchmarks/gpu.py` does it where there is one."


def _where(results: dict[str, Any]) -> str:
    """Machines with their versions, each once, and how busy they were with each benchmark."""
    seen: dict[str, list[str]] = {}
    for name in PARTS:
        if name in results:
            seen.setdefault(_machine(results[name]["machine"]), []).append(f"{name} {_load(results[name])}")
    lines = "\n".join(f"- {said}\n  Measured so: {'; '.join(of)}." for said, of in seen.items())
    seconds = sum(result.get("seconds", 0) for result in results.values())
    return (
        f"{lines}\n\nBehind each benchmark: how many processes wanted a core before it and after it, which besides the measurement itself should be none, and the "
        f"allocator. All of them took {seconds / 60:.0f} minutes."
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
    return f"({before:g}, {after:g}; {result['allocator']})"


def _goals(results: dict[str, Any]) -> str:
    if "goals" not in results:
        return "No run has been judged yet."
    rows = results["goals"]["goals"]
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("reached", "within the gate")}
    said = (
        f"The goals were set beside a prototype, on a machine with AVX-512; where the level above is another, they are measured there all the same. Of {len(rows)}, "
        f"{count['reached']} are reached and {count['within the gate']} more are within the gate, 1.25 times the goal."
    )
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
    """A column a case, a row a variant; CPU time over the floor."""
    names = dict.fromkeys(name for case in cases for name in case["ratios"])
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
