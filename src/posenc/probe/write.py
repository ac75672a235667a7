"""Write a probe checkpoint for a config: weights, config, tokenizer and prompts in one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import validation
from posenc.models.checkpoints.conversion import atomic_path, require_unused, write_synced
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions, Window, windows_of_layers
from posenc.probe.architectures import architecture_of
from posenc.probe.bucket_reading import asked_buckets
from posenc.probe.config import (
    layers_needed,
    layers_of_model,
    probe_config,
    require_same_positions,
    text_config,
    whole_config,
)
from posenc.probe.gguf_file import require_gguf, write_gguf
from posenc.probe.gguf_keys import layers_that_scale
from posenc.probe.layout import ProbeLayout
from posenc.probe.plans import plan_of
from posenc.probe.prompts import (
    Prompt,
    bias_prompt,
    bucket_prompts,
    channel_prompts,
    encoder_prompts,
    moved_placed_prompts,
    moved_prompts,
    placed_prompts,
    row_prompts,
    value_prompt,
    window_prompt,
)
from posenc.probe.tokenizer import tokenizer_files
from posenc.probe.weights import ProbePlan, probe_tensors

#: The longest distance that is asked for unless the caller says another.
LENGTH = 512
LONGEST = 1 << 20


def write_probe(
    config: Mapping[str, Any] | str | Path,
    folder: str | Path,
    *,
    length: int | None = None,
    position_ids: bool = False,
    layers: int | None = None,
    gguf: bool = False,
) -> Path:
    """Write a model of a few hundred channels that has a file's positions, and prompts that show them.

    The folder holds config.json, model.safetensors, a tokenizer of token ids and probe.json. An engine loads it, runs
    every prompt of probe.json, and returns the wanted rows of its logits (or log-probabilities) for `read_probe`.

    Args:
        config: A dict, a config.json or its folder.
        folder: The folder to write; it must not exist yet.
        length: The longest distance to ask, in tokens; 512, or as long as the config allows, if None.
        position_ids: Whether to write prompts of three tokens with position ids, for engines that take these, in place
            of prompts as long as the distance.
        layers: Leading layers to write; as few as show every kind of layer if None.
        gguf: Whether to write model.gguf besides, for llama.cpp. GGUF has no key for YaRN's `truncate`.

    Returns:
        The folder.

    Raises:
        ValueError: No probe can be written for the config, or an argument breaks its rule.
        TypeError: An argument has the wrong type.
        ImportError: safetensors, or gguf for `gguf`, is not installed (the extra `models` has both).

    Example:
        >>> import tempfile
        >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4}
        >>> with tempfile.TemporaryDirectory() as place:
        ...     sorted(path.name for path in write_probe(config, place + "/probe", length=8).iterdir())
        ['config.json', 'model.safetensors', 'probe.json', 'tokenizer.json', 'tokenizer_config.json']
    """
    from safetensors.numpy import save

    path = require_unused("folder", validation.path("folder", folder))
    validation.truth("gguf", gguf)
    written = _probe(load_config(config), length, position_ids, layers, gguf)
    if gguf:
        require_gguf(written.plan)
    tensors = probe_tensors(written.plan)
    with atomic_path(path, folder=True) as temporary:
        write_synced(temporary / "model.safetensors", save(tensors, metadata={"format": "pt"}))
        if gguf:
            write_gguf(temporary / "model.gguf", written.plan, tensors, written.positions, written.config)
        for name, content in written.files().items():
            write_synced(temporary / name, json.dumps(content, indent=1).encode())
    return path


class _Probe(NamedTuple):
    """A probe before it is written."""

    config: dict[str, Any]
    whole: dict[str, Any]
    positions: ModelPositions
    plan: ProbePlan
    layout: ProbeLayout
    prompts: list[Prompt]

    def files(self) -> dict[str, dict[str, Any]]:
        """Files of the folder besides the weights, by name."""
        stream = self.plan.stream
        return {
            "config.json": self.whole,
            "probe.json": self.layout.plain(self.prompts),
            **tokenizer_files(stream.vocabulary, stream.constant),
        }


def _probe(file: Mapping[str, Any], length: int | None, position_ids: bool, layers: int | None, gguf: bool) -> _Probe:
    validation.truth("position_ids", position_ids)
    config = text_config(file)
    row = architecture_of(file)
    positions = from_config(config)
    all_layers = layers_of_model(config, positions)
    fixed = layers_that_scale(row, positions, all_layers) if gguf else None
    fewest = min(all_layers, layers_needed(positions)) if fixed is None else fixed
    count = validation.integer("layers", fewest if layers is None else layers, fixed or 1, all_layers)
    longest = LENGTH if length is None else validation.integer("length", length, 1, LONGEST)
    plan = plan_of(row, positions, config, count)
    written = probe_config(config, row, plan.sizes, count, all_layers, plan.stream.constant)
    positions = require_same_positions(config, written, count)
    attention, output = [float(written[key] or 0) for key in row.softcaps] or [0.0, 0.0]
    layout = ProbeLayout(
        row.quantity, plan.sizes.head, plan.first, plan.scale, plan.gain, longest, plan.stream, attention, output,
        row.encoder, plan.sizes.heads, plan.sizes.groups,
    )  # fmt: skip
    whole = whole_config(written, row, plan.sizes)
    return _Probe(written, whole, positions, plan, layout, _prompts(plan, positions, longest, position_ids))


def _prompts(plan: ProbePlan, positions: ModelPositions, length: int, position_ids: bool) -> list[Prompt]:
    """Make the prompts for the quantity that the probe asks: rotation, bias, row or bucket."""
    if plan.architecture.quantity == "row":
        return row_prompts(min(length, plan.sizes.rows - 1 - positions.groups[0].offset), position_ids)
    if plan.architecture.quantity == "bucket":
        return bucket_prompts(*asked_buckets(positions, length))
    if plan.architecture.encoder:
        return encoder_prompts(
            plan.stream.queries,
            length,
            [one for one in windows_of_layers(positions).values() if isinstance(one, Window)],
        )
    windows = {one.before + 1 for one in windows_of_layers(positions).values() if isinstance(one, Window)}
    if plan.architecture.quantity == "bias":
        return [bias_prompt(length), value_prompt(position_ids)]
    if position_ids:
        axes = max(group.rotary_encoding.axes for group in positions.groups if group.rotary_encoding is not None)
        sizes = plan.stream.queries, length, axes
        return [*placed_prompts(*sizes), *moved_placed_prompts(*sizes), value_prompt(position_ids, axes)]
    asked = channel_prompts(plan.stream.queries, length, windows)
    asked += moved_prompts(plan.stream.queries, length, windows)
    return [*asked, *window_prompt(length, windows), value_prompt(position_ids)]
