"""A tokenizer of token ids: the text "0 5 5" is the tokens 0, 5 and 5."""

from __future__ import annotations

from typing import Any


def tokenizer_files(vocabulary: int, unused: int) -> dict[str, dict[str, Any]]:
    """Files of the tokenizer by name, as the tokenizers library reads them.

    Args:
        vocabulary: Number of tokens.
        unused: Token that stands for unknown text and for the end.
    """
    tokenizer: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
        "model": {
            "type": "WordLevel", "vocab": {str(token): token for token in range(vocabulary)}, "unk_token": str(unused),
        },
    }  # fmt: skip
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": str(unused), "eos_token": str(unused),
        "bos_token": str(unused),
        "clean_up_tokenization_spaces": False,
    }  # fmt: skip
    return {"tokenizer.json": tokenizer, "tokenizer_config.json": settings}
