"""Whether the mask in logits or probabilities shows the keys that a layer is to see: its window, and no later keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.diagnosis.logit_forms import LOGIT_NAMES, shown_logits
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import Arrays
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import Chunks, LayerGroup, NearKeys, Window

_FIX = {
    "window": "Read sliding_window, attention_chunk_size and layer_types of the file, and count the query's own key.",
    "causal mask": "Mask every key behind its query: key position > query position.",
}
IRREGULAR = "the mask hides keys within reach as well, as between packed documents: the window was not compared"


class MaskBand(NamedTuple):
    """The distances, query less key, that a mask lets through, and whether it lets all between through."""

    nearest: int
    farthest: int
    whole: bool


def judge_mask(groups: tuple[LayerGroup, ...], arrays: Arrays, windows_known: bool) -> Diagnosis | None:
    """Compare the mask that dumped logits show with the window of their layers.

    Args:
        groups: Layers that the logits belong to.
        arrays: Named arrays, some of which may hold logits.
        windows_known: Whether a layer without a window is known to have none.

    Returns:
        A diagnosis of the window and of later keys; None where no mask is shown, or layers differ.
    """
    windows = {group.window for group in groups if group.layers}
    if not any(name in arrays for name in LOGIT_NAMES) or len(windows) != 1 or not (windows_known or all(windows)):
        return None
    shown = shown_logits(arrays)
    visible = np.asarray(shown.visible.reshape(-1, *shown.visible.shape[-2:]).any(0))
    rows, columns = visible.any(1), visible.any(0)  # padding is seen by nobody
    sides = [_positions(arrays, role, count) for role, count in zip(("query", "key"), visible.shape, strict=True)]
    if not shown.masks or not rows.any() or sides[0] is None or sides[1] is None:
        return None
    return _compared(windows.pop(), visible[rows][:, columns], sides[0][rows, None], sides[1][columns])


def _positions(arrays: Arrays, role: str, count: int) -> np.ndarray | None:
    """Positions of queries or keys, (count,); None where they have several coordinates, or do not fit."""
    given = arrays.get(f"{role}_positions") or arrays.get("positions")
    positions = np.arange(count) if given is None else given.values.reshape(-1)
    return positions if len(positions) == count else None


def _compared(window: NearKeys | None, visible: np.ndarray, query: np.ndarray, key: np.ndarray) -> Diagnosis:
    """Compare visible keys (n, m) of queries (n, 1) with those of a window."""
    distance = query - key
    band = _band(visible, distance)
    expected = _expected(window, query, key, band)
    beyond, hidden = visible & ~expected, expected & ~visible
    compared = f"the mask of {visible.shape[0]} queries and {visible.shape[1]} keys"
    findings = []
    if (beyond & (distance < 0)).any():
        behind = f"{-distance[beyond].min():,} positions behind them"
        findings.append(_finding("causal mask", f"Queries see keys up to {behind}."))
    if (beyond & (distance >= 0)).any() or (band.whole and (hidden & (distance >= 0)).any()):
        nearer = f"keys up to {band.farthest:,} positions before the query"
        found = "all keys" if band.farthest >= distance.max() else nearer
        findings.append(_finding("window", f"Queries see {found} where {window or 'all keys'} are meant."))
    if not findings and hidden.any():
        return Diagnosis(True, notes=(IRREGULAR,), compared=compared)
    ends = not isinstance(window, Window) or distance.max() > window.before
    kinds = [*(["mask"] if ends else []), *(["mask of later keys"] if window and (distance < 0).any() else [])]
    return Diagnosis(not findings, tuple(findings), compared=compared, looked_at=shown_by(*kinds))


def _band(visible: np.ndarray, distance: np.ndarray) -> MaskBand:
    seen = distance[visible]
    nearest, farthest = int(seen.min()), int(seen.max())
    return MaskBand(nearest, farthest, bool(visible[(distance >= nearest) & (distance <= farthest)].all()))


def _expected(window: NearKeys | None, query: np.ndarray, key: np.ndarray, band: MaskBand) -> np.ndarray:
    """Mask of the keys that are to be seen; where no window states it, later keys are seen by all queries or none."""
    distance = query - key
    if isinstance(window, Window):
        return np.asarray((distance >= -window.after) & (distance <= window.before))
    if isinstance(window, Chunks):
        return np.asarray((distance >= 0) & (query // window.size == key // window.size))
    both_sides = band.nearest <= distance.min() < 0
    return np.full(distance.shape, True) if both_sides else np.asarray(distance >= 0)


def _finding(name: str, sentence: str) -> Finding:
    return Finding(name, sentence, _FIX[name])
