"""The public conformance suite, for any encoding; posenc's own tests and their oracles live in `tests`.

`check_encoding(record)` runs every check for the record's door and claims, on encodings of the catalog and on anyone's
own. A claim is checked both ways: what is claimed must hold, what is not claimed must fail to hold. Checks that need
PyTorch or JAX run where these are installed, and the report says which were left out.
"""

from posenc.testing.named_check import Check, CheckFailed
from posenc.testing.suite import ALL_CHECKS, check_encoding, checks_for
from posenc.testing.suite_report import Outcome, Report

__all__ = ["ALL_CHECKS", "Check", "CheckFailed", "Outcome", "Report", "check_encoding", "checks_for"]
