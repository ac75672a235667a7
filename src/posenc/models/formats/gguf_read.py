"""GGUF metadata as encodings, as llama.cpp understands it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from posenc.compose import Partial
from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Linear, LongRoPE, Scaling, YaRN
from posenc.models.config.config_classes import ConfigClass
from posenc.models.config.fields import Fields, Options, refuse_unknown_keys, stated_values, waived_notes
from posenc.models.config.layer_type_rules import MOST_LAYERS
from posenc.models.config.sight_keys import NO_LATER_KEYS
from posenc.models.config.sight_rules import LATER
from posenc.models.formats.gguf_architectures import (
    ALWAYS_BOTH_SIDES,
    AMBIGUOUS_KEYS,
    ARCHITECTURES,
    BOTH_SIDES,
    DEFAULTS,
    NEUTRAL_KEYS,
    Architecture,
    all_but_every_nth,
)
from posenc.models.formats.gguf_divisors import recovered_scaling, shortest_in_float32
from posenc.models.formats.gguf_header import GGUFHead, read_gguf
from posenc.models.model_positions import DRAFT, LayerGroup, ModelPositions, Source, Window
from posenc.models.notes import AsStated, NotRead, Waived

#: The count of layers at the end that draft further tokens.
NEXT = "nextn_predict_layers"
#: A tenth of mscale_all_dim, in files of multi-head latent attention.
LOG_MULTIPLIER = "rope.scaling.yarn_log_multiplier"
#: Keys of sliding layers alone.
OF_SLIDING = ("rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa")


def from_gguf(
    file: str | Path | GGUFHead, *, stated: Mapping[str, Any] | None = None, waive: Iterable[str] = ()
) -> ModelPositions:
    """Read what a GGUF file says of positions, as llama.cpp understands it.

    The pairing is in no key: it follows from the architecture. The scaling of Llama 3 is in no key either: its divisors
    are the tensor rope_freqs.weight, from which the encoding is recovered; divisors of another origin become a LongRoPE
    with one list.

    Args:
        file: A path, or a head that was read.
        stated: Values by their keys without the name of the architecture, which win; "pairing" among them. One that
            nothing reads is refused.
        waive: Keys that concern positions and may go unread, without the name of the architecture; "layers" where
            layers differ in ways that no key states.

    Returns:
        The groups of layers.

    Raises:
        ValueError: The file is damaged, its architecture is not known or does not rotate, or a key on positions is not
            understood.
        TypeError: A value has another type than its key takes.
    """
    head, waive = file if isinstance(file, GGUFHead) else read_gguf(file), validation.texts("waive", waive)
    keys = _Keys(head, stated_values(stated))
    pairing = _pairing(keys)
    if keys.row.varying and "layers" not in waive:
        raise ValueError(
            f"general.architecture must treat all layers alike, or say in its keys how not; {keys.arch!r} does not. "
            "Give waive=('layers',) to read what its full layers do."
        )
    layers, full = tuple(range(keys.integer("block_count", most=MOST_LAYERS))), _rotation(keys, pairing, "")
    factor = _logit_factor(keys, _head_width(full), len(layers))
    groups = _groups(keys, layers, full, _rotation_of_sliding(keys, pairing, full))
    if keys.row.scale == "key" and keys.states("rope.scaling.finetuned") and not keys.flag("rope.scaling.finetuned"):
        groups = (LayerGroup("text", "no rotation", layers, (), values=keys.values),)
    length = keys.get("context_length", listed=False)
    length = length and replace(length, name="length")
    groups = _attending(keys, tuple(replace(group, logit_factor=factor, length=length) for group in groups))
    unread = keys.unread()
    refuse_unknown_keys(unread, waive, f"{keys.arch}.", AMBIGUOUS_KEYS)
    keys.options.refuse_unread()
    waived = waived_notes((f"{keys.arch}.{key}", head.keys[f"{keys.arch}.{key}"]) for key in unread)
    alike = (Waived("what layers do differently is waived: each is read as a full one"),) if keys.row.varying else ()
    notes = (*alike, *waived, *_notes_of_window(keys), *_notes_of_sight(keys), *_notes_of_parts(head))
    notes = (*notes, *_notes_of_logits(keys, full))
    groups, draft = _without_draft(keys, groups)
    return ModelPositions(keys.arch, groups, notes, bool(keys.row.period), draft)


def _attending(keys: _Keys, groups: tuple[LayerGroup, ...]) -> tuple[LayerGroup, ...]:
    """Move layers without key heads into a group of their own: recurrent ones, and those without attention."""
    counts = keys.of_arch.get("attention.head_count_kv")
    idle = frozenset(layer for layer, heads in enumerate(counts) if not heads) if isinstance(counts, tuple) else ()
    if not idle:
        return groups
    attending = (replace(group, layers=tuple(layer for layer in group.layers if layer not in idle)) for group in groups)
    others = tuple(layer for group in groups for layer in group.layers if layer in idle)
    alone = LayerGroup("text", "no attention", tuple(sorted(others)), (), values=keys.values)
    return tuple(group for group in (*attending, alone) if group.layers)


def _without_draft(
    keys: _Keys, groups: tuple[LayerGroup, ...]
) -> tuple[tuple[LayerGroup, ...], tuple[LayerGroup, ...]]:
    """Split groups into the model's and those of its multi-token prediction layers, the last ones of block_count."""
    most = keys.integer("block_count", most=MOST_LAYERS) - 1
    count = keys.integer(NEXT, 0, most) if keys.states(NEXT) else 0
    first = most + 1 - count
    model: list[LayerGroup] = []
    draft: list[LayerGroup] = []
    for group in groups:
        for part, name, layers in (
            (model, group.part, tuple(layer for layer in group.layers if layer < first)),
            (draft, DRAFT, tuple(layer for layer in group.layers if layer >= first)),
        ):
            part += [replace(group, part=name, layers=layers)] if layers else []
    return tuple(model), tuple(draft)


class _Keys(Fields):
    """Metadata keys of the file's architecture, completed by llama.cpp's defaults."""

    def __init__(self, head: GGUFHead, stated: Mapping[str, Any]) -> None:
        self.head = head
        self.arch = validation.instance("general.architecture", head.keys.get("general.architecture"), str, "a word")
        self.row = ARCHITECTURES.get(self.arch, Architecture((self.arch,), None))
        path = f"{self.arch}."
        self.of_arch = {key.removeprefix(path): value for key, value in head.keys.items() if key.startswith(path)}
        self.windows = self.row.windows if {**self.of_arch, **stated}.get("attention.sliding_window") else {}
        # Where no key has the period or the window, it is 0 in a row that has none.
        of_row = {"attention.sliding_window_pattern": self.row.period, "attention.sliding_window": self.row.window}
        defaults = {**DEFAULTS, **self.windows, **{name: value for name, value in of_row.items() if value}}
        read = {name: value for name, value in self.of_arch.items() if value is not None}
        super().__init__(read, ConfigClass(defaults=defaults), Options(stated), path)
        self.used |= NEUTRAL_KEYS

    def _sources(self) -> tuple[tuple[Source, Mapping[str, Any], str], ...]:
        """Return the sources of `Fields`; keys of defaults have the architecture's name in front as well."""
        return tuple((source, keys, "" if source == "caller" else self.where) for source, keys, _ in super()._sources())

    def integer(self, name: str, least: int = 1, most: int = 2**53) -> int:
        return super().integer(name, least, most)

    def real(self, name: str) -> float:
        value = super().real(name)
        # A file holds float32; the shortest number that rounds to it is the one that was meant.
        return float(str(np.float32(value))) if self.require(name).source == "file" else value

    def unread(self) -> list[str]:
        """Keys of rotations, relative positions and temperatures that no reader has read."""
        concerns = ("rope.", "attention.max_alibi_bias", "attention.relative_", "attention.temperature_")
        return [key for key in self.of_arch if key.startswith(concerns) and key not in self.used]


def _head_width(encoding: RotaryEncoding) -> int:
    return encoding.dim if isinstance(encoding, Partial | RoPE) else 0


def _logit_factor(keys: _Keys, dim: int, layers: int) -> float:
    """Return the factor of logits besides 1/√d."""
    if keys.row.scale == "key" and keys.states("attention.scale"):
        scale, usual = keys.real("attention.scale"), 1.0 / math.sqrt(dim)
        # Where it is 0, llama.cpp takes 1/√d.
        return scale / usual if scale and np.float32(scale) != np.float32(usual) else 1.0
    if keys.row.scale == "rotation" and keys.states(LOG_MULTIPLIER):
        times = 1.0 + keys.real(LOG_MULTIPLIER) * math.log(keys.real("rope.scaling.factor") or 1.0)
        return times * times
    if keys.row.scale == "layers" and layers == keys.row.largest:
        return math.sqrt(dim / (keys.integer("embedding_length") // keys.integer("attention.head_count")))
    return 1.0


def _pairing(keys: _Keys) -> PairLayout:
    keys.options.asked.add("pairing")
    if "pairing" in keys.options.stated:
        stated = validation.choice("stated['pairing']", keys.options.stated["pairing"], ("adjacent", "halves"))
        return "adjacent" if stated == "adjacent" else "halves"
    if keys.arch not in ARCHITECTURES:
        raise ValueError(
            f"general.architecture must be one whose pairing is known here; got {keys.arch!r}. "
            "State it: stated={'pairing': 'halves'}."
        )
    if keys.row.pairing is None:
        raise ValueError(
            f"general.architecture must rotate queries and keys; {keys.arch!r} does not in llama.cpp. There is no "
            "rotation to read."
        )
    if keys.row.rotating and keys.row.rotating != (count := keys.integer("block_count", most=MOST_LAYERS)):
        raise ValueError(
            f"general.architecture must rotate queries and keys; {keys.arch!r} of {count} layers does not in "
            f"llama.cpp, where its model of {keys.row.rotating} alone does. There is no rotation to read."
        )
    return keys.row.pairing


def _rotation_of_sliding(keys: _Keys, pairing: PairLayout, full: RotaryEncoding) -> RotaryEncoding:
    """The rotation of sliding layers; that of full ones where no layer has a window."""
    if keys.row.windows and not keys.windows:
        keys.used.update(OF_SLIDING)  # llama.cpp reads them with a window alone
        return full
    may_slide = keys.row.period or keys.row.varying or keys.arch not in ARCHITECTURES
    slides = keys.windows or (may_slide and any(map(keys.states, OF_SLIDING)))
    return _rotation(keys, pairing, "_swa") if slides else full


def _rotation(keys: _Keys, pairing: PairLayout, suffix: str) -> RotaryEncoding:
    """The rotation of full layers; with "_swa" that of sliding ones, which share keys that lack this suffix."""

    def own(name: str) -> str:
        named = f"{name}{suffix}"
        return named if keys.get(named, listed=False) else name

    key_length = own("attention.key_length")
    if keys.states(key_length):
        dim = keys.integer(key_length)
    else:
        dim = keys.integer("embedding_length") // keys.integer("attention.head_count")
    width = keys.integer(own("rope.dimension_count"), 2) if keys.states(own("rope.dimension_count")) else dim
    base = keys.real(own("rope.freq_base"))
    if keys.states("attention.key_length_mla"):  # key_length is then that of the compressed keys
        dim = keys.integer("attention.key_length_mla")
    scaling = None if suffix and keys.windows else _scaling(keys, base)
    encoding = RoPE(dim=width, base=base, pairing=pairing, scaling=scaling)
    return encoding if width == dim else Partial(encoding, dim, dim - width if keys.row.last else 0)


def _scaling(keys: _Keys, base: float) -> Scaling | None:
    kind, factor = keys.require("rope.scaling.type").value, keys.real("rope.scaling.factor")
    validation.choice(f"{keys.arch}.rope.scaling.type", kind, ("none", "linear", "yarn", "longrope"))
    attention, divisors = keys.real("rope.scaling.attn_factor"), keys.head.divisors
    scaled = kind != "none" and factor not in (0.0, 1.0)
    long = kind == "longrope" or any(name.startswith("rope_factors") for name in divisors)
    if (scaled and divisors) or (long and "rope_freqs.weight" in divisors):
        raise ValueError(
            f"{next(iter(sorted(divisors)))} must come without another scaling; this file has both. State one of them."
        )
    if long:
        return _long_rope(keys, attention)
    if scaled and kind == "yarn":
        return _yarn(keys, factor, attention)
    if attention != 1.0:
        raise ValueError(
            f"{keys.arch}.rope.scaling.attn_factor must be 1 without YaRN or LongRoPE; got {attention}. Look at the "
            "file."
        )
    if "rope_freqs.weight" in divisors:
        return recovered_scaling(divisors["rope_freqs.weight"], base, _trained_length(keys))
    return Linear(factor) if scaled else None


def _yarn(keys: _Keys, factor: float, attention: float) -> YaRN:
    if keys.real("rope.scaling.yarn_ext_factor") != 1.0:
        raise ValueError(
            f"{keys.arch}.rope.scaling.yarn_ext_factor must be 1 for YaRN; posenc has no encoding of a mixture. "
            "Look at the file."
        )
    ends = keys.real("rope.scaling.yarn_beta_fast"), keys.real("rope.scaling.yarn_beta_slow")
    times = attention * keys.real("rope.scaling.yarn_attn_factor")
    scaling = YaRN(factor, _trained_length(keys), *ends)
    if keys.row.scale == "rotation" and keys.states(LOG_MULTIPLIER) and times == 1.0:
        return replace(scaling, attention=1.0)  # logits are multiplied in its place
    if times == 1.0:
        return scaling
    factor_of_file = shortest_in_float32(times * scaling.attention_factor, lambda one: one / scaling.attention_factor)
    return replace(scaling, attention=factor_of_file)


def _trained_length(keys: _Keys) -> int:
    name = "rope.scaling.original_context_length"
    return keys.integer(name if keys.states(name) else "context_length")


def _long_rope(keys: _Keys, attention: float) -> LongRoPE:
    short, long = (keys.head.divisors.get(f"rope_factors_{name}.weight") for name in ("short", "long"))
    if short is None or long is None:
        raise ValueError(
            "rope_factors_long.weight and rope_factors_short.weight must both be in the file; one is missing. "
            "Convert the model again."
        )
    length, original = keys.integer("context_length"), _trained_length(keys)
    plain_scaling = LongRoPE(short, long, original, length, 1.0)
    if attention == 1.0:
        return plain_scaling
    # A file holds the attention factor alone, in float32: the formula's with a factor of few digits, or one stated.
    factor = math.exp(min((attention**2 - 1) * math.log(original), 700.0)) if attention > 1.0 else 1.0
    for candidate in (length / original, *(float(f"{factor:.{digits}g}") for digits in (1, 2, 3, 4))):
        scaling = replace(plain_scaling, factor=candidate) if candidate > 1.0 else plain_scaling
        if np.float32(scaling.attention_factor) == np.float32(attention):
            return scaling
    return replace(plain_scaling, attention=attention)


def _groups(
    keys: _Keys, layers: tuple[int, ...], full: RotaryEncoding, sliding: RotaryEncoding
) -> tuple[LayerGroup, ...]:
    """Make one group, or one for each kind of layer where sliding layers rotate otherwise."""
    slides, window = (False,) * len(layers), _window(keys)
    if full != sliding or window:
        slides = _slides(keys, keys.require("attention.sliding_window_pattern").value, len(layers))
    values, of_full = keys.values, () if keys.row.still and window else (full,)
    groups = (
        LayerGroup("text", "full_attention", tuple(i for i in layers if not slides[i]), of_full, values=values),
        LayerGroup(
            "text", "sliding_attention", tuple(i for i in layers if slides[i]), (sliding,), values=values, window=window
        ),
    )
    return tuple(group for group in groups if group.layers)


def _window(keys: _Keys) -> Window | None:
    """The window of sliding layers, which counts the query's own key.

    None where there is none, or nothing says which layers have it.
    """
    name = "attention.sliding_window"
    # A file of Gemma 3 may say 0, for no window.
    least = 0 if keys.row.windows else 1
    has_windows = keys.row.period and keys.row.windowed in (0, keys.integer("block_count", most=MOST_LAYERS))
    size = keys.integer(name, least) if has_windows and keys.get(name, listed=False) else 0
    return Window(size - 1) if size else None


def _notes_of_window(keys: _Keys) -> tuple[NotRead, ...]:
    """A note on a window of which no key says which layers have it."""
    name = "attention.sliding_window"
    if keys.row.period or not keys.states(name) or not keys.require(name).value:
        return ()
    return (NotRead(f"{keys.arch}.{name} = {keys.require(name).value!r}: no key says which layers have this window"),)


def _notes_of_sight(keys: _Keys) -> tuple[AsStated, ...]:
    """A note where the file turns the mask of its architecture around; it is causal where no key says otherwise."""
    name = "attention.causal"
    value = keys.get(name, listed=False)
    causal = value is None or validation.truth(value.key, value.value)
    if keys.arch in ALWAYS_BOTH_SIDES or causal is (keys.arch not in BOTH_SIDES):
        return ()
    return (AsStated(f"{keys.where}{name} = {causal}: {NO_LATER_KEYS if causal else LATER}"),)


def _notes_of_logits(keys: _Keys, full: RotaryEncoding) -> tuple[NotRead, ...]:
    """A note where the graph of DeepSeek-V2 scales without the key of its factors.

    Until 2025 llama.cpp left YaRN's factor out of cosines and sines then, and now multiplies logits by its square too.
    """
    scaling = getattr(full.encoding if isinstance(full, Partial) else full, "scaling", None)
    if keys.row.scale != "rotation" or keys.states(LOG_MULTIPLIER) or not isinstance(scaling, Linear | YaRN):
        return ()
    said = f"{keys.where}{LOG_MULTIPLIER} is not in the file: versions of llama.cpp multiply logits differently then"
    return (NotRead(said),)


def _notes_of_parts(head: GGUFHead) -> tuple[NotRead, ...]:
    """A note on files that are not there, in which divisors of frequencies may lie."""
    if not head.missing_parts or head.divisors:
        return ()
    said = f"split.count = {head.keys['split.count']}: divisors of frequencies may lie in the files that are missing"
    return (NotRead(f"{said} ({head.missing_parts})"),)


def _slides(keys: _Keys, pattern: Any, count: int) -> tuple[bool, ...]:
    """Return whether each layer slides: by a list, or all but every n-th, all for 0."""
    if isinstance(pattern, tuple) and len(pattern) == count:
        return tuple(map(bool, pattern))
    period = validation.integer(f"{keys.arch}.attention.sliding_window_pattern", pattern, 0, MOST_LAYERS)
    return all_but_every_nth(period, count)
