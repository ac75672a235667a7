"""Checks of parameters: what is learned is declared, drawn from the generator given, demanded, and used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.doors import Claim, Encoding
from posenc.testing.calls import called, values_term
from posenc.testing.door_probe import SOME, parameters, rows, sides
from posenc.testing.named_check import Check, close, ensure, refused, same_bits

LEARNED: frozenset[Claim] = frozenset({"learned"})


def _claim(encoding: Encoding) -> None:
    claimed, names = "learned" in encoding.claims, sorted(encoding.shapes)
    ensure(
        claimed == bool(names), f"learned is {'' if claimed else 'not '}claimed, and shapes names {names or 'nothing'}."
    )


def _shapes(encoding: Encoding) -> None:
    drawn = encoding.init(np.random.default_rng(0))
    result = {name: np.shape(value) for name, value in drawn.items()}
    ensure(result == encoding.shapes, f"init: expected the shapes {encoding.shapes}, got {result}.")
    for name, value in drawn.items():
        kind = np.asarray(value).dtype
        ensure(kind == np.float64, f"init: expected float64 for {name!r}, got {kind}.")
        ensure(bool(np.isfinite(value).all()), f"init: expected finite numbers for {name!r}.")


def _deterministic(encoding: Encoding) -> None:
    state = np.random.get_state()[1]  # type: ignore[index]
    before = np.array(state)
    one, other = (encoding.init(np.random.default_rng(5)) for _ in range(2))
    for name in one:
        same_bits(f"init(rng) twice with one seed, {name!r}", other[name], one[name])
    same_bits("NumPy's global random state after init", np.random.get_state()[1], before)  # type: ignore[index]


def _missing(encoding: Encoding) -> None:
    call = _with(encoding, None)
    refused("params=None", call, "params")
    for name in encoding.shapes:
        rest = {key: value for key, value in parameters(encoding).items() if key != name}
        refused(f"params without {name!r}", _with(encoding, rest), "params")


def _unknown(encoding: Encoding) -> None:
    refused(
        "params with a name too many", _with(encoding, parameters(encoding) | {"no_such_name": np.zeros(1)}), "params"
    )
    refused("params that are no mapping", _with(encoding, [1.0]), "params")


def _wrong_shape(encoding: Encoding) -> None:
    for name, value in parameters(encoding).items():
        wrong = parameters(encoding) | {name: np.zeros((*value.shape, 2))}
        refused(f"params[{name!r}] of shape {(*value.shape, 2)}", _with(encoding, wrong), "params")


def _all_used(encoding: Encoding) -> None:
    params = parameters(encoding)
    for name, value in params.items():
        moved = params | {name: value + np.random.default_rng(9).standard_normal(value.shape)}
        changed = any(
            not np.array_equal(
                rows(encoding, list(SOME), side=side, params=params),
                rows(encoding, list(SOME), side=side, params=moved),
            )
            for side in sides(encoding)
        )
        ensure(
            changed or _in_values(encoding, params, moved),
            f"params[{name!r}]: expected it to change a result, but it changes none.",
        )


def _narrow(encoding: Encoding) -> None:
    """Parameters held in float32 give the result of their float32 values."""
    single = {name: value.astype(np.float32) for name, value in parameters(encoding).items()}
    exact = {name: value.astype(np.float64) for name, value in single.items()}
    got = rows(encoding, list(SOME), params=single, dtype="float32")
    wanted = rows(encoding, list(SOME), params=exact, dtype="float64")
    close("float32 parameters", got, wanted, 64 * 2.0**-23 * (1 + float(np.abs(wanted).max(initial=0.0))))


def _with(encoding: Encoding, params: object) -> Callable[[], Any]:
    """A call with these parameters, as they are."""
    return lambda: called(encoding, [0, 1], [0, 1, 2], params)


def _in_values(encoding: Encoding, params: dict[str, np.ndarray], moved: dict[str, np.ndarray]) -> bool:
    one, other = (values_term(encoding, chosen) for chosen in (params, moved))
    return one is not None and other is not None and not np.array_equal(one, other)


CHECKS = (
    Check("claim_learned", _claim, "An optimiser needs every parameter, and only those that exist."),
    Check("init_matches_shapes", _shapes, "Adapters allocate by shapes and fill by init."),
    Check(
        "init_is_deterministic",
        _deterministic,
        "One seed must give one model, whatever else has drawn numbers.",
        claims=LEARNED,
    ),
    Check("params_missing_refused", _missing, "Forgotten parameters must not become zeros.", claims=LEARNED),
    Check("params_unknown_refused", _unknown, "An unknown name means that the checkpoint belongs to another model."),
    Check("params_wrong_shape_refused", _wrong_shape, "A table of another size must not broadcast.", claims=LEARNED),
    Check("every_parameter_is_used", _all_used, "A parameter that changes nothing is trained in vain.", claims=LEARNED),
    Check(
        "float32_parameters",
        _narrow,
        "Models keep float32 parameters, and results must be accurate for those.",
        claims=LEARNED,
    ),
)
