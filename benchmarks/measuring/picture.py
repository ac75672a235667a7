"""The picture of the figures: what each way of rotating costs over a copy of the same numbers, on an axis of powers.

`python benchmarks/measuring/picture.py` draws speed.svg in each folder of benchmarks/results from the JSON next to it;
`make bench` does so at its end.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
PICTURE = "speed.svg"
#: Title, benchmark, case, and the case with the other pairing, whose peers are shown in the same panel.
PANELS = (
    ("4096 tokens, (B, T, H, D), float32", "rotate", "bthd float32 halves", "bthd float32 adjacent"),
    ("4096 tokens, (B, T, H, D), bfloat16", "rotate", "bthd bfloat16 halves", "bthd bfloat16 adjacent"),
    ("4096 tokens, (B, H, T, D), float32", "rotate", "bhtd float32 halves", "bhtd float32 adjacent"),
    ("4096 tokens, (B, H, T, D), bfloat16", "rotate", "bhtd bfloat16 halves", "bhtd bfloat16 adjacent"),
    ("decoding, 32 rows, float32", "decode", "batch 32 float32 halves", "batch 32 float32 adjacent"),
    ("forward and backward, float32", "train", "bthd float32 halves", ""),
)
OURS, PEER, FLOOR = "#0b6e99", "#b0b7bf", "#5f6b76"


def kinds() -> list[str]:
    """The kinds of processors of which there are results, a folder each."""
    return sorted(path.name for path in RESULTS.iterdir() if path.is_dir())


def read(kind: str) -> dict[str, Any]:
    """The results that the picture shows, by benchmark."""
    names = dict.fromkeys(panel[1] for panel in PANELS)
    paths = {name: RESULTS / kind / f"{name}.json" for name in names}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def fingerprint(results: dict[str, Any]) -> str:
    """Of the figures that are shown: the picture carries it, so that a test can tell whether it is theirs."""
    return hashlib.sha256(json.dumps([bars(results, panel) for panel in PANELS]).encode()).hexdigest()[:16]


def bars(results: dict[str, Any], panel: tuple[str, str, str, str]) -> list[tuple[str, float]]:
    """Names and ratios of a panel, the cheapest first."""
    _, benchmark, halves, adjacent = panel
    cases = {case["case"]: case for case in results.get(benchmark, {}).get("cases", ())}
    shown = {name: figure["median"] for name, figure in cases.get(halves, {}).get("ratios", {}).items()}
    others = {name: figure["median"] for name, figure in cases.get(adjacent, {}).get("ratios", {}).items()}
    shown |= {name: ratio for name, ratio in others.items() if name not in shown}
    return sorted(shown.items(), key=lambda bar: bar[1])


def drawn(results: dict[str, Any]) -> Any:
    """The figure: a panel a case, ours in colour, what is no solution but a bound in dark grey."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "posenc", "font.size": 9, "font.family": "sans-serif"})
    figure = Figure(figsize=(12.0, 10.5), layout="constrained", facecolor="white")
    for axes, panel in zip(figure.subplots(3, 2).flat, PANELS, strict=True):
        named = bars(results, panel)
        names, ratios = [bar[0] for bar in named], [bar[1] for bar in named]
        # From the floor on, to the left of it what is cheaper: a bar on an axis of powers has no other beginning.
        axes.barh(
            names, [ratio - 1.0 for ratio in ratios], left=1.0, color=[colour(name) for name in names], height=0.7
        )
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(0.4, 3.0 * max([*ratios, 10.0]))
        ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if tick <= 2.0 * max([*ratios, 10.0])]
        axes.set_xticks(ticks, [f"{tick}×" for tick in ticks], minor=False)
        axes.set_xticks([], minor=True)
        axes.axvline(1.0, color=FLOOR, linewidth=1.0, zorder=0)
        for place, ratio in enumerate(ratios):
            axes.text(max(ratio, 1.0) * 1.06, place, f"{ratio:.2f}", va="center", fontsize=8, color="#22303c")
        axes.set_title(panel[0], loc="left", fontsize=10, fontweight="bold")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    figure.suptitle("CPU time over a copy of the same numbers, one thread; shorter is better", fontsize=11)
    return figure


def colour(name: str) -> str:
    if name.startswith("posenc"):
        return OURS
    return FLOOR if name.startswith(("copy_", "two copy_", "mul_", "clone")) else PEER


def drawn_for(kind: str) -> None:
    results = read(kind)
    metadata = {"Date": None, "Description": fingerprint(results)}
    drawn(results).savefig(RESULTS / kind / PICTURE, format="svg", metadata=metadata)


def main() -> int:
    for kind in kinds():
        drawn_for(kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
