"""Tensors of attention in a checkpoint: which projection each is, and how its rows lie in heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc.core import plain_file
from posenc.core.rotation import Pairing, PairLayout
from posenc.diagnosis.row_orders import (
    AS_THEY_WERE,
    TO_ADJACENT,
    TO_HALVES,
    Heads,
    by_kind,
    channel_moves,
    fused_heads,
    heads_of,
)
from posenc.models.checkpoints import tensor_names
from posenc.models.checkpoints.conversion_plan import contents_of
from posenc.models.checkpoints.head_shape import GROUPED, HeadShape
from posenc.models.checkpoints.row_permutation import row_order
from posenc.models.checkpoints.stored_rows import StoredTensor
from posenc.models.checkpoints.tensor_layout import Shapes, move_of

#: Words in names of towers, whose layers are not those of the text.
TOWERS = ("vision", "visual", "image", "audio", "tower")
#: Words that begin names and say nothing: with them, or without, one model is saved by its several classes.
WRAPPERS = frozenset({"model", "transformer", "language_model", "text_model", "backbone", "base_model", "module"})
VALUES = ("v_proj", "wv", "value", "to_v", "linear_v", "v")
OUTPUTS = ("o_proj", "wo", "out_proj", "dense", "to_out", "linear_proj", "linear_out", "c_proj", "o")
#: Modules and buffers that have no row of a head.
NO_ROWS = frozenset({"rotary_emb", "inv_freq", "relative_attention_bias"})
#: Projections of T5, whose names are too short to be known anywhere else.
SHORT = {"q": "query", "k": "key"}
#: Types whose projections are Conv1D of transformers, (in, out).
CONV1D = frozenset({"gpt2", "imagegpt", "decision_transformer"})


class Checkpoint(NamedTuple):
    """The tensors of a checkpoint.

    Args:
        path: A folder, or a GGUF file.
        tensors: By name.
        layout: Layout of its rotary pairs, as its config says.
        added: Constant that its converter added to the weights of norms.
    """

    path: Path
    tensors: dict[str, StoredTensor]
    layout: PairLayout | None
    added: float = 0.0

    @property
    def is_gguf(self) -> bool:
        """Whether it is a GGUF file, which has no transposed tensor, and one order of fused projections."""
        return self.path.suffix == ".gguf"


class Place(NamedTuple):
    """Role of a tensor in attention.

    Args:
        name: Of the tensor.
        owner: The attention module that it lies in.
        module: Its own module, such as q_proj.
        role: "query", "key", "value", "output", "fused", "latent", "query norm", "key norm" or "other".
        leaf: "weight", "bias" or what else it is.
        layer: Of the model; None where its name has no number.
    """

    name: str
    owner: str
    module: str
    role: str
    leaf: str
    layer: int | None

    @property
    def is_tower(self) -> bool:
        """Whether it lies in a tower apart from the text."""
        return any(word in self.name for word in TOWERS)

    @property
    def kind(self) -> str:
        """Return "norm", "bias", "scale" or "weight"."""
        if self.role.endswith("norm"):
            return "norm"
        return self.leaf if self.leaf == "bias" else "scale" if "scale" in self.leaf else "weight"


class RowLayout(NamedTuple):
    """Layout of a tensor's rows: axis, heads, and known reorderings, by name, of a head's channels and of all rows."""

    axis: int
    heads: Heads
    moves: dict[str, np.ndarray]
    orders: dict[str, np.ndarray]

    @property
    def as_kinds(self) -> np.ndarray | None:
        """Order that regroups a projection fused by group as all q, then k, then v, as in GGUF; None for any other."""
        labels, kinds = self.heads.labels, self.heads.elsewhere
        if not kinds or by_kind(labels):
            return None
        heads = np.array([labels.index(label) for label in kinds])
        return (heads[:, None] * self.heads.dim + np.arange(self.heads.dim)).reshape(-1)


def checkpoint_of(folder: Path, layout: PairLayout | None) -> Checkpoint | None:
    """The tensors of a folder; None where it has none that can be compared."""
    if not any(folder.glob("*.safetensors")):
        return None
    files, entries = contents_of(folder)
    starts = {file: _start(folder / file) for file in files}
    tensors = {
        name: StoredTensor(folder / file, starts[file] + entry.begin, entry.size, entry.dtype, entry.shape)
        for name, (file, entry) in entries.items()
    }
    return Checkpoint(folder, tensors, layout)


def _start(path: Path) -> int:
    with plain_file.opened(path) as file:
        return 8 + int.from_bytes(file.read(8), "little")


def places_of(tensors: Mapping[str, StoredTensor]) -> dict[str, Place]:
    """The tensors of attention by name."""
    owners = {owner for name in tensors if (owner := _owner_of(name)) is not None}
    places = {}
    for name in tensors:
        owner = next((parent for parent in reversed(tensor_names.parents(name)) if parent in owners), None)
        module, _, leaf = name[len(owner) + 1 :].partition(".") if owner is not None else ("", "", "")
        if owner is not None and leaf and not ({module, leaf} & NO_ROWS):
            places[name] = Place(name, owner, module, _role(module), leaf, tensor_names.layer_of(owner))
    return places


def _owner_of(name: str) -> str | None:
    owner = tensor_names.attention_module_of(name)
    parents = tensor_names.parents(name)
    if owner is None and len(parents) > 1 and parents[0].rpartition(".")[2] in SHORT and "ttention" in parents[1]:
        return parents[1]
    return owner


def _role(module: str) -> str:
    if module in VALUES:
        return "value"
    if module in OUTPUTS:
        return "output"
    kind: str = SHORT.get(module) or tensor_names.MODULES.get(module, "stays")
    return "other" if kind == "stays" else kind


def counterparts(first: Mapping[str, StoredTensor], second: Mapping[str, StoredTensor]) -> dict[str, str]:
    """Map names of the first checkpoint to those of the second, whose wrapper prefixes may differ."""
    bare = [_by_bare_name(side) for side in (first, second)]
    return {
        name: name if name in second else bare[1][short]
        for short, name in bare[0].items()
        if name in second or short in bare[1]
    }


def _by_bare_name(names: Mapping[str, Any]) -> dict[str, str]:
    """Names without leading wrapper words, mapped to the full names; names that would collide stay whole."""
    found: dict[str, list[str]] = {}
    for name in names:
        words = name.split(".")
        begin = next((index for index, word in enumerate(words) if word not in WRAPPERS), 0)
        found.setdefault(".".join(words[begin:]), []).append(name)
    return {short if len(whole) == 1 else name: name for short, whole in found.items() for name in whole}


def row_layout(
    place: Place, tensors: Mapping[str, StoredTensor], shape: HeadShape | None, model_type: str
) -> RowLayout:
    """Find how a tensor's rows lie in heads; a single run of rows where its form is unknown."""
    tensor, grouped = tensors[place.name], model_type in GROUPED
    axis = int(_is_transposed(place, tensor, model_type))
    rows = tensor.shape[axis]
    plain = one_run(axis, tensor)
    if shape is None or (place.leaf not in ("weight", "bias") and place.kind != "norm"):
        return _moved(place, tensors, shape, grouped) or plain
    pairing, heads = shape.pairing("halves"), None
    if place.role == "latent" and shape.latent is not None:
        pairing, heads = shape.latent_pairing("halves"), heads_of(1, rows)
    elif place.role == "fused":
        count, rest = divmod(rows, shape.head_dim)
        kv_heads = (count - shape.heads) // 2
        if rest or kv_heads < 1 or shape.heads % kv_heads or shape.heads + 2 * kv_heads != count:
            return plain
        heads = fused_heads(HeadShape(shape.heads, kv_heads, shape.head_dim), grouped=grouped)
    elif place.role != "other":
        count = shape.heads if place.role in ("query", "output", "query norm") else shape.kv_heads
        count = 1 if place.kind == "norm" and rows == shape.head_dim else count
        heads = heads_of(count, rows // count) if rows % count == 0 else None
    if heads is None:
        return plain
    if heads.dim != pairing.dim:
        return plain._replace(heads=heads)
    moves = channel_moves(pairing)
    orders = {name: heads.order(move) for name, move in moves.items()}
    return RowLayout(axis, heads, moves, plain.orders | orders | _with_other_counts(place, shape, orders))


def one_run(axis: int, tensor: StoredTensor) -> RowLayout:
    """Lay all rows out as a single run, without heads."""
    rows = tensor.shape[axis]
    return RowLayout(axis, heads_of(1, rows), {}, {AS_THEY_WERE: np.arange(rows)})


def _is_transposed(place: Place, tensor: StoredTensor, model_type: str) -> bool:
    """Whether heads lie along the second axis: outputs, packed weights, and the projections of GPT-2."""
    if len(tensor.shape) != 2 or place.leaf == "bias":
        return False
    conv = place.module in ("c_attn", "c_proj") and model_type in CONV1D
    return (place.role == "output") != conv


def _moved(
    place: Place, tensors: Mapping[str, StoredTensor], shape: HeadShape | None, grouped: bool
) -> RowLayout | None:
    """Row layout of scales, packed weights and the like, as a conversion reorders it; None where none does."""
    if shape is None:
        return None
    shapes: Shapes = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    try:
        known = replace(shape, grouped=grouped)
        move = move_of(place.name, place.owner, known, "adjacent", "halves", shapes)[1]
    except ValueError:  # a tensor of a form that no conversion knows shows nothing
        return None
    to_halves = None if move is None else move.order()
    if move is None or to_halves is None or len(to_halves) != tensors[place.name].shape[move.axis]:
        return None
    orders = {AS_THEY_WERE: np.arange(len(to_halves)), TO_HALVES: to_halves, TO_ADJACENT: np.argsort(to_halves)}
    return RowLayout(move.axis, heads_of(1, len(to_halves)), {}, orders)


def _with_other_counts(place: Place, shape: HeadShape, orders: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Orders of a conversion that took another number of heads: that of queries for keys, or the other way round."""
    if place.role not in ("query", "key") or TO_ADJACENT not in orders:
        return {}
    count = shape.heads if place.role == "query" else shape.kv_heads
    found: dict[str, np.ndarray] = {}
    for other in {shape.heads, shape.kv_heads} - {count}:
        wrong = _with_heads(other, len(orders[TO_HALVES]))
        if wrong is not None:
            words = f"with {other} heads in place of {count}"
            found |= {
                f"{TO_ADJACENT} and back {words}": orders[TO_ADJACENT][wrong],
                f"{TO_HALVES} and back {words}": orders[TO_HALVES][np.argsort(wrong)],
                f"{TO_HALVES} {words}": wrong,
                f"{TO_ADJACENT} {words}": np.argsort(wrong),
            }
    return found


def _with_heads(count: int, rows: int) -> np.ndarray | None:
    width = rows // count
    if rows % count or width % 2:
        return None
    return row_order(Pairing("adjacent", width, width), Pairing("halves", width, width), count)
