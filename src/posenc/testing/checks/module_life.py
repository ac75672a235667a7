"""Checks of the life of a PyTorch module: casts, checkpoints, copies and the meta device change no angle."""

from __future__ import annotations

import copy
import pickle
from importlib import import_module
from typing import Any, cast

import numpy as np

from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.testing.checks.learning import LEARNED
from posenc.testing.door_probe import array, array_module, as_numpy, head_width, hidden_input, number_of_heads
from posenc.testing.named_check import ensure, named_check, same_bits

POSITIONS = (0, 3, 1, 4)


def _module(encoding: Encoding, seed: int = 0) -> Any:
    """Make the PyTorch module of an encoding."""
    return import_module("posenc.torch").module(encoding, seed=seed)


def _forward(module: Any, encoding: Encoding) -> Any:
    """Result of a module for fixed float32 content at fixed places."""
    torch, positions = array_module("torch"), array(POSITIONS, "torch")
    if isinstance(encoding, AdditiveEncoding):
        return module(_drawn(torch, (2, len(POSITIONS), encoding.width), 1), positions)
    if encoding.door == "biases":
        return module(positions, positions)
    q, k = (
        _drawn(torch, (1, number_of_heads(encoding), len(POSITIONS), head_width(encoding)), seed) for seed in (1, 2)
    )
    if isinstance(encoding, RotaryEncoding) and "value" in encoding.roles:
        return torch.cat([module(k, positions, layout="bhtd"), module.back(q, positions, layout="bhtd")])
    if isinstance(encoding, RotaryEncoding):
        return torch.cat([part.flatten() for part in module(q, k, positions, positions, layout="bhtd")])
    return module(
        q,
        k,
        positions,
        positions,
        hidden=hidden_input(encoding, len(POSITIONS), len(POSITIONS), (1,), name="torch", dtype="float32"),
    )


def _drawn(torch: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Draw normal numbers in float32."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _bits(what: str, result: Any, wanted: Any) -> None:
    """Fail unless two tensors have the same bits."""
    same_bits(what, as_numpy(result), as_numpy(wanted))


@named_check("Tables in a checkpoint go stale; tables in buffers get cast.", needs=("torch",))
def module_holds_what_is_learned(encoding: Encoding) -> None:
    module = _module(encoding)
    kept_shapes = sorted(tuple(value.shape) for value in module.state_dict().values())
    wanted = sorted(tuple(shape) for shape in encoding.shapes.values())
    ensure(
        kept_shapes == wanted,
        f"state_dict: expected tensors of the shapes that are learned, {wanted}, got {kept_shapes}.",
    )
    kept = [name for name, _ in module.named_buffers()]
    ensure(not kept, f"buffers: expected none, got {kept}.")
    trained = [value.requires_grad for value in module.parameters()]
    ensure(
        len(trained) == len(wanted) and all(trained),
        f"parameters: expected {len(wanted)} that are trained, got {trained}.",
    )


@named_check("One seed, one model.", claims=LEARNED, needs=("torch",))
def module_draws_from_its_seed(encoding: Encoding) -> None:
    wanted = encoding.init(np.random.default_rng(3))
    result = {name: as_numpy(value) for name, value in cast(Any, _module(encoding, 3).params).items()}
    ensure(set(result) == set(wanted), f"params of the module: expected {sorted(wanted)}, got {sorted(result)}.")
    for name, value in wanted.items():
        same_bits(
            f"params[{name!r}] of the module with seed 3 against init", result[name], np.asarray(value, np.float32)
        )


@named_check("model.to(bfloat16) breaks long contexts silently.", needs=("torch",))
def module_cast_changes_no_angle(encoding: Encoding) -> None:
    if encoding.shapes:
        return
    torch = array_module("torch")
    wanted = _forward(_module(encoding), encoding)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        module = _module(encoding).to(dtype)
        _bits(f"a module cast to {dtype}", _forward(module, encoding), wanted)
        _bits(f"a module cast to {dtype} and back", _forward(module.float(), encoding), wanted)


@named_check("Large models are created on the meta device, where buffers have no values.", needs=("torch",))
def module_survives_the_meta_device(encoding: Encoding) -> None:
    torch = array_module("torch")
    source = _module(encoding, 1)
    with torch.device("meta"):
        module = _module(encoding)
    module = module.to_empty(device="cpu")
    module.load_state_dict(source.state_dict())
    _bits("a module made on the meta device and loaded", _forward(module, encoding), _forward(source, encoding))


@named_check("Workers and averages copy modules.", needs=("torch",))
def module_copies_are_equal(encoding: Encoding) -> None:
    module = _module(encoding, 1)
    wanted = _forward(module, encoding)
    _bits("a deep copy of a module", _forward(copy.deepcopy(module), encoding), wanted)
    _bits("a pickled module", _forward(pickle.loads(pickle.dumps(module)), encoding), wanted)


@named_check("A checkpoint must restore the model.", claims=LEARNED, needs=("torch",))
def module_state_round_trips(encoding: Encoding) -> None:
    source, other = _module(encoding, 1), _module(encoding, 2)
    other.load_state_dict(source.state_dict())
    _bits("a module that loaded another's state", _forward(other, encoding), _forward(source, encoding))


@named_check("A parameter that the module copies is never trained.", claims=LEARNED, needs=("torch",))
def module_trains(encoding: Encoding) -> None:
    torch = array_module("torch")
    module = _module(encoding, 1)
    before = _forward(module, encoding)
    total = before.square().sum()
    if encoding.door == "scores":
        extra = module.values(
            torch.rand(1, number_of_heads(encoding), 4, 4, generator=torch.Generator().manual_seed(0)),
            array(POSITIONS, "torch"),
            array(POSITIONS, "torch"),
        )
        total = total if extra is None else total + extra.square().sum()
    total.backward()
    for name, value in module.named_parameters():
        ensure(value.grad is not None, f"{name}: expected a gradient through the module, got none.")
    changed = False
    for step in (1.0, -2.0):  # one of which a parameter that is kept within bounds may not show
        with torch.no_grad():
            for value in module.parameters():
                value.add_(step)
        changed = changed or bool((_forward(module, encoding) != before).any())
    ensure(
        changed,
        "a module whose parameters moved: expected another answer, got the same.",
    )


@named_check("A first use in inference mode must not poison training.", needs=("torch",))
def module_modes_agree(encoding: Encoding) -> None:
    module = _module(encoding)
    wanted = _forward(module.train(), encoding)
    _bits("a module in eval mode", _forward(module.eval(), encoding), wanted)
    with array_module("torch").inference_mode():
        _forward(module, encoding)
    _bits("a module after inference_mode", _forward(module.train(), encoding), wanted)
