"""Whether queries saw the tokens that a causal mask, documents, padding and a window leave them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.tracing.trace_records import EMPTY, FOREIGN, TracedCall, TracedLayer, TraceRecord
from posenc.diagnosis.tracing.wanted_positions import group_of
from posenc.models.model_positions import Chunks, NearKeys, Window, layer_ranges


class SeenKeys(NamedTuple):
    """Result of comparing what queries saw."""

    findings: tuple[Finding, ...]
    compared: int
    not_compared: tuple[str, ...]


def judge_visible(record: TraceRecord) -> SeenKeys:
    """Compare the tokens that queries saw in every layer with those that they are to see."""
    findings: dict[tuple[str, str], tuple[Finding, set[int]]] = {}
    judged: dict[tuple[object, ...], tuple[str, str, str] | None] = {}
    compared, unknown, wrong_ones = set(), set(), set()
    for layer in record.layers:
        if layer.layer is None or (layer.kind == "none" and layer.visible is None):
            continue
        causal = _is_causal(record, layer)
        if causal is None or layer.visible is None or layer.slots is None:
            unknown.add((layer.part, layer.layer))
            continue
        compared.add((layer.part, layer.layer))
        group = group_of(record.model, layer)
        window = None if group is None else group.window
        key = layer.call, id(layer.visible), layer.slots.tobytes(), window, causal
        if key not in judged:
            judged[key] = _of_heads(record.calls[layer.call], layer, window, causal)
        if (wrong := judged[key]) is not None and (layer.part, layer.layer) not in wrong_ones:
            wrong_ones.add((layer.part, layer.layer))
            name, sentence, fix = wrong
            place = name, layer.part
            if place not in findings:
                findings[place] = Finding(name, f"Call {layer.call}, layer {layer.layer}, {sentence}", fix), set()
            findings[place][1].add(layer.layer)
    missing = [f"mask of {part}, layer {layer}: it was not seen" for part, layer in sorted(unknown - compared)][:1]
    return SeenKeys(tuple(_with_layers(record, findings)), len(compared), tuple(missing))


def _with_layers(record: TraceRecord, findings: dict[tuple[str, str], tuple[Finding, set[int]]]) -> list[Finding]:
    """Findings, each with its layers where not all have it."""
    named = []
    for (_, part), (finding, layers) in findings.items():
        every = {layer.layer for layer in record.layers if layer.part == part and layer.layer is not None}
        where = "" if layers == every else layer_ranges(tuple(sorted(layers)))
        named.append(Finding(finding.name, finding.sentence, finding.fix, where))
    return named


def _is_causal(record: TraceRecord, layer: TracedLayer) -> bool | None:
    """Whether later keys are hidden from queries; None where the model's type does not say."""
    if layer.part in ("vision", "audio"):
        return None
    if layer.part in ("encoder", "decoder"):
        return layer.part == "decoder"
    return {"causal": True, "both": False}.get(record.attends)


def _of_heads(
    call: TracedCall, layer: TracedLayer, window: NearKeys | None, causal: bool
) -> tuple[str, str, str] | None:
    """Judge what any head of a query sees, then, where heads differ, what all of them do."""
    wrong = _judged(call, layer, window, causal)
    if wrong is not None or layer.in_every_head is None:
        return wrong
    return _judged(call, replace(layer, visible=layer.in_every_head), window, causal, of_some_heads=True)


def _judged(
    call: TracedCall, layer: TracedLayer, window: NearKeys | None, causal: bool, *, of_some_heads: bool = False
) -> tuple[str, str, str] | None:
    """Name, sentence and remedy for the first query that sees other tokens than it is to see."""
    total, all_slots = call.start + call.count, np.asarray(layer.slots)
    seen = np.zeros((len(call.real), call.count, total), dtype=bool)
    visible = np.broadcast_to(np.asarray(layer.visible), (len(call.real), call.count, all_slots.shape[1]))
    for row, slots in enumerate(all_slots):
        for token in np.unique(slots[(slots >= 0) & (slots < total)]):
            seen[row][:, token] = visible[row][:, slots == token].any(1)
    foreign = visible & np.isin(all_slots, (EMPTY, FOREIGN))[:, None, :]
    meant = _meant(call, window, causal)
    wrong = call.new[:, :, None] & (seen != meant)
    other = np.asarray((call.new[:, :, None] & foreign).any(-1))
    if not wrong.any() and not other.any():
        return None
    row, query = (int(one) for one in np.argwhere(wrong.any(-1) | other)[0])
    if of_some_heads:
        hidden = _list(np.flatnonzero(meant[row, query] & ~seen[row, query]))
        sentence = f"row {row}: some heads of the query of token {call.start + query} do not see token{hidden}."
        return "mask of some heads", f"{sentence} Others do.", "Hide the same keys in every head."
    name, sentence, fix = _named(call, window, row, query, seen[row], meant[row], bool(other[row, query]))
    if name == "documents leak" and (ignored := _ignored_restart(call, layer, row, call.start + query)):
        return name, f"{sentence} {ignored}", f"{fix[:-1]}, and begin at 0 in each: posenc.positions.packed(lengths)."
    return name, sentence, fix


def _ignored_restart(call: TracedCall, layer: TracedLayer, row: int, token: int) -> str:
    """Sentence about positions that run on into the document of a token; "" where they do not, or it began before."""
    documents = call.documents[row]
    first = int(np.argmax(documents == documents[token])) - call.start
    if first < 1 or layer.queries.shape[2] != call.count:
        return ""
    before, used = layer.queries[row, 0, first - 1 : first + 1, 0]
    meant = call.expected[row, first, 0]
    if used != before + 1 or used == meant:
        return ""
    return (
        f"The restart at token {call.start + first} was ignored: it is at position {used:g} where {meant:g} is meant."
    )


def _meant(call: TracedCall, window: NearKeys | None, causal: bool) -> np.ndarray:
    """Tokens that each query is to see, (batch, n, start + n)."""
    total = call.start + call.count
    query, key = np.arange(call.start, total)[:, None], np.arange(total)[None]
    near = np.ones((call.count, total), dtype=bool)
    if causal:
        near &= key <= query
    if isinstance(window, Window):
        near &= query - key <= window.before
        near &= (key - query <= window.after) | causal
    documents = call.documents
    meant: np.ndarray = near & call.real[:, None, :] & (documents[:, call.start :, None] == documents[:, None, :])
    if isinstance(window, Chunks):
        place = np.cumsum(call.real, 1) - 1
        chunk = place // window.size
        meant = meant & (chunk[:, call.start :, None] == chunk[:, None, :])
    return meant


def _named(
    call: TracedCall, window: NearKeys | None, row: int, query: int, seen: np.ndarray, meant: np.ndarray, other: bool
) -> tuple[str, str, str]:
    """Name, sentence and remedy for what a query sees wrongly."""
    token = call.start + query
    more, less = np.flatnonzero(seen[query] & ~meant[query]), np.flatnonzero(meant[query] & ~seen[query])
    what = " and ".join(
        words
        for words in (
            f"sees token{_list(more)} that it is not to see" if more.size else "",
            f"does not see token{_list(less)}" if less.size else "",
            "sees a key that no token of its sequence wrote" if other else "",
        )
        if words
    )
    start = f"row {row}: the query of token {token} {what}."
    own = call.documents[row]
    if more.size and (own[more] != own[token]).any():
        return "documents leak", f"{start} It sees another document of its row.", "Mask keys of other documents."
    if more.size and not call.real[row, more].all():
        return "padding seen", f"{start} It sees padding.", "Give the model the mask of its tokens."
    if isinstance(window, Window) and (edge := _edge(token, window, seen[query], meant[query], more, less)):
        return "window", f"{start} The window is {edge}.", f"Let a query see {window}."
    if less.size and not more.size and not other and less[0] == 0 and less[-1] == len(less) - 1 < call.start:
        return (
            "keys evicted", f"{start} The cache kept the last tokens alone.",
            "Keep all keys where the config has no window, or train with one.",
        )  # fmt: skip
    if more.size and (more > token).any():
        return "causal mask", f"{start} It sees later tokens.", "Hide the keys behind each query."
    return (
        "rows of the cache", f"{start} The rows of the cache were taken for the order of the tokens, as where a ring "
        "buffer is cut by rows.", "Choose the rows by the tokens that they hold, not by their place in the buffer.",
    )  # fmt: skip


def _edge(token: int, window: Window, seen: np.ndarray, meant: np.ndarray, more: np.ndarray, less: np.ndarray) -> str:
    """How a window is too long or too short at its far end; "" where the difference is elsewhere."""
    far = token - window.before
    if more.size and not less.size and np.array_equal(more, np.arange(more[0], far)):
        return f"{len(more)} too long, or there is none" if more[0] == 0 and len(more) > 1 else f"{len(more)} too long"
    if less.size and not more.size and np.array_equal(less, np.arange(max(far, 0), max(far, 0) + len(less))):
        return f"{len(less)} too short"
    return ""


def _list(tokens: np.ndarray) -> str:
    """Numbers of tokens, the first ones where they are many."""
    shown = ", ".join(map(str, tokens[:4]))
    return f"{'s' if len(tokens) > 1 else ''} {shown}{', ...' if len(tokens) > 4 else ''}"
