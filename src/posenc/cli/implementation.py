"""What `diff` and `doctor` compare: a record as text, or the config of a model."""

from __future__ import annotations

from typing import Any

from posenc import parse
from posenc.cli.explain_config import ENDINGS, is_config
from posenc.doors import Encoding


def implementation(name: str, text: str) -> Any:
    """The record that a text describes, or what a config.json, its folder or a .gguf file says of positions."""
    if parse.is_record(text):
        record = parse.record(text)
        if not isinstance(record, Encoding):
            raise ValueError(
                f"{name} must be an encoding; got {parse.apart(record, 'Compare the records of its layers.')}"
            )
        return record
    if not is_config(text):
        raise ValueError(
            f"{name} must be a record, RoPE(dim=64), or a config ({', '.join(ENDINGS)} or its folder); got {text!r:.100}. "
            "Write one of these."
        )
    from posenc.models import from_config, from_gguf

    return from_gguf(text) if text.endswith(".gguf") else from_config(text)
