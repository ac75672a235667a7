"""What converting a checkpoint would do: every tensor that moves or stays, and why; nothing is read but headers."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posenc import _check
from posenc.models.checkpoints import tensor_names
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.tensor_layout import Move, companion
from posenc.models.formats.safetensors_header import Entry, read_header, shards

Word = Literal["adjacent", "halves"]


@dataclass(frozen=True)
class Step:
    """What happens to one tensor: `move` says how its rows are laid out anew; None where it stays as it is."""

    name: str
    file: str
    shape: tuple[int, ...]
    reason: str
    move: Move | None = None


@dataclass(frozen=True)
class ConversionPlan:
    """A conversion that has been thought through: it lists every tensor of every file.

    path: the file or folder; files: the safetensors files in it, in order; steps: a tensor each.
    """

    path: Path
    source: Word
    target: Word
    files: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def moves(self) -> tuple[Step, ...]:
        """The tensors that change."""
        return tuple(step for step in self.steps if step.move is not None)

    @property
    def stays(self) -> tuple[Step, ...]:
        """The tensors that are copied as they are."""
        return tuple(step for step in self.steps if step.move is None)

    def of_file(self, file: str) -> dict[str, Step]:
        """The steps of one file, by tensor."""
        return {step.name: step for step in self.steps if step.file == file}

    def place(self, file: str) -> Path:
        """Where one of the files lies."""
        return self.path / file if self.path.is_dir() else self.path


def plan_conversion(
    path: str | Path,
    *,
    source: Word,
    target: Word,
    heads: HeadShape | Sequence[HeadShape | None],
    under: str | None = None,
    leave: Sequence[str] = (),
) -> ConversionPlan:
    """Plan the conversion of a safetensors file, or of a folder of shards with their index.

    source, target: how pairs lie in the checkpoint, and how they shall: "adjacent" or "halves".
    heads: of every layer, or one for each layer, None for a layer that does not rotate.
    under: the beginning of the names to convert ("model.language_model."), required where several stacks of layers have
    queries and keys: a vision tower that does not rotate must stay as it is.
    leave: names, with * for any text, of tensors that stay although posenc does not know them.
    Raises ValueError or TypeError in one line; a tensor that may have to move with queries and keys, and is not known, is one.
    """
    path = Path(path)
    for name, word in (("source", source), ("target", target)):
        _check.choice(name, word, ("adjacent", "halves"))
    if source == target:
        raise ValueError(f"target must differ from source; got {source!r} for both. Nothing is to be done.")
    files, entries = _contents(path)
    steps = _Planner(source, target, heads, under, tuple(leave)).steps(entries)
    return ConversionPlan(path, source, target, files, tuple(steps))


def _contents(path: Path) -> tuple[tuple[str, ...], dict[str, tuple[str, Entry]]]:
    """The files, and for every tensor its file and entry."""
    if not path.is_dir():
        _named_safetensors(path)
        return (path.name,), {entry.name: (path.name, entry) for entry in read_header(path).entries}
    index = shards(path)
    files = sorted(set(index.values())) if index else [each.name for each in sorted(path.glob("*.safetensors"))]
    if not files:
        pickles = [each.name for each in sorted(path.iterdir()) if each.suffix in (".bin", ".pt", ".pth", ".ckpt")]
        then = (
            f"{pickles[0]} is a pickle file, which posenc never loads: save it as safetensors"
            if pickles
            else "Name another one"
        )
        raise ValueError(f"{path.name} must hold safetensors files; it holds none. {then}.")
    if index is None and len(files) > 1:
        raise ValueError(f"{path.name} must have an index, model.safetensors.index.json, for {len(files)} files. Add it, or name one file.")  # fmt: skip
    found: dict[str, tuple[str, Entry]] = {}
    for file in files:
        for entry in read_header(path / file).entries:
            if entry.name in found or (index and index.get(entry.name) != file):
                raise ValueError(
                    f"{entry.name!r:.80} must lie in the one file that the index names; it is in {file}. Mend the index."
                )
            found[entry.name] = (file, entry)
    missing = next((name for name in index or () if name not in found), None)
    if missing:
        raise ValueError(
            f"{missing!r:.80} must lie in the file that the index names; it does not. A file is cut off or missing."
        )
    return tuple(files), found


def _named_safetensors(path: Path) -> None:
    if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl"):
        raise ValueError(
            f"{path.name} must be a safetensors file; it is named as a pickle file, which can run any code when loaded. posenc never "
            "loads it: save it as safetensors."
        )
    if path.suffix == ".gguf":
        raise ValueError(f"{path.name} must be a safetensors file; it is a GGUF file. Convert before you make it.")


@dataclass(frozen=True)
class _Planner:
    """Goes through the names."""

    source: Word
    target: Word
    heads: HeadShape | Sequence[HeadShape | None]
    under: str | None
    leave: tuple[str, ...]

    def steps(self, entries: dict[str, tuple[str, Entry]]) -> list[Step]:
        attentions = self._attentions(entries)
        shapes = {name: (entry.dtype, entry.shape) for name, (_, entry) in entries.items()}
        steps = []
        for name, (file, entry) in entries.items():
            own = next((one for one in _parents(name) if one in attentions), None)
            reason, move = self._one(name, own, shapes)
            steps.append(Step(name, file, entry.shape, reason, move))
        _complete(steps)
        return steps

    def _attentions(self, entries: dict[str, tuple[str, Entry]]) -> frozenset[str]:
        """The attention modules that are to be converted: of one stack of layers."""
        found = {own for name in entries if not self._left(name) and (own := tensor_names.attention_of(name))}
        if self.under is not None:
            found = {own for own in found if f"{own}.".startswith(self.under)}
        stems = sorted({tensor_names.stem(own) for own in found})
        if not found:
            raise ValueError(
                f"checkpoint must have queries and keys{f' under {self.under!r}' if self.under else ''}; none is known by its name "
                "(q_proj, k_proj, wq, wk, query_key_value and others). Nothing can be converted."
            )
        if len(stems) > 1:
            raise ValueError(
                f"under must say which layers rotate: there are queries and keys in {', '.join(stems)[:400]}. Give the beginning "
                "of their names, or leave the others out by name."
            )
        return frozenset(found)

    def _left(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.leave)

    def _one(
        self, name: str, own: str | None, shapes: dict[str, tuple[str, tuple[int, ...]]]
    ) -> tuple[str, Move | None]:
        """Why a tensor stays, or how it moves."""
        if self._left(name):
            return "left as it is, as asked", None
        if own is None:
            if self.under is not None and not name.startswith(self.under):
                return f"not under {self.under}", None
            if tensor_names.suspect(name):
                raise ValueError(
                    f"{name} must be known before queries and keys are moved: its name speaks of them. Name it in leave, if it stays."
                )
            return "no part of attention", None
        shape = self._shape(own)
        if shape is None:
            return "its layer does not rotate", None
        return companion(name, own, shape, self.source, self.target, shapes)

    def _shape(self, own: str) -> HeadShape | None:
        if isinstance(self.heads, HeadShape):
            return self.heads
        layer = tensor_names.layer_of(own)
        if layer is None or layer >= len(self.heads):
            raise ValueError(
                f"heads must have an entry for every layer; {own} is layer {layer} and {len(self.heads)} are given. Give one for each."
            )
        return self.heads[layer]


def _parents(name: str) -> list[str]:
    """The modules that a tensor lies in, the innermost first."""
    words = name.split(".")
    return [".".join(words[:count]) for count in range(len(words) - 1, 0, -1)]


def _complete(steps: list[Step]) -> None:
    """Refuse a layer in which queries would move without their keys, or the other way round."""
    kinds: dict[str, dict[str, str]] = {}
    for step in steps:
        if step.move is not None and ".lora_" not in step.name:
            own = tensor_names.attention_of(step.name)
            if own is not None:
                kinds.setdefault(own, {})[step.move.kind] = step.name
    for own, found in kinds.items():
        if "fused" not in found and ("query" in found) != bool({"key", "latent"} & set(found)):
            raise ValueError(
                f"{own} must have both queries and keys; only {next(iter(found.values()))} is there. Moving one of them breaks the model."
            )
