"""Pictures of the figures, on axes of powers: rotations over a copy, and encodings over attention without one.

`python benchmarks/measuring/picture.py` draws speed.svg and cost.svg in each folder of benchmarks/results from the JSON
next to them; `make bench` does so at its end.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
#: Title, benchmark, case, and the case with the other pairing, whose peers are shown in the same panel.
PANELS = (
    ("4096 tokens, (B, T, H, D), float32", "rotate", "bthd float32 halves", "bthd float32 adjacent"),
    ("4096 tokens, (B, T, H, D), bfloat16", "rotate", "bthd bfloat16 halves", "bthd bfloat16 adjacent"),
    ("4096 tokens, (B, H, T, D), float32", "rotate", "bhtd float32 halves", "bhtd float32 adjacent"),
    ("4096 tokens, (B, H, T, D), bfloat16", "rotate", "bhtd bfloat16 halves", "bhtd bfloat16 adjacent"),
    ("decoding, 32 rows, float32", "decode", "batch 32 float32 halves", "batch 32 float32 adjacent"),
    ("forward and backward, float32", "train", "bthd float32 halves", ""),
)
#: Title, benchmark, how its cases end, and the variant of each encoding that is shown.
INSIDE, HEADS = "posenc.torch.attention", "8 heads of 64"
ENCODINGS = (
    ("attention, 4096 tokens, float32", "attention", f", 4096 tokens, {HEADS}, float32", INSIDE),
    ("attention, 4096 tokens, bfloat16", "attention", f", 4096 tokens, {HEADS}, bfloat16", INSIDE),
    (
        "forward and backward, 1024 tokens, float32",
        "attention_training",
        f", 1024 tokens, {HEADS}, float32, trained",
        f"{INSIDE}, with gradient",
    ),
    (
        "a query of 8 rows against 4096 keys, float32",
        "attention_decoding",
        f", 4096 keys, a query of 8 rows, {HEADS}, float32",
        INSIDE,
    ),
    (
        "one query of one sequence against 4096 keys, float32",
        "attention_one_row",
        f", one query, 4096 keys, {HEADS}, float32",
        INSIDE,
    ),
    (
        "4096 tokens in a window of 300, float32",
        "attention_windows",
        f", 4096 tokens, window of 300, {HEADS}, float32",
        INSIDE,
    ),
)
TITLES = {
    "speed.svg": "CPU time over a copy of the same numbers, one thread; shorter is better",
    "cost.svg": "CPU time over attention without an encoding, one thread; shorter is better",
}
OURS, PEER, FLOOR = "#0b6e99", "#b0b7bf", "#5f6b76"


def kinds() -> list[str]:
    """The kinds of processors of which there are results, a folder each."""
    return sorted(path.name for path in RESULTS.iterdir() if path.is_dir())


def read(kind: str) -> dict[str, Any]:
    """The results that the pictures show, by benchmark."""
    names = dict.fromkeys(panel[1] for panel in (*PANELS, *ENCODINGS))
    paths = {name: RESULTS / kind / f"{name}.json" for name in names}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def pictures(results: dict[str, Any]) -> dict[str, list[tuple[str, list[tuple[str, float]]]]]:
    """Titles and bars of the panels of each picture, those without figures left out."""
    panels = {
        "speed.svg": [(panel[0], bars(results, panel)) for panel in PANELS],
        "cost.svg": [(panel[0], by_encoding(results, panel)) for panel in ENCODINGS],
    }
    filled = {name: [panel for panel in of if panel[1]] for name, of in panels.items()}
    return {name: of for name, of in filled.items() if of}


def fingerprint(panels: list[tuple[str, list[tuple[str, float]]]]) -> str:
    """Digest of the figures that are shown: the picture carries it, so that a test can tell whether it is theirs."""
    return hashlib.sha256(json.dumps(panels).encode()).hexdigest()[:16]


def by_encoding(results: dict[str, Any], panel: tuple[str, str, str, str]) -> list[tuple[str, float]]:
    """Encodings and the ratios of one variant in a panel, the cheapest first."""
    _, benchmark, ending, variant = panel
    cases = results.get(benchmark, {}).get("cases", ())
    shown = [
        (case["case"].removesuffix(ending), case["ratios"][variant]["median"])
        for case in cases
        if case["case"].endswith(ending) and variant in case.get("ratios", {})
    ]
    return sorted(shown, key=lambda bar: bar[1])


def bars(results: dict[str, Any], panel: tuple[str, str, str, str]) -> list[tuple[str, float]]:
    """Names and ratios of a panel, the cheapest first."""
    _, benchmark, halves, adjacent = panel
    cases = {case["case"]: case for case in results.get(benchmark, {}).get("cases", ())}
    shown = {name: figure["median"] for name, figure in cases.get(halves, {}).get("ratios", {}).items()}
    others = {name: figure["median"] for name, figure in cases.get(adjacent, {}).get("ratios", {}).items()}
    shown |= {name: ratio for name, ratio in others.items() if name not in shown}
    return sorted(shown.items(), key=lambda bar: bar[1])


TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)


def drawn(title: str, panels: list[tuple[str, list[tuple[str, float]]]]) -> Any:
    """The figure: a panel a case, ours in colour, what is no solution but a bound in dark grey."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "posenc", "font.size": 9, "font.family": "sans-serif"})
    rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(12.0, 3.5 * rows), layout="constrained", facecolor="white")
    places = list(figure.subplots(rows, 2, squeeze=False).flat)
    for axes, (name, named) in zip(places, panels, strict=False):
        _panel(axes, name, named, title == TITLES["cost.svg"])
    for axes in places[len(panels) :]:
        axes.remove()
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: Any, title: str, named: list[tuple[str, float]], shows_encodings: bool) -> None:
    """Bars from the floor on, to the left of it what is cheaper: on an axis of powers there is no other beginning."""
    names, ratios = [bar[0] for bar in named], [bar[1] for bar in named]
    colours = OURS if shows_encodings else [colour(name) for name in names]
    axes.barh(names, [ratio - 1.0 for ratio in ratios], left=1.0, color=colours, height=0.7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    least, most = min([*ratios, 0.5]), max([*ratios, 10.0])
    axes.set_xlim(0.8 * least, 3.0 * most)
    ticks = [tick for tick in TICKS if 0.8 * least <= tick <= 2.0 * most]
    axes.set_xticks(ticks, [f"{tick}×" for tick in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.axvline(1.0, color=FLOOR, linewidth=1.0, zorder=0)
    for place, ratio in enumerate(ratios):
        axes.text(max(ratio, 1.0) * 1.06, place, f"{ratio:.2f}", va="center", fontsize=8, color="#22303c")
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def colour(name: str) -> str:
    if name.startswith("posenc"):
        return OURS
    return FLOOR if name.startswith(("copy_", "two copy_", "mul_", "clone")) else PEER


def drawn_for(kind: str) -> None:
    for name, panels in pictures(read(kind)).items():
        metadata = {"Date": None, "Description": fingerprint(panels)}
        drawn(TITLES[name], panels).savefig(RESULTS / kind / name, format="svg", metadata=metadata)


def main() -> int:
    for kind in kinds():
        drawn_for(kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
