"""`posenc convert`: a checkpoint from one pairing of channels to the other."""

from __future__ import annotations

import contextlib
import fnmatch
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from posenc.cli.answer import Answer, Verb, attributes, columns

if TYPE_CHECKING:
    from posenc.models.checkpoints.conversion import Progress
    from posenc.models.checkpoints.conversion_plan import ConversionPlan, TensorStep
    from posenc.models.checkpoints.head_shape import HeadShape

    Heads = HeadShape | tuple[HeadShape | None, ...]

#: As in `posenc.core.rotation`, which is not imported, since it would load NumPy before the arguments are read.
PairLayout = Literal["adjacent", "halves"]


@dataclass(frozen=True)
class ConvertVerb(Verb):
    """Convert a safetensors checkpoint, a file or a folder of shards, for code that pairs channels differently.

    Rows of queries and keys move, with every bias, norm, scale and adapter that must move with them; numbers never
    change. An unknown tensor that may have to move is an error. The result is verified by converting it back, then
    written atomically, with a receipt. Nothing is overwritten. Ctrl-C leaves nothing behind; SIGKILL leaves a folder
    .NAME.NUMBER.partial and nothing under the new name.

    "adjacent" pairs channels (2i, 2i+1): Meta's Llama files, GPT-J, GGUF's NORM. "halves" pairs (i, i + width/2):
    transformers' Llama, GPT-NeoX, GGUF's NEOX.

    Some examples:
      posenc convert model/ --source halves --target adjacent --dry-run
      posenc convert model/ --source halves --target adjacent --output converted
      posenc convert model.safetensors --source adjacent --target halves --config config.json --waive pairing --dry-run
    """

    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE|FOLDER")]
    """A safetensors file, or a folder of shards with their index."""

    source: PairLayout
    """The pairing of its channels now."""

    target: PairLayout
    """The pairing to convert them to."""

    config: Path | None = None
    """The config.json that states the heads; the one in the folder if left out. Not with --heads."""

    heads: int | None = None
    """Heads of queries, in place of a config."""

    kv_heads: int | None = None
    """Heads of keys and values; the same as --heads unless they are grouped."""

    head_dim: int | None = None
    """Channels of a head."""

    output: Path | None = None
    """The file or folder to write; it must not exist yet."""

    width: int | None = None
    """Channels of a head that rotate; all if left out."""

    start: int = 0
    """The first channel that rotates."""

    latent: int | None = None
    """kv_lora_rank, for multi-head latent attention."""

    fused: Literal["grouped", "concatenated"] | None = None
    """The layout of one projection for queries, keys and values: one group of heads after another, or queries first."""

    under: str | None = None
    """The common prefix of the names to convert, where several stacks of layers have queries and keys."""

    leave: tuple[str, ...] = ()
    """Names of unknown tensors to leave as they are; * stands for any text."""

    waive: tuple[str, ...] = ()
    """pairing: convert from --source although the checkpoint's config states another pairing."""

    dry_run: bool = False
    """Print what would be converted, and write nothing."""

    def run(self) -> Answer:
        from posenc.models.checkpoints.conversion import convert_checkpoint, receipt_of
        from posenc.models.checkpoints.conversion_plan import plan_conversion

        if (self.output is None) != self.dry_run:
            raise ValueError("output must be given, or --dry-run, and not both. Give one of the two.")
        heads = self._heads()
        options = attributes(self, "source", "target", "under", "leave", "config", "waive")
        plan = plan_conversion(self.checkpoint, heads=heads, **options)
        self._leaves_something(plan)
        if self.output is None:
            receipt_of(plan)
            return Answer(lambda: _facts(plan, heads), lambda: _lines(plan, heads))
        with _stopped_like_ctrl_c(), _bar() as progress:
            receipt = convert_checkpoint(plan, self.output, progress=progress)
        moved = f"{len(plan.moves)} of {len(plan.steps)} tensors moved, {self.source} to {self.target}"
        proof = "Converted back, every file has the hash it had before. The receipt lists every tensor."
        return Answer(lambda: receipt, lambda: [f"wrote {self.output}: {moved}", proof])

    def _leaves_something(self, plan: ConversionPlan) -> None:
        for pattern in self.leave:
            if not any(fnmatch.fnmatchcase(step.name, pattern) for step in plan.steps):
                raise ValueError(f"leave must match tensors of the checkpoint; got {pattern!r:.100}. Leave it out.")

    def _heads(self) -> Heads:
        from posenc.models.checkpoints.head_shape import HeadShape, head_shapes

        grouped = None if self.fused is None else self.fused == "grouped"
        stated = (self.heads, self.kv_heads, self.head_dim)
        if stated == (None, None, None) and (self.width, self.start, self.latent) == (None, 0, None):
            config = self.config or (self.checkpoint / "config.json" if self.checkpoint.is_dir() else None)
            if config is None:
                raise ValueError(
                    "heads must be given, or a config, for a single file. Add --config config.json, or --heads."
                )
            return head_shapes(config, grouped=grouped)
        if None in stated or self.config is not None:
            raise ValueError(
                "heads must come with --kv-heads and --head-dim, and without --config. Give these three, or a config."
            )
        return HeadShape(*stated, self.width, self.start, self.latent, grouped)  # type: ignore[arg-type]


def _facts(plan: ConversionPlan, heads: Heads) -> dict[str, Any]:
    def tensors(steps: Sequence[TensorStep]) -> list[dict[str, Any]]:
        return [{"tensor": one.name, "file": one.file, "shape": one.shape, "why": one.reason} for one in steps]

    facts = attributes(plan, "source", "target", "files")
    return {**facts, "heads": _head_lines(heads), "moves": tensors(plan.moves), "stays": tensors(plan.stays)}


def _head_lines(heads: Heads) -> list[str]:
    """Text of each distinct head shape in the model, without repeats."""
    shapes = heads if isinstance(heads, tuple) else (heads,)
    return [repr(shape) for shape in dict.fromkeys(shapes) if shape is not None]


def _lines(plan: ConversionPlan, heads: Heads) -> list[str]:
    rows = [("moves" if one.move else "stays", one.name, str(list(one.shape)), one.reason) for one in plan.steps]
    count = f"{len(plan.moves)} of {len(plan.steps)} tensors in {len(plan.files)} files"
    table = columns(("", "tensor", "shape", "why"), sorted(rows))
    return [*table, "", *_head_lines(heads), f"{count} would move. Nothing was written."]


@contextlib.contextmanager
def _stopped_like_ctrl_c() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that a conversion that is stopped removes its partial output."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _bar() -> Iterator[Progress | None]:
    """Bar with the time left, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("convert and prove", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
