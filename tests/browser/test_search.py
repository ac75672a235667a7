"""The search of the built docs leads from words that people type to the page that answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

import pytest

#: Words, and pages of which one must be among the first.
WORDS = {
    "gibberish": "symptoms", "garbage": "symptoms", "wrong output": "symptoms", "nan": "symptoms",
    "loss too high": "symptoms", "index out of range": "symptoms", "batch wrong": "symptoms", "quantised": "caches",
    "kv cache": "symptoms caches", "left padding": "faq symptoms cookbook", "long context": "planning symptoms",
    "rope_theta": "faq rope-types", "rope_scaling": "rope-types", "rope_parameters": "rope-types faq",
    "mrope": "rope-types", "yarn": "rope-types faq", "llama3": "rope-types", "longrope": "rope-types",
    "vllm": "rope-types comparing-engines", "llama.cpp": "rope-types comparing-engines", "gguf": "formats converting",
    "grouped-query attention": "faq", "head dimension": "faq glossary", "context length": "faq glossary",
    "sequence length": "faq glossary", "sliding window": "cookbook pytorch", "speculative decoding": "cookbook",
    "flash attention": "faq", "bfloat16": "faq", "gpu": "faq speed", "install": "index",
    "position_ids": "tracing faq cookbook",
    "vit": "cookbook", "video": "positions cookbook", "extrapolation": "choosing", "alibi slopes": "ALiBi",
    "rotate_half": "glossary", "interpolate pos_embed": "cookbook",
}  # fmt: skip
#: How many pages a reader looks at.
FIRST = 5


def found(page: Any, site: str, words: str) -> list[str]:
    """Names of the first pages that the search lists."""
    page.goto(f"{site}/?q={quote(words)}")
    page.wait_for_selector(".md-search-result__item > a", state="attached", timeout=60_000)
    links = page.eval_on_selector_all(".md-search-result__item > a", "links => links.map((link) => link.href)")
    return list(dict.fromkeys(urlsplit(link).path.strip("/").split("/")[-1] or "index" for link in links))[:FIRST]


@pytest.mark.browser
def test_words_that_people_type_lead_to_their_page(watched: Any, site: str) -> None:
    page = watched().page
    lost = {
        words: names for words, pages in WORDS.items() if not {*pages.split()} & {*(names := found(page, site, words))}
    }
    assert not lost, lost
