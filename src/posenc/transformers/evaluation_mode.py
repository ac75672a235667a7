"""A model in evaluation mode for as long as a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put every module of a model into evaluation mode; afterwards those that were training train again."""
    training = [each for each in model.modules() if each.training]
    model.eval()
    try:
        yield
    finally:
        for each in training:
            each.training = True
