"""Data of the sections on models of today: their table, images, packed rows, precision, and engines that disagree."""

from __future__ import annotations

from typing import Any

from posenc.explorer.engine_answers import answers_of
from posenc.explorer.lesson.media_places import media_places
from posenc.explorer.lesson.packed_rows import packed_rows
from posenc.explorer.lesson.precision_curves import precision_curves
from posenc.explorer.lesson.todays_models import todays_models


def today_data() -> dict[str, Any]:
    """Collect the data of each section by the name of its view, and of a config that two engines read differently."""
    return {
        "todays": todays_models(),
        "media": media_places(),
        "packing": packed_rows(),
        "precision": precision_curves(),
        "engines": _disagreement(),
    }


def _disagreement() -> dict[str, Any]:
    """Answers of transformers and llama.cpp to gpt-oss 20B, whose config they read differently."""
    rows = {row["engine"]: row for row in answers_of("gpt-oss 20B")["rows"]}
    return {"right": rows["transformers"], "other": rows["llama.cpp"]}
