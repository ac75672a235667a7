"""`posenc probe`: a checkpoint whose logits show which positions an engine applies, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from posenc.cli.answer import Answer, Verb, of_report

READ = "read"


@dataclass(frozen=True)
class ProbeVerb(Verb):
    """Write a probe checkpoint for a config, or read an engine's positions off its answers to one.

    A probe is a model of a few hundred channels with the architecture and the position keys of a file. Run the prompts
    in its probe.json with any engine, and save the wanted rows of logits or log-probabilities: an .npz with an array
    for each prompt, or JSON lines. `posenc probe read` states which positions the engine applied, with error bars, and
    names the mistake where they are not the config's.

    Exit code of reading: 0 when they agree in everything that a probe shows, 1 when they differ, 3 when they agree in
    what was asked.

    Some examples:
      posenc probe config.json --to probe
      posenc probe config.json --to probe --length 4096 --position-ids
      posenc probe read probe/answers.npz
      posenc probe read answers.jsonl --folder probe --json
    """

    subject: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="CONFIG|read ANSWERS")]
    """A config.json or its folder to write a probe for; or `read` and the file of answers."""

    to: Path | None = None
    """The folder to write; it must not exist yet."""

    length: int | None = None
    """The longest distance to ask, in tokens; 512 if left out."""

    layers: int | None = None
    """Leading layers to write; as few as show every kind of layer if left out."""

    position_ids: bool = False
    """Write prompts of three tokens with position ids, for engines that take these."""

    gguf: bool = False
    """Write model.gguf besides, for llama.cpp."""

    folder: Path | None = None
    """The folder of the probe that was answered; that of the answers if left out."""

    dtype: str | None = None
    """Precision in which the engine computes: float32, float16 or bfloat16; that of the answers if left out."""

    def run(self) -> Answer:
        if self.subject[:1] == (READ,):
            return self._read()
        if len(self.subject) != 1:
            raise ValueError(f"CONFIG must be one file, or `read` and one of answers; got {self.subject!r:.100}.")
        if self.to is None or self.folder is not None or self.dtype is not None:
            raise ValueError("to must be given for a config, and --folder and --dtype left out. Write --to probe.")
        from posenc.probe import write_probe

        folder = write_probe(
            self.subject[0], self.to, length=self.length, layers=self.layers, position_ids=self.position_ids,
            gguf=self.gguf,
        )  # fmt: skip
        names = sorted(path.name for path in folder.iterdir())
        advice = f"Run the prompts of {folder}/probe.json, then: posenc probe read ANSWERS --folder {folder}"
        return Answer(
            lambda: {"folder": folder, "files": names}, lambda: [f"wrote {folder}: {', '.join(names)}", advice]
        )

    def _read(self) -> Answer:
        from posenc.probe import read_probe

        writing = (self.to, self.length, self.layers, self.position_ids or None, self.gguf or None)
        if len(self.subject) != 2 or any(option is not None for option in writing):
            raise ValueError(
                "ANSWERS must be one file, and --to, --length, --layers, --position-ids and --gguf left out. Write "
                "posenc probe read answers.npz --folder probe."
            )
        answers = Path(self.subject[1])
        reading = read_probe(self.folder or answers.parent, answers, dtype=self.dtype)
        return of_report(reading, code=reading.diagnosis.exit_code, verdict=reading.diagnosis.verdict)
