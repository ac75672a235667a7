"""Rows of queries and keys in two checkpoints of one model.

Whether they lie as their configs say, and what stayed behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posenc.core import plain_file
from posenc.core.rotation import Pairing, PairLayout
from posenc.diagnosis.mistake import Finding
from posenc.models.checkpoints import tensor_names
from posenc.models.checkpoints.conversion_plan import contents_of
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.row_permutation import row_order
from posenc.models.checkpoints.tensor_layout import Move, Shapes, move_of
from posenc.models.formats.safetensors_header import Entry

#: Numbers of each row that are compared: rows of weights differ in their first ones.
COLUMNS = 32
#: How far numbers may be off, of the largest in the tensor, that were rounded to a 16-bit type.
ROUNDED = 2.0**-8
#: Words in names of towers, whose layers are not those of the text.
TOWERS = ("vision", "visual", "image", "audio", "tower")
NUMBERS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class Checkpoint(NamedTuple):
    """A folder, its tensors by name with the file of each, and the layout of pairs that its config says."""

    folder: Path
    tensors: dict[str, tuple[str, Entry]]
    layout: PairLayout | None


class Rows(NamedTuple):
    """Order of one tensor's rows in the second checkpoint, compared with the first.

    Args:
        name: Name of the tensor.
        kind: "weight", "bias", "norm", "scale" or "tower".
        orders: Reorderings that fit, the expected one first; several where rows are alike, as in a norm of ones.
        expected: The reordering that the configs say.
    """

    name: str
    kind: str
    orders: tuple[str, ...]
    expected: str

    @property
    def order(self) -> str:
        return self.orders[0]

    @property
    def module(self) -> str:
        """The module that the tensor lies in."""
        return self.name.rpartition(".")[0]

    @property
    def attention(self) -> str:
        """The module around that one."""
        return self.module.rpartition(".")[0]


def checkpoint_of(folder: Path, layout: PairLayout | None) -> Checkpoint | None:
    """The tensors of a folder; None where it has none that can be compared."""
    if not any(folder.glob("*.safetensors")):
        return None
    return Checkpoint(folder, contents_of(folder)[1], layout)


def compare_rows(
    first: Checkpoint, second: Checkpoint, heads: tuple[HeadShape | None, ...]
) -> tuple[tuple[Finding, ...], str, tuple[str, ...]]:
    """Compare the order of rows of queries and keys; returns findings, what was compared, and notes.

    Args:
        first: The checkpoint that is meant.
        second: The checkpoint to check.
        heads: Of each layer of the text, as the first config says.
    """
    rows = list(_rows_of(first, second, heads))
    findings = dict.fromkeys([*_of_weights(rows, first), *_left_behind(rows), *_of_towers(rows)])
    unlike = [row.name for row in rows if row.order == "other numbers"]
    notes = (f"{len(unlike)} tensors hold other numbers, {unlike[0]} first, and show no order",) if unlike else ()
    return tuple(findings), f"rows of {len(rows)} tensors of queries and keys", notes


def _rows_of(first: Checkpoint, second: Checkpoint, heads: tuple[HeadShape | None, ...]) -> Iterator[Rows]:
    shapes: Shapes = {name: (entry.dtype, entry.shape) for name, (_, entry) in first.tensors.items()}
    for name in first.tensors:
        owner = tensor_names.attention_module_of(name) or _owner_of_norm(name, first.tensors)
        if owner is None or name not in second.tensors:
            continue
        if any(word in name for word in TOWERS):
            yield Rows(name, "tower", (_order_of_tower(name, first, second),), "as they were")
            continue
        layer = tensor_names.layer_of(owner)
        shape = heads[layer] if layer is not None and layer < len(heads) else None
        move = _move(name, owner, shape, shapes)
        if move is None or shape is None or shapes[name][1] != second.tensors[name][1].shape:
            continue
        moved = first.layout is not None and second.layout is not None and first.layout != second.layout
        expected = f"from {first.layout} to {second.layout}" if moved else "as they were"
        yield Rows(name, _kind(name, move), _orders(name, move, shape, first, second, expected), expected)


def _owner_of_norm(name: str, tensors: dict[str, tuple[str, Entry]]) -> str | None:
    """The attention module that a norm of queries or keys lies in."""
    parents = tensor_names.parents(name)
    is_norm = len(parents) > 1 and tensor_names.MODULES.get(parents[0].rpartition(".")[2], "").endswith("norm")
    owner = parents[1] if is_norm else ""
    projections = tuple(f"{owner}.{module}." for module in tensor_names.MOVING)
    return owner if is_norm and any(other.startswith(projections) for other in tensors) else None


def _move(name: str, attention: str, shape: HeadShape | None, shapes: Shapes) -> Move | None:
    """Reordering of a tensor from adjacent pairs to halves; None where it has no rows of queries or keys."""
    if shape is None:
        return None
    try:
        return move_of(name, attention, shape, "adjacent", "halves", shapes)[1]
    except ValueError:  # a tensor of a form that no conversion knows shows nothing
        return None


def _kind(name: str, move: Move) -> str:
    if move.kind.endswith("norm"):
        return "norm"
    if name.endswith("bias"):
        return "bias"
    return "scale" if "scale" in name.rpartition(".")[2] else "weight"


def _orders(
    name: str, move: Move, shape: HeadShape, first: Checkpoint, second: Checkpoint, expected: str
) -> tuple[str, ...]:
    """Names of the reorderings that lead from the first checkpoint to the second, the expected one first."""
    one, other = (_numbers(checkpoint, name, move.axis) for checkpoint in (first, second))
    to_halves = move.order()
    to_adjacent = np.argsort(to_halves)
    candidates = {
        "as they were": np.arange(len(to_halves)),
        "from adjacent to halves": to_halves,
        "from halves to adjacent": to_adjacent,
    }
    if move.kind == "key" and isinstance(move.heads, int):
        for count in {shape.heads, shape.kv_heads} - {move.heads}:
            wrong = _with_heads(count, len(to_halves))
            if wrong is not None:
                words = f"with {count} heads in place of {move.heads}"
                candidates |= {
                    f"from halves to adjacent and back {words}": to_adjacent[wrong],
                    f"from adjacent to halves and back {words}": to_halves[np.argsort(wrong)],
                    f"from adjacent to halves {words}": wrong,
                    f"from halves to adjacent {words}": np.argsort(wrong),
                }
    fitting = (order for order in dict.fromkeys((expected, *candidates)) if _same(one[candidates[order]], other))
    return tuple(fitting) or ("other numbers",)


def _with_heads(count: int, rows: int) -> np.ndarray | None:
    width = rows // count
    if rows % count or width % 2:
        return None
    return row_order(Pairing("adjacent", width, width), Pairing("halves", width, width), count)


def _numbers(checkpoint: Checkpoint, name: str, axis: int) -> np.ndarray:
    """The first numbers of every row, as float64 where the type is known and as bytes where not."""
    file, entry = checkpoint.tensors[name]
    path = checkpoint.folder / file
    start = _start(path) + entry.begin
    shape = entry.shape
    if entry.dtype not in NUMBERS:  # of a type that NumPy lacks, its bytes
        shape = (*shape, entry.size // max(int(np.prod(shape)), 1))
    with plain_file.opened(path) as held:
        array: np.ndarray = np.memmap(held, NUMBERS.get(entry.dtype, np.uint8), "r", start, shape)
    rows: np.ndarray = np.moveaxis(np.asarray(array), axis, 0)
    rows = rows.reshape(len(rows), -1)[:, :COLUMNS] if rows.ndim > 1 else rows[:, None]
    if entry.dtype == "BF16":
        return (rows.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.asarray(rows, dtype=np.float64)


def _start(path: Path) -> int:
    with plain_file.opened(path) as held:
        return 8 + int.from_bytes(held.read(8), "little")


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether rows are the same up to the rounding of a 16-bit type."""
    if one.shape != other.shape:
        return False
    size = float(np.abs(one).max(initial=0.0))
    return bool(np.all(np.abs(one - other) <= ROUNDED * np.maximum(np.abs(one), 1e-3 * size)))


def _order_of_tower(name: str, first: Checkpoint, second: Checkpoint) -> str:
    """Whether the rows of a tower that does not rotate stand where they stood."""
    if first.tensors[name][1].shape != second.tensors[name][1].shape:
        return "other numbers"
    one, other = (_numbers(checkpoint, name, 0) for checkpoint in (first, second))
    if _same(one, other):
        return "as they were"
    same_rows = _same(one[np.lexsort(one.T[::-1])], other[np.lexsort(other.T[::-1])])
    return "in another order" if same_rows else "other numbers"


def _of_weights(rows: list[Rows], first: Checkpoint) -> Iterator[Finding]:
    """Weights that moved where they should not, did not where they should, or moved otherwise."""
    wrong: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.kind == "weight" and row.order not in (row.expected, "other numbers"):
            wrong.setdefault((row.order, row.expected), []).append(row.name)
    for (order, expected), names in wrong.items():
        count = f" ({len(names)} tensors)" if len(names) > 1 else ""
        if order == "as they were":
            sentence = f"Rows of {names[0]}{count} stay in their order, where the configs say {expected}."
        elif "heads" in order:
            sentence = f"Rows of the keys, {names[0]}{count}, were reordered {order}: a wrong number of heads."
        else:
            meant = expected if expected != "as they were" else f"that pairs stay {first.layout}"
            sentence = f"Rows of {names[0]}{count} were reordered, pairs {order}, where the configs say {meant}."
        fix = "Reorder rows once, and let the config say the layout of pairs that they then have: posenc convert."
        yield Finding("order of rows", sentence, fix)


def _left_behind(rows: list[Rows]) -> Iterator[Finding]:
    """Biases, norms and scales that did not move with the weights that they belong to."""
    of_weight = {row.module: row.order for row in rows if row.kind == "weight"}
    of_layer = {row.attention: row.order for row in rows if row.kind == "weight"}
    wrong: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        order = of_weight.get(row.module) if row.kind != "norm" else of_layer.get(row.attention)
        if row.kind in ("bias", "norm", "scale") and order not in (None, *row.orders, "other numbers"):
            wrong.setdefault((row.kind, f"{order}"), []).append(row.name)
    for (kind, order), names in wrong.items():
        count = f" ({len(names)} tensors)" if len(names) > 1 else ""
        sentence = f"The {kind} {names[0]}{count} was left in its order, and its weight was reordered {order}."
        yield Finding(f"{kind} left behind", sentence, f"Reorder the {kind} with the rows that it belongs to.")


def _of_towers(rows: list[Rows]) -> Iterator[Finding]:
    names = [row.name for row in rows if row.kind == "tower" and row.order == "in another order"]
    if names:
        sentence = f"Rows of {names[0]} ({len(names)} tensors) were reordered, in a tower apart from the text."
        yield Finding("tower reordered", sentence, "Convert the text model alone: posenc convert --under.")
