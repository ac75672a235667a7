"""The names of a record's fields, as they are called: what is wrong with them, and which were meant."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

#: What other libraries call a field.
OTHER_NAMES = {
    "dim": ("d_model", "head_dim", "hidden_size", "embed_dim", "embedding_dim", "model_dim", "d_head", "d", "features"),
    "heads": ("num_heads", "n_heads", "n_head", "nhead", "num_attention_heads"),
    "base": ("theta", "rope_theta", "max_wavelength", "temperature", "n"),
    "length": ("max_len", "max_length", "max_position_embeddings", "num_embeddings", "max_seq_len", "rows"),
    "buckets": ("num_buckets", "relative_attention_num_buckets"),
    "pairing": ("interleaved", "layout", "style", "is_neox_style"),
}


def near_field(word: str, fields: Iterable[str]) -> str | None:
    """The field that is meant: by the name that other libraries give it, or by its letters.

    Example:
        >>> near_field("d_model", ["dim", "base"]), near_field("bsae", ["dim", "base"]), near_field("x", ["dim"])
        ('dim', 'base', None)
    """
    options = list(fields)
    meant = (field for field, names in OTHER_NAMES.items() if word.lower() in names and field in options)
    near = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.5)
    return next(meant, near[0] if near else None)


def wrong_names(record: type, values: tuple[Any, ...], fields: Mapping[str, Any]) -> str | None:
    """What is wrong with the names in the call record(*values, **fields), and what to write; None if they are right.

    Example:
        >>> from posenc import RoPE
        >>> wrong_names(RoPE, (), {"d_model": 64})
        'RoPE has no field d_model; did you mean dim? Its fields are dim, base, pairing, numerics, scaling.'
    """
    parameters = inspect.signature(record).parameters
    name, rest = record.__name__, f"Its fields are {', '.join(parameters)}." if parameters else "It has no fields."
    if unknown := [field for field in fields if field not in parameters]:
        guesses = [(field, near_field(field, parameters)) for field in unknown]
        sentences = [
            f"{name} has no field {field}" + (f"; did you mean {near}?" if near else ".") for field, near in guesses
        ]
        return " ".join([*sentences, rest])
    if len(values) > len(parameters):
        return f"{name} must have at most {len(parameters)} values; got {len(values)}. {rest}"
    if twice := [field for field in list(parameters)[: len(values)] if field in fields]:
        return f"{twice[0]} must be given once; got it by place and by name. Leave one out. {rest}"
    required = [field for field, parameter in parameters.items() if parameter.default is parameter.empty]
    if missing := [field for field in required[len(values) :] if field not in fields]:
        given = {**dict(zip(parameters, values, strict=False)), **fields}
        written = [f"{field}={value!r:.60}" for field, value in given.items()] + [f"{field}=..." for field in missing]
        call = f"{name}({', '.join(written)})"
        return f"{name} must be given {' and '.join(missing)}; got neither value nor default. Write {call}."
    return None
