"""RoPE of each group of layers as plain numbers, for formats with keys for only one or two rotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.compose import Partial
from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Scaling
from posenc.models.model_positions import LayerGroup, ModelPositions, Value
from posenc.models.pair_rotation import unwrapped
from posenc.models.served_length import other_lengths, served_at


@dataclass(frozen=True)
class SingleRotation:
    """The rotation of a group: `width` of `dim` channels rotate, from `start` on."""

    group: LayerGroup
    base: float
    dim: int
    width: int
    start: int
    pairing: PairLayout
    scaling: Scaling | None


def single_rotation(group: LayerGroup, form: str) -> SingleRotation | None:
    """The one rotation of a group, None for layers without one; ValueError for what the format cannot say."""
    more = group.offset or group.logit_factor != 1.0 or group.query_temperature is not None or group.roles
    more = more or len(group.encodings) > 1
    encoding = group.encodings[0] if group.encodings else None
    inner = encoding.encoding if isinstance(encoding, Partial) else encoding
    if more or not isinstance(inner, RoPE | None):
        raise ValueError(
            f"positions must be a plain rotation to be written as {form}; got {group.encodings!r:.100}"
            f"{' and more' if more else ''}. It has no keys for that."
        )
    if inner is None:
        return None
    head, start = (encoding.dim, encoding.start) if isinstance(encoding, Partial) else (inner.dim, 0)
    return SingleRotation(group, inner.base, head, inner.dim, start, inner.pairing, inner.scaling)


def only_rotation(positions: ModelPositions, form: str, *, of_all_layers: bool = False) -> SingleRotation:
    """Return the one rotation of a model; with `of_all_layers`, every layer must have it."""
    check_one_part(positions, form)
    groups = [single_rotation(group, form) for group in positions.groups]
    rotations = [rotation for rotation in groups if rotation is not None]
    if len(rotations) != 1 or (of_all_layers and len(groups) != 1):
        raise ValueError(
            f"positions must have one rotation{' for all layers' * of_all_layers} to be written as {form}; "
            f"got {len(rotations)} in {len(groups)} groups of layers. It has no keys for that."
        )
    return rotations[0]


def every_nth(interval: int, layers: tuple[int, ...]) -> frozenset[int]:
    """Every n-th layer, none if n is 0."""
    return frozenset(layer for layer in layers if interval and (layer + 1) % interval == 0)


def groups_by_rotation(
    layers: tuple[int, ...], unrotated: frozenset[int], encoding: RotaryEncoding, values: tuple[Value, ...]
) -> tuple[LayerGroup, ...]:
    """Make a group of the layers that rotate and one of those that do not, leaving out an empty one."""
    rotated = tuple(layer for layer in layers if layer not in unrotated)
    groups = (
        LayerGroup("text", "full_attention", rotated, (encoding,), values=values),
        LayerGroup("text", "no rotation", tuple(sorted(unrotated)), (), values=values),
    )
    return tuple(group for group in groups if group.layers)


def check_positions(positions: Any) -> None:
    """Raise a TypeError unless `positions` is what every reader returns, a ValueError where it has no layers."""
    validation.instance("positions", positions, ModelPositions, "what a reader of posenc.models returned")
    if not positions.groups:
        raise ValueError(
            f"positions must have layers that attend; got a {positions.model_type}, which has none. There is nothing "
            "to write."
        )


def check_one_part(positions: Any, form: str) -> None:
    """`check_positions`, and a ValueError where a model has several parts, of which `form` is to hold the layers."""
    check_positions(positions)
    if len(positions.parts) > 1:
        raise ValueError(
            f"positions must be of one part to be written as {form}; got {', '.join(positions.parts)}. Give one: "
            f"ModelPositions(model.model_type, model.of({positions.main_part!r}))."
        )


def refuse_other_lengths(rotation: SingleRotation, longest: int, form: str) -> None:
    """Raise a ValueError where frequencies follow the length up to `longest`, of which `form` holds one set alone."""
    encoding = rotation.group.encodings[0]
    lengths = (*other_lengths(encoding, served=longest), longest)
    if len({unwrapped(served_at(encoding, length)).frequencies.exact() for length in lengths}) > 1:  # type: ignore[union-attr]
        raise ValueError(
            f"scaling must not follow the length up to {longest:,} to be written as {form}, which holds one set of "
            f"frequencies; got {rotation.scaling!r:.100}. Write those of one length: NTKAware, or equal lists."
        )


def refuse_windows(positions: ModelPositions, form: str) -> None:
    """Raise a ValueError where a layer has a window, which `form` would leave out."""
    window = next((group.window for group in positions.groups if group.window is not None), None)
    if window is not None:
        raise ValueError(
            f"window must be None to be written as {form}; got {window}. Set it by hand in the program that takes "
            "them, and write positions whose groups have none."
        )


def layer_count(positions: ModelPositions) -> int:
    """Count the layers."""
    return 1 + max(layer for group in positions.groups for layer in group.layers)


def unrotated_layers(positions: ModelPositions, rotation: SingleRotation) -> tuple[int, ...]:
    """The layers that do not rotate."""
    return tuple(layer for layer in range(layer_count(positions)) if layer not in rotation.group.layers)
