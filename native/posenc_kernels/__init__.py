"""The library of compiled kernels; `posenc.kernels.native` loads it."""

from pathlib import Path

__version__ = "0.1.0"


def library() -> Path:
    """Where the compiled library lies."""
    return Path(__file__).with_name("library.so")
