"""What a live model of Hugging Face does with positions while it runs once: rotated vectors, biases, rows of tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Parts of the names of functions that rotate, in the code of models.
ROTATES = ("rotary", "rope")
#: Arguments of attention modules that hold ALiBi, and the attribute that multiplies it there.
HOLDS_ALIBI = ("alibi", "position_bias")
TIMES = "beta"
#: Words in the names of modules that hold a table of positions, and what makes T5's bias.
HOLDS_POSITIONS = ("position", "wpe")
MAKES_BIAS = "compute_bias"


@dataclass(frozen=True, eq=False)
class Recorded:
    """Arrays that one layer gave, under the names that `diagnose` knows.

    Args:
        part: "" where the model has one.
    """

    arrays: dict[str, Any]
    layer: int | None = None
    part: str = ""
    layout: str | None = None


@dataclass(frozen=True, eq=False)
class Capture:
    """What `capture` saw: rotations and biases layer by layer, and the rows (batch, n) read of each table of positions."""

    rotations: tuple[Recorded, ...] = ()
    biases: tuple[Recorded, ...] = ()
    rows: dict[str, np.ndarray] = field(default_factory=dict)


def capture(model: Any, tokens: Any) -> Capture:
    """Run a model of Hugging Face once and encoding what `diagnose` needs of it.

    Args:
        model: Any whose code rotates by functions of its own (Llama, GPT-J, GPT-NeoX, ...), makes ALiBi (BLOOM, MPT,
            Falcon), T5's bias, or reads a table of positions (OPT, RoBERTa, GPT-2, ...). It runs without gradients and
            is not changed.
        tokens: Token ids (batch, n), as the model takes them; some dozens of tokens show most.

    Raises:
        ValueError: For a model in which nothing of positions is seen, TypeError for what is no torch module.

    Example:
        >>> diagnose(model.config.to_dict(), capture(model, tokens))  # doctest: +SKIP
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(model, "named_modules"):
        raise TypeError(f"model must be a torch module; got {type(model).__name__}. Give the model itself.")
    recorder = _Recorder(model, int(tokens.shape[-1]))
    with ExitStack() as stack, torch.no_grad():
        recorder.watch(stack, torch)
        config = getattr(model, "config", None)
        if getattr(config, "is_encoder_decoder", False):
            model(input_ids=tokens, decoder_input_ids=tokens)
        else:
            model(tokens)
    return recorder.result()


class _Recorder:
    """Notes what passes through the functions of a model's code, and in which layer."""

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length
        self.layer: int | None = None
        self.inside = False
        self.alibi: int | None = None
        self.single: dict[int | None, tuple[Any, Any]] = {}
        self.rotations: list[Recorded] = []
        self.biases: list[Recorded] = []
        self.rows: dict[str, np.ndarray] = {}

    def watch(self, stack: ExitStack, torch: Any) -> None:
        tables = {}
        for name, module in self.model.named_modules():
            if isinstance(getattr(module, "layer_idx", None), int):
                stack.callback(module.register_forward_pre_hook(self._enter, with_kwargs=True).remove)
            weight = getattr(module, "weight", None)
            if weight is not None and weight.dim() == 2 and any(word in name for word in HOLDS_POSITIONS):
                tables[weight.data_ptr()] = name
            if callable(getattr(module, MAKES_BIAS, None)):
                stack.enter_context(_replaced(module, MAKES_BIAS, self._bias_of(name, module)))
        for code in {sys.modules[type(module).__module__] for module in self.model.modules()}:
            if code.__name__.startswith("torch."):
                continue
            for name, function in list(vars(code).items()):
                if name.startswith("apply_") and any(word in name for word in ROTATES) and callable(function):
                    stack.enter_context(_replaced(code, name, self._rotation(function)))
        functional = torch.nn.functional
        stack.enter_context(_replaced(functional, "embedding", self._rows_of(functional.embedding, tables)))

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
        """Queries and keys that came out as they went in; two calls of one tensor each are taken together."""
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
        names = ("q", "k", "q_rotated", "k_rotated")
        arrays = dict(zip(names, (*before, *after), strict=True))
        layout = None
        if before[0].dim() == 4:
            layout = "bhtd" if before[0].shape[2] == self.length else "bthd"
        self.rotations.append(Recorded(arrays, self.layer, "", layout))

    def _bias_of(self, name: str, module: Any) -> Callable[..., Any]:
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
        def recording(rows: Any, weight: Any, *arguments: Any, **named: Any) -> Any:
            name = tables.get(weight.data_ptr())
            if name is not None and rows.dim() <= 2:
                self.rows.setdefault(name, rows.detach().cpu().numpy())
            return look_up(rows, weight, *arguments, **named)

        return recording

    def result(self) -> Capture:
        if not (self.rotations or self.biases or self.rows):
            raise ValueError(
                "model must compute a rotation, a bias or a table of positions in its own code; none was seen in "
                f"{type(self.model).__name__}. Dump q and q_rotated, or the bias, and give these."
            )
        return Capture(tuple(self.rotations), tuple(self.biases), self.rows)


def _heads(model: Any, default: int) -> int:
    """How many heads the biases of a model are for."""
    config = getattr(model, "config", None)
    names = ("num_attention_heads", "n_head", "n_heads")
    return next((heads for name in names if isinstance(heads := getattr(config, name, None), int)), default)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another value under a name for a while."""
    original = vars(owner).get(name, _replaced)
    previous = getattr(owner, name)
    object.__setattr__(owner, name, value) if hasattr(owner, "named_modules") else setattr(owner, name, value)
    try:
        yield
    finally:
        if original is _replaced:
            object.__delattr__(owner, name)
        else:
            setattr(owner, name, previous)
