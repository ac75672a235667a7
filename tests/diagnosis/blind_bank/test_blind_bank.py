"""Mistakes and harmless variants that were written without reading the doctor, and frozen before it saw them.

Expected: no mistake is all clear, 90 % are named, and nothing harmless is flagged. `known_gaps.json` lists the rows
that fail today, each with what the doctor says; a row that passes must leave the list.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from diagnosis.blind_bank import (
    harmless,
    planted_arrays,
    planted_biases,
    planted_configs,
    planted_folders,
    planted_models,
)
from diagnosis.blind_bank.architectures import ROTARY, Config
from diagnosis.blind_bank.judge import against_gaps, attempt, judged, unharmed
from posenc.diagnosis import diagnose
from posenc.transformers import capture

Outcomes = dict[str, str]


def config_outcomes() -> Outcomes:
    return {
        f"config / {name}": attempt(lambda e=expected, s=served: diagnose(e, s), judged, words)
        for name, expected, served, words in planted_configs.config_rows()
    }


def array_rows() -> list[tuple[str, Any, Any, str]]:
    """Each mistake on each architecture that can make it, with the kinds of evidence that show it in turn."""
    found = []
    for row, architecture in enumerate(ROTARY):
        for column, mistake in enumerate(planted_arrays.MISTAKES):
            code = mistake.plant(architecture)
            hidden = planted_arrays.SCORES if architecture.shows == "rotation" else ()
            unrotated = ("inv_freq", "cos and sin", "cos_sin_cache") if architecture.rotary is None else ()
            kinds = [kind for kind in mistake.shown_by if kind not in hidden and kind not in unrotated]
            if code and kinds:
                found.append((architecture, mistake, code, kinds[(row + column) % len(kinds)]))
    return found


def array_outcomes(every: int = 1) -> Outcomes:
    found = {}
    for architecture, mistake, code, kind in array_rows()[::every]:
        where = {"layer": architecture.layer} | architecture.options
        given = planted_arrays.arrays(code, kind)
        name = f"arrays / {architecture.name} / {mistake.name} / {kind}"
        found[name] = attempt(
            lambda e=architecture, g=given, w=where: diagnose(e.config, g, **w), judged, mistake.words
        )
    return found


def door_outcomes() -> Outcomes:
    found = {}
    for rows in (planted_biases.alibi, planted_biases.t5, planted_biases.added, planted_biases.media):
        for name, expected, given, options, words in rows():
            found[f"arrays / {name}"] = attempt(
                lambda e=expected, g=given, o=options: diagnose(e, g, **o), judged, words)  # fmt: skip
    return found


def seen_of(model: Any, config: Config, **more: Any) -> Any:
    """Capture a run over drawn tokens."""
    tokens = torch.randint(3, 60, (1, planted_models.SEEN), generator=torch.Generator().manual_seed(1))
    if config["model_type"] == "t5":
        more = {"inputs": {"decoder_input_ids": tokens}} | more
    return capture(model, tokens, **more)


def model_outcomes() -> Outcomes:
    found = {}
    for name, config, build, words in planted_models.model_rows():
        model = build()
        found[f"capture / {name}"] = attempt(
            lambda m=model, c=config: diagnose(copy.deepcopy(c), seen_of(m, c)), judged, words)  # fmt: skip
        if name.split(" / ")[1].startswith(planted_models.BY_MODULE) and name.count(" / ") == 1:
            found[f"module / {name}"] = attempt(
                lambda m=model, c=config: diagnose(copy.deepcopy(c), m.rotary_emb), judged, words)  # fmt: skip
    return found


def folder_outcomes(folder: Path) -> Outcomes:
    found, saved = {}, {}
    for number, (name, config, move, words) in enumerate(planted_folders.folder_rows()):
        model = name.split(" / ")[0]
        if model not in saved:
            saved[model] = planted_folders.saved(config, folder / f"saved {len(saved)}")
        actual = folder / f"changed {number}"
        if planted_folders.changed(saved[model], actual, move, config):
            found[f"folders / {name}"] = attempt(lambda e=saved[model], a=actual: diagnose(e, a), judged, words)
    return found


def gguf_outcomes(folder: Path) -> Outcomes:
    found = {}
    for kind, config in planted_folders.GGUF_CONFIGS.items():
        source = planted_folders.saved(config, folder / kind)
        for number, (name, of, wrong, words) in enumerate(planted_folders.gguf_rows()):
            if of == kind:
                file = planted_folders.write_gguf(source, folder / f"{number}.gguf", kind, **wrong)
                found[name] = attempt(lambda s=source, f=file: diagnose(s, f), judged, words)
        right = planted_folders.write_gguf(source, folder / f"{kind}.gguf", kind)
        found[f"{kind} gguf / as it is"] = attempt(lambda s=source, f=right: diagnose(s, f), unharmed, True)
    return found


def harmless_outcomes() -> Outcomes:
    found = {}
    for kind, rows, everything in [
        ("config", harmless.config_variants, True),
        ("arrays", harmless.array_variants, False),
        ("arrays", harmless.door_variants, False),
        ("complete", harmless.complete_arrays, True),
    ]:
        for name, expected, given, options in rows():
            found[f"harmless {kind} / {name}"] = attempt(
                lambda e=expected, g=given, o=options: diagnose(e, g, **o), unharmed, everything)  # fmt: skip
    return found


def harmless_models(folder: Path) -> Outcomes:
    found = {}
    for number, (name, config, run) in enumerate(harmless.model_variants()):

        def work(config: Config = config, run: Any = run, number: int = number) -> Any:
            model, given = run(config, folder / str(number))
            return diagnose(copy.deepcopy(config), seen_of(model, config, **given))

        whole = name.endswith("as it is") and name.split(" / ")[0] in planted_configs.rotary_configs()
        complete = True if whole and not name.startswith("phi3") else None  # its long list needs longer texts
        if config is planted_configs.QWEN2_VL and name.endswith(("as it is", "around an image")):
            complete = name.endswith("around an image")  # a text shows no order of coordinates
        found[f"harmless capture / {name}"] = attempt(work, unharmed, complete)
    return found


def harmless_folders(folder: Path) -> Outcomes:
    found, configs = {}, planted_configs.rotary_configs() | planted_configs.other_configs()
    for number, (name, config) in enumerate(configs.items()):
        source = planted_folders.saved(config, folder / f"{number}")
        for variant, write in planted_folders.HARMLESS_FOLDERS.items():
            if variant == "under model." and name in planted_folders.BARE:
                continue
            target = folder / f"{number} {variant}"
            write(source, target)
            found[f"harmless folders / {name} / {variant}"] = attempt(
                lambda s=source, t=target: diagnose(s, t), unharmed, True)  # fmt: skip
    return found


AREAS: dict[str, Callable[[Path], Outcomes]] = {
    "configs": lambda folder: config_outcomes(), "arrays": lambda folder: array_outcomes(),
    "doors": lambda folder: door_outcomes(), "models": lambda folder: model_outcomes(), "folders": folder_outcomes,
    "gguf": gguf_outcomes, "harmless": lambda folder: harmless_outcomes(), "harmless models": harmless_models,
    "harmless folders": harmless_folders,
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("area", AREAS)
def test_the_blind_bank(area: str, tmp_path: Path) -> None:
    against_gaps(AREAS[area](tmp_path))


def test_a_sample_of_the_blind_bank() -> None:
    against_gaps(array_outcomes(every=59))


def main(folder: Path) -> None:
    """Print what every row gives, as JSON."""
    for area, outcomes in AREAS.items():
        here = folder / area
        here.mkdir()
        print(json.dumps({area: outcomes(here)}, indent=1), flush=True)
