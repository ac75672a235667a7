"""Words that people type into the search, and the page that must hold each: the search finds whole words of a page."""

from __future__ import annotations

import re
from pathlib import Path

from every import every

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "symptoms.md": "gibberish, garbage, wrong output, KV cache, NaN, batch, padding, quantising, fluent",
    "choosing.md": "extrapolation",
    "faq.md": "FlashAttention, grouped-query, head dimension, sequence length, context length, left padding",
    "rope-types.md": "rope_scaling, rope_parameters, rope_theta, mrope, longrope, llama3, yarn, vLLM, llama.cpp",
    "cookbook.md": "sliding_window, speculative decoding, resolution, draft, decoding, paper",
    "speed.md": "float32, transformers, GPU",
    "probe.md": "engine, logits",
}


def test_words_that_people_type_stand_on_their_page() -> None:
    def check(found: tuple[str, str]) -> None:
        page, word = found
        text = (DOCS / page).read_text(encoding="utf-8")
        assert re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE), word

    every([(page, word) for page, words in PAGES.items() for word in words.split(", ")], check)
