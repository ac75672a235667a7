"""CTranslate2 as an engine: its converter reads the folder as any of transformers, and its own code runs the model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

OPTIONS = {"device": "cpu", "compute_type": "float32", "intra_threads": 1}


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    step("importing its converter")
    import ctranslate2
    import transformers
    from ctranslate2.converters import TransformersConverter
    from prompts_in_batches import answers_in_batches

    step("converting the model")
    folder = Path(request["scratch"]) / "model"
    probe = _with_padding(Path(request["probe"]), Path(request["scratch"]) / "file")
    TransformersConverter(str(probe)).convert(str(folder))
    step("loading the model")
    logits = _LOADED[request["auto_class"]](str(folder), request)
    step("running the prompts")
    facts = {"version": f"{ctranslate2.__version__} on transformers {transformers.__version__}"}
    return {**answers_in_batches(request, logits), "engine": "ctranslate2", **facts}


def _generator(folder: str, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Function from token ids to the logits of a decoder."""
    import ctranslate2

    generator = ctranslate2.Generator(folder, **OPTIONS)
    return lambda tokens: np.array(generator.forward_batch(tokens))


def _encoder(folder: str, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Function from token ids to an encoder's masked-token logits: the probe's head on the engine's last states."""
    import ctranslate2
    from masked_prediction import head_of

    encoder, head = ctranslate2.Encoder(folder, **OPTIONS), head_of(request)
    return lambda tokens: head(np.array(encoder.forward_batch(tokens).last_hidden_state))


def _translator(folder: str, request: dict[str, Any]) -> Callable[..., np.ndarray]:
    """Function from encoder and decoder token ids to logits, with the decoder tokens forced as a target prefix."""
    import ctranslate2

    translator = ctranslate2.Translator(folder, **OPTIONS)
    words = json.loads((Path(folder) / "shared_vocabulary.json").read_text())

    def logits(tokens: list[list[int]], decoder_tokens: list[list[int]]) -> np.ndarray:
        source, target = ([[words[one] for one in row] for row in rows] for rows in (tokens, decoder_tokens))
        prefixes = [row[1:] for row in target]  # the engine adds the first, with which all begin
        found = translator.translate_batch(
            source, prefixes, beam_size=1, max_decoding_length=len(target[0]), min_decoding_length=0,
            return_logits_vocab=True, return_end_token=True,
        )  # fmt: skip
        return np.array([[np.array(row) for row in one.logits[0]] for one in found])

    return logits


_LOADED: dict[str, Callable[[str, dict[str, Any]], Callable[..., np.ndarray]]] = {
    "AutoModelForCausalLM": _generator,
    "AutoModelForMaskedLM": _encoder,
    "AutoModelForSeq2SeqLM": _translator,
}


def _with_padding(probe: Path, target: Path) -> Path:
    """Copy the probe with its end token as padding; some tokenizers would else add a token that the model lacks."""
    shutil.copytree(probe, target)
    settings = json.loads((probe / "tokenizer_config.json").read_text())
    settings["pad_token"] = settings["eos_token"]
    (target / "tokenizer_config.json").write_text(json.dumps(settings))
    return target
