"""Why two implementations differ: one search, and mistakes by room; what differs is measured in `models`."""

from posenc.diagnosis.code.check_code import check_code
from posenc.diagnosis.code.code_report import CodeReport
from posenc.diagnosis.compare_implementations import diagnose
from posenc.diagnosis.mistake import Finding, Mistake
from posenc.diagnosis.model_capture import Capture, capture
from posenc.diagnosis.search import explain
from posenc.diagnosis.verdict import Diagnosis

__all__ = ["Capture", "CodeReport", "Diagnosis", "Finding", "Mistake", "capture", "check_code", "diagnose", "explain"]
