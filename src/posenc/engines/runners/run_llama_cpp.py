"""llama.cpp as an engine: the whole model from a GGUF file, through the C functions of the wheel xllamacpp."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from prompts_in_batches import prompts_of

#: Values of flash_attn_type, and what is said of an encoder, which caches no keys.
AUTOMATIC, OFF = -1, 0
WITHOUT_FLASH = "run without flash attention, which rounds queries and keys to float16"


class OpaqueParameters(c.Structure):
    """Buffer larger than llama.h's parameter structs, to pass them by value; named fields are the context's."""

    _fields_ = [
        ("n_ctx", c.c_uint32), ("n_batch", c.c_uint32), ("n_ubatch", c.c_uint32), ("others", c.c_char * 40),
        ("flash_attention", c.c_int32), ("rest", c.c_char * 968),
    ]  # fmt: skip


class TokenBatch(c.Structure):
    """A batch of tokens for llama_decode and llama_encode: llama_batch of llama.h."""

    _fields_ = [
        ("n_tokens", c.c_int32), ("token", c.POINTER(c.c_int32)), ("embd", c.c_void_p), ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)), ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    ]  # fmt: skip


class LlamaFunctions:
    """The functions of llama.h that are called."""

    def __init__(self, path: Path) -> None:
        self._library = c.CDLL(str(path))
        pointer = c.c_void_p
        self.start = self._function("llama_backend_init", None)
        self.model_defaults = self._function("llama_model_default_params", OpaqueParameters)
        self.load = self._function("llama_model_load_from_file", pointer, c.c_char_p, OpaqueParameters)
        self.context_defaults = self._function("llama_context_default_params", OpaqueParameters)
        self.new_context = self._function("llama_init_from_model", pointer, pointer, OpaqueParameters)
        self.room = self._function("llama_n_ctx", c.c_uint32, pointer)
        self.memory = self._function("llama_get_memory", pointer, pointer)
        self.forget = self._function("llama_memory_clear", None, pointer, c.c_bool)
        self.new_batch = self._function("llama_batch_init", TokenBatch, c.c_int32, c.c_int32, c.c_int32)
        self.decode = self._function("llama_decode", c.c_int32, pointer, TokenBatch)
        self.encode = self._function("llama_encode", c.c_int32, pointer, TokenBatch)
        self.width = self._function("llama_model_n_embd", c.c_int32, pointer)
        self.return_states = self._function("llama_set_embeddings", None, pointer, c.c_bool)
        self.states = self._function("llama_get_embeddings_ith", c.POINTER(c.c_float), pointer, c.c_int32)
        self.logits = self._function("llama_get_logits_ith", c.POINTER(c.c_float), pointer, c.c_int32)

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        function = self._library[name]
        function.restype, function.argtypes = result, arguments
        return function


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    import xllamacpp

    library = LlamaFunctions(next(Path(xllamacpp.__file__).parent.glob("*.so")))
    library.start()
    step("loading the model")
    model = library.load(str(Path(request["probe"]) / "model.gguf").encode(), library.model_defaults())
    if not model:
        raise RuntimeError("llama_model_load_from_file returned no model")
    prompts = prompts_of(request)
    longest = max(len(prompt[key]) for prompt in prompts for key in ("tokens", "decoder_tokens") if key in prompt)
    masked = request["auto_class"] == "AutoModelForMaskedLM"
    context = _context(library, model, longest, masked)
    batch = library.new_batch(longest, 0, 1)
    step("running the prompts")
    if masked:
        answers = {**_masked(library, model, context, batch, request), "notes": [WITHOUT_FLASH]}
    else:
        answers = {one["name"]: _rows(library, context, batch, one, request["vocabulary"]) for one in prompts}
    return {**answers, "engine": "llama.cpp", "version": f"xllamacpp {version('xllamacpp')}"}


def _context(library: LlamaFunctions, model: int, longest: int, masked: bool) -> int:
    parameters = library.context_defaults()
    parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = longest, longest, min(longest, 1024)
    if masked:
        if parameters.flash_attention != AUTOMATIC:
            raise RuntimeError("llama_context_params has no flash_attn_type where llama.h of this version has it")
        parameters.flash_attention = OFF
    context = library.new_context(model, parameters)
    if not context or library.room(context) < longest:
        raise RuntimeError(f"llama_init_from_model gave no context of {longest} tokens")
    return int(context)


def _fill(batch: TokenBatch, tokens: list[int], wanted: list[int]) -> TokenBatch:
    """Write tokens into the batch as one sequence from position 0, with logits asked for at the rows `wanted`."""
    batch.n_tokens = len(tokens)
    for place, token in enumerate(tokens):
        batch.token[place], batch.pos[place], batch.logits[place] = token, place, place in wanted
        batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
    return batch


def _rows(library: LlamaFunctions, context: int, batch: TokenBatch, prompt: dict[str, Any], words: int) -> np.ndarray:
    """Logits of a prompt's wanted rows; the prompt goes through the encoder first if it has decoder tokens."""
    library.forget(library.memory(context), True)
    tokens = prompt["tokens"]
    if "decoder_tokens" in prompt:
        code = library.encode(context, _fill(batch, tokens, [*range(len(tokens))]))
        if code:
            raise RuntimeError(f"llama_encode returned {code} for {prompt['name']}")
        tokens = prompt["decoder_tokens"]
    code = library.decode(context, _fill(batch, tokens, prompt["rows"]))
    if code:
        raise RuntimeError(f"llama_decode returned {code} for {prompt['name']}")
    found = [np.ctypeslib.as_array(library.logits(context, row), (words,)) for row in prompt["rows"]]
    return np.array(found, np.float32)


def _masked(
    library: LlamaFunctions, model: int, context: int, batch: TokenBatch, request: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Masked-token logits of every prompt: the probe's head applied to the last states that the engine returns."""
    from masked_prediction import head_of

    head, width, answers = head_of(request), library.width(model), {}
    library.return_states(context, True)
    for prompt in prompts_of(request):
        tokens = prompt["tokens"]
        code = library.encode(context, _fill(batch, tokens, [*range(len(tokens))]))
        if code:
            raise RuntimeError(f"llama_encode returned {code} for {prompt['name']}")
        states = [np.array(np.ctypeslib.as_array(library.states(context, row), (width,))) for row in prompt["rows"]]
        answers[prompt["name"]] = head(np.array(states)).astype(np.float32)
    return answers
