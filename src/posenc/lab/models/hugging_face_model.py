"""Models of transformers with the positions of an experiment, trained and measured as the lab's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from posenc.compose import PerLayer
from posenc.lab.encodings import encodings
from posenc.lab.models.model_folder import OWN, ModelFolder
from posenc.lab.models.transformer import DecoderCache
from posenc.torch import module
from posenc.transformers.swapping.own_positions import OwnPositions, own_positions
from posenc.transformers.swapping.swap import swap


class HuggingFaceModel(nn.Module):  # type: ignore[misc]
    """A model of transformers that is called as a `Transformer`.

    Args:
        model: Of transformers.
        own: Its own positions.
        learned: Parameters of its encodings.
    """

    source = None

    def __init__(self, model: Any, own: OwnPositions, learned: list[nn.Parameter]) -> None:
        super().__init__()
        self.model, self.learned = model, learned
        self.first = 0 if own.table is None else own.table.offset
        self.vocabulary = int(model.config.get_text_config().vocab_size)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor | None = None,
        cache: DecoderCache | None = None,
        *,
        memory: Tensor | None = None,
        visible: Tensor | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Logits (batch, n, vocabulary), as those of `Transformer`.

        It reads whole sequences, without a cache.

        Raises:
            ValueError: `cache`, `memory` or `visible` is given.
        """
        if cache is not None or memory is not None or visible is not None:
            raise ValueError("cache, memory and visible must be left out for a model of transformers; got one.")
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)
        given = {"position_ids": positions.expand(tokens.shape) + self.first}
        # Without a mask, transformers takes a gap between positions for the start of another text.
        given["attention_mask"] = torch.ones_like(tokens)
        if getattr(self.model.config, "type_vocab_size", 0):
            given["token_type_ids"] = torch.zeros_like(tokens)  # otherwise looked up by position
        logits: Tensor = self.model(tokens, **given)[0]
        return logits if last is None else logits[:, -last:]

    def encoding_parameters(self) -> list[nn.Parameter]:
        """Parameters that the encodings learn."""
        return self.learned


def loaded(folder: ModelFolder, seed: int) -> tuple[Any, OwnPositions]:
    """Load the model of a folder in float32.

    Args:
        folder: Of the model.
        seed: Of its weights, unless it is fine-tuned.

    Returns:
        The model, and its own positions.

    Raises:
        ValueError: The model is to be fine-tuned and lacks weights.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    kind: Any = AutoModelForCausalLM if folder.kind == "decoder" else AutoModelForMaskedLM
    config = AutoConfig.from_pretrained(folder.path, local_files_only=True)
    config.get_text_config().use_cache = False
    if not folder.fine_tuned:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = kind.from_config(config, dtype=torch.float32)
        return model, own_positions(model)
    model, report = kind.from_pretrained(
        folder.path, config=config, dtype=torch.float32, local_files_only=True, output_loading_info=True
    )
    if missing := sorted(report["missing_keys"]):
        raise ValueError(
            f"model must have all its weights to be fine-tuned; {folder.path!r} lacks {', '.join(missing[:3])}"
            f"{' and others' if len(missing) > 3 else ''}. Leave --fine-tune out, or give the whole model."
        )
    return model.train(), own_positions(model)


def with_positions(model: Any, own: OwnPositions, text: str, limit: int, seed: int) -> HuggingFaceModel:
    """Put the encodings of a text in place of a model's own positions, or keep these where the text is "own".

    An encoding is shared by all layers, as in the lab's models.

    Args:
        model: Of transformers.
        own: Its own positions.
        text: Encodings, or "own".
        limit: No position reaches this number.
        seed: Of the encodings' parameters.

    Returns:
        The model, called as a `Transformer`.

    Raises:
        ValueError: An encoding does not fit, or the model's own table is too short.
    """
    table = [] if own.table is None else [own.table.module.weight]
    if text == OWN:
        if own.table is not None and limit > own.table.encoding.length:
            raise ValueError(
                f"it has a row for positions up to {own.table.encoding.length - 1}, and {limit - 1} is asked for. Use "
                "shorter test lengths."
            )
        return HuggingFaceModel(model, own, table)
    found = encodings(text, width=own.width, heads=own.layers[0].heads)
    schedules = [encoding for encoding in found if isinstance(encoding, PerLayer)]
    if schedules and len(found) > 1:
        raise ValueError("a schedule must stand alone in a model of transformers; got others joined to it.")
    shared = [module(encoding, seed=seed) for encoding in found if not isinstance(encoding, PerLayer)]
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # for a schedule, whose layers draw their own parameters
        swapped = swap(model, schedules[0] if schedules else shared)
    for unused in table:
        unused.requires_grad_(False)
    learned = {id(parameter): parameter for part in swapped.modules.values() for parameter in part.parameters()}
    return HuggingFaceModel(model, own, list(learned.values()))
