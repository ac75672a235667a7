"""The command line: `posenc tour | explain | plot | recover | list | check | plan | diff | doctor | convert`."""

from posenc.cli.main import main

__all__ = ["main"]
