"""Request of each model call: how many tokens it reads, how many came before, and their expected positions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
import transformers.modeling_utils  # noqa: F401  before other modules of transformers, which import each other in circles
from transformers.cache_utils import Cache

from posenc.diagnosis.tracing.expected_positions import expected_call
from posenc.diagnosis.tracing.trace_records import TracedCall, TraceRecord
from posenc.transformers.model_changes import replace_attribute
from posenc.transformers.tracing.media_positions import positions_of_media

#: Arguments that hold the tokens, in the order in which they are asked.
TOKENS = ("input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
#: Arguments that hold images and sound.
MEDIA = ("pixel_values", "pixel_values_videos", "input_features", "image_grid_thw", "video_grid_thw")


class CallRequests:
    """Reader of a model's call arguments, which counts the tokens of each cache itself from its first call on."""

    def __init__(self, model: torch.nn.Module, record: TraceRecord) -> None:
        self.model, self.record = model, record
        self.deltas: dict[int, np.ndarray] = {}
        self.real: dict[int, np.ndarray] = {}
        self.generated: dict[str, Any] = {}
        self.signature = inspect.signature(model.forward)
        self.caches: list[Any] = []
        self.counts: list[int] = []
        encodings = [group.rotary_encoding for group in record.model.groups if group.part not in ("vision", "audio")]
        self.axes = max((encoding.axes for encoding in encodings if encoding is not None), default=1)
        self.cache: Any = None

    def watch(self, stack: ExitStack) -> None:
        """Wrap `Cache.crop` to count removed tokens, and `generate` to keep its arguments, until the stack closes."""
        crop, requests = Cache.crop, self
        generate: Any = getattr(self.model, "generate", None)

        def generating(*arguments: Any, **named: Any) -> Any:
            requests.generated = named  # generate encodes images itself, and hands the model no grids
            return generate(*arguments, **named)

        if callable(generate):
            replace_attribute(stack, self.model, "generate", generating)

        def cropping(cache: Cache, tokens_to_remove: int) -> None:
            requests.remove(cache, abs(int(tokens_to_remove)))
            crop(cache, tokens_to_remove)

        stack.callback(setattr, Cache, "crop", crop)
        Cache.crop = cropping  # type: ignore[method-assign, assignment]

    def remove(self, cache: Any, tokens: int) -> None:
        """Count the tokens that were removed from a cache, as where drafts were rejected."""
        for number, known in enumerate(self.caches):
            if known is cache:
                self.counts[number] -= tokens

    def begin(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> TracedCall:
        """Describe a call from its arguments."""
        given = self.signature.bind_partial(*arguments, **named).arguments
        given = {**given, **given.get("kwargs", {})}
        role = next((name for name in TOKENS if given.get(name) is not None), None)
        if role is None:
            raise ValueError(
                f"model must be called with {' or '.join(TOKENS[:2])}; got {', '.join(given) or 'nothing'}. Trace the "
                "part that reads tokens."
            )
        tokens, cache = given[role], given.get("past_key_values")
        sequence = self._sequence(cache)
        # A decoder's tokens have arguments of their own: attention_mask is the encoder's.
        side = "decoder_" if role.startswith("decoder_") else ""
        ids = _array(given.get(f"{side}position_ids"))
        start, shape = self.counts[sequence], (int(tokens.shape[0]), int(tokens.shape[1]))
        mask, media = self._mask(given.get(f"{side}attention_mask"), sequence, start, shape), None
        if self.record.stated.positions is None and self.axes > 1:
            media = self._media(given, sequence, shape)
        number = len(self.record.calls)
        return expected_call(number, sequence, start, shape, self.record.stated, mask, ids, self.axes, media)

    def _mask(self, given: Any, sequence: int, start: int, shape: tuple[int, int]) -> np.ndarray | None:
        """Mask of the tokens so far; those of earlier calls are remembered, as a mask of a window hides old tokens."""
        if isinstance(given, Mapping):  # one for each type of layer
            given = given.get("full_attention", next(iter(given.values()), None))
        mask, known = _array(given), self.real.get(sequence)
        if mask is not None and given.dim() == 4 and known is not None and known.shape == (shape[0], start):
            mask = np.concatenate([known, np.ones(shape, dtype=bool)], 1)
        if mask is not None and mask.shape[1] >= start + shape[1]:
            self.real[sequence] = mask[:, : start + shape[1]] != 0
        return mask

    def _media(self, given: dict[str, Any], sequence: int, shape: tuple[int, int]) -> np.ndarray | None:
        """Positions of images and videos, and of the text after them; None for text alone."""
        types = given.get("mm_token_type_ids")
        if any(given.get(name) is not None for name in MEDIA) or (types is not None and bool((types != 0).any())):
            placed = positions_of_media(self.model.config, {**self.generated, **given})
            if placed is not None and placed[0].shape[:2] == shape:
                self.deltas[sequence] = placed[1]
                return placed[0].astype(np.float64)
            self.record.not_seen.append("positions of images, videos and sound: give trace(model, positions=...)")
            return np.full((*shape, self.axes), np.nan)
        delta = self.deltas.get(sequence)
        if delta is None:
            return None
        mask, start = _array(given.get("attention_mask")), self.counts[sequence]
        counted = np.broadcast_to(np.arange(start, start + shape[1]), shape)
        if mask is not None and mask.shape[1] == start + shape[1]:
            counted = (np.cumsum(mask != 0, 1) - 1)[:, start:]
        after = counted + np.resize(delta, shape[0])[:, None]
        return np.repeat(after.astype(np.float64)[..., None], self.axes, -1)

    def end(self, call: TracedCall, output: Any) -> None:
        """Count the tokens of a call, for the cache that it returns."""
        cache = getattr(output, "past_key_values", None) if self.caches[call.sequence] is None else None
        if cache is not None:
            self.caches[call.sequence] = cache
        self.counts[call.sequence] += call.count

    def _sequence(self, cache: Any) -> int:
        """Number of the sequence that a cache belongs to: a new one where it was never seen."""
        for number, known in enumerate(self.caches):
            if known is not None and known is cache:
                return number
        held = 0 if cache is None or not hasattr(cache, "get_seq_length") else int(cache.get_seq_length())
        self.caches.append(cache)
        self.counts.append(held)
        return len(self.caches) - 1


def _array(given: Any) -> np.ndarray | None:
    """A tensor of two axes as an array; of a mask with four axes, the keys that any query sees; else None."""
    if not isinstance(given, torch.Tensor) or given.dim() not in (2, 4):
        return None
    given = given.detach()
    if given.dim() == 4:
        seen = given if given.dtype == torch.bool else given >= torch.finfo(given.dtype).min / 2
        given = seen.any(1).any(1)
    array: np.ndarray = given.cpu().numpy()
    return array
