"""What a live rotary module answers: frequencies, tables of one value a pair, and vectors rotated by the model's own
function."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from model_peers.rotary import Peer
from posenc import Pairing

HEADS = 3


def buffer(module: torch.nn.Module, labels: tuple[str, ...]) -> torch.Tensor:
    """The frequencies of one type of layer."""
    held = dict(module.named_buffers())
    for label in labels:
        if f"{label}_inv_freq" in held:
            return held[f"{label}_inv_freq"]
    return held["inv_freq"]


def factor(module: torch.nn.Module, labels: tuple[str, ...]) -> float | None:
    """The attention factor of one type of layer; None where the module has none."""
    for label in labels:
        if hasattr(module, f"{label}_attention_scaling"):
            return getattr(module, f"{label}_attention_scaling")
    return getattr(module, "attention_scaling", None)


def raw(
    module: torch.nn.Module, positions: torch.Tensor, labels: tuple[str, ...], vision: bool
) -> tuple[torch.Tensor, ...]:
    """cos and sin as the module gives them for positions (n,) or (n, axes), or one complex table."""
    known = inspect.signature(module.forward).parameters
    if "position_ids" not in known:  # the conformers of speech models take the length of their input
        cos, sin = module(torch.zeros(1, len(positions), 8)).squeeze(2).transpose(1, 2)
        return cos, sin
    names = [label for label in labels if f"{label}_inv_freq" in dict(module.named_buffers())]
    arguments: dict[str, Any] = {"layer_type": names[0]} if names and "layer_type" in known else {}
    if positions.ndim == 1:
        positions = positions[None]
    elif not vision:
        positions = positions.T[:, None]
    elif "Gemma4" in type(module).__name__:
        positions = positions[None]
    made = module(torch.zeros(1, positions.shape[-1], 8), position_ids=positions, **arguments)
    return made if isinstance(made, tuple) else (made,)


def halved(table: torch.Tensor, pairing: Pairing) -> torch.Tensor:
    """One value a pair, (n, pairs), whichever way the module repeats them."""
    table = table.reshape(-1, table.shape[-1])
    pairs = pairing.width // 2
    if table.shape[-1] == pairs:
        return table
    assert table.shape[-1] == 2 * pairs
    for first, second in (
        (table[:, :pairs], table[:, pairs:]),
        (table[:, 0::2], table[:, 1::2]),
        pairing.split(table),
    ):
        if torch.equal(first, second):
            return first
    raise AssertionError("the two channels of a pair turn differently")


def tables(made: tuple[torch.Tensor, ...], pairing: Pairing) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, (n, pairs)."""
    if len(made) == 1:
        return made[0].real[0], made[0].imag[0]
    cos, sin = (halved(table, pairing) for table in made)
    return cos, sin


def rotated(peer: Peer, x: torch.Tensor, made: tuple[torch.Tensor, ...], pairing: str, vision: bool) -> torch.Tensor:
    """x, (1, heads, n, d), rotated by the model's own function, its channels in the order of x."""
    module = peer.module
    if len(made) == 1:
        complex_layout = "unsqueeze" in inspect.getsource(module.apply_rotary_emb)
        y = x if complex_layout else x.transpose(1, 2)
        out = module.apply_rotary_emb(y, y, made[0])[0]
        return out if complex_layout else out.transpose(1, 2)
    if vision:
        return _seen(module, x, made)
    if pairing == "adjacent" and hasattr(module, "apply_rotary_pos_emb_interleave"):
        out = module.apply_rotary_pos_emb_interleave(x, x, *made)[0]
        first, second = out.chunk(2, -1)  # it sorts the channels on the way; scores cannot tell
        return torch.stack([first, second], -1).flatten(-2)
    apply = module.apply_rotary_pos_emb
    out = apply(x, *made) if "k" not in inspect.signature(apply).parameters else apply(x, x, *made)
    return out[0] if isinstance(out, tuple) else out


def _seen(module: Any, x: torch.Tensor, made: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """x rotated by the function of a vision tower, whichever layout it takes."""
    for name in ("apply_rotary_pos_emb_2d", "apply_rotary_pos_emb_2d_self_attn"):
        if hasattr(module, name):
            return getattr(module, name)(x, x, *made)[0]
    if hasattr(module, "apply_multidimensional_rope"):
        places = torch.zeros(1, x.shape[2], 2)
        return module.apply_multidimensional_rope(x.transpose(1, 2), *made, places).transpose(1, 2)
    if hasattr(module, "apply_rotary_pos_emb_vision"):
        y = x[0].transpose(0, 1)
        return module.apply_rotary_pos_emb_vision(y, y, *made)[0].transpose(0, 1)[None]
    return module.apply_rotary_pos_emb(x, x, *made, unsqueeze_dim=0)[0]
