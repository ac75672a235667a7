"""Moves of the tensors of an attention module: the order of the rows of each, or the reason why it stays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from posenc.core.rotation import Pairing, PairLayout
from posenc.models.checkpoints import tensor_names
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.row_permutation import Fused, row_order

#: The dtype and shape of every tensor.
Shapes = dict[str, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Move:
    """The move of the rows of a tensor from one pairing of its heads to the other.

    Attributes:
        kind: Of the module.
        source: The pairing of its heads as they are.
        target: The pairing that they shall have.
        heads: Of this tensor.
        axis: Of the rows.
        block: Rows that share one number (128 for the scales of 8-bit blocks).
        bits: Of a number, where several lie in one word along the axis (the zero points of GPTQ); None for whole
            numbers.
    """

    kind: str
    source: Pairing
    target: Pairing
    heads: int | Fused
    axis: int = 0
    block: int = 1
    bits: int | None = None

    def order(self) -> np.ndarray:
        """Return for each index along the axis (row, block or packed number) the index that it is taken from."""
        rows = row_order(self.source, self.target, self.heads)
        return rows if self.block == 1 else _blocks(rows, self.block)

    def inverse(self) -> Move:
        """Return the move from `target` back to `source`."""
        return replace(self, source=self.target, target=self.source)


def move_of(
    name: str, attention: str, shape: HeadShape, source: PairLayout, target: PairLayout, shapes: Shapes
) -> tuple[str, Move | None]:
    """Return the reason why an attention tensor stays or moves, and its move or None; ValueError where unknown."""
    module, _, part = name[len(attention) + 1 :].partition(".")
    kind = tensor_names.MODULES.get(module)
    if kind == "stays":
        return "has no row of a query or key", None
    whole_norm = kind in ("query norm", "key norm") and part in ("weight", "bias")
    moves = "rows" if whole_norm else tensor_names.part_moves(part)
    if ".quant_state." in f".{part}" or part.endswith(("absmax", "quant_map")):
        raise ValueError(
            f"{name} must be absent: 4-bit weights of bitsandbytes are packed across rows, so rows cannot be moved. "
            "Convert before quantising."
        )
    if kind is None or moves is None:
        raise ValueError(
            f"{name} must be understood before the queries and keys of its layer are moved, since it may have to move "
            "too. Add it to leave if it must not move."
        )
    if moves == "stays":
        return "has no row of a query or key", None
    move = _move_of_module(kind, name, shape, source, target, shapes)
    return _fitted(name, move, moves, shapes, f"{attention}.{module}.")


def _move_of_module(
    kind: str, name: str, shape: HeadShape, source: PairLayout, target: PairLayout, shapes: Shapes
) -> Move:
    """Make the move of a module's rows from its kind and its layer's heads."""
    try:
        if kind == "latent":
            return Move(kind, shape.latent_pairing(source), shape.latent_pairing(target), 1)
        pairings = shape.pairing(source), shape.pairing(target)
        if kind == "fused":
            return Move(kind, *pairings, shape.fused())
    except ValueError as error:
        raise ValueError(f"{error} This concerns {name}.") from None
    heads = shape.heads if kind.startswith("query") else shape.kv_heads
    if kind.endswith("norm") and math.prod(shapes[name][1]) == shape.head_dim:
        heads = 1  # shared by all heads
    return Move(kind, *pairings, heads)


def _fitted(name: str, move: Move, moves: str, shapes: Shapes, module: str) -> tuple[str, Move | None]:
    """Fit a move to the tensor's dtype and shape (scales, transposed or packed rows), with the reason in words."""
    (dtype, shape), rows = shapes[name], len(move.order())
    if moves in ("one number", "scale", "zero point") and math.prod(shape) == 1:
        return "one number for the whole tensor", None
    transposed = f"{module}qweight" in shapes
    if moves == "packed zeros" and transposed and len(shape) == 2 and dtype in ("I32", "U32"):
        bits = 32 * shape[1] // rows
        if bits in (2, 4, 8) and bits * rows == 32 * shape[1] and shapes[f"{module}qweight"][1][-1:] == (rows,):
            return "packed zero points of rows", replace(move, axis=1, bits=bits)
    elif (moves == "packed columns" or (moves == "scale" and transposed)) and len(shape) == 2 and shape[1] == rows:
        return "columns, a row each", replace(move, axis=1)
    elif moves in ("rows", "scale", "zero point") and not (transposed and moves != "rows"):
        if shape[:1] == (rows,) or (move.kind.endswith("norm") and math.prod(shape) == rows):
            return "rows of queries and keys" if moves == "rows" else "a number for each row", move
        if moves == "scale" and dtype in ("F32", "F16", "BF16", "F8_E8M0") and len(shape) == 2:
            return _block_scaled(name, move, shape[0], rows)
    heads = move.heads.count if isinstance(move.heads, Fused) else move.heads
    raise ValueError(
        f"{name} must have a known form, {heads} heads of {move.source.dim} channels: {rows} rows; got {dtype} in "
        f"shape {list(shape)}. Check heads, kv_heads and head_dim; weights packed in another way (AWQ, 4 bits of "
        "bitsandbytes) cannot be converted: do it before quantising."
    )


def _block_scaled(name: str, move: Move, count: int, rows: int) -> tuple[str, Move | None]:
    """Scales of square blocks: they move where whole blocks do, and stay where rows move inside blocks."""
    if count == 1:
        return "rows move inside its one block", None
    blocks = [1 << power for power in range(3, 13) if math.ceil(rows / (1 << power)) == count]
    if len(blocks) != 1:
        raise ValueError(
            f"{name} must have one number for each row, or for each block of 2^k rows; got {count} for {rows} rows. "
            "This form is unknown."
        )
    fitted = replace(move, block=blocks[0])
    try:
        order = fitted.order()
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    if np.array_equal(order, np.arange(count)):
        return f"rows move inside its blocks of {blocks[0]}", None
    return f"blocks of {blocks[0]} rows", fitted


def _blocks(rows: np.ndarray, block: int) -> np.ndarray:
    """Return for each block of rows the block that it is taken from; ValueError where its rows come from several."""
    count = -(-len(rows) // block)
    taken = rows // block
    first = taken[np.arange(count) * block]
    if not np.array_equal(taken, np.repeat(first, block)[: len(rows)]):
        raise ValueError(
            f"must have blocks of {block} rows that stay whole: rows of one block would come from several. "
            "Convert before quantising."
        )
    return first
