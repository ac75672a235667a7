"""Reading a part of a config key by key, and remembering where every value came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from posenc import _check
from posenc.models.model_positions import Plain, Source, Value

#: Keys that concern positions, by name: one of them that nobody read is an error.
CONCERNS = re.compile(
    r"rope|rotary|theta|alibi|position|_pos_|pos_emb|relative|rel_pos|rel_bins|_bucket|sinusoid|nope_|temperature_tuning"
    r"|^n_ctx$|^max_seq_len$|^max_source|^max_target|^floor_scale$|^attn_scale$|partial_rot|^yarn|^ntk|^xpos|llama_4_scaling"
)
#: Of these, keys that state nothing of how positions are encoded.
HARMLESS = frozenset(
    {
        "position_dropout", "dropout_positions", "positional_dropout", "positional_dropout_rate", "position_id_per_seconds",
        "encoder_positional_dropout_rate", "decoder_positional_dropout_rate", "positionwise_conv_kernel_size",
        "reset_position_index_per_cell", "memory_attention_rope_dropout", "num_hash_buckets", "out_point_positions2D",
        # Those of DINOv3 count in training alone, those of SAM 2 are sizes of the grid that positions are made of, XLM's says how its
        # table was first filled.
        "pos_embed_rescale", "pos_embed_shift", "pos_embed_jitter", "memory_attention_rope_feat_sizes", "memory_attention_rope_k_sizes",
        "enable_temporal_pos_encoding_for_object_pointers", "sinusoidal_embeddings",
        "position_bins", "ignore_keys_at_rope_validation", "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
    }
)  # fmt: skip
#: The longest list that a value may be.
LONGEST_LIST = 1 << 16


class Fields:
    """One part of a config: what the caller states, then the file, then the defaults of its class."""

    def __init__(
        self,
        data: Mapping[str, Any],
        defaults: Mapping[str, Any],
        names: Mapping[str, str],
        stated: Mapping[str, Any],
        where: str = "",
    ) -> None:
        self.data, self.defaults, self.names, self.stated, self.where = data, defaults, names, stated, where
        self.used: set[str] = set()
        self.values: list[Value] = []

    def get(self, name: str, *, keep: bool = True) -> Value | None:
        """The value of a key in the first source that has one which is not null; None where none has."""
        spellings = tuple(dict.fromkeys((self.names.get(name, name), name)))
        self.used.update(spellings)
        for source, place, path in self._sources():
            for spelling in spellings:
                if place.get(spelling) is not None:
                    return self._made(name, place[spelling], source, path + spelling, keep)
        return None

    def _sources(self) -> tuple[tuple[Source, Mapping[str, Any], str], ...]:
        return ("caller", self.stated, ""), ("file", self.data, self.where), ("class default", self.defaults, "")

    def _made(self, name: str, value: Any, source: Source, key: str, keep: bool) -> Value:
        made = Value(name, plain(key, value), source, key)
        if keep and made not in self.values:
            self.values.append(made)
        return made

    def need(self, name: str) -> Value:
        """The value of a key; an error that says what to state where there is none."""
        value = self.get(name)
        if value is None:
            raise ValueError(
                f"{self.where}{name} must be known; neither the file nor the class has it. State it: stated={{{name!r}: …}}."
            )
        return value

    def integer(self, name: str, least: int = 1, most: int = _check.LARGEST_WIDTH) -> int:
        value = self.need(name)
        return _check.integer(value.key, value.value, least, most)

    def truth(self, name: str) -> bool:
        """True or False; False where no source has the key."""
        value = self.get(name)
        return value is not None and _check.truth(value.key, value.value)

    def given(self, name: str) -> bool:
        """Whether the caller or the file has the key, null or not read yet."""
        key = self.names.get(name, name)
        return any(place.get(one) is not None for one in (key, name) for place in (self.stated, self.data))

    def table(self, name: str) -> tuple[dict[str, Any], Source] | None:
        """A key that holds an object; None where it is absent, null or empty."""
        self.used.add(name)
        for source, place, path in self._sources()[:2]:
            if place.get(name):
                return dict(_check.instance(path + name, place[name], dict, "a JSON object")), source
        return None

    def use(self, names: Iterable[str]) -> None:
        """Take keys as understood."""
        self.used.update(names)

    def unread(self) -> list[str]:
        """Keys of the file that concern positions and that nobody read."""
        return [
            key
            for key, value in self.data.items()
            if isinstance(key, str)
            and CONCERNS.search(key)
            and key not in self.used
            and key not in HARMLESS
            and value is not None
            and not isinstance(value, dict)
        ]


def plain(key: str, value: Any) -> Plain:
    """A value that cannot be changed: lists become tuples."""
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_LIST:
            raise ValueError(f"{key} must have at most {LONGEST_LIST} entries; got {len(value)}. Look at the file.")
        return tuple(plain(key, item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{key} must be a plain value; got {type(value).__name__}. Look at the file.")
