"""Counts, windows and bounds that no encoding holds: a note on each, so that two models compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from types import MappingProxyType

from posenc.models.config.fields import Fields, wrong
from posenc.models.config.layer_type_rules import num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.config.model_types.tables_and_biases import RESIZED_SAM, SAM_KIN
from posenc.models.config.sight_keys import FOLLOWS, NO_LATER_KEYS, SIGHT_KEYS
from posenc.models.model_positions import Plain, layer_ranges
from posenc.models.notes import AsStated

#: What a class does, as (name, value, consequence), from its config and the groups that were read of it.
Fact = tuple[str, str, str]
FactRule = Callable[[Fields, Groups], tuple[Fact, ...]]

#: Names of facts about windows of patches, and what they say.
WINDOWS, WHOLE = "windows of patches", "attention over the whole image"
IN_WINDOW = "patches of other layers see their own window alone"


def notes_as_stated(fields: Fields, model_type: str, groups: Groups) -> tuple[AsStated, ...]:
    """Note what the class of a type does with positions or attention that no encoding and no window holds.

    Example:
        >>> notes_as_stated(Fields({"tokens_per_second": 2}), "qwen2_5_vl_vision", ())[-1]
        'tokens_per_second = 2: each second between frames of a video counts as so many positions'
    """
    return _as_notes(fields, (_heads_of_tables, *FACTS.get(model_type, ())), groups)


def notes_of_sight(fields: Fields, model_type: str) -> tuple[AsStated, ...]:
    """Note the keys of a type by which queries see other keys than those of its class."""
    usual = SIGHT_KEYS.get(model_type, {})
    rules = [_of_key(key, NO_LATER_KEYS if own is False else FOLLOWS, own) for key, own in usual.items()]
    return _as_notes(fields, rules, ())


def _as_notes(fields: Fields, rules: Iterable[FactRule], groups: Groups) -> tuple[AsStated, ...]:
    facts = [fact for rule in rules for fact in rule(fields, groups)]
    return tuple(AsStated(f"{fields.where}{name} = {value}: {consequence}") for name, value, consequence in facts)


def _of_key(name: str, consequence: str, usual: Plain = None) -> FactRule:
    """Make a rule that states the value of a key where it is not the class's own: `usual`, or that of its defaults."""

    def rule(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
        known, value = fields.config_class, fields.get(name, listed=False)
        default = known.defaults.get(known.names.get(name, name)) if usual is None else usual
        if value is None or value.value == (tuple(default) if isinstance(default, list) else default):
            return ()
        return ((value.key.removeprefix(fields.where), _in_full(value.value), consequence),)

    return rule


def _in_full(value: Plain) -> str:
    """A value in words that are equal where values are, 25 and 25.0, but not 25 and True; runs in lists are counted."""
    if isinstance(value, tuple):
        words = (f"({_in_full(one)})" if isinstance(one, tuple) else _in_full(one) for one in value)
        runs = [(one, len(list(same))) for one, same in groupby(words)]
        return ", ".join(one if count == 1 else f"{one} ({count} times)" for one, count in runs) or "none"
    return f"{value:.12g}" if isinstance(value, float) else repr(value)


def _windows(size: str, whole: frozenset[int], count: int) -> tuple[Fact, ...]:
    """The facts of a tower of `count` layers where those of `whole` see the whole image and the others a window."""
    if whole >= set(range(count)):
        return ()
    layers = layer_ranges(tuple(sorted(whole))) if whole else "no layer"
    return (WINDOWS, size, IN_WINDOW), (WHOLE, layers, IN_WINDOW)


def _of_types(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """Muse: the types of layers; a window is as large as the table."""
    whole = {layer for group in groups if group.attention == "full_attention" for layer in group.layers}
    return _windows("those of the table", frozenset(whole), num_hidden_layers(fields))[1:]


def _of_sam_without_scores(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """SAM: windows are those of its scores, where it has these."""
    if fields.flag("use_rel_pos"):
        return ()
    whole = {layer for group in groups if group.attention == "full_attention" for layer in group.layers}
    side = fields.integer("window_size", 0, 1 << 12)
    return _windows(f"{side} × {side}", frozenset(whole), num_hidden_layers(fields))


def _where_output_is_taken(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """RF-DETR: layers of out_indices, and any behind the last of them, see the whole image."""
    fields.mark_used("window_block_indexes")  # which the class computes, and writes into files
    count, side = num_hidden_layers(fields), fields.integer("num_windows")
    taken = _stages_taken(fields, count)
    whole = frozenset(layer for layer in range(count) if side == 1 or layer in taken or layer > taken[-1])
    return _windows(f"{side} × {side} for each image", whole, count)


def _stages_taken(fields: Fields, count: int) -> tuple[int, ...]:
    """The stages whose output a backbone gives, by out_indices or the names of out_features; the last by default."""
    indices, names = (fields.get(key, listed=False) for key in ("out_indices", "out_features"))
    stated = names if indices is None else indices
    if stated is None or not stated.value:
        return (count,)
    listed = stated.value
    known: dict[object, int] = {f"stage{stage}" if stage else "stem": stage for stage in range(count + 1)}
    known |= {stage: stage % (count + 1) for stage in range(-count - 1, count + 1)}
    if not isinstance(listed, tuple) or not all(isinstance(one, str | int) and one in known for one in listed):
        raise ValueError(wrong(stated.key, f"must list stages of {count} layers", listed))
    return tuple(known[one] for one in listed)


def _where_trained_before(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """Swin v2: window_size, which its biases do not show where they count in the window of an earlier training."""
    earlier = fields.get("pretrained_window_sizes", listed=False)
    if earlier is None or not isinstance(earlier.value, tuple) or not any(earlier.value):
        return ()
    return _of_key("window_size", "patches see their own window alone")(fields, groups)


def _heads_of_tables(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """Heads of media whose layers know no position, so that no width or bias of theirs shows how many there are.

    Of text alone, a GGUF file would state none, and compare with no config.
    """
    if not groups or any(group.layers or group.part == "text" for group in groups):
        return ()
    return (*_of_key("num_attention_heads", HEADS)(fields, groups), *_of_key(DECODER_HEADS, HEADS)(fields, groups))


def _bounded_logits(fields: Fields, groups: Groups) -> tuple[Fact, ...]:
    """Gemma 2: attn_logit_softcapping, also where a file says null, which bounds nothing, and not the class's 50."""
    value = fields.get(SOFTCAP, listed=False)
    stated = SOFTCAP in fields.data or SOFTCAP in fields.options.stated
    if not stated or (value is not None and value.value == 50.0):
        return ()
    bound = "none" if value is None else _in_full(value.value)
    return ((SOFTCAP, bound, "each logit x of attention becomes bound·tanh(x/bound)"),)


SOFTCAP = "attn_logit_softcapping"
DECODER_HEADS = "decoder_attention_heads"
HEADS = "so many heads share the channels of queries and keys, and logits are divided by the root of the width of one"
PER_SECOND = "each second between frames of a video counts as so many positions"
TOGETHER = "sound and frames of a video take turns after so many seconds"
RECORDING = "a recording is read in chunks, with frames before and behind each, and positions begin anew in each"
FOLDED = "the spectrogram is folded into an image, whose rows and columns biases count"
AGGREGATED = "it pools the map whose rows and columns are the positions"
PATCHED = "it says how bytes are grouped into patches, which layers over patches count as positions"

OMNI = (_of_key("position_id_per_seconds", PER_SECOND),)
OMNI_IN_TURN = (*OMNI, _of_key("seconds_per_chunk", TOGETHER))
MERGED = _of_key("spatial_merge_size", "squares of so many patches stand for a token of an image, and count as one row")
HALVED = (_of_key("insert_layer_id", "behind this layer windows of patches become one patch each"),)
#: What the classes of model types state besides encodings.
FACTS: Mapping[str, tuple[FactRule, ...]] = MappingProxyType(
    {
        "qwen2_5_vl_vision": (_of_key("tokens_per_second", PER_SECOND),),
        "muse_glimmer_vision": (_of_types,),
        "muse_spark_vision": (_of_types,),
        **dict.fromkeys((*SAM_KIN, *RESIZED_SAM), (_of_sam_without_scores,)),
        **dict.fromkeys(("gemma2", "t5_gemma_module", "vaultgemma", "videoprism_text_model"), (_bounded_logits,)),
        "rf_detr_dinov2": (_where_output_is_taken,),
        "swinv2": (_where_trained_before,),
        **dict.fromkeys(("minicpm_ocr_vision", "minicpmv4_6_vision", "minicpmv4_7_vision"), HALVED),
        "efficientloftr": tuple(
            _of_key(f"{side}_aggregation_{size}", AGGREGATED)
            for side in ("q", "kv")
            for size in ("kernel_size", "stride")
        ),
        "clap_audio_model": (_of_key("spec_size", FOLDED), _of_key("patch_stride", FOLDED)),
        "nemotron3_diarization": tuple(
            _of_key(name, RECORDING)
            for name in ("chunk_length", "chunk_left_context", "chunk_right_context", "fifo_length")
        ),
        "qwen2_5_omni_thinker": OMNI_IN_TURN,
        "qwen2_5_omni_talker": (*OMNI_IN_TURN, MERGED),
        "qwen3_omni_moe_thinker": OMNI,
        "Qwen3OmniMoeTalkerConfig": (*OMNI, MERGED),
        "blt": tuple(
            _of_key(name, PATCHED) for name in ("patching_mode", "patch_size", "patching_threshold", "max_patch_length")
        ),
    }
)  # fmt: skip
