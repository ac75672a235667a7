"""Plans of conversions: every tensor that moves or stays, and why; nothing is read but headers."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.core.rotation import PairLayout
from posenc.models.checkpoints import tensor_names
from posenc.models.checkpoints.head_shape import CONCATENATED, GROUPED, IN_PARTS, HeadShape
from posenc.models.checkpoints.row_permutation import Fused
from posenc.models.checkpoints.tensor_layout import Move, Shapes, move_of
from posenc.models.config.converted_type import as_converted_from, converted_type, layout_of
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.formats.safetensors_header import Entry, read_header, shards

#: Suffixes of files that torch.save writes, which can run any code when loaded.
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class TensorStep:
    """A tensor of a checkpoint, and the move of its rows.

    Attributes:
        name: Of the tensor.
        file: That holds it.
        shape: Of the tensor.
        reason: Why it moves or stays.
        move: Where its rows go; None where it stays as it is.
    """

    name: str
    file: str
    shape: tuple[int, ...]
    reason: str
    move: Move | None = None


@dataclass(frozen=True)
class ConversionPlan:
    """The moves of every tensor of a checkpoint, from `plan_conversion`.

    Attributes:
        path: The file or folder.
        source: How pairs of channels lie in the checkpoint, "adjacent" or "halves".
        target: How they shall lie.
        files: Names of the safetensors files, in order.
        steps: One for each tensor.
        config: The config.json that belongs to the checkpoint; None where there is none.
    """

    path: Path
    source: PairLayout
    target: PairLayout
    files: tuple[str, ...]
    steps: tuple[TensorStep, ...]
    config: Path | None = None

    @property
    def moves(self) -> tuple[TensorStep, ...]:
        """The tensors that change."""
        return tuple(step for step in self.steps if step.move is not None)

    @property
    def stays(self) -> tuple[TensorStep, ...]:
        """The tensors that are copied as they are."""
        return tuple(step for step in self.steps if step.move is None)

    def of_file(self, file: str) -> dict[str, TensorStep]:
        """Return the steps of one file.

        Args:
            file: One of `files`.

        Returns:
            The steps, by the name of the tensor.
        """
        return {step.name: step for step in self.steps if step.file == file}

    def path_of(self, file: str) -> Path:
        """Return the path of one file.

        Args:
            file: One of `files`.

        Returns:
            Its path.
        """
        return self.path / file if self.path.is_dir() else self.path


def plan_conversion(
    path: str | Path,
    *,
    source: PairLayout,
    target: PairLayout,
    heads: HeadShape | Sequence[HeadShape | None],
    under: str | None = None,
    leave: Sequence[str] = (),
    config: str | Path | None = None,
    waive: Sequence[str] = (),
) -> ConversionPlan:
    """Plan the conversion of a safetensors file, or of a folder of shards with their index; only headers are read.

    Args:
        path: The file or folder.
        source: How pairs of channels lie in the checkpoint, "adjacent" or "halves".
        target: How they shall lie.
        heads: Of every layer, or one for each layer, None for a layer that does not rotate; see `head_shapes`.
        under: The beginning of the names to convert ("model.language_model."), required where several stacks of layers
            have queries and keys: a vision tower that does not rotate must stay as it is.
        leave: Names, with * for any text, of tensors that stay although posenc does not know them.
        config: The config.json that belongs to the checkpoint; None for the one in its folder. What it says of pairs
            must be `source`, unless `waive` has "pairing".
        waive: ("pairing",) to convert although the config contradicts `source`; otherwise empty.

    Returns:
        The plan, with a step for each tensor.

    Raises:
        ValueError: A layout is unknown or the same twice, the config contradicts `source` or `grouped` of `heads`, the
            files are damaged or no safetensors, or a tensor that may have to move with queries and keys is not known.
    """
    path = Path(path)
    for name, layout in (("source", source), ("target", target)):
        validation.choice(name, layout, ("adjacent", "halves"))
    if source == target:
        raise ValueError(f"target must differ from source; got {source!r} for both. There is nothing to convert.")
    config_path = path / "config.json" if config is None else Path(config)
    config_path = config_path / "config.json" if config_path.is_dir() else config_path
    if tuple(waive) not in ((), ("pairing",)):
        raise ValueError(f"waive must be ('pairing',) or left out; got {validation.shown(waive)}. Give one of the two.")
    contradiction = _contradiction(config_path, source) if config_path.is_file() else None
    if contradiction is None and waive:
        raise ValueError("waive must be left out where no config contradicts source; got ('pairing',). Leave it out.")
    if contradiction is not None and not waive:
        raise ValueError(contradiction)
    files, entries = contents_of(path)
    steps = _Planner(source, target, heads, under, tuple(leave)).steps(entries)
    if config_path.is_file():
        _check_fused(as_converted_from(load_config(config_path))[0], steps)
    return ConversionPlan(path, source, target, files, tuple(steps), config_path if config_path.is_file() else None)


def _contradiction(config: Path, source: PairLayout) -> str | None:
    """Say how `source` contradicts the layout that the checkpoint's config states; None where it does not."""
    data, converted = as_converted_from(load_config(config))
    stated = converted or stated_layout(data)
    if stated is None or stated == source:
        return None
    return (
        f"source must be {stated!r}, the layout that {config.name} states; got {source!r}. Rows moved from a "
        "layout that they do not have are scrambled. If the config is wrong, waive 'pairing'."
    )


def _check_fused(config: Mapping[str, Any], steps: Sequence[TensorStep]) -> None:
    """Refuse another order of heads in fused projections than the code of the config's type has, if they differ."""
    model_type = str(config.get("model_type"))
    for step in steps:
        heads = step.move.heads if step.move is not None else None
        if not isinstance(heads, Fused):
            continue
        if model_type in IN_PARTS:
            raise ValueError(
                f"{step.name} must be split into queries, keys and values first: in {model_type!r} it holds queries, "
                "values and keys in each of several parts, which `grouped` cannot say."
            )
        if heads.key > 1 and model_type in (CONCATENATED if heads.grouped else GROUPED):
            layout = "all queries before all keys" if heads.grouped else "one group of heads after another"
            raise ValueError(
                f"grouped must be {not heads.grouped} for {model_type!r}, whose {step.name} has {layout}; got "
                f"{heads.grouped}. Heads of values would be moved in place of keys."
            )


def contents_of(path: Path) -> tuple[tuple[str, ...], dict[str, tuple[str, Entry]]]:
    """Return the safetensors files of a checkpoint, and every tensor's file and header entry by its name."""
    if not path.is_dir():
        _require_safetensors(path)
        return (path.name,), {entry.name: (path.name, entry) for entry in read_header(path).entries}
    index = shards(path)
    files = _files_of_folder(path, index)
    entries: dict[str, tuple[str, Entry]] = {}
    for file in files:
        for entry in read_header(path / file).entries:
            if entry.name in entries or (index and index.get(entry.name) != file):
                raise ValueError(
                    f"{entry.name!r:.80} must be in the one file that the index names; it is in {file}. Repair the "
                    "index."
                )
            entries[entry.name] = (file, entry)
    missing = next((name for name in index or () if name not in entries), None)
    if missing:
        raise ValueError(
            f"{missing!r:.80} must be in the file that the index names; it does not. A file is cut off or missing."
        )
    return tuple(files), entries


def _files_of_folder(path: Path, index: dict[str, str] | None) -> list[str]:
    files = sorted(set(index.values())) if index else [file.name for file in sorted(path.glob("*.safetensors"))]
    if not files:
        pickle = next((file.name for file in sorted(path.iterdir()) if file.suffix in PICKLES), None)
        advice = f"{pickle} is a pickle file, which posenc never loads: save it as safetensors"
        raise ValueError(
            f"{path.name} must hold safetensors files; it holds none. {advice if pickle else 'Name another one'}."
        )
    if index is None and len(files) > 1:
        raise ValueError(
            f"{path.name} must have an index, model.safetensors.index.json, for {len(files)} files. "
            "Add it, or name one file."
        )
    return files


def _require_safetensors(path: Path) -> None:
    if path.suffix in PICKLES:
        raise ValueError(
            f"{path.name} must be a safetensors file; it is named as a pickle file, which can run any code when "
            "loaded. posenc never loads it: save it as safetensors."
        )
    if path.suffix == ".gguf":
        raise ValueError(
            f"{path.name} must be a safetensors file; it is a GGUF file. Convert the safetensors file it was made from."
        )


@dataclass(frozen=True)
class _Planner:
    """Planner that decides by a tensor's name whether and how its rows move."""

    source: PairLayout
    target: PairLayout
    heads: HeadShape | Sequence[HeadShape | None]
    under: str | None
    leave: tuple[str, ...]

    def steps(self, entries: dict[str, tuple[str, Entry]]) -> list[TensorStep]:
        attentions = self._attentions(entries)
        shapes = {name: (entry.dtype, entry.shape) for name, (_, entry) in entries.items()}
        steps = []
        for name, (file, entry) in entries.items():
            attention = next((parent for parent in tensor_names.parents(name) if parent in attentions), None)
            reason, move = self._reason_and_move(name, attention, shapes)
            steps.append(TensorStep(name, file, entry.shape, reason, move))
        _require_queries_and_keys(steps)
        return steps

    def _attentions(self, entries: dict[str, tuple[str, Entry]]) -> frozenset[str]:
        """The attention modules to convert, which must be of one stack of layers."""
        modules = {tensor_names.attention_module_of(name) for name in entries if not self._is_left(name)}
        names = {module for module in modules if module and f"{module}.".startswith(self.under or "")}
        stems = sorted({tensor_names.stem(name) for name in names})
        if not names:
            raise ValueError(
                f"checkpoint must have queries and keys{f' under {self.under!r}' if self.under else ''}; none has a "
                "known name (q_proj, k_proj, wq, wk, query_key_value and others). Nothing can be converted."
            )
        if len(stems) > 1:
            raise ValueError(
                f"under must say which layers rotate: queries and keys are in {', '.join(stems)[:400]}. Give the "
                "common prefix of their names, or name the others in leave."
            )
        return frozenset(names)

    def _is_left(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.leave)

    def _reason_and_move(self, name: str, attention: str | None, shapes: Shapes) -> tuple[str, Move | None]:
        """Why a tensor stays, or how it moves."""
        if self._is_left(name):
            return "left as it is, as asked", None
        if attention is None:
            if self.under is not None and not name.startswith(self.under):
                return f"not under {self.under}", None
            if tensor_names.suspect(name):
                raise ValueError(
                    f"{name} must be understood before queries and keys are moved, since its name mentions them. Add "
                    "it to leave if it must not move."
                )
            return "no part of attention", None
        shape = self._head_shape(attention)
        if shape is None:
            return "its layer does not rotate", None
        return move_of(name, attention, shape, self.source, self.target, shapes)

    def _head_shape(self, attention: str) -> HeadShape | None:
        if isinstance(self.heads, HeadShape):
            return self.heads
        layer = tensor_names.layer_of(attention)
        if layer is None or layer >= len(self.heads):
            raise ValueError(
                f"heads must have an entry for every layer; {attention} is layer {layer} and {len(self.heads)} are "
                "given. Give one for each."
            )
        return self.heads[layer]


def _require_queries_and_keys(steps: list[TensorStep]) -> None:
    """Refuse a layer in which queries would move without their keys, or the other way round."""
    moving: dict[str, dict[str, str]] = {}
    for step in steps:
        attention = tensor_names.attention_module_of(step.name)
        if step.move is not None and ".lora_" not in step.name and attention is not None:
            moving.setdefault(attention, {})[step.move.kind] = step.name
    for attention, kinds in moving.items():
        if "fused" not in kinds and ("query" in kinds) != bool({"key", "latent"} & set(kinds)):
            raise ValueError(
                f"{attention} must have both queries and keys; only {next(iter(kinds.values()))} is there. "
                "Moving one of them breaks the model."
            )


#: Keys by which a config itself says whether pairs are adjacent.
SAYS_ADJACENT = ("rope_interleave", "rope_interleaved", "is_neox_style")


def converted_config(config: Mapping[str, Any], target: PairLayout) -> dict[str, Any]:
    """Return a config that states `target` as its layout of pairs.

    As it is where it states that already: loaders then read the new rows aright. Where a key of its type says the
    layout, with that key changed; else under a model type that no loader knows, so that nobody else takes the rows for
    the old ones. `from_config` reads all three.
    """
    if stated_layout(config) == target:
        return dict(config)
    for key in SAYS_ADJACENT:
        for value in (True, False):
            changed = {**config, key: value}
            if key in config and stated_layout(changed) == target:
                return changed
    return {**config, "model_type": converted_type(config.get("model_type"), target)}


def stated_layout(config: Mapping[str, Any]) -> PairLayout | None:
    """Return the layout of pairs that a config states for text; None where it differs or the config cannot be read."""
    try:
        return layout_of(from_config(config))
    except (ValueError, TypeError):
        return None
