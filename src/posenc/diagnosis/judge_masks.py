"""Whether the mask in logits or probabilities shows the keys that a layer is to see: its window, and no later keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.logit_forms import LOGIT_NAMES, shown_logits
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import Arrays
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.sets_in_words import set_in_words
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import Chunks, LayerGroup, NearKeys, Window

_FIX = {
    "window": "Read sliding_window, attention_chunk_size and layer_types of the file, and count the query's own key.",
    "causal mask": "Mask every key behind its query: key position > query position.",
}
SEE_BOTH_SIDES = "Attend to both sides: is_causal=False, and a mask of the padding alone."
IRREGULAR = "the mask hides keys within reach as well, as between packed documents: the window was not compared"


APART = Finding(
    "images masked",
    "Tokens of one image do not all see each other, and are to.",
    "Let the tokens of an image see each other: give token_type_ids, and a mask that is not causal there.",
)


class MaskBand(NamedTuple):
    """Least and greatest distance, query minus key, that a mask lets through, and whether all between pass too."""

    nearest: int
    farthest: int
    whole: bool


def judge_mask(
    groups: tuple[LayerGroup, ...], arrays: Arrays, windows_known: bool, causal: bool | None = None
) -> Diagnosis | None:
    """Compare the mask that dumped logits show with the window of their layers.

    Args:
        groups: Layers that the logits belong to.
        arrays: Named arrays, some of which may hold logits.
        windows_known: Whether a layer without a window is known to have none.
        causal: Whether later keys are to be hidden, where no window says it; None if that is not known.

    Returns:
        A diagnosis of the window and of later keys; None where no mask is shown, or layers differ.
    """
    windows = {group.window for group in groups if group.layers}
    if not any(name in arrays for name in LOGIT_NAMES) or len(windows) != 1 or not (windows_known or all(windows)):
        return None
    shown = shown_logits(arrays)
    heads = shown.visible.reshape(-1, *shown.visible.shape[-2:])
    visible = np.asarray(heads.any(0))
    rows, columns = visible.any(1), visible.any(0)  # padding is seen by nobody
    sides = [_positions(arrays, role, count) for role, count in zip(("query", "key"), visible.shape, strict=True)]
    without_mask = "probabilities" in arrays and bool(visible.all())  # a softmax comes behind every mask
    if not (shown.masks or without_mask) or not rows.any() or sides[0] is None or sides[1] is None:
        return None
    if not (np.isfinite(sides[0]).all() and np.isfinite(sides[1]).all()):
        return None  # which is a mistake of its own
    window, query, key = windows.pop(), sides[0][rows], sides[1][columns]
    verdict = compare_mask(window, visible[rows][:, columns], query, key, causal)
    if "probabilities" in arrays or not verdict.agree:  # too small a probability is 0 in one head, and no mask
        return verdict
    unlike = {number: head[rows][:, columns] for number, head in enumerate(heads) if not np.array_equal(head, visible)}
    of_heads = {number: compare_mask(window, head, query, key, causal) for number, head in unlike.items()}
    return _with_heads(verdict, of_heads, len(heads))


def _with_heads(verdict: Diagnosis, of_heads: Mapping[int, Diagnosis], count: int) -> Diagnosis:
    """The verdict on what any head sees, with findings on single heads that see less."""
    heads_of: dict[Finding, list[int]] = {}
    for number, own in of_heads.items():
        for finding in own.findings:
            heads_of.setdefault(finding, []).append(number)
    findings = [
        replace(finding, where=set_in_words("head", heads, range(count))) for finding, heads in heads_of.items()
    ]
    looked_at = tuple(name for name in verdict.looked_at if all(name in own.looked_at for own in of_heads.values()))
    notes = tuple(dict.fromkeys((*verdict.notes, *(note for own in of_heads.values() for note in own.notes))))
    return replace(verdict, agree=not findings, findings=tuple(findings), looked_at=looked_at, notes=notes)


def _positions(arrays: Arrays, role: str, count: int) -> np.ndarray | None:
    """Positions of queries or keys, (count,); None where they have several coordinates, or do not fit."""
    given = arrays.get(f"{role}_positions") or arrays.get("positions")
    positions = np.arange(count) if given is None else given.values.reshape(-1)
    return positions if len(positions) == count else None


def compare_mask(
    window: NearKeys | None,
    visible: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    causal: bool | None = None,
    together: np.ndarray | None = None,
) -> Diagnosis:
    """Compare the keys that queries see with those of a window.

    Args:
        window: The keys that are meant; None for all.
        visible: Whether a query sees a key, (n, m).
        query: Positions of queries, (n,).
        key: Positions of keys, (m,).
        causal: Whether later keys are to be hidden, where no window says it; None if that is not known.
        together: Whether a query and a key see each other whatever the window is, as tokens of one image, (n, m).
    """
    distance = query[:, None] - key
    apart = np.ones(visible.shape, bool) if together is None else ~together
    compared = f"the mask of {visible.shape[0]} queries and {visible.shape[1]} keys"
    findings = [] if np.all(visible | apart) else [APART]
    if not (visible & apart).any():  # as where all tokens are those of one image
        notes = (IRREGULAR,) if apart.any() else ()
        return Diagnosis(not findings, tuple(findings), notes, compared=compared)
    band = _band(visible & apart, distance)
    expected = _expected(window, query[:, None], key, band, causal)
    beyond, hidden = visible & ~expected & apart, expected & ~visible & apart
    later = distance < 0
    if (beyond & later).any():
        behind = f"{-distance[beyond].min():,} positions behind them"
        findings.append(_finding("causal mask", f"Queries see keys up to {behind}."))
    if (hidden & later).any() and not (visible & later).any():
        findings.append(Finding("causal mask", "Queries see no later keys, and are to see them.", SEE_BOTH_SIDES))
    if (beyond & ~later).any() or (band.whole and (hidden & ~later).any()):
        nearer = f"keys up to {band.farthest:,} positions before the query"
        found = "all keys" if band.farthest >= distance.max() else nearer
        findings.append(_finding("window", f"Queries see {found} where {window or 'all keys'} are meant."))
    if not findings and hidden.any():
        return Diagnosis(True, notes=(IRREGULAR,), compared=compared)
    ends = window is None or bool((~expected & ~later & apart).any())
    of_later_keys = (window is not None or causal is not None) and later.any()
    kinds = [*(["mask"] if ends else []), *(["mask of later keys"] if of_later_keys else [])]
    return Diagnosis(not findings, tuple(findings), compared=compared, looked_at=shown_by(*kinds))


def _band(visible: np.ndarray, distance: np.ndarray) -> MaskBand:
    seen = distance[visible]
    nearest, farthest = int(seen.min()), int(seen.max())
    return MaskBand(nearest, farthest, bool(visible[(distance >= nearest) & (distance <= farthest)].all()))


def _expected(
    window: NearKeys | None, query: np.ndarray, key: np.ndarray, band: MaskBand, causal: bool | None
) -> np.ndarray:
    """Mask of the keys that are to be seen; where nothing states it, later keys are seen by all queries or none."""
    distance = query - key
    if isinstance(window, Window):
        return np.asarray((distance >= -window.after) & (distance <= window.before))
    if isinstance(window, Chunks):
        return np.asarray((distance >= 0) & (query // window.size == key // window.size))
    both_sides = band.nearest <= distance.min() < 0 if causal is None else not causal
    return np.full(distance.shape, True) if both_sides else np.asarray(distance >= 0)


def _finding(name: str, sentence: str) -> Finding:
    return Finding(name, sentence, _FIX[name])
