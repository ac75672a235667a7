"""One entry point: any encoding in a loaded transformers model, in place of its own positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from posenc.compose import PerLayer
from posenc.core import validation
from posenc.transformers.swapping.attention_function import NAME
from posenc.transformers.swapping.install import check_reachable, installed
from posenc.transformers.swapping.own_positions import OwnPositions, own_positions
from posenc.transformers.swapping.proof import Proof, logits_of_few_tokens, proved
from posenc.transformers.swapping.swap_request import Asked, Given, asked_positions, parts_to_install


@dataclass(frozen=True, eq=False)
class Swapped:
    """What was put into a model, and how to take it out: `undo()`, or the end of a `with` block.

    Args:
        layers: Their numbers.
        modules: What was put in, by its name in the model; their parameters are what learns.
        proof: What the model's own positions, swapped in, did to its logits.
    """

    layers: tuple[int, ...]
    modules: Mapping[str, torch.nn.Module]
    proof: Proof
    _stack: ExitStack

    def undo(self) -> None:
        """Take everything out: the model computes what it did before."""
        self._stack.close()

    def __enter__(self) -> Swapped:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()


def swap(
    model: torch.nn.Module,
    encoding: Given | Sequence[Given] | PerLayer,
    *,
    layers: Iterable[int] | None = None,
) -> Swapped:
    """Put any encoding into a loaded transformers model, in place of its own positions.

    Result: what `undo()` takes out.

    A rotation of the same pairs of channels as the model's own becomes its tables of cosines and sines, and the rest of
    the model stays as it is. Anything else acts inside attention, "sdpa" by `posenc.torch.attention` with logits in
    float32, "eager" by the model's own function in the model's dtype with the bias in its mask. Keys then wait in the
    cache unrotated, each with its position. What is added is added to the input of the first layer, or in place of the
    model's table of positions. What learns is in `model.parameters()` and `state_dict()`. `position_ids` are taken as
    the model gives them to its layers.

    Before that the model's own positions are swapped in: where its logits for a few tokens change by more than
    rounding, the model is refused. `proof` says by how much; where the arithmetic is the same, no bit changes.

    Args:
        model: A decoder or an encoder that reads text, whose positions `posenc.models.from_config` reads and whose
            attention goes through transformers' AttentionInterface: Llama, Qwen3, Gemma 3, GPT-NeoX, BERT and others
            like them.
        encoding: An encoding of any door, or a list of them, or `PerLayer`; NoPE for none. Each layer gets parameters
            of its own; a module of `posenc.torch.module` is shared by all layers, and keeps the numbers that it has.
        layers: Their numbers; the others keep what they do. All where it is left out.

    Raises:
        TypeError: A value breaks its rule; the message names the argument, and leaves the model as it was.
        ValueError: A value breaks its rule; the message names the argument, and leaves the model as it was.

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
    _check_model(model)
    own = own_positions(model)
    asked = asked_positions(own, encoding, layers)
    _check_free(own, asked)
    if asked.attends:
        check_reachable(own.layers)
    chosen = tuple(layer for layer, _ in asked.layers)
    proof, repeat = proved(model, own, chosen, asked.attends)
    with ExitStack() as stack:
        before = dict(model.named_modules())
        stack.enter_context(installed(own, parts_to_install(asked, repeat)))
        logits_of_few_tokens(model, own, cached=asked.reads_cache)  # what cannot run is taken out again
        added = {name: part for name, part in model.named_modules() if name not in before and name.endswith(NAME)}
        return Swapped(tuple(layer.number for layer in chosen), added, proof, stack.pop_all())


def _check_model(model: Any) -> None:
    validation.instance("model", model, torch.nn.Module, "a loaded model of transformers")
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


def _check_free(own: OwnPositions, asked: Asked) -> None:
    """Refuse layers that another swap is in."""
    places = {f"layer {layer.number}": layer.module for layer, _ in asked.layers}
    if own.table is not None:
        places[own.table.name] = own.table.module
    elif asked.added:
        places["the input"] = own.layers[0].block
    taken = [name for name, place in places.items() if hasattr(place, NAME)]
    if taken:
        raise ValueError(
            f"model must have its own positions where others go; got a swap in {taken[0]}. Undo that first."
        )
