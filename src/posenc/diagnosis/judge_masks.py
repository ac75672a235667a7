"""Whether the mask in logits or probabilities shows the keys that a layer is to see: its window, and no later keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    "window": "Read sliding_window, attention_chunk_size and layer_types of the file, and count the query's own key; "
    "leave padding out of the dump.",
    "causal mask": "Mask every key behind its query: key position > query position.",
}
SEE_BOTH_SIDES = "Attend to both sides: is_causal=False, and a mask of the padding alone."
#: Logarithm of a probability, about 1e-12, near which others may be too small to be held.
FAINT = -27.6
TOO_SMALL = "probabilities of single heads may be too small to be held: the masks of these heads were not compared"
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
    rows = visible.any(1)  # padding sees nothing
    query, key = (_positions(arrays, role, len(seen)) for role, seen in (("query", visible), ("key", visible.T)))
    if not rows.any() or query is None or key is None:
        return None
    if not (np.isfinite(query).all() and np.isfinite(key).all()):
        return None  # which is a mistake of its own
    columns = ~_padding(visible, query, key)
    window, query, key, whole = windows.pop(), query[rows], key[columns], visible[rows][:, columns]
    if not (shown.masks or ("probabilities" in arrays and visible.all())):  # a softmax comes behind every mask
        return _judge_seen(window, whole, query, key, causal) if "probabilities" in arrays else None
    verdict = compare_mask(window, whole, query, key, causal)
    if not verdict.agree:
        return verdict
    values = shown.values.reshape(heads.shape)
    of_heads = {
        number: Diagnosis(True, notes=(TOO_SMALL,))
        if "probabilities" in arrays and (not shown.masks or _is_faint(values[number], head))
        else compare_mask(window, head[rows][:, columns], query, key, causal)
        for number, head in enumerate(heads)
        if not np.array_equal(head, visible)
    }
    return _with_heads(verdict, of_heads, len(heads))


def _padding(visible: np.ndarray, query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Mask (m,) of the keys that are padding: no query sees them, and they are no tokens before the queries.

    Tokens before the queries may lie outside a window. So a key is padding only where its position is below 0, that of
    another key too, or that of one of several queries: padding after the last token sees all keys but padded ones. A
    single query that sees other keys and not its own is a mistake.
    """
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    own = np.isin(key, query if len(query) > 1 else query[~visible.any(1)])
    return np.asarray(~visible.any(0) & (own | (key < 0) | (count[number.reshape(-1)] > 1)))


def _is_faint(logarithms: np.ndarray, visible: np.ndarray) -> bool:
    """Whether a head has probabilities so small that others may be 0 by rounding."""
    return bool(np.where(visible, logarithms, 0.0).min() < FAINT)


def _judge_seen(
    window: NearKeys | None, visible: np.ndarray, query: np.ndarray, key: np.ndarray, causal: bool | None
) -> Diagnosis | None:
    """Judge probabilities of which 0 may be too small a number: what they show is seen, and nothing else is known."""
    expected = _expected(window, query[:, None], key, _band(visible, query[:, None] - key), causal)
    verdict = compare_mask(window, visible | expected, query, key, causal)
    return None if verdict.agree else verdict


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
    ruled = np.ones(visible.shape, bool) if together is None else ~together  # pairs that the window is about
    compared = f"the mask of {visible.shape[0]} queries and {visible.shape[1]} keys"
    findings: list[Finding] = [] if np.all(visible | ruled) else [APART]
    if not (visible & ruled).any():  # as where all tokens are those of one image
        notes = (IRREGULAR,) if ruled.any() else ()
        return Diagnosis(not findings, tuple(findings), notes, compared=compared)
    expected = _expected(window, query[:, None], key, _band(visible & ruled, distance), causal)
    findings += _differences(window, visible, expected, ruled, distance)
    hidden, later = expected & ~visible & ruled, distance < 0
    if not findings and hidden.any():
        return Diagnosis(True, notes=(IRREGULAR,), compared=compared)
    ends = window is None or bool((~expected & ~later & ruled).any())
    of_later_keys = (window is not None or causal is not None) and later.any()
    kinds = [*(["mask"] if ends else []), *(["mask of later keys"] if of_later_keys else [])]
    return Diagnosis(not findings, tuple(findings), compared=compared, looked_at=shown_by(*kinds))


def _differences(
    window: NearKeys | None, visible: np.ndarray, expected: np.ndarray, ruled: np.ndarray, distance: np.ndarray
) -> Iterator[Finding]:
    """Findings on keys that are seen, or hidden, against what is expected."""
    band, later = _band(visible & ruled, distance), distance < 0
    beyond, hidden = visible & ~expected & ruled, expected & ~visible & ruled
    if _hides_own_keys(visible, distance):
        yield _finding("causal mask", "Queries do not see their own key.")
        hidden &= distance != 0
    if (beyond & later).any():
        behind = f"{-distance[beyond].min():,} positions behind them"
        yield _finding("causal mask", f"Queries see keys up to {behind}.")
    if (hidden & later).any() and not (visible & later).any():
        yield Finding("causal mask", "Queries see no later keys, and are to see them.", SEE_BOTH_SIDES)
    if (beyond & ~later).any() or (band.whole and (hidden & ~later).any()):
        nearer = f"keys up to {band.farthest:,} positions before the query"
        found = "all keys" if band.farthest >= distance.max() else nearer
        yield _finding("window", f"Queries see {found} where {window or 'all keys'} are meant.")


def _hides_own_keys(visible: np.ndarray, distance: np.ndarray) -> bool:
    """Whether most queries see keys, and not their own; single ones may be padding."""
    own = (distance == 0) & visible.any(axis=1, keepdims=True)
    with_own = own.any(axis=1)
    blind = with_own & ~(visible & own).any(axis=1)
    return bool(2 * blind.sum() > with_own.sum())


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
