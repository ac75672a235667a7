"""A probe as a GGUF file, as llama.cpp's converter would write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core.rotation import Pairing
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.models.checkpoints.row_permutation import channel_order
from posenc.models.formats.gguf_architectures import ARCHITECTURES
from posenc.models.model_positions import ModelPositions
from posenc.probe.architectures import ROWS
from posenc.probe.gguf_keys import position_keys, size_keys
from posenc.probe.latent_weights import VALUES
from posenc.probe.weights import ProbePlan, Tensors

#: Beginnings of the names of tensors behind an encoder, which llama.cpp's converter leaves out.
OF_HEADS: Mapping[str, tuple[str, ...]] = {
    "bert": ("cls.", "bert.pooler."), "modern-bert": ("head.", "decoder."),
}  # fmt: skip


def require_gguf(plan: ProbePlan) -> str:
    """Return llama.cpp's name of the probe's architecture.

    Raises:
        ValueError: No GGUF file is written for it.
    """
    name = plan.architecture.gguf
    if not name:
        known = ", ".join(sorted({row.gguf for row in ROWS if row.gguf}))
        raise ValueError(f"gguf must be left out for this architecture; files are written for {known}. Leave it out.")
    return name


def write_gguf(
    path: Path, plan: ProbePlan, tensors: Tensors, positions: ModelPositions, config: Mapping[str, Any]
) -> None:
    """Write the probe for llama.cpp; what the format cannot say of positions is left to the engine."""
    import gguf

    name = require_gguf(plan)
    of_positions, divisors = position_keys(name, positions, config)
    writer = gguf.GGUFWriter(path, name)
    for key, value in {**of_positions, **size_keys(name, plan, config)}.items():
        _add(writer, key if key.startswith(("general.", "tokenizer.")) else f"{name}.{key}", value)
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(plan.stream.vocabulary)
    names = gguf.get_tensor_name_map(_architecture(gguf, name), plan.stream.layers)
    renamed = _renamed(plan, tensors, names, positions)
    for tensor, array in {**renamed, **divisors}.items():
        writer.add_tensor(tensor, np.ascontiguousarray(array, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: Any, key: str, value: Any) -> None:
    """Add a key with the type that the format expects."""
    if key == "general.architecture":
        return  # the writer has added it
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, list(value))


def _architecture(gguf: Any, name: str) -> Any:
    return next(number for number, known in gguf.MODEL_ARCH_NAMES.items() if known == name)


def _renamed(plan: ProbePlan, tensors: Tensors, names: Any, positions: ModelPositions) -> Tensors:
    """Tensors under llama.cpp's names, in its layouts."""
    row = plan.architecture
    renamed: Tensors = {}
    for name, array in tensors.items():
        if name.startswith(OF_HEADS.get(row.gguf, ())):
            continue
        if ".mlp.experts." in name:
            renamed |= _experts(name, array)
        elif "kv_b_proj" in name:
            renamed |= _latent_halves(plan, name, array)
        else:
            found = _new_name(names, name)
            found += ".weight" if name.endswith(".sinks") else ""
            renamed[found] = _as_converted(plan, name, array, positions)
    return renamed


def _new_name(names: Any, name: str) -> str:
    """Return llama.cpp's name of a tensor, looked up also without its first part and behind a "transformer" part."""
    for known in (name, name.partition(".")[2], f"transformer.{name}"):
        found = names.get_name(known, try_suffixes=(".weight", ".bias"))
        if found is not None:
            return str(found)
    raise ValueError(f"gguf must be left out: llama.cpp has no name for {name}. Leave it out.")


def _as_converted(plan: ProbePlan, name: str, array: np.ndarray, positions: ModelPositions) -> np.ndarray:
    """Return a tensor with the values and layout that llama.cpp's converter writes."""
    row = plan.architecture
    if row.norm_offset and "norm" in name:
        return array + row.norm_offset
    if row.q in name and row.fused == "by head":
        return _side_by_side(plan, array)
    if row.transposed and name.endswith("weight") and any(part in name for part in (row.q, row.o, ".mlp.")):
        return array.T
    return _in_layout(plan, array, positions) if row.q in name or row.k in name else array


def _side_by_side(plan: ProbePlan, array: np.ndarray) -> np.ndarray:
    """Reorder a fused projection from head by head to all queries, then all keys, then all values."""
    sizes = plan.sizes
    by_head = array.reshape(sizes.heads, 3, sizes.head, *array.shape[1:])
    return by_head.swapaxes(0, 1).reshape(array.shape)


def _in_layout(plan: ProbePlan, array: np.ndarray, positions: ModelPositions) -> np.ndarray:
    """Reorder the rows of each query or key head for the pairing by which llama.cpp's architecture rotates."""
    row, head = plan.architecture, plan.sizes.head
    layout = ARCHITECTURES[row.gguf].pairing
    rope = next((RotationUsage(one).rope for group in positions.groups if (one := group.rotary_encoding)), None)
    if rope is None or layout is None or row.fused or row.latent or rope.pairing == layout:
        return array
    order = channel_order(Pairing(rope.pairing, rope.head_dim, head), Pairing(layout, rope.head_dim, head))
    return array.reshape(-1, head, *array.shape[1:])[:, order].reshape(array.shape)


def _experts(name: str, array: np.ndarray) -> Tensors:
    """Experts of gpt-oss: gates and up projections alternate in a config's tensor, and are apart in GGUF."""
    block = f"blk.{name.split('.')[2]}.ffn_"
    suffix = "bias" if name.endswith("_bias") else "weight"
    matrix = array if suffix == "bias" else array.swapaxes(1, 2)
    if "down_proj" in name:
        return {f"{block}down_exps.{suffix}": matrix}
    return {f"{block}gate_exps.{suffix}": matrix[:, ::2], f"{block}up_exps.{suffix}": matrix[:, 1::2]}


def _latent_halves(plan: ProbePlan, name: str, array: np.ndarray) -> Tensors:
    """Split kv_b_proj into k_b, transposed in each head so that queries can absorb it, and v_b."""
    block = f"blk.{name.split('.')[2]}.attn_"
    by_head = array.reshape(plan.sizes.heads, plan.first + VALUES, -1)
    keys, values = by_head[:, : plan.first], by_head[:, plan.first :]
    return {f"{block}k_b.weight": keys.swapaxes(1, 2), f"{block}v_b.weight": values}
