"""`Bound`, `Rotation` and the other operators as pytrees, which `jax.export` can write into a file and read back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import jax
from jax import export

from posenc import parse
from posenc.cameras.transforms import BlockDiagonal, CameraTransforms, Tiled, Unchanged
from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.core.operators import ByChannel, Matrices, MatrixRotation, Polar, Rebased
from posenc.core.rotation import Pairing, Rotation
from posenc.jax.bound import Bound

#: The operators: the fields that hold arrays, and those that do not.
OPERATORS: dict[type, tuple[list[str], list[str]]] = {
    Rotation: (["cos", "sin"], ["pairing", "factor", "heads"]),
    Rebased: (["rotation", "basis"], []),
    Polar: (["cos", "sin"], ["heads"]),
    ByChannel: (["cos", "sin"], []),
    Matrices: (["matrix"], ["heads"]),
    MatrixRotation: (["rotation", "matrix"], []),
    Tiled: (["matrix"], ["channels"]),
    Unchanged: ([], ["channels"]),
    BlockDiagonal: (["parts"], []),
    CameraTransforms: (["query", "key", "value", "output"], []),
}


def register_pytrees() -> None:
    """Register bound encodings and operators as pytrees; JAX knows no other way to say what the leaves are."""
    _register(Bound, ["params"], ["encoding"], _encoding_to_bytes, _encoding_from_bytes)
    for operator, (arrays, rest) in OPERATORS.items():
        _register(operator, arrays, rest, _fields_to_bytes, _fields_from_bytes)


def _register(node: type, arrays: list[str], rest: list[str], to_bytes: Any, from_bytes: Any) -> None:
    """Register one class, and how `jax.export` writes what is no leaf."""
    jax.tree_util.register_dataclass(node, data_fields=arrays, meta_fields=rest)
    name = f"posenc.{node.__name__}"
    export.register_pytree_node_serialization(
        node, serialized_name=name, serialize_auxdata=to_bytes, deserialize_auxdata=from_bytes
    )


def _encoding_to_bytes(meta: tuple[Encoding]) -> bytes:
    """Write an encoding as its repr."""
    text = repr(meta[0])
    if type(meta[0]).__name__ not in parse.classes() or parse.record(text) != meta[0]:
        raise ValueError(
            "encoding must be one that posenc knows, to be read back with the export; got "
            f"{validation.shown(meta[0])}. Close over it instead of passing it as an argument."
        )
    return text.encode()


def _encoding_from_bytes(text: bytes) -> tuple[Encoding]:
    """Read an encoding from its repr."""
    return (parse.record(text.decode()),)


def _fields_to_bytes(meta: tuple[Any, ...]) -> bytes:
    """Write the fields of an operator that hold no arrays."""
    return json.dumps([asdict(value) if isinstance(value, Pairing) else value for value in meta]).encode()


def _fields_from_bytes(text: bytes) -> tuple[Any, ...]:
    """Read the fields of an operator that hold no arrays."""
    return tuple(Pairing(**value) if isinstance(value, dict) else value for value in json.loads(text))
