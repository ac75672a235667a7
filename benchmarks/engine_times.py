"""How long `posenc engines` takes: four engines and all of them on a file that is new, and the same file again.

    .venv/bin/python benchmarks/engine_times.py [--cache FOLDER] [--output FILE]

Wall time of the whole command in seconds, and processor time of it and of all engines' processes, which another load of
the machine changes less. Environments are made before, which downloads what is missing and is not counted. A new file
has a base that no file had before, since answers are kept by what a probe holds; its probe is written and every engine
is run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
    "intermediate_size": 14336, "max_position_embeddings": 131072,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192},
}  # fmt: skip
FOUR = ("transformers", "mlx-lm", "llama.cpp", "vllm")


class Case(NamedTuple):
    """A command: its engines, all if there are none, whether its file is new, and seconds that it may take."""

    name: str
    engines: tuple[str, ...]
    new: bool
    goal: float


CASES = (
    Case("four engines", FOUR, True, 20.0),
    Case("all engines", (), True, 120.0),
    Case("all engines again", (), False, 1.0),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="folder of environments and answers")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    found = {}
    base = 5e5 + time.time() % 1e5
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "config.json"
        run(file, base, (), options.cache)  # makes the environments
        for case in CASES:
            base += case.new
            found[case.name] = {**run(file, base, case.engines, options.cache), "goal": case.goal}
    print(f"{'posenc engines, seconds':26}{'wall':>8}{'processor':>11}{'goal':>7}")
    for name, times in found.items():
        print(f"{name:26}{times['wall']:8.1f}{times['processor']:11.1f}{times['goal']:7.0f}")
    if options.output:
        load = {"processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
        options.output.write_text(json.dumps({**load, "seconds": found}, indent=1) + "\n", encoding="utf-8")
    return int(any(times["wall"] > times["goal"] for times in found.values()))


def run(file: Path, base: float, engines: tuple[str, ...], cache: Path | None) -> dict[str, float]:
    """Wall and processor time of the command on a file with this base."""
    file.write_text(json.dumps({**CONFIG, "rope_theta": base}), encoding="utf-8")
    command = [sys.executable, "-m", "posenc", "engines", str(file), *(("--only", *engines) if engines else ())]
    before, began = os.times(), time.monotonic()
    done = subprocess.run([*command, *(("--cache", str(cache)) if cache else ())], capture_output=True, text=True)
    wall, after = time.monotonic() - began, os.times()
    if done.returncode not in (0, 1, 3) or not done.stdout:
        raise SystemExit(f"posenc engines ended with code {done.returncode}: {done.stderr}")
    processor = sum(after[2:4]) - sum(before[2:4])
    return {"wall": round(wall, 2), "processor": round(processor, 2)}


if __name__ == "__main__":
    raise SystemExit(main())
