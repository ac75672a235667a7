"""`posenc doctor`: do two stacks agree about positions, and which mistake makes them differ?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc.cli import show
from posenc.cli.implementation import implementation
from posenc.diagnosis.code.user_file import load

#: What is read as arrays, or refused as a pickle, by the library itself.
FILES = (".npz", ".safetensors", ".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")


@dataclass(frozen=True)
class Doctor:
    """Compare two configs, or a config with what runs, and name the known mistake that makes them differ, in one sentence.

    The first is what is meant. The second is another config or record; arrays in an .npz or .safetensors file (inv_freq; cos and
    sin; q and q_rotated, k and k_rotated; or q, k and logits; with positions where they are not 0, 1, 2, ...; of ALiBi and T5 bias, or
    q, k and logits of all heads, and the table); or FILE.py:NAME, a torch module of your own, whose file is then run. Mistakes are
    tried alone and in pairs. What no logit can see is not flagged: other spellings of the same, one shift of all positions under a
    rotation, float32 rounding.

    Exit code 0 when they agree, 1 when they differ, 2 when they cannot be compared.

    examples:
      posenc doctor config.json served.json
      posenc doctor config.json dumped.npz
      posenc doctor "RoPE(dim=64, base=500_000, pairing='halves')" "RoPE(dim=64)" --json
    """

    expected: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|CONFIG")]
    """What is meant: a record, a config.json, its folder, or a .gguf file."""

    actual: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|CONFIG|ARRAYS|MODULE")]
    """What is there."""

    layer: int | None = None
    """Of which layer the arrays are, where layers differ."""

    part: Annotated[str | None, tyro.conf.arg(metavar="PART")] = None
    """Of which part, encoder or decoder, say, where parts differ."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """bhtd or bthd, for q and k with heads."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        from posenc.diagnosis import diagnose

        expected, actual = implementation("expected", self.expected), _actual(self.actual)
        diagnosis = diagnose(expected, actual, layer=self.layer, layout=self.layout, part=self.part)
        show.result(diagnosis, as_json=self.json)
        return 0 if diagnosis.agree else 1


def _actual(text: str) -> Any:
    if Path(text).suffix in FILES:
        return text
    file, colon, _ = text.rpartition(":")
    if colon and file.endswith(".py"):
        return load(text)
    return implementation("actual", text)
