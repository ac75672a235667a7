"""The command line, one file for each verb; what a verb computes lives in `inspect`, `models` or `diagnosis`."""

from posenc.cli.main import main

__all__ = ["main"]
