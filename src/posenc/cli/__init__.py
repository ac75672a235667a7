"""The command line: `posenc tour | explain | plot | recover | list | check`."""

from posenc.cli.main import main

__all__ = ["main"]
