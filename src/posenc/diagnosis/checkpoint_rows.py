"""Rows of queries, keys and values in two checkpoints of one model.

Whether they lie as their configs say, which heads or layers were exchanged, and what stayed behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.attention_tensors import (
    Checkpoint,
    Place,
    RowLayout,
    counterparts,
    one_run,
    places_of,
    row_layout,
)
from posenc.diagnosis.gguf_tensors import compared_roles, names_in_gguf, unread_types
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.row_findings import OTHER_NUMBERS, Rows, findings_on_rows
from posenc.diagnosis.row_orders import AS_THEY_WERE, KINDS, heads_taken, order_in_words
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.stored_rows import (
    RowNumbers,
    StoredTensor,
    leading_numbers,
    order_of_rows,
    same_rows,
)

#: So many tensors are looked at row by row; one mistake is seen in the first ones.
LOOKED_INTO = 64
#: A tensor of other numbers counts as so many: a trained model has them everywhere, and they show nothing.
UNLIKE = 8
#: Rows of a weight that are looked for in others.
PROBES = 2


class HeadsStated(NamedTuple):
    """Statements of the first config about heads.

    Args:
        shapes: Of each layer of the text; None for one that does not rotate, empty where the layers are no text.
        plain: Heads of a layer for which `shapes` has none.
        model_type: Of the model.
        by_head: Whether positions tell heads apart, as ALiBi does.
    """

    shapes: tuple[HeadShape | None, ...]
    plain: HeadShape | None
    model_type: str
    by_head: bool

    def rotates(self, place: Place) -> bool:
        """Whether the layer of a tensor rotates; True where nothing is known of it."""
        layer = place.layer
        return layer is None or layer >= len(self.shapes) or self.shapes[layer] is not None

    def shape(self, place: Place) -> HeadShape | None:
        """The heads of a tensor's layer; None in a tower."""
        layer = place.layer
        own = self.shapes[layer] if layer is not None and layer < len(self.shapes) else None
        return None if place.is_tower else own or self.plain


class RowsCompared(NamedTuple):
    """Result of comparing the rows of two checkpoints.

    Args:
        findings: Mistakes.
        compared: What was compared, in words.
        notes: Harmless observations.
        left: What was not compared, in words.
    """

    findings: tuple[Finding, ...]
    compared: str
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def compare_rows(first: Checkpoint, second: Checkpoint, heads: HeadsStated) -> RowsCompared:
    """Compare the order of rows of queries, keys and values.

    Args:
        first: The checkpoint that is meant.
        second: The checkpoint to check.
        heads: What the first config says of them.
    """
    places = places_of(first.tensors)
    if second.is_gguf:
        places = compared_roles(places)
        other_names = names_in_gguf(places.values(), second)
    else:
        other_names = counterparts(first.tensors, second.tensors)
    names = {name: other_names[name] for name in places if name in other_names}
    rows = list(_Comparison(first, second, heads, places, names).rows())
    harmless = _moved_together(rows, heads)
    wrong = [row for row in rows if row.name not in harmless]
    findings = findings_on_rows(wrong, first.layout, is_gguf=second.is_gguf)
    notes = [f"{len(harmless)} tensors were reordered together, which changes nothing"] if harmless else []
    unlike = [row.name for row in rows if row.order == OTHER_NUMBERS]
    missing = [name for name in places if name not in names]
    left = []
    if unlike:
        left.append(f"{_tensors(unlike)} of other numbers, {unlike[0]} first, which show no order")
    if missing:
        types = f" or of {', '.join(unread_types(second))}" if second.is_gguf and unread_types(second) else ""
        left.append(f"{_tensors(missing)} of attention in the first alone{types}, {missing[0]} first")
    compared = f"rows of {len(rows)} tensors of attention, by their first numbers"
    return RowsCompared(findings, compared, tuple(notes), tuple(left))


def _tensors(names: list[str]) -> str:
    return "1 tensor" if len(names) == 1 else f"{len(names)} tensors"


class _Comparison(NamedTuple):
    """Two checkpoints, the tensors of attention of the first, and their names in the second."""

    first: Checkpoint
    second: Checkpoint
    heads: HeadsStated
    places: Mapping[str, Place]
    names: Mapping[str, str]

    def rows(self) -> Iterator[Rows]:
        """Yield the order of each tensor's rows, weights before the biases, norms and scales that may follow them."""
        left, orders_of_module = LOOKED_INTO, dict[tuple[str, str], tuple[str, np.ndarray]]()
        for name in sorted(self.names, key=lambda name: self.places[name].kind != "weight"):
            place = self.places[name]
            layout = self._layout(place)
            order_of_weight = orders_of_module.get((place.owner, place.module))
            if order_of_weight is not None and len(order_of_weight[1]) == len(layout.orders[AS_THEY_WERE]):
                layout = layout._replace(orders=dict([order_of_weight]) | layout.orders)
            found, order = self._of(place, layout, look=left > 0)
            left -= 0 if order is None else UNLIKE if found.order == OTHER_NUMBERS else 1
            if order is not None and place.kind == "weight" and (order >= 0).all():
                orders_of_module[place.owner, place.module] = found.order, order
            yield found

    def _layout(self, place: Place) -> RowLayout:
        layout = row_layout(place, self.first.tensors, self.heads.shape(place), self.heads.model_type)
        if place.role == "output" and self._second(place).in_blocks:  # its heads lie inside of rows
            return one_run(1 - layout.axis, self.first.tensors[place.name])
        apart = layout.as_kinds if self.second.is_gguf else None
        return layout if apart is None else layout._replace(orders={**layout.orders, KINDS: apart})

    def _of(self, place: Place, layout: RowLayout, look: bool) -> tuple[Rows, np.ndarray | None]:
        """Order of a tensor's rows, as `Rows`, and as indices where it had to be searched for by its numbers."""
        expected, each = self._expected(place, layout), tuple(range(len(layout.heads.labels)))
        one, other, same_shape = self._numbers(place, layout.axis)
        fitting = tuple(self._fitting(layout, expected, one, other)) if same_shape else ()
        if fitting:
            return Rows(place, fitting, expected, each), None
        if not look or not same_shape:
            return Rows(place, (OTHER_NUMBERS,), expected), None
        meant = layout.orders[expected]
        order = order_of_rows(one.taken(meant), other)
        if (order >= 0).all():
            taken = heads_taken(order, layout.heads)
            words = order_in_words(order, layout.heads, layout.moves)
            return Rows(place, (words,), expected, None if taken is None else tuple(taken.tolist())), meant[order]
        holder = self._holder(place, other, layout)
        words = _in_part(order) if holder is None else f"those of {holder.name}"
        return Rows(place, (words,), expected, holds=holder), order

    def _second(self, place: Place) -> StoredTensor:
        return self.second.tensors[self.names[place.name]]

    def _numbers(self, place: Place, axis: int) -> tuple[RowNumbers, RowNumbers, bool]:
        """Leading numbers of a tensor's rows on both sides, and whether both have the same shape."""
        tensor, other = self.first.tensors[place.name], self._second(place)
        along = int(place.role == "output" and len(other.shape) > 1 and not other.in_blocks)
        other_axis = along if self.second.is_gguf else axis
        rows = leading_numbers(other, other_axis)
        if place.role.endswith("norm"):
            rows = rows._replace(values=rows.values - self.second.added)
        same_shape = tensor.shape == (other.shape if axis == other_axis else other.shape[::-1])
        return leading_numbers(tensor, axis), rows, same_shape

    def _expected(self, place: Place, layout: RowLayout) -> str:
        if self.second.is_gguf and KINDS in layout.orders:
            return KINDS
        name = f"from {self.first.layout} to {self.second.layout}"
        stays = place.is_tower or place.role in ("value", "output", "other") or not self.heads.rotates(place)
        return AS_THEY_WERE if stays or name not in layout.orders else name

    @staticmethod
    def _fitting(layout: RowLayout, expected: str, one: RowNumbers, other: RowNumbers) -> Iterator[str]:
        """Names of the known orders that lead from the first checkpoint to the second, the expected one first."""
        others = [name for name in layout.orders if name != expected]
        for name in (expected, *sorted(others, key=lambda name: not name.startswith(expected))):
            if same_rows(one.taken(layout.orders[name]), other).all():
                yield name

    def _holder(self, place: Place, other: RowNumbers, layout: RowLayout) -> Place | None:
        """Another tensor of the first, in this layer or any other, that has these rows in some order; else None."""
        count = PROBES if other.values.shape[1] > 1 else len(other.values)
        probes = other.taken(np.linspace(0, len(other.values) - 1, count).astype(int))
        shape = self.first.tensors[place.name].shape
        for name, candidate in self.places.items():
            if name != place.name and candidate.leaf == place.leaf and self.first.tensors[name].shape == shape:
                rows = leading_numbers(self.first.tensors[name], layout.axis)
                if (order_of_rows(rows, probes) >= 0).all():
                    return candidate
        return None


def _in_part(order: np.ndarray) -> str:
    """Describe an order in which some rows are unknown (negative)."""
    unknown = np.flatnonzero(order < 0)
    if len(unknown) > len(order) // 2:
        return OTHER_NUMBERS
    return f"other numbers in {len(unknown)} of {len(order)} rows, row {unknown[0]} first"


def _moved_together(rows: Iterable[Rows], heads: HeadsStated) -> frozenset[str]:
    """Names of reordered tensors whose attention module moved alike as a whole, which changes no output."""
    of_owner: dict[str, list[Rows]] = {}
    for row in rows:
        of_owner.setdefault(row.place.owner, []).append(row)
    together: set[str] = set()
    for own in of_owner.values():
        moved = [row for row in own if row.is_wrong]
        in_heads = not heads.by_head and _heads_moved(own)
        if moved and (in_heads or (not heads.rotates(own[0].place) and _channels_moved(own))):
            together |= {row.name for row in moved}
    return frozenset(together)


def _heads_moved(own: Iterable[Rows]) -> bool:
    """Whether whole heads of queries, keys, values and outputs moved alike, and nothing else has a row of a head."""
    weights = {row.place.role: row for row in own if row.place.kind == "weight"}
    for row in own:
        kind, role = row.place.kind, row.place.role
        whole = row.holds is None and not any(word in row.order for word in (";", "channels", "halves"))
        in_place = row.heads == tuple(range(len(row.heads or ())))
        alone = (kind == "weight" and role != "other" and not (row.is_wrong and in_place)) or (
            kind == "bias" and role == "output"
        )
        beside = kind == "bias" and role in weights and weights[role].order in row.orders
        shared = kind == "norm" and row.heads == (0,)
        if not whole or not (alone or beside or shared):
            return False
    return _are_alike({role: row.heads for role, row in weights.items()})


def _channels_moved(own: Iterable[Rows]) -> bool:
    """Whether channels of queries and keys moved alike, and nothing else did: only a rotation tells them apart."""
    moving = [row for row in own if row.place.role.partition(" ")[0] in ("query", "key")]
    orders = {row.order for row in moving if row.place.kind != "norm"}
    alike = len(orders) == 1 and all(orders <= set(row.orders) for row in moving)
    return alike and all(row.order == row.expected for row in own if row not in moving)


def _are_alike(taken: Mapping[str, tuple[int, ...] | None]) -> bool:
    """Whether heads of queries and outputs moved alike, and those of keys and values with their groups."""
    if not {"query", "key", "value", "output"} <= set(taken):
        return False
    query, key = taken["query"], taken["key"]
    if query is None or key is None or taken["output"] != query or taken["value"] != key:
        return False
    each = len(query) // max(len(key), 1)
    is_permutation = sorted(query) == list(range(len(query)))
    return is_permutation and all(head // each == key[index // each] for index, head in enumerate(query))
