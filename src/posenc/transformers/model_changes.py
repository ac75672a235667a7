"""Changes to a loaded model that can be undone, and the few tokens on which they are proved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import torch


@dataclass(frozen=True, eq=False)
class ModelChange:
    """Change of a loaded model, taken back by `undo()` or at the end of a `with` block."""

    _stack: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def _undone_by(self, stack: ExitStack) -> Self:
        """Take over the callbacks of a stack, which `undo` calls."""
        self._stack.push(stack.pop_all())
        return self

    def undo(self) -> None:
        """Take the change back: the model computes what it did before."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()


def replace_attribute(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Replace an attribute of a Python module, a torch module or another object until the stack is closed.

    A callback, not a generator: the change must stay in place where a result that nobody keeps is collected.
    """
    attributes = vars(owner)
    if name in attributes:
        stack.callback(attributes.__setitem__, name, attributes[name])
    else:
        stack.callback(attributes.pop, name, None)
    attributes[name] = value


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put every module of a model into evaluation mode; afterwards those that were training train again."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def few_tokens(model: Any, count: int, padded: int) -> tuple[Any, Any]:
    """Draw token ids (2, count) and their mask, 0 where the second row begins with `padded` tokens of padding."""
    vocabulary = model.config.get_text_config().vocab_size
    ids = torch.randint(vocabulary, (2, count), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, :padded] = 0
    device = model.get_input_embeddings().weight.device
    return ids.to(device), mask.to(device)


def largest_gap(ours: Any, theirs: Any) -> float:
    """Largest difference of two tensors in float32; infinite where shapes differ, or unequal numbers are not finite.

    Equal infinities, as in logits that both models mask, do not differ.
    """
    if ours.shape != theirs.shape:
        return math.inf
    gaps = (ours.float() - theirs.float()).abs().masked_fill(ours == theirs, 0.0)
    gap = float(gaps.max()) if gaps.numel() else 0.0
    return gap if math.isfinite(gap) else math.inf


def share_of_allowed(gap: float, allowed: float) -> float:
    """A gap as a share of what is allowed; infinite where either is not finite, which `max` would pass over."""
    return gap / allowed if math.isfinite(gap) and math.isfinite(allowed) else math.inf
