"""Learned position tables of a checkpoint, read and resized (cut, stretched or repeated) to another length."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from posenc.core import arrays, plain_file, validation
from posenc.core.arrays import Array
from posenc.models.formats.safetensors_header import read_header
from posenc.positions.stretched_table import resized

How = Literal["cut", "stretch", "repeat"]
#: dtypes of tables, as NumPy reads their bytes; bfloat16 as the upper half of a float32.
_READ = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2"}


def fitted_table(table: Array, positions: int, *, offset: int, how: How) -> Array:
    """Give a learned table of positions another length.

    Args:
        table: Shape (offset + old, dim), of floats; NumPy, PyTorch or JAX.
        positions: Rows for positions of the result.
        offset: Rows in front that belong to no position and are kept (2 for OPT and BART, padding_idx + 1 = 2 for
            RoBERTa). Stretched with the others they would shift every position.
        how: "stretch" interpolates the old rows linearly over the new positions and keeps the first and the last
            (`resized`); "repeat" starts again after the last row, as Longformer does, so that neighbours stay as they
            were; "cut" keeps the first rows, and refuses to make more.

    Returns:
        The table, shape (offset + positions, dim), in the dtype of `table`.

    Raises:
        ValueError: `table` has not two axes, a number is out of range, `how` is unknown, or "cut" would make more rows.
        TypeError: `table` holds no floats, or a number is no whole number.

    References:
        Beltagy et al. 2020, "Longformer", arXiv:2004.05150.

    Example:
        >>> table = np.array([[9.0], [0.0], [3.0]])  # one row for padding, two positions
        >>> fitted_table(table, 4, offset=1, how="stretch").ravel().tolist()
        [9.0, 0.0, 1.0, 2.0, 3.0]
        >>> fitted_table(table, 5, offset=1, how="repeat").ravel().tolist()
        [9.0, 0.0, 3.0, 0.0, 3.0, 0.0]
    """
    table = arrays.floats("table", table)
    positions = validation.integer("positions", positions, 1, 1 << 24)
    chosen = validation.choice("how", how, ("cut", "stretch", "repeat"))
    if table.ndim != 2:
        raise ValueError(
            f"table must have shape (rows, dim); got {tuple(table.shape)}. Squeeze axes of size one first."
        )
    offset = validation.integer("offset", offset, 0, max(table.shape[0] - 1, 0))
    validation.size("positions", (offset + positions) * table.shape[1])
    front, table_rows = table[:offset], table[offset:]
    lib = arrays.library(table)
    if chosen == "stretch":
        rows = resized(table_rows, positions)
    elif chosen == "repeat":
        rows = table_rows[lib.arange(positions) % table_rows.shape[0]]
    elif positions <= table_rows.shape[0]:
        rows = table_rows[:positions]
    else:
        raise ValueError(
            f"positions must be at most {table_rows.shape[0]} to be cut; got {positions}. Choose 'stretch' or 'repeat'."
        )
    return lib.xp.concatenate([front, rows], 0) if offset else rows


def read_table(path: str | Path, name: str) -> np.ndarray:
    """Read one tensor of a safetensors file, and nothing else of it.

    Args:
        path: The file.
        name: Of the tensor.

    Returns:
        The tensor in its own dtype; float32 for bfloat16, which NumPy has not.

    Raises:
        ValueError: The file is damaged or no safetensors, has no such tensor, or the tensor holds no floats of 16 bits
            or more.
    """
    path = Path(path)
    header = read_header(path)
    entry = next((one for one in header.entries if one.name == name), None)
    if entry is None:
        near = [one.name for one in header.entries if "pos" in one.name or "wpe" in one.name][:3]
        raise ValueError(
            f"name must be a tensor of {path.name}; got {validation.shown(name)}. It has {near or 'none of positions'}."
        )
    if entry.dtype not in _READ:
        raise ValueError(f"{name} must hold floats of 16 bits or more; got {entry.dtype}. Undo its quantisation first.")
    validation.size("name", entry.size, 1)
    with plain_file.opened(path) as file:
        file.seek(header.start + entry.begin)
        values = np.frombuffer(file.read(entry.size), _READ[entry.dtype])
    if entry.dtype == "BF16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(entry.shape)
