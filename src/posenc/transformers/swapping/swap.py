"""Any encoding in a loaded transformers model, in place of its own positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from posenc.compose import PerLayer
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.transformers.model_changes import ModelChange
from posenc.transformers.refusals import check_attention_implementation, check_reads_tokens, check_unchanged
from posenc.transformers.swapping.attention_interface import NAME, OURS
from posenc.transformers.swapping.install import installed
from posenc.transformers.swapping.own_positions import OwnPositions, own_positions
from posenc.transformers.swapping.proof import Proof, logits_of_few_tokens, proved
from posenc.transformers.swapping.swap_request import EncodingLike, SwapRequest, checked_request, parts_to_install


@dataclass(frozen=True, eq=False)
class Swapped(ModelChange):
    """Modules that `swap` put into a model; `undo()`, or the end of a `with` block, takes them out.

    Attributes:
        layers: Numbers of the layers.
        modules: Modules that were put in, by name in the model; their parameters are what learns.
        proof: What the model's own positions, swapped in, did to its logits. It says nothing about `encoding`.
        drawn: Names of parameters of the model that were drawn at random, and have to be trained.
    """

    layers: tuple[int, ...]
    modules: Mapping[str, torch.nn.Module]
    proof: Proof
    drawn: tuple[str, ...]


def swap(
    model: torch.nn.Module,
    encoding: EncodingLike | Sequence[EncodingLike] | PerLayer,
    *,
    layers: Iterable[int] | None = None,
) -> Swapped:
    """Put any encoding into a loaded transformers model, in place of its own positions.

    A rotation of the same pairs of channels as the model's own becomes its tables of cosines and sines, and the rest of
    the model stays as it is. Anything else acts inside attention: "sdpa" by `posenc.torch.attention` with logits in
    float32, "eager" by the model's own function in the model's dtype with the bias in its mask. Keys then wait in the
    cache unrotated, each with its position. An additive encoding is added to the input of the first layer, or takes the
    place of the model's table of positions. Parameters are in `model.parameters()` and `state_dict()`. `position_ids`
    are taken as the model gives them to its layers.

    Before that the model's own positions are swapped in: a model whose logits for a few tokens change by more than
    rounding is refused. `proof` says by how much; where the arithmetic is the same, no bit changes. `drawn` names what
    was drawn at random. A `Learned` that would take the place of a trained table is refused: `extend_table` keeps rows.

    Args:
        model: Decoder or encoder that reads text, whose positions `posenc.models.from_config` reads and whose attention
            goes through transformers' AttentionInterface: Llama, Qwen3, Gemma 3, GPT-NeoX, BERT and others like them.
        encoding: Encoding of any door, a list of them, or `PerLayer`; NoPE for none. Each layer gets parameters of its
            own; a module of `posenc.torch.module` is shared by all layers and keeps its numbers.
        layers: Numbers of the layers; the others keep what they do. None for all.

    Returns:
        Layers, modules and proof of the swap, with `undo()`.

    Raises:
        TypeError: `model`, `encoding` or `layers` are of another kind.
        ValueError: `model` does with positions what cannot be replaced, `encoding` was made for another shape, or
            `layers` are not in the model; the model is left as it was.

    Example:
        >>> from posenc import ALiBi
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, **sizes))
        >>> swapped = swap(model, ALiBi(heads=2))
        >>> swapped.layers, swapped.proof.difference
        ((0, 1), 0.0)
        >>> swapped.undo()
    """
    check_reads_tokens(model)
    own = own_positions(model)
    request = checked_request(own, encoding, layers)
    _check_free(own, request)
    if request.attends:
        check_attention_implementation(own.layers[0].module.config._attn_implementation, OURS)
    chosen = tuple(layer for layer, _ in request.layers)
    proof, repeat = proved(model, own, chosen, request.attends)
    with ExitStack() as stack:
        before = dict(model.named_modules())
        stack.enter_context(installed(own, parts_to_install(request, repeat)))
        logits_of_few_tokens(model, own, cached=request.reads_cache)  # what cannot run is taken out again
        added = {name: part for name, part in model.named_modules() if name not in before and name.endswith(NAME)}
        drawn = _drawn(added, request)
        return Swapped(tuple(layer.number for layer in chosen), added, proof, drawn)._undone_by(stack)


def _drawn(added: Mapping[str, torch.nn.Module], request: SwapRequest) -> tuple[str, ...]:
    """Names of added parameters that were drawn at random: those of no module that the caller gave."""
    encodings = [*request.added, *(one for _, encodings in request.layers for one in encodings)]
    given = {id(each) for one in encodings if isinstance(one, EncodingModule) for each in one.parameters()}
    return tuple(
        f"{name}.{inner}"
        for name, part in added.items()
        for inner, parameter in part.named_parameters()
        if id(parameter) not in given
    )


def _check_free(own: OwnPositions, request: SwapRequest) -> None:
    """Refuse layers that another swap is in."""
    places = {f"layer {layer.number}": layer.module for layer, _ in request.layers}
    if own.table is not None:
        places[own.table.name] = own.table.module
    elif request.added:
        places["the input"] = own.layers[0].block
    check_unchanged(places, NAME, "have its own positions where others go", "a swap in")
