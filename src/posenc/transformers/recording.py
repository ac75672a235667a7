"""Recording of what a live model of Hugging Face does with positions: rotations, biases, rows of tables."""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import transformers.modeling_utils  # noqa: F401  before other modules of transformers, which import each other in circles
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from posenc.core import validation
from posenc.diagnosis.model_capture import Capture, Recorded
from posenc.diagnosis.placed_media import GIVEN
from posenc.models.config.sight_rules import sees_later_keys
from posenc.transformers.attention_recorder import AttentionRecorder, RecordedPlace, place_of
from posenc.transformers.model_changes import evaluating, replace_attribute
from posenc.transformers.model_hooks import observe_rotations, position_tables
from posenc.transformers.refusals import check_torch_module
from posenc.transformers.traced_vectors import RotationCall

#: Arguments of attention modules that hold ALiBi, and the attribute that multiplies it there.
HOLDS_ALIBI = ("alibi", "position_bias")
TIMES = "beta"
#: Method of T5 that makes its bias.
MAKES_BIAS = "compute_bias"
#: Models whose text alone may see later keys, by an argument of its class or in some of its steps.
SEES_BOTH_SIDES = {"blip", "diffusion_gemma"}
#: The argument of models that says which tokens are padding.
MASK = "attention_mask"


def capture(model: Any, tokens: Any, *, inputs: Mapping[str, Any] | None = None, decoded: int = 0) -> Capture:
    """Run a model of Hugging Face and record what `posenc.diagnosis.diagnose` needs of it.

    Each attention function is called a few times more, with unit vectors as values, zeros as queries and random
    numbers: that shows what each query sees and the scale of the logits.

    Args:
        model: Model whose code rotates by functions of its own (Llama, GPT-J, GPT-NeoX, ...), makes ALiBi (BLOOM, MPT,
            Falcon) or T5's bias, or reads a table of positions (OPT, RoBERTa, GPT-2, ...). It runs without gradients,
            in evaluation mode, and is not changed.
        tokens: Token ids (batch, n), as the model takes them; some dozens of tokens show most. A window is seen where
            there are more tokens than it holds.
        inputs: Further arguments of the model by name: attention_mask, position_ids or pixel_values, for example.
        decoded: How many of the last tokens are given one by one after the others, with the model's cache of keys.

    Returns:
        Rotations, biases, rows of tables and what attention does, for `diagnose(config, captured)`.

    Raises:
        TypeError: `model` is no torch module, `inputs` no mapping, or `decoded` no whole number.
        ValueError: Nothing of positions is seen in `model`, or `decoded` leaves no token for the first step.

    Example:
        >>> from transformers import LlamaConfig, LlamaModel
        >>> sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> captured = capture(LlamaModel(LlamaConfig(num_hidden_layers=2, **sizes)), torch.arange(8)[None])
        >>> [rotation.layer for rotation in captured.rotations]
        [0, 1]
        >>> captured.attention[0].visible[0].sum(-1)
        array([1, 2, 3, 4, 5, 6, 7, 8])
    """
    check_torch_module(model)
    if not isinstance(tokens, torch.Tensor) or tokens.ndim != 2 or tokens.dtype not in (torch.int32, torch.int64):
        what = (
            f"{tokens.dtype}, {tuple(tokens.shape)}" if isinstance(tokens, torch.Tensor) else validation.shown(tokens)
        )
        raise TypeError(f"tokens must be token ids (batch, n), integers; got {what}. Give torch.arange(32)[None], say.")
    length = int(tokens.shape[-1])
    validation.integer("decoded", decoded, 0, length - 1)
    inputs = {} if inputs is None else dict(validation.instance("inputs", inputs, Mapping, "a dict of arguments"))
    recorder = _Recorder(model, length, _padding(inputs, tokens))
    with ExitStack() as stack, torch.no_grad():
        stack.enter_context(evaluating(model))
        recorder.watch(stack)
        encoded: list[Any] = []
        if _has_encoder(model) and (encoder := model.get_encoder()) is not model:
            stack.callback(encoder.register_forward_hook(lambda *run: encoded.append(run[-1])).remove)
        _run(model, tokens, inputs, length - decoded, recorder.begin, encoded)
    return recorder.result(_given(inputs))


def _run(
    model: Any, tokens: Any, inputs: dict[str, Any], first: int, begin: Callable[[int], None], encoded: list[Any]
) -> None:
    """Run a model over its first tokens, then over each of the others with its cache; `begin` hears how many.

    The first run of an encoder adds its output to `encoded`, and later steps take it from there.
    """
    length, past = tokens.shape[-1], None
    along = {name for name, given in inputs.items() if getattr(given, "shape", ())[:2] == tokens.shape}
    for start, end in pairwise((0, *range(first, length + 1))):
        # A mask is as long as all keys, other inputs as the new tokens; images belong to the first step.
        named = {name: inputs[name][:, 0 if name == MASK else start : end] for name in along}
        if past is None:
            named |= {name: given for name, given in inputs.items() if name not in along}
        if first < length:
            named |= {"past_key_values": past, "use_cache": True}
        begin(end - start)
        if _has_encoder(model):
            named = {**named, "input_ids": tokens, "decoder_input_ids": tokens[:, start:end]}
            if encoded:  # the encoder reads its tokens once
                named |= {"encoder_outputs": encoded[0]}
            output = model(**(named if MASK not in along else {**named, MASK: inputs[MASK]}))
        else:
            output = model(tokens[:, start:end], **named)
        past = getattr(output, "past_key_values", None)
        if first < length and past is None:
            raise ValueError("decoded must be 0 for a model that returns no past_key_values; got one. Leave it out.")


def _has_encoder(model: Any) -> bool:
    """Whether a model has an encoder, and a decoder with tokens of its own."""
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def _padding(inputs: Mapping[str, Any], tokens: Any) -> np.ndarray | None:
    """Mask of the tokens that are padding; None where none is."""
    mask = inputs.get(MASK)
    if mask is None or mask.shape != tokens.shape or bool((mask != 0).all()):
        return None
    padded: np.ndarray = (mask == 0).cpu().numpy()
    return padded


def _given(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Inputs that determine positions, and the attention mask, as arrays."""
    named = {name: inputs[name] for name in (*GIVEN, MASK) if inputs.get(name) is not None}
    arrays = {
        name: value.cpu().numpy() if hasattr(value, "cpu") else np.asarray(value) for name, value in named.items()
    }
    return {name: array for name, array in arrays.items() if array.dtype.kind in "biuf"}


class _RotatedStep(NamedTuple):
    """Queries and keys of a step of so many tokens, before and after a rotation."""

    tokens: int
    arrays: dict[str, Any]


class _Recorder:
    """Recorder of a model's rotations, biases, table rows and attention calls, each with its layer."""

    def __init__(self, model: Any, length: int, padded: np.ndarray | None) -> None:
        self.model, self.length, self.padded = model, length, padded
        self.attention = AttentionRecorder(model, padded)
        self.place = RecordedPlace(None, "")
        self.alibi: int | None = None
        self.single: dict[RecordedPlace, tuple[Any, Any]] = {}
        self.before, self.count = 0, 0
        self.calls_of: Counter[RecordedPlace] = Counter()
        self.rotations: dict[tuple[RecordedPlace, int], list[_RotatedStep]] = {}
        self.biases: list[Recorded] = []
        self.rows: dict[str, list[np.ndarray]] = {}
        self.read: set[str] = set()

    def watch(self, stack: ExitStack) -> None:
        """Hook into the model's modules, and into the functions of its code, until the stack is closed."""
        self.attention.watch(stack)
        tables = position_tables(self.model)
        for name, module in self.model.named_modules():
            if place_of(name).layer is not None:
                stack.callback(module.register_forward_pre_hook(self._enter(place_of(name))).remove)
            if isinstance(getattr(module, "layer_idx", None), int):
                stack.callback(module.register_forward_pre_hook(self._note_alibi, with_kwargs=True).remove)
            if callable(getattr(module, MAKES_BIAS, None)):
                replace_attribute(stack, module, MAKES_BIAS, self._bias_of(name, module))
        observe_rotations(stack, self.model, self._note_call)
        functional = torch.nn.functional
        replace_attribute(stack, functional, "embedding", self._rows_of(functional.embedding, tables))

    def begin(self, count: int) -> None:
        """Begin a step of so many tokens, after recording rotations still pending from the step before."""
        self._note_rotations()
        self.read.clear()
        self.calls_of.clear()
        self.before, self.count, self.alibi = self.before + self.count, count, None

    def _enter(self, place: RecordedPlace) -> Callable[..., None]:
        """Make a hook that sets the current layer, after recording rotations still pending from the layer before."""

        def entering(module: Any, arguments: Any) -> None:
            if place != self.place:
                self._note_rotations()
                self.place = place

        return entering

    def _note_alibi(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        """Record the ALiBi bias that a layer is given; a tensor that layers share is recorded once."""
        bias = next((named[name] for name in HOLDS_ALIBI if hasattr(named.get(name), "data_ptr")), None)
        if bias is None or callable(getattr(module, MAKES_BIAS, None)) or bias.data_ptr() == self.alibi:
            return
        self.alibi = bias.data_ptr()
        heads, end = _heads(self.model, len(bias)), self.before + self.count
        rows = bias.reshape(-1, *bias.shape[-2:]).split(heads)
        if self.padded is None and all(torch.equal(row, rows[0]) for row in rows):
            rows = rows[:1]
        for number, row in enumerate(rows):
            # MPT makes more than it uses, and takes the last ones.
            by_head = row[:, -self.count :, -end:].expand(-1, self.count, -1) * getattr(module, TIMES, 1.0)
            self.biases.append(Recorded(self._without_padding(by_head, number), *self.place))

    def _without_padding(self, bias: Any, row: int) -> dict[str, Any]:
        """A bias (heads, new tokens, all tokens so far) of a row of the batch, for the tokens that are no padding."""
        _, queries, keys = bias.shape
        real = np.ones(keys, dtype=bool)
        if self.padded is not None and keys <= self.padded.shape[1]:
            real = ~self.padded[row if row < len(self.padded) else 0, :keys]
        positions, new = real.cumsum() - 1, real[keys - queries :]
        kept, asked = (torch.from_numpy(one).to(bias.device) for one in (real, new))
        given = {"query_positions": positions[keys - queries :][new], "key_positions": positions[real]}
        return {"bias": bias[:, asked][:, :, kept], **given}

    def _note_call(self, before: list[Any], results: list[Any]) -> None:
        """Record a rotation call: the tensors of unchanged shape, before and after."""
        pairs = zip(before, results, strict=False)
        same = [(x, y.clone()) for x, y in pairs if isinstance(y, torch.Tensor) and x.shape == y.shape]
        if same:
            self.attention.pending.append(RotationCall(*map(list, zip(*same, strict=True))))

    def _note_rotations(self) -> None:
        """Note rotations of a layer that calls no attention function of transformers."""
        calls, self.attention.pending = self.attention.pending, []
        for call in calls:
            self._note_rotation(call.before, call.after)

    def _note_rotation(self, before: list[Any], after: list[Any]) -> None:
        """Record a rotation of queries and keys; two calls of one tensor each in a layer are taken together."""
        if len(after) == 2:
            self._add_rotation(before, after)
            return
        earlier = self.single.pop(self.place, None)
        if earlier is None:
            self.single[self.place] = before[0], after[0]
        else:
            pair = sorted((earlier, (before[0], after[0])), key=lambda one: -one[0].numel())
            self._add_rotation([x for x, _ in pair], [y for _, y in pair])

    def _add_rotation(self, before: list[Any], after: list[Any]) -> None:
        """Record queries and keys before and after a rotation, with the layer."""
        names = ("q", "k", "q_rotated", "k_rotated")
        arrays = dict(zip(names, (*before, *after), strict=True))
        self.rotations.setdefault((self.place, self.calls_of[self.place]), []).append(_RotatedStep(self.count, arrays))
        self.calls_of[self.place] += 1

    def _own_rotations(self) -> Iterator[Recorded]:
        """Rotations by the model's own code, with the layout, and with the steps joined along their tokens."""
        for (place, _), steps in self.rotations.items():
            layout = self._layout(steps) if steps[0].arrays["q"].dim() == 4 else None
            if layout is None:
                yield from (Recorded(step.arrays, *place, layout) for step in steps)
            else:
                axis = layout.index("t")
                joined = {name: torch.cat([step.arrays[name] for step in steps], axis) for name in steps[0].arrays}
                yield Recorded(joined, *place, layout)

    def _layout(self, steps: list[_RotatedStep]) -> Literal["bhtd", "bthd"]:
        """Layout of rotated vectors: the axis that has the tokens of every step, for queries or else for keys."""
        fits = [
            [axis for axis in (1, 2) if all(step.arrays[name].shape[axis] == step.tokens for step in steps)]
            for name in ("q", "k")
        ]
        axis = next((axes[0] for axes in fits if len(axes) == 1), None)
        if axis is None and fits[0] and any(step.tokens > 1 for step in steps):
            raise ValueError(
                f"tokens must be more or fewer than the heads of {type(self.model).__name__}, {steps[0].tokens}, as "
                "the model rotates by functions of its own, where nothing else tells one axis from the other; got as "
                "many. Give one token more."
            )
        return "bhtd" if axis == 2 else "bthd"

    def _bias_of(self, name: str, module: Any) -> Callable[..., Any]:
        """Wrap T5's `compute_bias` so that each bias is recorded."""
        make = module.compute_bias
        blocks = "block_length" in inspect.signature(make).parameters

        def recording(*arguments: Any, **named: Any) -> Any:
            bias = make(*arguments, **named)
            table = getattr(module, "relative_attention_bias", None)
            arrays = {"bias": bias[0].float()} | ({} if table is None else {"table": table.weight.detach().float()})
            queries, keys = bias.shape[-2:]
            if queries != keys:  # the middle block of three (LongT5), or the last tokens, behind a cache
                start = queries if blocks else keys - queries
                arrays |= {"query_positions": np.arange(start, start + queries), "key_positions": np.arange(keys)}
            self.biases.append(Recorded(arrays, None, place_of(name).part))
            return bias

        return recording

    def _rows_of(self, look_up: Callable[..., Any], tables: dict[int, str]) -> Callable[..., Any]:
        """Wrap `torch.nn.functional.embedding` so that the rows read from position tables are recorded."""

        def recording(rows: Any, weight: Any, *arguments: Any, **named: Any) -> Any:
            name = tables.get(weight.data_ptr())
            if name is not None and rows.dim() <= 2 and name not in self.read:
                self.read.add(name)
                self.rows.setdefault(name, []).append(np.atleast_2d(rows.detach().cpu().numpy()))
            return look_up(rows, weight, *arguments, **named)

        return recording

    def result(self, given: dict[str, np.ndarray]) -> Capture:
        """Return all that was recorded; ValueError where nothing was."""
        self._note_rotations()
        rotations, attention = (*self._own_rotations(), *self.attention.rotations()), self.attention.attention()
        if not (rotations or self.biases or self.rows or attention):
            raise ValueError(
                "model must compute a rotation, a bias or a table of positions in its own code; none was seen in "
                f"{type(self.model).__name__}. Dump q and q_rotated, or the bias, and give these."
            )
        # A model may fill up its sequence to a whole number of blocks.
        rows = {name: np.concatenate(steps, 1)[:, : self.length] for name, steps in self.rows.items()}
        config = getattr(self.model, "config", None)
        plain = {} if config is None or not hasattr(config, "to_json_string") else json.loads(config.to_json_string())
        return Capture(rotations, tuple(self.biases), rows, attention, self.padded, plain, attends_of(config), given)


def attends_of(config: Any) -> Literal["causal", "both", "either", ""]:
    """Attention by the head classes of a model type: "causal", "both" (bidirectional), "either" or "" (unknown)."""
    if not hasattr(config, "get_text_config"):
        return ""
    types = {config.model_type, config.get_text_config().model_type, *_whole_types(config)}
    predicts_next = bool(types & {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES})
    if types & set(MODEL_FOR_MASKED_LM_MAPPING_NAMES):
        return "either" if predicts_next else "both"
    return "causal" if predicts_next else ""


def attends_as_stated(config: Any) -> Literal["causal", "both", "either", ""]:
    """Attention by the flags of a config, where they let queries see later keys; else as `attends_of` says."""
    if not hasattr(config, "to_json_string"):
        return attends_of(config)
    sees = sees_later_keys(json.loads(config.to_json_string()))
    if sees is None:
        return ""
    return "both" if sees else attends_of(config)


def _whole_types(config: Any) -> set[str]:
    """Model types whose `text_config` has the class of this config, which has no head itself (Qwen2-VL's text)."""
    module = sys.modules.get(type(config).__module__)
    classes: list[Any] = [value for value in vars(module).values() if isinstance(value, type)] if module else []
    parts = [(one, getattr(one, "sub_configs", {})) for one in classes]
    return {one.model_type for one, named in parts if named.get("text_config") is type(config)} - SEES_BOTH_SIDES


def _heads(model: Any, default: int) -> int:
    """Number of heads that the biases of a model are for."""
    config = getattr(model, "config", None)
    names = ("num_attention_heads", "n_head", "n_heads")
    return next((heads for name in names if isinstance(heads := getattr(config, name, None), int)), default)
