"""Reasons why a model or an encoding is refused before anything in the model is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import torch

from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, RotaryEncoding
from posenc.core.rotation import of_pairs
from posenc.encodings.adds.learned import Learned


def unsupported(model_type: str, why: str) -> ValueError:
    """Error for a model whose positions cannot be replaced."""
    return ValueError(f"model must do with positions what can be replaced; got {model_type!r}: {why}.")


def check_torch_module(model: Any) -> None:
    """Refuse what is no torch module."""
    validation.instance("model", model, torch.nn.Module, "a loaded model of transformers")


def check_reads_tokens(model: Any) -> None:
    """Refuse what is no loaded model of transformers that embeds tokens."""
    check_torch_module(model)
    if not hasattr(getattr(model, "config", None), "get_text_config"):
        raise TypeError(f"model must be a loaded model of transformers; got {type(model).__name__}.")
    try:
        model.get_input_embeddings().weight, model.config.get_text_config().vocab_size
    except (AttributeError, NotImplementedError) as error:
        raise ValueError(
            f"model must read tokens; got {type(model).__name__}: {error}. Give the model that embeds them."
        ) from error
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ValueError("model must have its weights; got parameters on the meta device. Load them first.")


def check_unchanged(modules: Mapping[str, Any], attribute: str, rule: str, change: str) -> None:
    """Refuse modules, by name, that hold an attribute which only an earlier change can have given them."""
    for name, module in modules.items():
        if attribute in vars(module) or attribute in getattr(module, "_modules", {}):
            raise ValueError(f"model must {rule}; got {change} {name}. Undo that first.")


def check_attention_implementation(name: str, known: Mapping[str, str]) -> None:
    """Refuse an implementation of attention to whose logits nothing can be added."""
    if name not in (*known, *known.values()):
        raise ValueError(
            f"model must attend by one of {list(known)} for what acts inside attention; got {name!r}. Call "
            "model.set_attn_implementation('sdpa') before the swap."
        )


def checked_layer_numbers(layers: Any, known: Sequence[int]) -> list[int]:
    """Numbers of layers in order, each once; all that are known for None."""
    if layers is None:
        return list(known)
    if isinstance(layers, str | bytes) or not isinstance(layers, Iterable) or hasattr(layers, "ndim"):
        raise TypeError(f"layers must be numbers of layers; got {validation.shown(layers)}. Give [0, 1], say.")
    numbers = list(islice(layers, len(known) + 1))  # of more, one is named twice or not there
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"layers must be numbers of layers; got {validation.shown(number)}. Give [0, 1], say.")
    if not numbers or len(set(numbers)) < len(numbers) or not set(numbers) <= set(known):
        raise ValueError(f"layers must be some of {sorted(known)}, each once; got {numbers}. Leave layers out for all.")
    return sorted(numbers)


def check_schedule(given: int, wanted: int, layers: Any) -> None:
    """Refuse a schedule for another number of layers than the model has, or one next to `layers`."""
    if layers is not None or given != wanted:
        raise ValueError(
            f"encoding must be a schedule for all of the model's {wanted} layers, without layers; got one for {given}"
            f"{'' if layers is None else ' and layers'}. Give one encoding a layer."
        )


def check_all_layers(numbers: list[int], known: int, *, added: Any, scheduled: bool, table: str | None) -> None:
    """Refuse a selection of layers where the input of all is changed: an added encoding, or a replaced table."""
    some = len(numbers) < known
    if added is not None and (some or scheduled):
        raise ValueError(
            f"layers must be left out for {added!r}, which is added to the input of all; got {numbers}. Leave layers "
            "out."
        )
    if table is not None and some:
        raise ValueError(
            f"layers must be left out for this model, whose own positions are added at its input, by {table}; got "
            f"{numbers}. Leave layers out, or give PerLayer."
        )


def check_keeps_rows(added: Iterable[Any], table: str, rows: int) -> None:
    """Refuse a randomly initialised `Learned` table in place of a trained one."""
    for one in added:
        if isinstance(one, Learned):
            raise ValueError(
                f"encoding must not put random numbers in place of the {rows} rows of {table}; got {one!r}. Keep them "
                "with posenc.transformers.extend_table(model, length, way='stretch'), 'repeat', 'last' or 'draw'; or "
                "give posenc.torch.module(Learned(...)), whose numbers are yours."
            )


def check_made_for(encoding: Any, *, width: int, heads: int, head_dim: int, layer: int, window: int | None) -> None:
    """Refuse an encoding that was made for another shape than the model's, or for keys that a window hides."""
    if encoding.axes > 1:
        raise ValueError(
            f"encoding must take one coordinate, as position_ids are; got {encoding!r}, which takes {encoding.axes}. "
            "Use an encoding of one."
        )
    wanted: dict[type, dict[str, int]] = {
        AdditiveEncoding: {"width": width},
        RotaryEncoding: {"head_dim": head_dim, "heads": heads},
        AttentionBias: {"heads": heads},
        AttentionScore: {"dim": head_dim, "heads": heads, "model_dim": width},
    }
    sizes = next((sizes for door, sizes in wanted.items() if isinstance(encoding, door)), {})
    for name, size in sizes.items():
        if getattr(encoding, name, None) not in (None, size):
            raise ValueError(
                f"encoding must have the model's {name}, {size}; got {encoding!r}, with {getattr(encoding, name)}. "
                "Build the encoding for this model."
            )
    if window is not None and getattr(encoding, "gathers", False):
        raise ValueError(
            f"encoding must not read the keys in between where a window hides them; got {encoding!r} for layer "
            f"{layer}, with a window of {window}. Give layers of full attention alone."
        )


def check_rotary_module(encoding: Any) -> None:
    """Refuse an encoding that cannot replace the rotary module of a transformers model."""
    validation.instance("encoding", encoding, RotaryEncoding, "an encoding that rotates")
    if encoding.shapes:
        raise ValueError(f"encoding must have no parameters here; got {encoding!r}. Use posenc.torch.Rotate.")
    if encoding.axes > 1:
        raise ValueError(
            f"encoding must take one coordinate, as position_ids are; got {encoding!r}. Use posenc.torch.Rotate."
        )
    pairing = of_pairs("encoding", encoding.rotation([0])).pairing
    if (pairing.layout, pairing.start, pairing.blocks) != ("halves", 0, 1):
        raise ValueError(
            f"encoding must pair halves from channel 0, as apply_rotary_pos_emb does; got {encoding!r}. "
            "Say pairing='halves'."
        )
