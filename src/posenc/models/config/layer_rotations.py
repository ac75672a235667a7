"""Which layers rotate, and by which of the model's rotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from posenc import _check
from posenc.models.config import rope_parameters
from posenc.models.config.config_classes import ModelClass
from posenc.models.config.fields import Fields
from posenc.models.config.layer_rules import rotating
from posenc.models.config.model_types import UNPLACED, Family
from posenc.models.config.rotation_rules import by_constant, by_width, if_rotary
from posenc.models.model_positions import Value

Rope = Mapping[str, Value]
#: For every layer the name of its rotation, None where it has none.
Labels = tuple[str | None, ...]

_GEMMA = {"full_attention": ("rope_theta", True), "sliding_attention": ("rope_local_base_freq", False)}
_MODERN_BERT = {"full_attention": ("global_rope_theta", True), "sliding_attention": ("local_rope_theta", True)}
_NEOX = {"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"}
#: How a class spells the keys beside rope_parameters, where not as the others do.
BESIDE: dict[str, Mapping[str, str]] = {"gpt_neox": _NEOX, "gpt_neox_japanese": _NEOX}
#: How older files of a model type with several rotations spell them.
OLDER_KEYS: dict[str, rope_parameters.Older] = {
    "gemma3_text": _GEMMA,
    "gemma3n_text": _GEMMA,
    "t5gemma2_text": _GEMMA,
    "t5gemma2_decoder": _GEMMA,
    "modernbert": _MODERN_BERT,
    "modernbert-decoder": _MODERN_BERT,
    # Its class takes the base of the file for the full layers alone.
    "olmo3": {"full_attention": ("rope_theta", True), "sliding_attention": (None, False)},
}


def ropes(
    fields: Fields, model_type: str, known: ModelClass, family: Family, kinds: tuple[str, ...]
) -> tuple[Mapping[str, Rope | None], Labels]:
    """The rotations of a model by name, and which of them every layer uses."""
    if model_type in SPECIAL:
        return SPECIAL[model_type](fields, known, kinds)
    if rope_parameters.nested(known.absent):
        made: Mapping[str, Rope | None] = rope_parameters.by_label(fields, known, OLDER_KEYS.get(model_type, {}))
    else:
        values = rope_parameters.flat(fields, known, {**rope_parameters.BESIDE, **BESIDE.get(model_type, {})})
        _rotary_dim(fields, values)
        made = dict.fromkeys(kinds, values)
    return made, tuple(kind if _turns(family, kind, fields) and made.get(kind) is not None else None for kind in kinds)


def _turns(family: Family, kind: str, fields: Fields) -> bool:
    if kind in UNPLACED:
        return False
    if family.rotated is None or kind in family.rotated:
        return True
    # A model whose window is null has no layer that slides, and then all of them rotate.
    return fields.get("sliding_window", keep=False) is None


def _rotary_dim(fields: Fields, values: dict[str, Value]) -> None:
    """MiniMax-M2: a count of channels in place of a fraction."""
    fields.use(("rotary_dim",))
    if (
        fields.given("rotary_dim")
        and values["partial_rotary_factor" if "partial_rotary_factor" in values else "rope_type"].source != "file"
    ):
        count = fields.need("rotary_dim")
        fraction = fields.integer("rotary_dim") / fields.integer("head_dim")
        values["partial_rotary_factor"] = Value("partial_rotary_factor", fraction, count.source, count.key)


Special = Callable[[Fields, ModelClass, tuple[str, ...]], tuple[Mapping[str, Rope | None], Labels]]


def _flagged(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Llama 4, SmolLM3: no_rope_layers holds 1 for a layer that does rotate."""
    flags = rotating(fields, len(kinds))
    return {"rotating": rope_parameters.flat(fields, known)}, tuple("rotating" if flag else None for flag in flags)


def _by_theta(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Granite with windows: a base for every layer, 0 for none."""
    values = rope_parameters.flat(fields, known)
    thetas = _listed(fields, "layer_rope_theta", len(kinds))
    if thetas is None:
        return {"all": values}, ("all",) * len(kinds)
    made: dict[str, Rope | None] = {
        str(theta): values
        | {"rope_theta": replace(values["rope_theta"], value=theta, key="layer_rope_theta", source="file")}
        for theta in thetas
        if theta
    }
    return made, tuple(str(theta) if theta else None for theta in thetas)


def _by_flagged_theta(
    fields: Fields, known: ModelClass, kinds: tuple[str, ...]
) -> tuple[Mapping[str, Rope | None], Labels]:
    """Muse: layer_rope_theta says which layers rotate; the base is that of rope_parameters for all."""
    thetas = _listed(fields, "layer_rope_theta", len(kinds))
    count = len(kinds)
    turns = thetas if thetas is not None else [int((count - 1 - i) % 4 != 0) for i in range(count)]
    return {"rotating": rope_parameters.flat(fields, known)}, tuple("rotating" if turn else None for turn in turns)


def _by_choice(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """GraniteMoeHybrid: attention rotates where position_embedding_type is "rope"."""
    rotates = fields.get("position_embedding_type")
    values = rope_parameters.flat(fields, known)
    turns = rotates is not None and rotates.value == "rope"
    return {"all": values}, tuple("all" if turns and kind not in UNPLACED else None for kind in kinds)


def _unless_null(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """OLMo hybrid: attention rotates unless rope_theta is null, as it is in its checkpoints."""
    values = rope_parameters.flat(fields, known)
    turns = values["rope_theta"].value is not None
    return {"all": values}, tuple("all" if turns and kind == "full_attention" else None for kind in kinds)


def _scaled(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Molmo 2: layers outside rope_scaling_layers rotate without the scaling."""
    values = rope_parameters.flat(fields, known)
    given = fields.get("rope_scaling_layers")
    chosen = range(len(kinds)) if given is None else given.value
    plain = {key: value for key, value in values.items() if key in ("rope_theta", "partial_rotary_factor")}
    labels = tuple(
        "scaled" if isinstance(chosen, tuple | range) and i in chosen else "plain" for i in range(len(kinds))
    )
    return {"scaled": values, "plain": plain}, labels


def _compressed(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """DeepSeek-V4: one rotation for layers with a window, another for those on compressed keys, which alone is scaled."""
    labels = tuple("main" if kind == "sliding_attention" else "compress" for kind in kinds)
    given = fields.table("rope_parameters")
    nested = given is not None and rope_parameters.nested(given[0])
    if fields.table("rope_scaling") is None and (nested or (given is None and not fields.given("rope_theta"))):
        fields.use(("rope_theta", "compress_rope_theta", "partial_rotary_factor", "qk_rope_head_dim"))
        return rope_parameters.by_label(fields, known, {}), labels
    values = rope_parameters.flat(fields, ModelClass(known.config), {"rope_theta": "rope_theta"})
    part = fields.get("partial_rotary_factor")
    if part is None or part.source == "class default":
        fraction = (
            fields.integer("qk_rope_head_dim") / fields.integer("head_dim")
            if fields.given("qk_rope_head_dim")
            else 0.125
        )
        part = Value(
            "partial_rotary_factor",
            fraction,
            "file" if fields.given("qk_rope_head_dim") else "class default",
            "qk_rope_head_dim",
        )
    compress = replace(fields.need("compress_rope_theta"), name="rope_theta")
    scaled = {**values, "rope_theta": compress, "partial_rotary_factor": part}
    if rope_parameters.type_of(scaled) == "yarn" and "attention_factor" not in scaled:
        scaled["attention_factor"] = Value("attention_factor", 1.0, "class default", "attention_factor")
    main = {"rope_theta": fields.need("rope_theta"), "partial_rotary_factor": part}
    return {"main": main, "compress": scaled}, labels


def _step(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Step 3.5: bases and fractions listed for every layer, of which the class takes the first of each type."""
    given = fields.table("rope_parameters")
    if given is not None and all(isinstance(given[0].get(kind), Mapping) for kind in kinds):
        return rope_parameters.by_label(fields, known, {}), kinds
    thetas, parts = fields.get("rope_theta"), fields.get("partial_rotary_factors")
    scaling = fields.table("rope_scaling")
    made: dict[str, Rope | None] = {}
    for kind in dict.fromkeys(kinds):
        first = kinds.index(kind)
        values = {"rope_theta": _entry(thetas, first, known)}
        if parts is not None:
            values["partial_rotary_factor"] = replace(_entry(parts, first, known), name="partial_rotary_factor")
        if scaling is not None and kind == "full_attention":
            values |= rope_parameters.values(scaling[0], scaling[1], f"{fields.where}rope_scaling.")
        made[kind] = values
    return made, kinds


def _entry(value: Value | None, index: int, known: ModelClass) -> Value:
    if value is None:
        return Value("rope_theta", known.theta, "class default", "rope_theta")
    if not isinstance(value.value, tuple):
        return value
    if index >= len(value.value):
        raise ValueError(f"{value.key} must have a number for every layer; got {len(value.value)}. Look at the file.")
    return replace(value, value=value.value[index])


def _shared(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Zamba 2: its shared attention rotates where use_mem_rope says so."""
    turns = fields.truth("use_mem_rope")
    values = rope_parameters.flat(fields, known)
    return {"all": values}, tuple("all" if turns and kind not in UNPLACED else None for kind in kinds)


def _dense_too(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Cohere 2 with experts: layers with a window rotate, and so do the dense ones at the start."""
    forced = fields.get("prefix_dense_sliding_window_pattern", keep=False)
    dense = fields.get("first_k_dense_replace", keep=False)
    first = (
        dense.value
        if dense is not None and isinstance(dense.value, int) and forced is not None and forced.value == 1
        else 0
    )
    values = rope_parameters.flat(fields, known)
    return {"all": values}, tuple(
        "all" if kind == "sliding_attention" or i < first else None for i, kind in enumerate(kinds)
    )


def _listed(fields: Fields, name: str, count: int) -> list[float] | None:
    given = fields.get(name)
    if given is None:
        return None
    if not isinstance(given.value, tuple) or len(given.value) != count:
        raise ValueError(
            f"{given.key} must hold a number for each of {count} layers; got {_check.shown(given.value)}. Look at the file."
        )
    return [_check.real(given.key, value, 0.0, 1e30) for value in given.value]


def _labelled(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Cohere Compass: a dict for each type of layer, or null for one without rotation; its class knows no other."""
    made = rope_parameters.by_label(fields, known, {})
    missing = set(kinds) - set(made)
    if missing:
        raise ValueError(
            f"{fields.where}rope_parameters must hold an object or null for {sorted(missing)}; got none. Add it."
        )
    return made, tuple(kind if made[kind] is not None else None for kind in kinds)


SPECIAL: dict[str, Special] = {
    "cohere_compass_text": _labelled,
    "esm": if_rotary("position_embedding_type", "rotary", "absolute"),
    "SaProtConfig": if_rotary("position_embedding_type", "rotary", "absolute"),
    "wav2vec2-bert": if_rotary("position_embeddings_type", "rotary", "relative"),
    "wav2vec2-conformer": if_rotary("position_embeddings_type", "rotary", "relative"),
    "clvp_encoder": by_constant,
    "cohere2_moe": _dense_too,
    "dots3_note_text": by_width,
    "deepseek_v4": _compressed,
    "granite_swa": _by_theta,
    "granitemoe_swa": _by_theta,
    "granitemoehybrid": _by_choice,
    "llama4_text": _flagged,
    "mistral_large4_text": _flagged,
    "molmo2_text": _scaled,
    "muse_glimmer_text": _by_flagged_theta,
    "muse_spark_text": _by_flagged_theta,
    "olmo_hybrid": _unless_null,
    "smollm3": _flagged,
    "step3p5": _step,
    "zamba2": _shared,
}
