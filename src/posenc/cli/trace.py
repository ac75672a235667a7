"""`posenc trace`: which positions does a loaded model use while it runs?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli.answer import Answer, Heading, Verb, headed
from posenc.cli.inputs import each_waived_has_an_effect
from posenc.cli.user_run import running_code_of
from posenc.cli.working import working
from posenc.core import validation
from posenc.core.plain_file import write_whole
from posenc.diagnosis.code.user_file import load_target
from posenc.diagnosis.tracing.position_trace import PositionTrace
from posenc.diagnosis.verdict import Diagnosis
from posenc.inspect.plain import as_plain

#: Tokens of the prompt and of the answer, and the most of each.
PROMPT, NEW, MOST_TOKENS = 24, 8, 1 << 14
#: Ids below it are often those of padding and of the ends of a text.
FIRST_WORD = 10


@dataclass(frozen=True)
class TraceVerb(Verb):
    """Run a loaded model of transformers, and compare the positions that its layers used with those they are to use.

    FILE.py is your own file (posenc runs it), MODEL a loaded model in it. Positions are read off the vectors: off
    queries and keys before and after their rotation, off the rows of a table that tokens read, off the keys that
    attention is given. What position_ids say does not count. The model reads drawn tokens: a prompt in two rows, then
    an answer token by token, with its own cache. Give --run to run it in your own way.

    Exit code: 0 when the positions are those that the config and the request ask for, 1 when one is not, 2 when they
    cannot be compared, 3 when they agree in what was compared; what was not is listed.

    Some examples:
      posenc trace mine.py:model
      posenc trace mine.py:model --padding 3 --chunk 8
      posenc trace mine.py:model --documents 5 7 --picture schedule.png
      posenc trace mine.py:model --run mine.py:my_loop --json
    """

    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE.py:MODEL")]
    """The loaded model."""

    run_with: Annotated[str | None, tyro.conf.arg(name="run", metavar="FILE.py:FUNCTION")] = None
    """A function that is given the model, and runs it; in place of drawn tokens. What it prints goes to stderr."""

    prompt: int | None = None
    """Tokens of the prompt; 24 if left out."""

    new: int | None = None
    """Tokens of the answer; 8 if left out, 0 for one forward."""

    chunk: int | None = None
    """The prompt is read in chunks of so many tokens; whole if left out."""

    padding: int | None = None
    """Tokens of padding before the second row; 0 if left out."""

    documents: tuple[int, ...] = ()
    """Lengths of documents that are packed into a row, which is read in one forward."""

    offset: int | None = None
    """Position of the first token, where the model reads one shard of a sequence with --run."""

    waive: tuple[str, ...] = ()
    """Keys of the config that concern positions and may go unread."""

    picture: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the schedule into a .png or .svg file too."""

    def run(self) -> Answer:
        model = load_target(self.model)
        if not hasattr(model, "get_input_embeddings"):
            raise ValueError(
                f"model must be a loaded model of transformers; got {type(model).__name__}. Name the model itself."
            )
        each_waived_has_an_effect((model.config.to_dict(),), self.waive)
        function = self._function()
        with working("running the model, and reading its positions"):
            traced, diagnosis = self._traced(model, function)
        if self.picture is not None:
            self._draw(traced)
        return Answer(lambda: _facts(traced, diagnosis), lambda: _lines(traced, diagnosis), diagnosis.exit_code)

    def _function(self) -> Any:
        """The function that runs the model, checked against the other options."""
        if self.run_with is None:
            if self.offset is not None:
                raise ValueError("offset must come with --run, which reads a shard; got none. Leave --offset out.")
            return self._drawn
        stated = [name for name in ("prompt", "new", "chunk", "padding") if getattr(self, name) is not None]
        if stated:
            raise ValueError(
                f"{stated[0]} must be left out with --run, which reads its own tokens; got {getattr(self, stated[0])}."
            )
        function = load_target(self.run_with)
        if not callable(function):
            raise ValueError(f"run must name a function that takes the model; got {type(function).__name__}.")
        return function

    def _traced(self, model: Any, function: Any) -> tuple[PositionTrace, Diagnosis]:
        """The trace of a run, and its verdict."""
        import torch

        from posenc.transformers import trace

        stated: dict[str, Any] = {"documents": self.documents or None, "offset": self.offset or 0, "waive": self.waive}
        with torch.no_grad(), trace(model, **stated) as traced, running_code_of(self.run_with or self.model):
            function(model)
        return traced, traced.check()

    def _drawn(self, model: Any) -> None:
        """Run the model over drawn tokens."""
        import torch

        from posenc.transformers.tracing.drawn_run import DrawnRequest, run_drawn

        wanted = {"prompt": PROMPT, "new": 0 if self.documents else NEW, "chunk": 0, "padding": 0}
        sizes = {name: own if getattr(self, name) is None else getattr(self, name) for name, own in wanted.items()}
        if self.documents:
            for length in self.documents:
                validation.integer("documents", length, 1, MOST_TOKENS)
            clashing = [name for name in wanted if getattr(self, name) is not None]
            if clashing:
                raise ValueError(f"{clashing[0]} must be left out with --documents, one packed row. Leave it out.")
            sizes["prompt"] = sum(self.documents)
        for name, least in (("prompt", 1), ("new", 0), ("chunk", 0), ("padding", 0)):
            validation.integer(name, sizes[name], least, MOST_TOKENS if name == "prompt" else sizes["prompt"] - 1
                               if name == "padding" else MOST_TOKENS)  # fmt: skip
        vocabulary, draw = model.config.get_text_config().vocab_size, torch.Generator().manual_seed(0)
        shape = (1 if self.documents else 2, sizes["prompt"])
        tokens = torch.randint(min(FIRST_WORD, vocabulary - 1), vocabulary, shape, generator=draw)
        device = model.get_input_embeddings().weight.device
        run_drawn(
            model, DrawnRequest(tokens.to(device), sizes["new"], sizes["chunk"], sizes["padding"], self.documents)
        )

    def _draw(self, traced: PositionTrace) -> None:
        """Draw the positions used, by layer and call, into the file that --picture names."""
        from posenc import plot

        path = Path(str(self.picture))
        kind = path.suffix.removeprefix(".")
        write_whole(
            path, plot.image(plot.position_schedule(traced), validation.choice("picture", kind, ("png", "svg"))).data
        )


def _facts(traced: PositionTrace, diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis and the table of positions used, as facts for --json."""
    verdict = {"verdict": diagnosis.verdict, **as_plain(diagnosis), "explained": diagnosis.explained}
    return {**verdict, "schedule": traced.lines()}


def _lines(traced: PositionTrace, diagnosis: Diagnosis) -> list[str]:
    """Lines of the diagnosis, then the positions used in each call."""
    return [*headed(diagnosis.lines()), "", Heading("positions that were used"), *traced.lines()]
