"""`posenc convert`: a checkpoint from one pairing of channels to the other."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from posenc.cli import show

if TYPE_CHECKING:
    from posenc.models.checkpoints.conversion import Progress
    from posenc.models.checkpoints.conversion_plan import ConversionPlan
    from posenc.models.checkpoints.head_shape import HeadShape

Word = Literal["adjacent", "halves"]


@dataclass(frozen=True)
class Convert:
    """Convert a safetensors checkpoint, a file or a folder of shards, so that a model that pairs channels otherwise computes the same.

    Rows of queries and keys move, with every bias, norm, scale and adapter that must move with them; numbers never change. A tensor
    that may have to move and is not known is an error. What is written is proved by converting it back, gets its name when all
    has succeeded, and comes with a receipt. Nothing is overwritten, and stopping it leaves nothing behind; killed outright (SIGKILL),
    it leaves a folder .NAME.NUMBER.partial and nothing under the new name.

    "adjacent" pairs channels (2i, 2i+1): Meta's Llama files, GPT-J, GGUF's NORM. "halves" pairs (i, i + width/2): transformers'
    Llama, GPT-NeoX, GGUF's NEOX.

    examples:
      posenc convert model/ --source halves --target adjacent --dry-run
      posenc convert model/ --source halves --target adjacent --output converted
      posenc convert model.safetensors --source adjacent --target halves --heads 32 --kv-heads 8 --head-dim 128 --output new.safetensors
      posenc convert neox.safetensors --source halves --target adjacent --heads 64 --kv-heads 64 --head-dim 96 --width 24 --fused grouped --dry-run
    """

    checkpoint: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE|FOLDER")]
    """A safetensors file, or a folder of shards with their index."""

    source: Word
    """How pairs lie in it."""

    target: Word
    """How they shall lie."""

    config: Path | None = None
    """The config.json that says how heads are cut; the one in the folder if left out. Not with --heads."""

    heads: int | None = None
    """Heads of queries, in place of a config."""

    kv_heads: int | None = None
    """Heads of keys and values; as many as of queries where they are not grouped."""

    head_dim: int | None = None
    """Channels of a head."""

    output: Path | None = None
    """The file or folder to make; its name must not be taken."""

    width: int | None = None
    """Channels of a head that turn; all if left out."""

    start: int = 0
    """The first channel that turns."""

    latent: int | None = None
    """kv_lora_rank, for multi-head latent attention."""

    fused: Literal["grouped", "concatenated"] | None = None
    """How one projection for queries, keys and values is laid out: a group of heads after another, or all queries first."""

    under: str | None = None
    """The beginning of the names to convert, where several stacks of layers have queries and keys."""

    leave: tuple[str, ...] = ()
    """Names, with * for any text, of tensors that stay although they are not known."""

    dry_run: bool = False
    """Say what would be done, and do nothing."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        from posenc.models.checkpoints.conversion import convert_checkpoint, receipt_of
        from posenc.models.checkpoints.conversion_plan import plan_conversion

        if (self.output is None) != self.dry_run:
            raise ValueError("output must be given without --dry-run, and only then. Add one of the two.")
        plan = plan_conversion(
            self.checkpoint,
            source=self.source,
            target=self.target,
            heads=self._heads(),
            under=self.under,
            leave=self.leave,
        )
        if self.output is None:
            receipt_of(plan)
            self._tell_plan(plan)
            return 0
        with _stopped_like_ctrl_c(), _bar() as progress:
            receipt = convert_checkpoint(plan, self.output, progress=progress)
        if self.json:
            print(show.as_json(receipt))
            return 0
        show.say(
            f"wrote {self.output}: {len(plan.moves)} of {len(plan.steps)} tensors moved, {self.source} to {self.target}"
        )
        show.say("Converted back, every file has the hash it had before. The receipt lists every tensor.")
        return 0

    def _heads(self) -> HeadShape | tuple[HeadShape | None, ...]:
        from posenc.models.checkpoints.head_shape import HeadShape
        from posenc.models.checkpoints.head_shapes_from_config import head_shapes

        grouped = None if self.fused is None else self.fused == "grouped"
        own = (self.heads, self.kv_heads, self.head_dim)
        if own == (None, None, None) and (self.width, self.start, self.latent) == (None, 0, None):
            config = self.config or (self.checkpoint / "config.json" if self.checkpoint.is_dir() else None)
            if config is None:
                raise ValueError(
                    "heads must be given, or a config, for a single file. Add --config config.json, or --heads."
                )
            return head_shapes(config, grouped=grouped)
        if None in own or self.config is not None:
            raise ValueError(
                "heads must come with --kv-heads and --head-dim, and without --config. Give these three, or a config."
            )
        return HeadShape(*own, self.width, self.start, self.latent, grouped)  # type: ignore[arg-type]

    def _tell_plan(self, plan: ConversionPlan) -> None:
        if self.json:
            facts: dict[str, Any] = {"source": plan.source, "target": plan.target, "files": plan.files}
            for name, steps in (("moves", plan.moves), ("stays", plan.stays)):
                facts[name] = [
                    {"tensor": step.name, "file": step.file, "shape": step.shape, "why": step.reason} for step in steps
                ]
            print(show.as_json(facts))
            return
        rows = [
            ("moves" if step.move else "stays", step.name, str(list(step.shape)), step.reason) for step in plan.steps
        ]
        show.table(("", "tensor", "shape", "why"), sorted(rows))
        show.say(
            "",
            f"{len(plan.moves)} of {len(plan.steps)} tensors in {len(plan.files)} files would move. Nothing was written.",
        )


@contextlib.contextmanager
def _stopped_like_ctrl_c() -> Iterator[None]:
    """A polite kill takes away what was half written, as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _bar() -> Iterator[Progress | None]:
    """A bar with the time left, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("convert and prove", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
