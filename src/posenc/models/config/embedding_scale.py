"""Keys by which token embeddings are multiplied by √d before positions are added, as transformers 5.23.0 reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from posenc.models.config.config_classes import UNKNOWN_CLASS, config_classes
from posenc.models.config.fields import Fields, not_read_by_class
from posenc.models.config.unread_keys import of_unknown_type
from posenc.models.notes import AsStated

#: The key, by model type where its name is another.
KEY, OTHER_KEYS = "scale_embedding", {"big_bird": "rescale_embeddings"}
#: Types whose class computes the factor and multiplies nothing by it.
WITHOUT_EFFECT = frozenset(
    {"audioflamingo3_encoder", "musicgen_decoder", "musicgen_melody_decoder", "qwen2_5_omni_audio_encoder",
     "qwen2_audio_encoder", "qwen3_asr_encoder", "qwen3_omni_moe_audio_encoder", "voxtral_encoder", "whisper"}
)  # fmt: skip
#: What is done to token embeddings, in words.
WORDS = {True: "multiplied by √d", False: "left as they are"}


class EmbeddingScale(NamedTuple):
    """Whether a part of a model multiplies its token embeddings, the key that says so, and where that stands."""

    scaled: bool
    key: str
    where: str


def embedding_scales(
    config: Mapping[str, Any], model_type: str | None = None, where: str = ""
) -> Iterator[EmbeddingScale]:
    """Yield the scale of each part of a config whose class heeds the key.

    Example:
        >>> [list(embedding_scales({"model_type": name})) for name in ("llama", "xglm")]
        [[], [EmbeddingScale(scaled=True, key='scale_embedding', where='')]]
    """
    own = str(model_type or config.get("model_type"))
    key, known = OTHER_KEYS.get(own, KEY), config_classes().get(own, UNKNOWN_CLASS)
    value = known.defaults.get(key) if config.get(key) is None else config[key]
    if value is not None and own not in WITHOUT_EFFECT and (key in known.defaults or known is UNKNOWN_CLASS):
        yield EmbeddingScale(bool(value), key, where)
    for part, of_part in known.parts.items():
        if isinstance(config.get(part), Mapping):
            yield from embedding_scales(config[part], of_part, f"{where}{part}.")


def notes_of_embedding_scale(fields: Fields, model_type: str) -> tuple[str, ...]:
    """Note a scale of the embeddings that is not the class's own, or that the class does not heed."""
    key, known = OTHER_KEYS.get(model_type, KEY), fields.config_class
    value = fields.data.get(key)
    if not isinstance(value, bool) or value is known.defaults.get(key, False):
        return ()
    place = fields.where + key
    if known is UNKNOWN_CLASS:
        return of_unknown_type(model_type, [(key, place, value)])
    if model_type in WITHOUT_EFFECT or key not in known.defaults:
        return (not_read_by_class(place, value),)
    return (AsStated(f"{place} = {value}: token embeddings are {WORDS[value]} before positions are added"),)
