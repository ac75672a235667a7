"""Tiny live models, and what their attention is given: queries and keys at each position, and the scale of the logits.

Every layer of attention is fed the same vector at every position, so that whatever its queries and keys do from
position to position is what the model does with positions.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from model_peers.inputs import given_to
from model_peers.ledger import SETTINGS
from model_peers.own_products import WRITTEN_OUT, Products
from model_peers.rotary import config_class
from model_peers.tiny import MODEL_OF, TINY, WEIGHTS
from posenc.models.config.model_types import MODEL_TYPES

#: Positions at which queries are looked at: query scaling grows by steps of a few thousand.
POSITIONS = (0, 1, 2, 3, 7, 40, 300, 5000, 9000)
#: The name under which models call `_observe` in place of attention.
OBSERVER = "posenc_observer"
#: Sizes of a tiny model, by the names of keys; the first that fits counts.
SIZES = (
    (r"^(hidden_size|d_model|n_embd|dim|embed_dim|hidden_dim|model_dim)$", 64),
    (r"(intermediate|ffn|mlp|inner).*(size|dim)$|^d_ff$|^n_inner$", 32),
    (r"^(encoder_|decoder_)?vocab_size", 100),
    (r"^(num_hidden_layers|n_layers?|num_layers|(en|de)coder_layers|num_(en|de)coder_layers|depth)$", 8),
    (r"^(num_attention_heads|n_heads?|num_heads|(en|de)coder_attention_heads)$", 4),
    (r"^(num_key_value_heads|num_kv_heads|n_kv_heads|num_global_key_value_heads)$", 2),
    (r"^(num_experts|num_local_experts|n_routed_experts|moe_num_experts)$", 4),
    (r"^(num_experts_per_tok|top_k_experts|moe_k|moe_topk|num_experts_per_token|top_k)$", 2),
    (r"^(q_lora_rank|kv_lora_rank|v_head_dim|qk_rope_head_dim|qk_nope_head_dim|hidden_size_per_layer_input)$", 16),
    (r"^(n_group|topk_group)$", 1),
    (r"(token|pad|bos|eos|image|video|audio).*(_id|_index|token)$", 3),
    (r"^(sliding_window|attention_chunk_size|attention_window_size|local_attention)$", 4),
)
#: Larger models are not built.
MOST_WEIGHTS = 150_000_000


@dataclass(frozen=True)
class Seen:
    """What one layer of attention was given: q and k, (heads, n, d), the scale of its logits, and which keys each query
    sees, (n, n), at positions one after another; None where it was given no mask."""

    name: str
    layer: int
    q: torch.Tensor
    k: torch.Tensor
    scale: float
    visible: torch.Tensor | None = None


class NotBuiltError(Exception):
    """A type of which no tiny model is built and run."""


class NoAttentionError(Exception):
    """A model that calls no attention by a name, and writes out none."""


_given: list[tuple[torch.nn.Module, torch.Tensor, torch.Tensor, Any, Any]] = []
#: The module of attention that was entered last.
_entered: list[torch.nn.Module] = []


def _observe(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any = None,
    scaling: Any = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    _given.append((module, query.detach(), key.detach(), scaling, attention_mask))
    return query.new_zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None


def _told(query: torch.Tensor, key: torch.Tensor, scale: float, visible: torch.Tensor) -> None:
    _given.append((_entered[0], query.detach(), key.detach(), scale, visible))


AttentionInterface.register(OBSERVER, _observe)
AttentionMaskInterface.register(OBSERVER, eager_mask)


def tiny_settings(model_type: str) -> dict[str, Any]:
    """Keys that make the model of a type small."""
    made = config_class(model_type)()
    settings: dict[str, Any] = {}
    for name, value in vars(made).items():
        if isinstance(value, int) and not isinstance(value, bool):
            small = next((small for pattern, small in SIZES if re.search(pattern, name)), value)
            settings |= {name: small} if small < value else {}
        if name == "sliding_window" and value is None:
            settings[name] = 4
    if isinstance(getattr(type(made), "head_dim", None), int):
        settings["head_dim"] = 32
    if MODEL_TYPES[model_type].axes:
        settings |= {"head_dim": 128, "hidden_size": 512}
    if vars(made).get("num_key_value_heads") == vars(made).get("num_attention_heads"):
        settings.pop("num_key_value_heads", None)
        settings |= {"num_key_value_heads": 4} if "num_key_value_heads" in vars(made) else {}
    return settings | SETTINGS.get(model_type, {}) | TINY.get(model_type, {})


def seen_by_attention(model_type: str, settings: dict[str, Any], positions: tuple[int, ...]) -> list[Seen]:
    """What each layer of self-attention of a live model is given; NotBuiltError where there is no such model."""
    try:
        model = built_model(model_type, settings)
        WEIGHTS.get(model_type, _as_they_are)(model)
        return _run(model, given_to(model_type, model), positions, model_type in WRITTEN_OUT)
    except NoAttentionError:
        raise
    except Exception as problem:
        raise NotBuiltError(f"{type(problem).__name__}: {problem}".split("\n")[0][:160]) from problem


def built_model(model_type: str, settings: dict[str, Any]) -> torch.nn.Module:
    kind = config_class(model_type)
    config = kind(**settings)
    named = "eager" if model_type in WRITTEN_OUT else OBSERVER
    config._attn_implementation = named
    problem: Exception | None = None
    for model in model_classes(kind, MODEL_OF.get(model_type)):
        try:
            with torch.device("meta"):
                weights = sum(weight.numel() for weight in model(config).parameters())
            if weights > MOST_WEIGHTS:
                raise NotBuiltError(f"{weights} weights")
            torch.manual_seed(0)
            return _prepared(model(config).eval(), named)
        except Exception as error:  # a class that takes more than a config
            problem = problem or error
    raise problem or NotBuiltError("no model class")


def _as_they_are(model: torch.nn.Module) -> None:
    """Weights as the class draws them."""


def model_classes(kind: type, name: str | None = None, most: int = 2) -> list[type]:
    """The models that take this config, bare ones first; `most` of them. name: the one class, where it is stated."""
    folder = kind.__module__.rsplit(".", 1)[0]
    found = []
    for file in sorted(Path(importlib.import_module(folder).__file__).parent.glob("modeling_*.py")):
        module = importlib.import_module(f"{folder}.{file.stem}")
        if name in vars(module):
            return [vars(module)[name]]
        found += [
            value
            for value in vars(module).values()
            if inspect.isclass(value)
            and issubclass(value, PreTrainedModel)
            and getattr(value, "config_class", None) is kind
            and not value.__name__.endswith("PreTrainedModel")
        ]
    return sorted(dict.fromkeys(found), key=lambda model: ("For" in model.__name__, len(model.__name__)))[:most]


def _prepared(model: torch.nn.Module, named: str) -> torch.nn.Module:
    for module in model.modules():
        if hasattr(module, "config") and hasattr(module.config, "_attn_implementation"):
            module.config._attn_implementation = named
        if type(module).__name__.endswith(("Attention", "MLA")):
            module.register_forward_pre_hook(_same_everywhere, with_kwargs=True)
    return model


def _same_everywhere(module: torch.nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """One random vector at every position, in place of the hidden states."""
    _entered[:] = [module]
    if torch.is_tensor(named.get("hidden_states")) and named["hidden_states"].ndim == 3:
        return given, named | {"hidden_states": _one_vector(named["hidden_states"])}
    if given and torch.is_tensor(given[0]) and given[0].ndim == 3:
        return (_one_vector(given[0]), *given[1:]), named
    return None


def _one_vector(states: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(states.shape[-1])
    return torch.randn(1, 1, states.shape[-1], generator=generator).expand(states.shape)


def _run(model: torch.nn.Module, given: dict[str, Any], positions: tuple[int, ...], written_out: bool) -> list[Seen]:
    known = inspect.signature(model.forward).parameters
    _given.clear()
    products = Products(len(POSITIONS), _told) if written_out else nullcontext()
    with torch.no_grad(), products:
        model(**given)
        masks = {module: mask for module, *_, mask in _given}
        _given.clear()
        model(**given | ({"position_ids": torch.tensor([positions])} if "position_ids" in known else {}))
    if not (found := list(_layers(model, masks))):
        raise NoAttentionError("no attention was seen")
    return found


def _layers(model: torch.nn.Module, masks: dict[torch.nn.Module, Any]) -> Iterator[Seen]:
    """Self-attention, layer by layer, each once."""
    names = {module: name for name, module in model.named_modules()}
    counted: dict[torch.nn.Module, int] = {}
    for module, q, k, scale, _ in _given:
        name = names[module]
        crosses = "cross" in name.lower() or "encoder_attn" in name or "Cross" in type(module).__name__
        if module in counted or crosses or q.shape[2] != len(POSITIONS):
            continue
        counted[module] = len(counted)
        scale = q.shape[-1] ** -0.5 if scale is None else float(torch.as_tensor(scale).flatten()[0])
        own = k[0, :, : len(POSITIONS)]  # keys of an encoder may follow
        yield Seen(name, _layer(module, name, counted[module]), q[0], own, scale, _visible(masks[module]))


def _layer(module: torch.nn.Module, name: str, count: int) -> int:
    """Which layer a module of attention is in: the one number in its name, what it says itself, or how many went
    before; layers that share a module say a number that is no layer's."""
    numbers = re.findall(r"\d+", name)
    layer = getattr(module, "layer_idx", None)
    if len(numbers) == 1:
        return int(numbers[0])
    return count if layer is None else layer


def _visible(mask: torch.Tensor | None) -> torch.Tensor | None:
    """Which keys each query sees, from a mask that is true, or 0, where it does."""
    if mask is None or mask.shape[-2] != len(POSITIONS):
        return None
    mask = mask[..., : len(POSITIONS)]
    return mask[0, 0] if mask.dtype == torch.bool else mask[0, 0] >= -1
