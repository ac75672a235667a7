"""Any encoding that can be made is hashable, equal to its copy, and rebuilt from its repr and its pickle."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from posenc import parse
from properties.strategies import SAMPLES, answered, changed_fields, made

#: What may be changed in a text: what the parser knows, what it must refuse, and what no text should hold.
LETTERS = "()[]{},=.'\"\\-+*/0123456789eE_ \n\x00λabcNone:;@#RoPE\ud800"


@given(changed_fields())
@settings(max_examples=250, deadline=None)
def test_an_encoding_that_can_be_made_is_rebuilt(drawn: tuple[Any, dict[str, Any]]) -> None:
    encoding = made(*drawn)
    if encoding is None:
        return
    for again in (parse.record(repr(encoding)), pickle.loads(pickle.dumps(encoding))):
        assert again == encoding
        assert hash(again) == hash(encoding)
        assert repr(again) == repr(encoding)


EDITS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2), st.text(LETTERS, max_size=3)), max_size=4)


@given(st.sampled_from(SAMPLES), EDITS)
@settings(max_examples=500, deadline=None)
def test_a_text_with_noise_is_an_encoding_or_a_value_error(sample: Any, edits: list[tuple[int, int, str]]) -> None:
    text = repr(sample)
    for place, dropped, put in edits:
        at = place % (len(text) + 1)
        text = text[:at] + put + text[at + dropped :]
    answered(lambda: parse.record(text))


@given(st.text(max_size=60))
@settings(deadline=None)
def test_any_text_is_an_encoding_or_a_value_error(text: str) -> None:
    answered(lambda: parse.record(text))
