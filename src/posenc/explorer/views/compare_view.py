"""Two configs or encodings, compared by the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.diagnosis import diagnose
from posenc.explorer.views.config_view import checked_config
from posenc.explorer.views.view import View, bounded, encoding_of, script


@dataclass(frozen=True)
class CompareView(View):
    """Two configs as plain dicts, or two encodings as text, to compare."""

    expected: Any
    actual: Any

    def facts(self) -> dict[str, Any]:
        found = diagnose(_side("expected", self.expected), _side("actual", self.actual))
        return {
            "agree": found.agree,
            "verdict": found.verdict,
            "explained": found.explained,
            "lines": found.lines(),
            "findings": [finding.sentence for finding in found.findings],
            "code": script('print(diagnosis.diagnose("config.json", "served.json"))'),
        }


def _side(name: str, given: Any) -> Any:
    return bounded(encoding_of(name, given)) if isinstance(given, str) else checked_config(name, given)
