"""A probe as a GGUF file, as llama.cpp's converter would write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import Pairing
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.frequencies import YaRN
from posenc.models.checkpoints.row_permutation import channel_order
from posenc.models.formats.gguf_architectures import ARCHITECTURES
from posenc.models.formats.gguf_write import to_gguf
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.reordered_rows import with_encodings
from posenc.probe.weights import ProbePlan, Tensors

#: Architectures whose file was run and read back.
KNOWN = ("llama", "qwen2", "qwen3", "gpt-oss")


def require_gguf(plan: ProbePlan) -> str:
    """The architecture under which llama.cpp knows the probe's.

    Raises:
        ValueError: No GGUF file is written for it.
    """
    name = plan.architecture.gguf
    if name not in KNOWN:
        raise ValueError(
            f"gguf must be left out for this architecture; files are written for {', '.join(KNOWN)}. Leave it out."
        )
    return name


def write_gguf(
    path: Path, plan: ProbePlan, tensors: Tensors, positions: ModelPositions, config: Mapping[str, Any]
) -> None:
    """Write the probe for llama.cpp; what the format cannot say of positions is left to the engine."""
    import gguf

    name = require_gguf(plan)
    layout = ARCHITECTURES[name].pairing
    said = with_encodings(positions, lambda encoding, group: _sayable(encoding, group, layout))
    keys, divisors = to_gguf(said, name, context_length=int(config.get("max_position_embeddings", 4096)))
    writer = gguf.GGUFWriter(path, name)
    for key, value in {**keys, **_size_keys(name, plan)}.items():
        _add(writer, key, value)
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(plan.stream.vocabulary)
    names = gguf.get_tensor_name_map(_architecture(gguf, name), plan.stream.layers)
    for tensor, array in {**_renamed(plan, tensors, names, layout), **divisors}.items():
        writer.add_tensor(tensor, np.ascontiguousarray(array, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _sayable(encoding: Encoding, group: LayerGroup, layout: Any) -> Encoding:
    """The encoding in the layout of the architecture; YaRN's `truncate` has no key, and llama.cpp truncates."""
    if not isinstance(encoding, RotaryEncoding):
        return encoding
    usage = RotationUsage(encoding).with_rope(pairing=layout)
    if usage is not None and isinstance(usage.scaling, YaRN):
        usage = usage.with_scaling(truncate=True)
    return encoding if usage is None else usage.encoding


def _size_keys(name: str, plan: ProbePlan) -> dict[str, Any]:
    sizes = plan.sizes
    keys = {
        "embedding_length": sizes.hidden, "feed_forward_length": sizes.inner, "attention.head_count": sizes.heads,
        "attention.head_count_kv": sizes.groups, "attention.value_length": sizes.head,
        "attention.layer_norm_rms_epsilon": 1e-12,
    }  # fmt: skip
    if name == "gpt-oss":
        keys |= {"expert_count": sizes.experts, "expert_used_count": 2, "expert_feed_forward_length": sizes.inner}
    return {f"{name}.{key}": value for key, value in keys.items()}


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


def _renamed(plan: ProbePlan, tensors: Tensors, names: Any, layout: Any) -> Tensors:
    """Tensors under llama.cpp's names, with rows of queries and keys in its layout and experts one by one."""
    renamed: Tensors = {}
    for name, array in tensors.items():
        if ".mlp.experts." in name:
            renamed |= _experts(name, array)
            continue
        rows = _in_layout(plan, array, layout) if plan.architecture.q in name or plan.architecture.k in name else array
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if name.endswith(".sinks"):
            found += ".weight"
        renamed[found] = rows
    return renamed


def _in_layout(plan: ProbePlan, array: np.ndarray, layout: Any) -> np.ndarray:
    """Rows of each head of queries or keys, which rotate as halves, in another layout."""
    head = plan.sizes.head
    order = channel_order(Pairing("halves", head, head), Pairing(layout, head, head))
    return array.reshape(-1, head, *array.shape[1:])[:, order].reshape(array.shape)


def _experts(name: str, array: np.ndarray) -> Tensors:
    """Experts of gpt-oss: gates and up projections alternate in a config's tensor, and are apart in GGUF."""
    block = f"blk.{name.split('.')[2]}.ffn_"
    suffix = "bias" if name.endswith("_bias") else "weight"
    matrix = array if suffix == "bias" else array.swapaxes(1, 2)
    if "down_proj" in name:
        return {f"{block}down_exps.{suffix}": matrix}
    return {f"{block}gate_exps.{suffix}": matrix[:, ::2], f"{block}up_exps.{suffix}": matrix[:, 1::2]}
