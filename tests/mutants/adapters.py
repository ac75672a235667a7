"""Bugs in the PyTorch adapter: the encoding is right, the module that holds it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

from mutants.bug import Bug
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal

TABLE, WRAPPED, WAVES = Learned(dim=4, length=12), Learned(dim=4, length=12, outside="wrap"), Sinusoidal(dim=8)


def _replaced(make: Callable[..., Any]) -> AbstractContextManager[object]:
    import posenc.torch

    return mock.patch.object(posenc.torch, "module", make)


class _Forwarded:
    """A base for broken modules, made where PyTorch is imported."""

    @staticmethod
    def made(encoding: Any, seed: int) -> Any:
        from posenc.torch.modules.modules import module

        return module(encoding, seed=seed)


def table_in_a_buffer() -> AbstractContextManager[object]:
    import torch

    class Buffered(torch.nn.Module):
        def __init__(self, encoding: Any) -> None:
            super().__init__()
            self.register_buffer("table", encoding.embed(torch.arange(64)))

        def forward(self, x: Any, positions: Any) -> Any:
            return x + self.table[positions]

    return _replaced(lambda encoding, *, seed=0: Buffered(encoding))


def seed_ignored() -> AbstractContextManager[object]:
    return _replaced(lambda encoding, *, seed=0: _Forwarded.made(encoding, 11))


@contextmanager
def copy_draws_again() -> Iterator[None]:
    from posenc.torch.modules.encoding_module import EncodingModule

    def again(self: Any, memo: Any) -> Any:
        return _Forwarded.made(self.encoding, 99)

    with mock.patch.object(EncodingModule, "__deepcopy__", again, create=True):
        yield


@contextmanager
def loading_does_nothing() -> Iterator[None]:
    from posenc.torch.modules.encoding_module import EncodingModule

    with mock.patch.object(EncodingModule, "load_state_dict", return_value=None):
        yield


@contextmanager
def parameters_detached() -> Iterator[None]:
    from posenc.torch.modules.encoding_module import EncodingModule

    original = EncodingModule.params.fget  # type: ignore[attr-defined]

    def held(self: Any) -> Any:
        found = original(self)
        return None if found is None else {name: value.detach() for name, value in found.items()}

    with mock.patch.object(EncodingModule, "params", property(held)):
        yield


@contextmanager
def louder_in_training() -> Iterator[None]:
    from posenc.torch.modules.modules import Add

    original = Add.forward

    def forward(self: Any, x: Any, positions: Any) -> Any:
        result = original(self, x, positions)
        return 2 * result if self.training else result

    with mock.patch.object(Add, "forward", forward):
        yield


BUGS = (
    Bug("the table is a buffer", WAVES, "module_cast_changes_no_angle", planted=table_in_a_buffer),
    Bug("every module draws the same parameters", TABLE, "module_draws_from_its_seed", planted=seed_ignored),
    Bug("a copy draws new parameters", TABLE, "module_copies_are_equal", planted=copy_draws_again),
    Bug("a checkpoint is not read", TABLE, "module_state_round_trips", planted=loading_does_nothing),
    Bug("parameters are copies", WRAPPED, "module_trains", planted=parameters_detached),
    Bug("training and evaluation differ", WAVES, "module_modes_agree", planted=louder_in_training),
)
