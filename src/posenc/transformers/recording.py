"""Recording of what a live model of Hugging Face does with positions: rotations, biases, rows of tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from posenc.core import validation
from posenc.diagnosis.model_capture import Capture, Recorded
from posenc.transformers.model_changes import replace_attribute
from posenc.transformers.refusals import check_torch_module

#: Parts of the names of functions that rotate, in the code of models.
ROTATES = ("rotary", "rope")
#: Arguments of attention modules that hold ALiBi, and the attribute that multiplies it there.
HOLDS_ALIBI = ("alibi", "position_bias")
TIMES = "beta"
#: Words in the names of modules that hold a table of positions, and what makes T5's bias.
HOLDS_POSITIONS = ("position", "wpe")
MAKES_BIAS = "compute_bias"


def capture(model: Any, tokens: Any) -> Capture:
    """Run a model of Hugging Face once and record what `posenc.diagnosis.diagnose` needs of it.

    Args:
        model: Model whose code rotates by functions of its own (Llama, GPT-J, GPT-NeoX, ...), makes ALiBi (BLOOM, MPT,
            Falcon) or T5's bias, or reads a table of positions (OPT, RoBERTa, GPT-2, ...). It runs without gradients
            and is not changed.
        tokens: Token ids (batch, n), as the model takes them; some dozens of tokens show most.

    Returns:
        Rotations, biases and rows of tables, for `diagnose(config, captured)`.

    Raises:
        TypeError: `model` is no torch module.
        ValueError: Nothing of positions is seen in `model`.

    Example:
        >>> from transformers import LlamaConfig, LlamaModel
        >>> sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> captured = capture(LlamaModel(LlamaConfig(num_hidden_layers=2, **sizes)), torch.arange(8)[None])
        >>> [rotation.layer for rotation in captured.rotations]
        [0, 1]
    """
    check_torch_module(model)
    if not isinstance(tokens, torch.Tensor) or tokens.ndim != 2 or tokens.dtype not in (torch.int32, torch.int64):
        what = (
            f"{tokens.dtype}, {tuple(tokens.shape)}" if isinstance(tokens, torch.Tensor) else validation.shown(tokens)
        )
        raise TypeError(f"tokens must be token ids (batch, n), integers; got {what}. Give torch.arange(32)[None], say.")
    recorder = _Recorder(model, int(tokens.shape[-1]))
    with ExitStack() as stack, torch.no_grad():
        recorder.watch(stack)
        config = getattr(model, "config", None)
        if getattr(config, "is_encoder_decoder", False):
            model(input_ids=tokens, decoder_input_ids=tokens)
        else:
            model(tokens)
    return recorder.result()


class _Recorder:
    """Record of what passes through the functions of a model's code, and in which layer."""

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length
        self.layer: int | None = None
        self.inside = False
        self.alibi: int | None = None
        self.single: dict[int | None, tuple[Any, Any]] = {}
        self.rotations: list[Recorded] = []
        self.biases: list[Recorded] = []
        self.rows: dict[str, np.ndarray] = {}

    def watch(self, stack: ExitStack) -> None:
        """Hook into the model's modules, and into the functions of its code, until the stack is closed."""
        tables = {}
        for name, module in self.model.named_modules():
            if isinstance(getattr(module, "layer_idx", None), int):
                stack.callback(module.register_forward_pre_hook(self._enter, with_kwargs=True).remove)
            weight = getattr(module, "weight", None)
            if weight is not None and weight.dim() == 2 and any(word in name for word in HOLDS_POSITIONS):
                tables[weight.data_ptr()] = name
            if callable(getattr(module, MAKES_BIAS, None)):
                replace_attribute(stack, module, MAKES_BIAS, self._bias_of(name, module))
        for code in {sys.modules[type(module).__module__] for module in self.model.modules()}:
            if code.__name__.startswith("torch."):
                continue
            for name, function in list(vars(code).items()):
                if name.startswith("apply_") and any(word in name for word in ROTATES) and callable(function):
                    replace_attribute(stack, code, name, self._rotation(function))
        functional = torch.nn.functional
        replace_attribute(stack, functional, "embedding", self._rows_of(functional.embedding, tables))

    def _enter(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        """Note the layer, and the bias that it is given; layers that share one give it once."""
        self.layer = module.layer_idx
        bias = next((named[name] for name in HOLDS_ALIBI if hasattr(named.get(name), "data_ptr")), None)
        if bias is None or callable(getattr(module, MAKES_BIAS, None)) or bias.data_ptr() == self.alibi:
            return
        self.alibi = bias.data_ptr()
        by_head = bias.reshape(-1, *bias.shape[-2:])[: _heads(self.model, len(bias))].float()
        times = getattr(module, TIMES, 1.0)
        by_head = by_head[:, -self.length :, -self.length :]  # MPT makes more, and takes the last ones
        self.biases.append(Recorded({"bias": by_head.expand(-1, self.length, -1) * times}, self.layer))

    def _rotation(self, rotate: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function of a model's code that rotates one that is noted; calls inside it are not."""

        def recording(*arguments: Any, **named: Any) -> Any:
            if self.inside:
                return rotate(*arguments, **named)
            tensors = [*arguments, *named.values()]
            before = [tensor.clone() for tensor in tensors[:2] if hasattr(tensor, "clone")]
            self.inside = True
            try:
                after = rotate(*arguments, **named)
            finally:
                self.inside = False
            self._note_rotation(before, list(after) if isinstance(after, tuple) else [after])
            return after

        return recording

    def _note_rotation(self, before: list[Any], after: list[Any]) -> None:
        """Note queries and keys whose shapes stayed; two calls of one tensor each are taken together."""
        if len(after) == 2 and len(before) == 2 and all(x.shape == y.shape for x, y in zip(before, after, strict=True)):
            self._add_rotation(before, [one.clone() for one in after])
        elif len(after) == 1 and before and before[0].shape == after[0].shape:
            earlier = self.single.pop(self.layer, None)
            if earlier is None:
                self.single[self.layer] = before[0], after[0].clone()
            else:
                pair = sorted((earlier, (before[0], after[0].clone())), key=lambda one: -one[0].numel())
                self._add_rotation([x for x, _ in pair], [y for _, y in pair])

    def _add_rotation(self, before: list[Any], after: list[Any]) -> None:
        """Add queries and keys, before and after."""
        names = ("q", "k", "q_rotated", "k_rotated")
        arrays = dict(zip(names, (*before, *after), strict=True))
        layout = None
        if before[0].dim() == 4:
            layout = "bhtd" if before[0].shape[2] == self.length else "bthd"
        self.rotations.append(Recorded(arrays, self.layer, "", layout))

    def _bias_of(self, name: str, module: Any) -> Callable[..., Any]:
        """Make the function of T5 that makes its bias one that is noted."""
        make = module.compute_bias

        def recording(*arguments: Any, **named: Any) -> Any:
            bias = make(*arguments, **named)
            part = next((part for part in ("encoder", "decoder") if part in name.split(".")), "")
            table = getattr(module, "relative_attention_bias", None)
            arrays = {"bias": bias[0].float()} | ({} if table is None else {"table": table.weight.detach().float()})
            self.biases.append(Recorded(arrays, None, part))
            return bias

        return recording

    def _rows_of(self, look_up: Callable[..., Any], tables: dict[int, str]) -> Callable[..., Any]:
        """Make the function that reads rows of a table one that is noted."""

        def recording(rows: Any, weight: Any, *arguments: Any, **named: Any) -> Any:
            name = tables.get(weight.data_ptr())
            if name is not None and rows.dim() <= 2:
                self.rows.setdefault(name, rows.detach().cpu().numpy())
            return look_up(rows, weight, *arguments, **named)

        return recording

    def result(self) -> Capture:
        """Return what was noted; raise ValueError where that is nothing."""
        if not (self.rotations or self.biases or self.rows):
            raise ValueError(
                "model must compute a rotation, a bias or a table of positions in its own code; none was seen in "
                f"{type(self.model).__name__}. Dump q and q_rotated, or the bias, and give these."
            )
        return Capture(tuple(self.rotations), tuple(self.biases), self.rows)


def _heads(model: Any, default: int) -> int:
    """Number of heads that the biases of a model are for."""
    config = getattr(model, "config", None)
    names = ("num_attention_heads", "n_head", "n_heads")
    return next((heads for name in names if isinstance(heads := getattr(config, name, None), int)), default)
