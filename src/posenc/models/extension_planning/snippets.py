"""Options for transformers, vLLM and llama.cpp, read back before they are shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from posenc.compose import Backward, Partial
from posenc.core.doors import RotaryEncoding
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, LongRoPE, YaRN
from posenc.models.config.reader import from_config
from posenc.models.config.rope_parameters import ROPE_TYPES, TRAINED
from posenc.models.config.rope_scaling import rope_parameters_of
from posenc.models.formats.hugging_face import OLDER_KEYS, rope_parameters_of_group
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.served_length import served_at

#: Keys of rope_parameters that belong to a scaling, and are replaced with it.
SCALING_KEYS = frozenset({"rope_type", "type"}).union(*(rope_type.fields for rope_type in ROPE_TYPES.values())) - {
    "partial_rotary_factor", "mscale", "mscale_all_dim",
}  # fmt: skip
#: Types whose class refuses each rope_type but default and longrope, and reads yarn as longrope without its lists.
LONGROPE_ALONE = ("phi3", "phi4_multimodal")
REFUSED = "no config: the class of this model type in transformers takes no rope_type but longrope"


@dataclass(frozen=True)
class Target:
    """The change to write down: `new` in the layers that see the whole context, for `length` positions.

    With `windows`, layers with a window, which rotate as the others did, change with them.
    """

    positions: ModelPositions
    group: LayerGroup
    new: RoPE
    length: int
    windows: bool = False

    def replaced(self) -> tuple[LayerGroup, ...]:
        """Return the model's groups with the new rotation in the layers that change."""
        return tuple(
            replace(group, encodings=(rewrapped(group.rotary_encoding, self.new),)) if self._changes(group) else group
            for group in self.positions.groups
        )

    def _changes(self, group: LayerGroup) -> bool:
        same = (group.part, group.rotary_encoding) == (self.group.part, self.group.rotary_encoding)
        return same and (self.windows or sees_whole_context(group))


def sees_whole_context(group: LayerGroup) -> bool:
    """Say whether layers see the whole context, and not a window of it."""
    return not any(word in group.attention for word in ("sliding", "chunked", "local"))


def rewrapped(encoding: RotaryEncoding | None, inner: RoPE) -> RotaryEncoding:
    """Put a new RoPE in place of the one inside an encoding's Partial and Backward wrappers."""
    if isinstance(encoding, Partial | Backward):
        return replace(encoding, encoding=rewrapped(encoding.encoding, inner))
    return inner


def config_of(data: Mapping[str, Any], target: Target, *, nested: bool) -> dict[str, Any]:
    """The config with its rotation replaced: one for all layers, or one for each type of layer."""
    if isinstance(data.get("text_config"), Mapping):
        return {**data, "text_config": config_of(data["text_config"], target, nested=nested)}
    # The dynamic type counts from the length in the file, which must stay the trained one.
    scaling = target.new.scaling
    longest = scaling.original if isinstance(scaling, DynamicNTK) else target.length
    if served_at(target.replaced(), target.length) == served_at(target.positions.groups, target.length):
        return {**data, "max_position_embeddings": longest}
    old = data.get("rope_parameters")
    if nested:
        groups = [group for group in target.replaced() if group.part == target.group.part]
        rope: dict[str, Any] = {group.attention: rope_parameters_of_group(group) for group in groups}
    else:
        merged = old if isinstance(old, Mapping) else data.get("rope_scaling") or {}
        if any(isinstance(value, Mapping) for value in merged.values()):
            raise ValueError(
                "rope_parameters must have a rotation for each type of layer, as in this file. Write one for each."
            )
        rope = {
            **{name: value for name, value in merged.items() if name not in SCALING_KEYS},
            **rope_parameters_of(target.new.base, target.new.scaling),
        }
    # An older key would win over the new ones: where the file has it, it is set to null, or to the new trained length,
    # which classes such as Phi-3's do not take as null.
    kept = {name: None if name in OLDER_KEYS else value for name, value in data.items()}
    if TRAINED in data:
        kept[TRAINED] = getattr(scaling, "original", data[TRAINED])
    return {**kept, "max_position_embeddings": longest, "rope_parameters": rope}


def snippets(data: Mapping[str, Any], target: Target) -> tuple[dict[str, str], str]:
    """The text for each engine, and how it was checked; no text where reading it back gives another model."""
    if target.positions.model_type in LONGROPE_ALONE and not isinstance(target.new.scaling, LongRoPE | None):
        return _for_llama_cpp(target), REFUSED
    problem = ""
    for nested, windows in ((False, True), (False, False), (True, False)):
        aim = replace(target, windows=windows)
        try:
            config = config_of(data, aim, nested=nested)
            read = from_config(config, length=target.length)
        except (ValueError, TypeError) as error:
            problem = problem or f"a config that says so cannot be read back ({error})"
            continue
        if [group.encodings for group in read.groups] == [group.encodings for group in aim.replaced()]:
            more = aim.replaced() != replace(target, windows=False).replaced()
            note = "; layers with a window rotate by the same keys, and change with the others" if more else ""
            note += _of_logits(target.positions, read)
            return _texts(config, aim), f"read back through from_config: the same encodings{note}"
        problem = problem or "read back, the config does not say the same"
    return {}, f"none: {problem}"


def _of_logits(before: ModelPositions, after: ModelPositions) -> str:
    """Say where the class makes another factor of logits of the new keys, as in multi-head latent attention."""
    factors = [(one.logit_factor, other.logit_factor) for one, other in zip(before.groups, after.groups, strict=True)]
    changed = dict.fromkeys(pair for pair in factors if pair[0] != pair[1])
    return "".join(
        f"; logits are multiplied by {new:.4g} besides 1/√d, and by {old:.4g} before" for old, new in changed
    )


def _texts(config: Mapping[str, Any], target: Target) -> dict[str, str]:
    text = config.get("text_config", config)
    older = [name for name in OLDER_KEYS if name in text and (text[name] is None or name == TRAINED)]
    keys = {name: text[name] for name in ("max_position_embeddings", "rope_parameters", *older) if name in text}
    shown = json.dumps({"text_config": keys} if "text_config" in config else keys, ensure_ascii=False)
    texts = {"transformers": shown}
    if not isinstance(target.new.scaling, DynamicNTK):  # vLLM takes it as constant, for factor · the trained length
        texts["vLLM"] = f"vllm serve MODEL --hf-overrides '{shown}' --max-model-len {target.length}"
    return texts | _for_llama_cpp(target)


def _for_llama_cpp(target: Target) -> dict[str, str]:
    """Return the text for llama.cpp, whose options are for all layers alike; nothing where layers differ."""
    one_encoding = len({group.encodings for group in target.replaced() if group.part == target.group.part}) == 1
    options = _llama_cpp(target.new, target.length) if one_encoding else ""
    return {"llama.cpp": options} if options else {}


def _llama_cpp(encoding: RoPE, length: int) -> str:
    """Return a llama-server command for a GGUF file without a scaling; "" where no option states the encoding's."""
    scaling, start = encoding.scaling, f"llama-server -m MODEL.gguf -c {length}"
    if scaling is None:
        return f"{start} --rope-scaling none --rope-freq-base {encoding.base:.7g}"
    if isinstance(scaling, Linear):
        return f"{start} --rope-scaling linear --rope-scale {scaling.factor:.7g}"
    if isinstance(scaling, YaRN) and scaling.truncate and scaling.attention is None and scaling.mscale is None:
        ends = f" --yarn-beta-fast {scaling.beta_fast:g} --yarn-beta-slow {scaling.beta_slow:g}"
        ends = "" if (scaling.beta_fast, scaling.beta_slow) == (32.0, 1.0) else ends
        return f"{start} --rope-scaling yarn --rope-scale {scaling.factor:.7g} --yarn-orig-ctx {scaling.original}{ends}"
    return ""
