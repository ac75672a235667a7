"""Dumps of several kinds of evidence: each array is compared, or named as one that nothing was compared with.

A judge reads only one of the arrays that say the same, such as the bias and not the logits. So a dump with both is
judged once with each of them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from posenc.core.doors import AttentionBias, Encoding
from posenc.diagnosis.judge_sinusoids import sinusoids_among
from posenc.diagnosis.logit_forms import LOGIT_NAMES
from posenc.diagnosis.named_arrays import ARRAY_NAMES, POSITION_NAMES
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.t5 import T5Bias

#: What an encoding of a layer is judged by.
Judge = Literal["sinusoids", "learned rows", "bias", "rotation"]

#: Arrays that say the same, of which a judge reads one at a time.
SAY_THE_SAME: dict[Judge, tuple[str, ...]] = {
    "sinusoids": ("table", "hidden_states"),
    "learned rows": (),
    "bias": ("bias", *LOGIT_NAMES),
    "rotation": LOGIT_NAMES,
}
#: What a judge reads some arrays with; it reads others by themselves, or not at all.
_SCALE, _POSITIONS = "q, k and logits or probabilities", "arrays of tokens without positions of their own"
READ_WITH: dict[Judge, dict[str, str]] = {
    "sinusoids": {"embeddings": "hidden_states"},
    "learned rows": {},
    "bias": {
        "q": "k and logits or probabilities",
        "k": "q and logits or probabilities",
        "scale": _SCALE,
        "positions": _POSITIONS,
    },
    "rotation": {
        "q": "q_rotated, or k and logits or probabilities",
        "k": "k_rotated, or q and logits or probabilities",
        "scale": _SCALE,
        "positions": _POSITIONS,
        "query_positions": "q and q_rotated, or logits or probabilities",
        "key_positions": "k and k_rotated, or logits or probabilities",
    },
}


def judge_of(encodings: Sequence[Encoding], names: Mapping[str, Any]) -> Judge:
    """Which judge reads a dump with these names, for layers with these encodings."""
    if sinusoids_among(list(encodings)) is not None and {"table", "hidden_states"} & set(names):
        return "sinusoids"
    if "hidden_states" in names and any(isinstance(encoding, Learned) for encoding in encodings):
        return "learned rows"
    return "bias" if any(isinstance(encoding, AttentionBias) for encoding in encodings) else "rotation"


def one_at_a_time(judge: Judge, arrays: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The dump with each of the arrays that say the same alone, under the name of that array.

    Yields:
        The name of the array, and the dump without the others; "" and the whole dump where none say the same.
    """
    same = [name for name in SAY_THE_SAME[judge] if name in arrays]
    if len(same) < 2:
        yield "", arrays
        return
    for kept in same:
        yield kept, {name: array for name, array in arrays.items() if name == kept or name not in same}


def passed_over(judge: Judge, encodings: Sequence[Encoding], names: Mapping[str, Any]) -> tuple[str, ...]:
    """The arrays of a dump that the judge compares with nothing, in words."""
    read, read_with = _read_by(judge, encodings, set(names)), READ_WITH[judge]
    unread = [name for name in ARRAY_NAMES if name in names and name not in read]
    others = [f"the values of {name}" if name in LOGIT_NAMES else name for name in unread if name not in read_with]
    unknown = [f"{', '.join(others)}, which these layers have nothing to compare with"] if others else []
    return (*unknown, *(f"{name}, which is read only with {read_with[name]}" for name in unread if name in read_with))


def _read_by(judge: Judge, encodings: Sequence[Encoding], names: set[str]) -> set[str]:
    """Names of the arrays that the judge reads among these."""
    if judge in ("sinusoids", "learned rows"):
        return {"table", "hidden_states", "positions", *(["embeddings"] if "hidden_states" in names else [])}
    products = {"q", "k", "scale"} if names & set(LOGIT_NAMES) else set()
    if judge == "bias":
        table = {"table"} if any(isinstance(encoding, T5Bias) for encoding in encodings) else set()
        return {"bias", *LOGIT_NAMES, *products, *table, *_positions(names, {"q", "k"})}
    vectors = {letter for letter in ("q", "k") if f"{letter}_rotated" in names}
    waves = {"cos", "sin", "cos_sin_cache", "inv_freq", "attention_factor"}
    rotated = {"q_rotated", "k_rotated"}
    positions = _positions(names, {"q", "k"} if products else vectors)
    return waves | rotated | set(LOGIT_NAMES) | products | vectors | positions


def _positions(names: set[str], sides: set[str]) -> set[str]:
    """Names of the positions that are read, where queries ("q") or keys ("k") are."""
    own = {name for name in POSITION_NAMES if name[0] in sides}
    return own if own <= names and "cos" not in names else own | {"positions"}
