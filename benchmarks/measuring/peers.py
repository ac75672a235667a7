"""Rotations of other libraries, live, each given a problem in the form that suits it best."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring.measure import Maker, Variant, timed
from measuring.problem import DIM, Problem

EAGER, COMPILED = "transformers eager", "transformers compiled"
COMPLEX = "complex multiply, as Meta's Llama"


def peers(given: Problem, *, compiled: bool = True) -> dict[str, Maker]:
    """Those that pair channels as the problem does, by name."""
    of_halves: dict[str, Callable[[Problem], Variant]] = {EAGER: transformers_eager}
    if compiled:
        of_halves[COMPILED] = transformers_compiled
    of_adjacent = {
        COMPLEX: complex_multiply,
        "torchtune": torchtune,
        "x-transformers": x_transformers,
        "rotary-embedding-torch": rotary_embedding_torch,
    }
    chosen = of_halves if given.pairing == "halves" else of_adjacent
    return {name: (lambda make=make: make(given)) for name, make in chosen.items()}


def wide_tables(given: Problem) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines as Hugging Face's models hand them on: every one twice, (batch, time, dim), in the dtype of
    q."""
    cos, sin = (torch.cat([part, part], -1).to(given.q.dtype) for part in (given.rotation.cos, given.rotation.sin))
    return (cos, sin) if cos.ndim == 3 else (cos[None], sin[None])


def transformers_eager(given: Problem, wrapped: Callable[[Any], Any] = lambda function: function) -> Variant:
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = wide_tables(given)
    applied, axis = wrapped(apply_rotary_pos_emb), given.heads_axis
    return timed(lambda: applied(given.q, given.k, cos, sin, unsqueeze_dim=axis))


def transformers_compiled(given: Problem) -> Variant:
    return transformers_eager(given, lambda function: torch.compile(function, dynamic=False, fullgraph=True))


def complex_multiply(given: Problem) -> Variant:
    """Neighbours as the parts of a complex number, times e^{iθ}: as in Meta's Llama, written by us."""
    table = torch.complex(given.rotation.cos, given.rotation.sin)
    table = (table if table.ndim == 3 else table[None]).unsqueeze(given.heads_axis)

    def rotated(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * table).flatten(-2).type_as(x)

    return timed(lambda: (rotated(given.q), rotated(given.k)))


def torchtune(given: Problem) -> Variant:
    """Its one file, which needs torch alone; heads behind time."""
    package = importlib.util.find_spec("torchtune")
    if package is None or not package.submodule_search_locations:
        raise ImportError("torchtune is not installed: pip install --no-deps torchtune")
    path = Path(package.submodule_search_locations[0]) / "modules" / "position_embeddings.py"
    spec = importlib.util.spec_from_file_location("position_embeddings_of_torchtune", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} of torchtune cannot be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rotary = module.RotaryPositionalEmbeddings(dim=DIM, max_seq_len=int(given.places.max()) + 1)
    where = None if given.places.ndim == 1 else given.places

    def rotated(x: torch.Tensor) -> torch.Tensor:
        if given.layout == "bthd":
            return rotary(x, input_pos=where)
        return rotary(x.transpose(1, 2), input_pos=where).transpose(1, 2)

    return timed(lambda: (rotated(given.q), rotated(given.k)))


def x_transformers(given: Problem) -> Variant:
    """Angles made once, as its attention layers share them; heads before time."""
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    angles, _ = RotaryEmbedding(DIM)(given.places)

    def rotated(x: torch.Tensor) -> torch.Tensor:
        if given.layout == "bhtd":
            return apply_rotary_pos_emb(x, angles)
        return apply_rotary_pos_emb(x.transpose(1, 2), angles).transpose(1, 2)

    return timed(lambda: (rotated(given.q), rotated(given.k)))


def rotary_embedding_torch(given: Problem) -> Variant:
    """Its method for a row of positions from 0; for positions of their own its function, with angles made before."""
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    rotary = RotaryEmbedding(DIM)
    if given.places.ndim == 1:
        axis = -2 if given.layout == "bhtd" else -3
        return timed(lambda: tuple(rotary.rotate_queries_or_keys(x, seq_dim=axis) for x in given.pair))
    angles = rotary(given.places.float()).unsqueeze(given.heads_axis)
    return timed(lambda: tuple(apply_rotary_emb(angles, x) for x in given.pair))
