"""`posenc audit`: does a loaded model compute the same for the same tokens, however they are given?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from posenc.cli.answer import Answer, Verb, of_report
from posenc.cli.user_run import running_code_of
from posenc.cli.working import working
from posenc.diagnosis.code.user_file import load_target


@dataclass(frozen=True)
class AuditVerb(Verb):
    """Run a loaded causal language model over the same tokens in several ways, and say which change what it computes.

    FILE.py is your own file (posenc runs it), MODEL a loaded model of transformers in it. Compared are rows in a batch
    and alone, behind padding, packed into one row, with a cache, in chunks, shifted, generated and then trained on, in
    bfloat16 and under autocast. What rounding allows is measured with a copy of the model in float64.

    Exit code: 0 when every check holds, 1 when one breaks, 2 when the model cannot be run, 3 when those that could be
    compared hold.

    Some examples:
      posenc audit mine.py:model
      posenc audit mine.py:model --length 64 --json
    """

    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE.py:MODEL")]
    """The loaded model."""

    length: int = 24
    """Tokens in a row; more than a window holds show the window."""

    def run(self) -> Answer:
        model = load_target(self.model)
        from posenc.transformers import audit

        with working("running the model in several ways, in float32 and in float64"), running_code_of(self.model):
            report = audit(model, length=self.length)
        return of_report(report, report.exit_code, verdict=report.verdict)
