"""Table of released models, BERT to gpt-oss: encodings, scalings and wavelengths, read from their configs."""

from __future__ import annotations

from typing import Any

from posenc.models.released.position_facts import PositionFacts, position_facts
from posenc.models.released.released_models import ReleasedModel, released_models

#: Models of the table by name, the oldest first, and the year of each.
SHOWN = (
    ("BERT base", 2018), ("GPT-2", 2019), ("T5 small", 2019), ("GPT-NeoX 20B", 2022), ("BLOOM 176B", 2022),
    ("Pythia 6.9B", 2023), ("MPT 7B", 2023), ("Llama 2 7B", 2023), ("Llama 3 8B", 2024), ("Mistral 7B v0.3", 2024),
    ("Gemma 2 9B", 2024), ("GLM-4 9B", 2024), ("Llama 3.1 8B", 2024), ("Phi-3.5 mini", 2024), ("Qwen2-VL 7B", 2024),
    ("Qwen2.5 3B", 2024), ("Command R7B", 2024), ("DeepSeek-V3", 2024), ("ModernBERT base", 2024),
    ("Gemma 3 27B", 2025), ("Qwen3 8B", 2025), ("SmolLM3 3B", 2025), ("gpt-oss 20B", 2025), ("OLMo 3 7B", 2025),
)  # fmt: skip
#: Models of the table that a slide has room for.
KNOWN = ("Llama 2 7B", "Llama 3 8B", "Llama 3.1 8B", "DeepSeek-V3", "Gemma 3 27B", "Qwen3 8B", "gpt-oss 20B")
#: Significant digits of a wavelength, enough for a picture and its words.
DIGITS = 4


def todays_models() -> list[dict[str, Any]]:
    """Each model with its groups of layers; towers for images are left to the section on images."""
    held = {model.name: model for model in released_models()}
    return [_row(held[name], year) for name, year in SHOWN]


def _row(model: ReleasedModel, year: int) -> dict[str, Any]:
    return {
        "name": model.name,
        "year": year,
        "known": model.name in KNOWN,
        "paper": model.paper,
        "source": model.source,
        "groups": [_group(facts) for facts in position_facts(model) if facts.part != "vision"],
    }


def _group(facts: PositionFacts) -> dict[str, Any]:
    return {
        "layers": facts.layers,
        "of": facts.of,
        "part": facts.part,
        "encoding": facts.encoding,
        "scaling": facts.scaling,
        "sentences": facts.sentences,
        "base": facts.base,
        "pairs": facts.pairs,
        "rotated": facts.rotated,
        "width": facts.width,
        "wavelengths": [float(f"{length:.{DIGITS}g}") for length in facts.wavelengths],
        "reach": facts.reach,
        "whole": facts.whole,
    }
