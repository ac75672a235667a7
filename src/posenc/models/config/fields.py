"""A part of a config, read key by key; every value remembers where it came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.core import validation
from posenc.core.rotation import PairLayout
from posenc.core.text_lines import escaped
from posenc.models.config.config_classes import UNKNOWN_CLASS, ConfigClass
from posenc.models.model_positions import Plain, Source, Value
from posenc.models.notes import Idle, Waived
from posenc.phase import Numerics

#: Keys that concern positions, by name: an error names each of them that no reader has read.
POSITION_KEYS = re.compile(
    r"rope|rotary|theta|alibi|position|_pos_|pos_emb|relative|rel_pos|rel_bins|_bucket|sinusoid|nope_"
    r"|temperature_tuning|^n_ctx$|^max_seq_len$|^max_source|^max_target|^floor_scale$|^attn_scale$|partial_rot"
    r"|^yarn|^ntk|^xpos|llama_4_scaling"
)
#: Of these, keys that state nothing about how positions are encoded.
NEUTRAL_KEYS = frozenset(
    {
        "position_dropout", "dropout_positions", "positional_dropout", "positional_dropout_rate",
        "position_id_per_seconds", "encoder_positional_dropout_rate", "decoder_positional_dropout_rate",
        "positionwise_conv_kernel_size", "reset_position_index_per_cell", "memory_attention_rope_dropout",
        "num_hash_buckets", "num_relative_features", "out_point_positions2D", "position_bins",
        "ignore_keys_at_rope_validation", "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
        # DINOv3's count in training alone; SAM 2's are sizes of its grid; XLM's says how its table was first filled.
        "pos_embed_rescale", "pos_embed_shift", "pos_embed_jitter", "memory_attention_rope_feat_sizes",
        "memory_attention_rope_k_sizes", "enable_temporal_pos_encoding_for_object_pointers", "sinusoidal_embeddings",
    }
)  # fmt: skip
#: Keys whose number is the size of a window or chunk, or a factor or bound of logits, by name.
ATTENTION_KEYS = re.compile(
    r"^(?!num_|.*(layer|pattern))(.*window|.*attention_chunk_size|local_attention"
    r"|.*(attention|attn|qk|query|key)_(.*_)?(multiplier|scalar|scale_factor|scaling|softcapping|logit_cap)"
    r"|.*softmax_scale)"
)
#: What else to do about a key that a model heeds, where from_config reads its file.
OWN_READER = "; if the model heeds it, give from_config types=(ModelType(...),) that reads it"
#: The longest list that a value may be.
LONGEST_LIST = 1 << 16
#: How many keys an error names, and how many characters of each.
MOST_NAMED, LONGEST_NAME = 5, 80


@dataclass(frozen=True)
class Options:
    """Requests of the caller besides the file; see `from_config`.

    Args:
        layout: Of pairs in rows that posenc converted, as the model type of the file says; None where it says nothing.
        types: The `ModelType` of each model type that is read.
        asked: Names of keys that some reader has looked for, in any part of the file.
    """

    stated: Mapping[str, Any] = field(default_factory=dict)
    waive: frozenset[str] = frozenset()
    length: int | None = None
    numerics: Numerics = "exact"
    layout: PairLayout | None = None
    types: Mapping[str, Any] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def refuse_unread(self) -> None:
        """Raise a ValueError that names the stated keys that no reader has looked for."""
        unread = [key for key in self.stated if key not in self.asked]
        if unread:
            raise ValueError(
                f"stated must hold keys that are read; got {_named(unread)}, which nothing reads here. Correct its "
                "name; of a key inside an object, state the whole object."
            )


class Fields:
    """A part of a config: what the caller states, then the file, then the defaults of its class."""

    def __init__(
        self,
        data: Mapping[str, Any],
        config_class: ConfigClass = UNKNOWN_CLASS,
        options: Options | None = None,
        where: str = "",
        older_names: Mapping[str, str] | None = None,
    ) -> None:
        self.data, self.config_class, self.where = data, config_class, where
        self.options, self.older_names = options or Options(), older_names or {}
        self.used: set[str] = set()
        self.notes: dict[str, None] = {}
        self._found: dict[str, Value | None] = {}
        self._listed: dict[str, Value] = {}

    @property
    def values(self) -> tuple[Value, ...]:
        """Values that `get` has read and listed, in the order of reading."""
        return tuple(self._listed.values())

    def get(self, name: str, *, listed: bool = True) -> Value | None:
        """The value of a key in the first source that has it; None where none has, or where that one says null.

        Args:
            name: As posenc spells the key.
            listed: Whether `values` lists it from now on.

        Returns:
            The value and its source.
        """
        if name not in self._found:
            self._found[name] = self._find(name)
        value = self._found[name]
        if listed and value is not None:
            self._listed[name] = value
        return value

    def _find(self, name: str) -> Value | None:
        """Search the sources in order; a null that is written down counts, not the default of the class."""
        spellings = self._spellings(name)
        self._ask_for(*spellings)
        for source, keys, path in self._sources():
            found = [
                Value(name, immutable(path + spelling, keys[spelling]), source, path + spelling)
                for spelling in spellings
                if keys.get(spelling) is not None
            ]
            for other in found[1:]:
                if source == "file" and other.value != found[0].value:
                    self.mark_overridden(other, found[0])
            if found or any(spelling in keys for spelling in spellings):
                return found[0] if found else None
        return None

    def _spellings(self, name: str) -> tuple[str, ...]:
        """A key as posenc spells it, as its class does, and as older files do, the one that counts first.

        A class sets the common names of a key after its own, so that a common name counts where a file has both.
        """
        names = self.config_class.names
        own = names.get(name, name)
        common = [other for other, spelled in names.items() if spelled == own and other != own]
        return tuple(
            dict.fromkeys((*([name] if name in common else []), *common, own, self.older_names.get(name, own)))
        )

    def _sources(self) -> tuple[tuple[Source, Mapping[str, Any], str], ...]:
        return (
            ("caller", self.options.stated, ""),
            ("file", self.data, self.where),
            ("class default", self.config_class.defaults, ""),
        )

    def require(self, name: str) -> Value:
        """The value of a key; an error that says what to state where there is none."""
        value = self.get(name)
        if value is None:
            raise ValueError(
                f"{self.where}{name} must be known; neither the file nor the class has it. "
                f"State it: stated={{{name!r}: …}}."
            )
        return value

    def integer(self, name: str, least: int = 1, most: int = validation.LARGEST_WIDTH) -> int:
        value = self.require(name)
        return validation.integer(value.key, value.value, least, most)

    def integer_or(self, name: str, usual: int, least: int = 1, most: int = validation.LARGEST_WIDTH) -> int:
        """Return what the caller or the file states; else a constant of the class."""
        return self.integer(name, least, most) if self.states(name) else usual

    def real(self, name: str) -> float:
        value = self.require(name)
        return validation.real(value.key, value.value, 0.0, 1e30)

    def flag(self, name: str) -> bool:
        """True or False; False where no source has the key."""
        value = self.get(name)
        return value is not None and validation.truth(value.key, value.value)

    def states(self, name: str) -> bool:
        """Say whether the caller or the file has a value for the key."""
        stated, data = self.options.stated, self.data
        return any(stated.get(key) is not None or data.get(key) is not None for key in self._spellings(name))

    def json_object(self, name: str) -> tuple[dict[str, Any], Source] | None:
        """Read a key that holds a JSON object, with its source; None where it is absent, null or empty."""
        self._ask_for(name)
        for source, keys, path in self._sources()[:2]:
            if keys.get(name):
                return dict(validation.instance(path + name, keys[name], dict, "a JSON object")), source
        return None

    def values_of(self, *names: str) -> tuple[Value, ...]:
        """The values that were read of these keys, in the order of reading."""
        return tuple(value for value in self.values if value.name in names)

    def _ask_for(self, *names: str) -> None:
        self.used.update(names)
        self.options.asked.update(names)

    def mark_used(self, *names: str) -> None:
        """Mark keys as read, so that `unknown_keys` leaves them out."""
        self.used.update(names)

    def mark_waived(self, *keys: tuple[str, Any]) -> None:
        """Record keys (their places in the file) and values that the caller has waived."""
        self.notes.update(dict.fromkeys(waived_notes(keys)))

    def mark_idle(self, name: str, value: Any) -> None:
        """Mark a key of the file as one that its class does not read, unless it is absent or null."""
        self.mark_used(name)
        if value is not None:
            self.notes[not_read_by_class(self.where + name, value)] = None

    def mark_overridden(self, value: Value, counting: Value | None) -> None:
        """Note a value of the file where another counts; None where its class reads none of that name."""
        if {value.name, value.key, value.key.removeprefix(self.where)} & self.options.waive:
            self.mark_waived((value.key, value.value))
        else:
            self.notes[not_read_by_class(value.key, value.value, counting)] = None

    def unknown_keys(self) -> list[str]:
        """Keys of the file that concern positions and that no reader has read."""
        known = self.used | NEUTRAL_KEYS
        return [
            key
            for key, value in self.data.items()
            if isinstance(key, str)
            and POSITION_KEYS.search(key)
            and key not in known
            and value is not None
            and not isinstance(value, dict)
        ]

    def idle_attention_keys(self) -> list[str]:
        """Keys of the file that give attention a window or a factor in some class, and in this one are not read."""
        known = self.config_class
        read = {*self.used, *known.defaults, *known.also_reads, *known.names, *known.names.values()}
        return [
            key
            for key, value in self.data.items()
            if isinstance(key, str) and ATTENTION_KEYS.search(key) and type(value) in (int, float) and key not in read
        ]

    def notes_of_unknown_keys(self, neutral: Iterable[str], waive: Iterable[str]) -> tuple[Waived, ...]:
        """Return notes on unread, waived position keys with a value, for formats that have no nested objects.

        ValueError where the caller has not waived it.
        """
        known = {*self.used, *neutral}
        unknown = [key for key, value in self.data.items() if POSITION_KEYS.search(key) and value and key not in known]
        refuse_unknown_keys(unknown, waive)
        return waived_notes((key, self.data[key]) for key in unknown)


def wrong(key: str, rule: str, value: object) -> str:
    """Return the error message for a config value that breaks a rule."""
    return f"{escaped(key)} {rule}; got {validation.shown(value)}. Correct the config."


def immutable(key: str, value: Any) -> Plain:
    """Return a plain value in immutable form: lists become tuples."""
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_LIST:
            raise ValueError(
                f"{escaped(key)} must have at most {LONGEST_LIST} entries; got {len(value)}. Correct the config."
            )
        return tuple(immutable(key, item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{escaped(key)} must be a plain value; got {type(value).__name__}. Correct the config.")


def stated_values(stated: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check the `stated` argument of a reader and return it as a dict, empty for None."""
    given = validation.instance("stated", {} if stated is None else stated, Mapping, "a dict of keys and values")
    validation.texts("stated", tuple(given))
    return dict(given)


def refuse_unknown_keys(
    keys: Iterable[str],
    waive: Iterable[str],
    where: str = "",
    problems: Mapping[str, str] | None = None,
    *,
    remedy: str = "",
) -> None:
    """Raise a ValueError that names the position keys that posenc does not know and the caller has not waived."""
    waived = frozenset(waive)
    unknown = [key for key in keys if not {key, where + key} & waived]
    if not unknown:
        return
    first, *more = [where + key for key in unknown]
    problem = (problems or {}).get(unknown[0], "got a key that is not known here")
    others = f" (nor {_named(more)})" if more else ""
    raise ValueError(
        f"{escaped(first[:LONGEST_NAME])} must be understood, since it concerns positions; {problem}{others}. "
        f"If it is harmless, give waive=({_named([first, *more])},){remedy}."
    )


def waived_notes(keys: Iterable[tuple[str, Any]]) -> tuple[Waived, ...]:
    """Make a note for each waived key, with its value.

    Example:
        >>> waived_notes([("rope_style", "fancy")])
        ("rope_style = 'fancy' is waived",)
    """
    return tuple(Waived(f"{key_and_value(key, value)} is waived") for key, value in keys)


def not_read_by_class(key: str, value: Any, counting: Value | None = None) -> Idle:
    """Make a note on a key that the class of a file does not read, and on the value that counts in its place.

    Example:
        >>> not_read_by_class("text_config.is_causal", True)
        'text_config.is_causal = True is not read by its class'
        >>> not_read_by_class("n_embd", 64, Value("hidden_size", 32, "file", "hidden_size"))
        'n_embd = 64 is not read by its class, which reads hidden_size = 32'
    """
    note = f"{key_and_value(key, value)} is not read by its class"
    if counting is None:
        return Idle(note)
    reads = "takes its default" if counting.source == "class default" else "reads"
    return Idle(f"{note}, which {reads} {key_and_value(counting.key, counting.value)}")


def key_and_value(key: str, value: Any) -> str:
    """A key and its value as notes show them, each cut short."""
    return f"{escaped(key[:LONGEST_NAME])} = {value!r:.{LONGEST_NAME}}"


def _named(keys: list[str]) -> str:
    """Join the first keys, quoted and shortened, with the count of those left out."""
    more = f", and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return (
        ", ".join(repr(key) if len(key) < LONGEST_NAME else f"{key[:LONGEST_NAME]!r}..." for key in keys[:MOST_NAMED])
        + more
    )
