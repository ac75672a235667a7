"""Findings on rows of attention in a second checkpoint: which moved, which stayed behind, which lie in other layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from posenc.core.rotation import PairLayout
from posenc.diagnosis.attention_tensors import Place
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.row_orders import AS_THEY_WERE, GROUPS

OTHER_NUMBERS = "other numbers"
#: So many layers are listed one by one.
LISTED = 4
ONCE = "Reorder rows once, and let the config say the layout of pairs that they then have: posenc convert."
ONCE_GGUF = "Write the GGUF file again from the folder; its converter reorders each projection with its own heads."
AGAIN = "Convert the checkpoint again from the first, each tensor under its own name with its rows in their order."


@dataclass(frozen=True)
class Rows:
    """The order of one tensor's rows in the second checkpoint, compared with the first.

    Args:
        place: What the tensor is.
        orders: Reorderings that fit, the expected one first; several where rows are alike, as in a norm of ones.
        expected: The reordering that the configs say.
        heads: The head of the first that each head holds; None where rows of one come from several.
        holds: The tensor of the first whose rows it holds; None for its own.
    """

    place: Place
    orders: tuple[str, ...]
    expected: str
    heads: tuple[int, ...] | None = None
    holds: Place | None = None

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def order(self) -> str:
        return self.orders[0]

    @property
    def is_wrong(self) -> bool:
        """Whether it holds its own rows, in an order that the configs do not say."""
        return self.holds is None and self.order not in (self.expected, OTHER_NUMBERS)


def findings_on_rows(rows: list[Rows], layout: PairLayout | None, *, is_gguf: bool = False) -> tuple[Finding, ...]:
    """Findings on these tensors, each once.

    Args:
        rows: Of each tensor.
        layout: Of pairs, as the first config says.
        is_gguf: Whether the second checkpoint is a GGUF file.
    """
    says, once = ("llama.cpp means", ONCE_GGUF) if is_gguf else ("the configs say", ONCE)
    of_text = [row for row in rows if not row.place.is_tower]
    found = [
        *_of_layers(of_text),
        *_of_modules(of_text),
        *_of_weights(of_text, layout, says, once),
        *_left_behind(of_text),
    ]
    return tuple(dict.fromkeys([*found, *_of_towers(rows)]))


def _of_layers(rows: Iterable[Rows]) -> Iterator[Finding]:
    """Finding on tensors that hold the rows of the same module in another layer."""
    modules: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.holds is not None and row.holds.module == row.place.module:
            modules.setdefault((_layer(row.place), _layer(row.holds)), []).append(
                f"{row.place.module}.{row.place.leaf}"
            )
    if modules:
        listed = [f"{here} holds {', '.join(names)} of {there}" for (here, there), names in modules.items()]
        more = f" and {len(listed) - LISTED} more layers" if len(listed) > LISTED else ""
        sentence = f"Tensors lie in other layers: {'; '.join(listed[:LISTED])}{more}."
        yield Finding("layers exchanged", sentence, AGAIN)


def _layer(place: Place) -> str:
    return place.owner if place.layer is None or "coder" in place.owner else f"layer {place.layer}"


def _of_modules(rows: Iterable[Rows]) -> Iterator[Finding]:
    """Findings on tensors that hold the rows of another module."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.holds is not None and row.holds.module != row.place.module:
            names.setdefault((row.place.module, row.holds.module), []).append(row.name)
    for (here, there), held in names.items():
        sentence = f"{here} holds the rows of {there}: {held[0]}{_count(held)}."
        yield Finding("projections exchanged", sentence, AGAIN)


def _of_weights(rows: list[Rows], layout: PairLayout | None, says: str, once: str) -> Iterator[Finding]:
    """Weights that moved where they should not, did not where they should, or moved otherwise."""
    wrong: dict[tuple[str, str], list[Rows]] = {}
    for row in rows:
        if row.is_wrong and row.place.kind == "weight":
            wrong.setdefault((row.order, row.expected), []).append(row)
    for (order, expected), which in wrong.items():
        names = f"{which[0].name}{_count(which)}"
        alone = _alone(which, rows)
        if order == AS_THEY_WERE:
            sentence = f"Rows of {names} stay in their order, where {says} {expected}{alone}."
            yield Finding("order of rows", sentence, once)
        elif "heads in place" in order:
            sentence = f"Rows of the {_plural(which)}, {names}, were reordered {order}: a wrong number of heads."
            yield Finding("order of rows", sentence, once)
        elif order.startswith("from "):
            meant = expected if expected != AS_THEY_WERE else f"that pairs stay {layout}"
            yield Finding(
                "order of rows", f"Rows of {names} were reordered, pairs {order}, where {says} {meant}{alone}.", once
            )
        elif order.startswith(OTHER_NUMBERS):
            yield Finding("numbers of some rows", f"{names} has {order}; the others are as they were.", AGAIN)
        else:
            moved = f", beside {expected}" if expected != AS_THEY_WERE else ""
            yield Finding(_name(order), f"Rows of {names} are in another order{moved}: {order}{alone}.", AGAIN)


def _name(order: str) -> str:
    """The name of a mistake in the order of heads, or of other rows."""
    if GROUPS in order:
        return "order of q, k and v"
    moves_channels = any(word in order for word in ("channels", "halves", " rows moved"))
    return "order of rows" if moves_channels else "order of heads"


def _alone(which: list[Rows], rows: list[Rows]) -> str:
    """Clause that keys are right where queries are wrong alone, or the reverse; "" where both are wrong."""
    roles, owners = {row.place.role for row in which}, {row.place.owner for row in which}
    if len(roles) != 1 or not roles <= {"query", "key"}:
        return ""
    (other,) = {"query", "key"} - roles
    beside = [
        row for row in rows if row.place.role == other and row.place.owner in owners and row.place.kind == "weight"
    ]
    right = beside and all(row.order == row.expected for row in beside)
    return f"; those of the {_plural(beside)} are right" if right else ""


def _plural(which: list[Rows]) -> str:
    return "queries" if which[0].place.role == "query" else "keys"


def _left_behind(rows: list[Rows]) -> Iterator[Finding]:
    """Biases, norms and scales that did not move with the weights that they belong to, or moved alone."""
    weights = {(row.place.owner, row.place.module): row for row in rows if row.place.kind == "weight"}
    by_role = {(row.place.owner, row.place.role): row for row in weights.values()}
    behind: dict[tuple[str, str], list[str]] = {}
    alone: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        weight = _weight_of(row, weights, by_role)
        if weight is None or row.holds is not None or OTHER_NUMBERS in (row.order, weight.order):
            continue
        if _follows(row, weight) and weight.order not in row.orders:
            behind.setdefault((row.place.kind, weight.order), []).append(row.name)
        elif not weight.is_wrong and row.is_wrong:
            alone.setdefault((row.place.kind, row.order), []).append(row.name)
    for (kind, order), names in behind.items():
        sentence = f"The {kind} {names[0]}{_count(names)} was left in its order, and its weight was reordered {order}."
        yield Finding(f"{kind} left behind", sentence, f"Reorder the {kind} with the rows that it belongs to.")
    for (kind, order), names in alone.items():
        sentence = f"The {kind} {names[0]}{_count(names)} was reordered, {order}, and its weight was not."
        yield Finding(f"{kind} reordered alone", sentence, f"Reorder the {kind} with the rows that it belongs to.")


def _weight_of(
    row: Rows, weights: Mapping[tuple[str, str], Rows], by_role: Mapping[tuple[str, str], Rows]
) -> Rows | None:
    """The weight that a bias, norm or scale belongs to."""
    if row.place.kind == "weight":
        return None
    own = weights.get((row.place.owner, row.place.module))
    role = row.place.role.partition(" ")[0]
    beside = by_role.get((row.place.owner, role)) or by_role.get((row.place.owner, "fused"))
    return own if row.place.kind != "norm" and own is not None else beside


def _follows(row: Rows, weight: Rows) -> bool:
    """Whether a tensor must move as its weight did: a norm shared by heads does so only if channels in heads moved."""
    if row.place.kind != "norm" or row.heads is None or len(row.heads) > 1:
        return weight.order != AS_THEY_WERE or (row.order != AS_THEY_WERE and weight.is_wrong)
    return weight.order.startswith("from ") and " in " not in weight.order


def _of_towers(rows: Iterable[Rows]) -> Iterator[Finding]:
    names = [row.name for row in rows if row.place.is_tower and (row.is_wrong or row.holds is not None)]
    if names:
        sentence = f"Rows of {names[0]} ({len(names)} tensors) were reordered, in a tower apart from the text."
        yield Finding("tower reordered", sentence, "Convert the text model alone: posenc convert --under.")


def _count(names: list[str] | list[Rows]) -> str:
    return f" ({len(names)} tensors)" if len(names) > 1 else ""
