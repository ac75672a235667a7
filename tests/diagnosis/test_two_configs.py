"""Two configs that differ by one mistake or two, planted as edits of a config's keys or of a model's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from effort import calls_at_most
from posenc import ALiBi, Learned, Linear, Partial, RoPE, Sinusoidal, StepTemperature, T5Bias
from posenc.diagnosis import diagnose
from posenc.models import LayerGroup, ModelPositions

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 12,
    "max_position_embeddings": 131_072,
    "rope_theta": 500_000.0,
}
BANDS = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
BANDS["original_max_position_embeddings"] = 8192  # type: ignore[assignment]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
LONG = {
    "rope_type": "longrope",
    "short_factor": [1.0] * 64,
    "long_factor": [1.0 + i for i in range(64)],
    "original_max_position_embeddings": 4096,
}
GEMMA: dict[str, Any] = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "head_dim": 256,
    "num_hidden_layers": 12,
    "max_position_embeddings": 131_072,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
}
NEOX: dict[str, Any] = {
    "model_type": "gpt_neox",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 4,
    "max_position_embeddings": 2048,
    "rotary_pct": 0.25,
    "rotary_emb_base": 10_000,
}
FALCON = {"model_type": "falcon", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 3, "alibi": False}
MPT = {
    "model_type": "mpt", "d_model": 512, "n_heads": 8, "n_layers": 3, "max_seq_len": 640, "attn_config": {"alibi": True}
}  # fmt: skip
MLA: dict[str, Any] = {
    "model_type": "deepseek_v2", "hidden_size": 512, "num_attention_heads": 4, "num_hidden_layers": 3,
    "qk_rope_head_dim": 64, "qk_nope_head_dim": 96, "v_head_dim": 96, "kv_lora_rank": 32, "rope_theta": 10_000.0,
}  # fmt: skip


def llama(scaling: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return LLAMA | ({} if scaling is None else {"rope_scaling": scaling}) | keys


def gemma(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in (GEMMA | keys).items() if value is not None}


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


def model(*layers: Any, part: str = "text", **fields: Any) -> ModelPositions:
    """A model from what each layer uses: an encoding, None, or a tuple of an encoding and its query temperature."""
    groups = []
    for layer, given in enumerate(layers):
        encoding, warm = given if isinstance(given, tuple) else (given, None)
        own = () if encoding is None else (encoding,)
        groups.append(LayerGroup(part, f"kind {layer}", (layer,), own, query_temperature=warm, **fields))
    return ModelPositions("made", tuple(groups))


R, S = RoPE(64, base=1e6, pairing="halves"), RoPE(64, base=1e4, pairing="halves")
WARM = StepTemperature(64, 0.1, 8192, 1)
NOPE = model(R, R, R, None, R, R, R, None)
TWO_KINDS = model(
    S, S, RoPE(64, 1e6, "halves", scaling=Linear(8.0)), S, S, RoPE(64, 1e6, "halves", scaling=Linear(8.0))
)
BOTH = RoPE(64, 1e6, "halves", scaling=Linear(8.0))

ONE: dict[str, tuple[Any, Any, str]] = {
    "base lost on the way": (llama(BANDS), llama(BANDS, rope_theta=10_000.0), "base"),
    "scaling lost on the way": (llama(BANDS), llama(), "scaling ignored"),
    "scaling from nowhere": (llama(), llama(YARN), "scaling added"),
    "factor of another release": (llama(BANDS), llama(BANDS | {"factor": 32.0}), "scaling factor"),
    "factor twice": (
        llama({"rope_type": "linear", "factor": 4.0}),
        llama({"rope_type": "linear", "factor": 16.0}),
        "scaling applied twice",
    ),
    "trained length is the served one": (
        llama(BANDS),
        llama(BANDS | {"original_max_position_embeddings": 131_072}),
        "original length",
    ),
    "no middle band": (llama(BANDS), llama(BANDS | {"high_freq_factor": 2.0}), "ramp ends"),
    "not truncated": (llama(YARN), llama(YARN | {"truncate": False}), "truncate"),
    "attention factor off": (llama(YARN), llama(YARN | {"attention_factor": 1.0}), "attention factor ignored"),
    "attention factor squared": (
        llama(YARN),
        llama(YARN | {"attention_factor": (0.1 * np.log(4) + 1) ** 2}),
        "attention factor twice",
    ),
    "mscale of another reader": (
        llama(YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}),
        llama(YARN),
        "mscale dialect",
    ),
    "ends of the ramp": (llama(YARN), llama(YARN | {"beta_fast": 64.0}), "ramp ends"),
    "linear in place of yarn": (llama(YARN), llama({"rope_type": "linear", "factor": 4.0}), "scheme"),
    "lists exchanged": (
        llama(LONG),
        llama(LONG | {"short_factor": LONG["long_factor"], "long_factor": LONG["short_factor"]}),
        "lists swapped",
    ),
    "share of the head ignored": (NEOX, NEOX | {"rotary_pct": 1.0}, "partial ignored"),
    "share of the head twice": (NEOX, NEOX | {"rotary_pct": 0.0625}, "rotated width"),
    "another share": (NEOX, NEOX | {"rotary_pct": 0.5}, "rotated width"),
    "heads counted otherwise": (llama(head_dim=64), llama(), "head width"),
    "layout": (RoPE(64, base=5e5), RoPE(64, base=5e5, pairing="halves"), "layout"),
    "global scaling lost": (GEMMA, without(GEMMA, "rope_scaling"), "scaling ignored"),
    "one base for all": (GEMMA, gemma(rope_local_base_freq=1e6), "one base for all layers"),
    "local and global exchanged": (TWO_KINDS, model(BOTH, BOTH, S, BOTH, BOTH, S), "local and global exchanged"),
    "global encoding everywhere": (TWO_KINDS, model(*[BOTH] * 6), "one encoding for all layers"),
    "local encoding everywhere": (TWO_KINDS, model(*[S] * 6), "one encoding for all layers"),
    "scaled everywhere": (
        TWO_KINDS,
        model(*[RoPE(64, 1e4, "halves", scaling=Linear(8.0)) if i % 3 < 2 else BOTH for i in range(6)]),
        "scaling on every layer",
    ),
    "scaled on the wrong layers": (
        TWO_KINDS,
        model(*[RoPE(64, 1e4, "halves", scaling=Linear(8.0)) if i % 3 < 2 else R for i in range(6)]),
        "scaling on the other layers",
    ),
    "no_rope_layers read as it sounds": (NOPE, model(None, None, None, R, None, None, None, R), "NoPE layers inverted"),
    "no_rope_layers not read": (NOPE, model(*[R] * 8), "NoPE layers ignored"),
    "no layer turns": (NOPE, model(*[None] * 8), "no layer rotates"),
    "every fourth from the first": (NOPE, model(None, R, R, R, None, R, R, R), "layer plan shifted"),
    "every second": (NOPE, model(R, None, R, R, R, None, R, R), "layer plan"),
    "no temperature": (model(R, (None, WARM)), model(R, None), "query temperature"),
    "temperature counted from 0": (
        model(R, (None, WARM)),
        model(R, (None, StepTemperature(64, 0.1, 8192, 0))),
        "query temperature",
    ),
    "temperature on the layers that rotate": (model(R, (None, WARM)), model((R, WARM), None), "query temperature"),
    "softmax factor forgotten": (model(R, R, logit_factor=1.8), model(R, R), "logit factor"),
    "rows of padding forgotten": (model(Learned(64, 2050), offset=2), model(Learned(64, 2050)), "offset"),
    "slopes by another rule": (ALiBi(12), ALiBi(12, rule="geometric"), "rule"),
    "buckets of one side": (T5Bias(heads=8), T5Bias(heads=8, bidirectional=False), "bidirectional"),
    "one layer more": (llama(), llama(num_hidden_layers=13), "number of layers"),
    "a bias for a rotation": (FALCON | {"alibi": True}, FALCON, "other kind of positions"),
    "a table for a bias": (MPT, MPT | {"attn_config": {"alibi": False}}, "other kind of positions"),
    "a bias for a table": (MPT | {"attn_config": {"alibi": False}}, MPT, "other kind of positions"),
    "channels without rotation": (MLA, MLA | {"qk_nope_head_dim": 64}, "head width"),
    "fewer channels rotate beside them": (MLA, MLA | {"qk_rope_head_dim": 32}, "head width"),
    "more channels rotate beside them": (MLA | {"qk_rope_head_dim": 16}, MLA, "head width"),
    "sinusoids in halves": (Sinusoidal(64), Sinusoidal(64, layout="concatenated"), "layout"),
}

TWO: dict[str, tuple[Any, Any, set[str]]] = {
    "base and scaling lost": (llama(BANDS), llama(rope_theta=10_000.0), {"base", "scaling ignored"}),
    "factor and length": (
        llama(YARN),
        llama(YARN | {"factor": 8.0, "original_max_position_embeddings": 8192}),
        {"scaling factor", "original length"},
    ),
    "truncate and attention": (
        llama(YARN),
        llama(YARN | {"truncate": False, "attention_factor": 1.0}),
        {"truncate", "attention factor ignored"},
    ),
    "fewer layers of another base": (llama(), llama(num_hidden_layers=3, rope_theta=1e4), {"number of layers", "base"}),
    "width of the slice and base": (MLA, MLA | {"qk_rope_head_dim": 32, "rope_theta": 1e6}, {"head width", "base"}),
    "another kind in one layer, and another base": (
        model(R, R),
        model(ALiBi(8), S),
        {"other kind of positions", "base"},
    ),
    "share and base": (NEOX, NEOX | {"rotary_pct": 1.0, "rotary_emb_base": 500_000}, {"partial ignored", "base"}),
    "layout and base": (RoPE(64), RoPE(64, base=5e5, pairing="halves"), {"layout", "base"}),
    "inverted and another base": (
        NOPE,
        model(None, None, None, S, None, None, None, S),
        {"NoPE layers inverted", "base"},
    ),
    "scaling lost and one base": (
        GEMMA,
        without(gemma(rope_local_base_freq=1e6), "rope_scaling"),
        {"scaling ignored", "base"},  # the one of the local layers, the other of the global ones
    ),
    "temperature and factor": (
        model(R, (None, WARM), logit_factor=1.8),
        model(R, None),
        {"query temperature", "logit factor"},
    ),
}

NEITHER: dict[str, tuple[Any, Any]] = {
    "other lists": (
        llama(LONG),
        llama(LONG | {"short_factor": [1.5] * 64, "long_factor": [2.0 + i * i for i in range(64)]}),
    ),
    "other lists in more layers": (
        llama(LONG),
        llama(LONG | {"long_factor": [2.0 + i * i for i in range(64)]}, num_hidden_layers=13),
    ),
    "three keys": (llama(YARN), llama(YARN | {"truncate": False, "attention_factor": 1.3}, rope_theta=1e4)),
    "a kind of its own in each layer": (model(R, R, R), model(ALiBi(8), T5Bias(heads=8), S)),
    "every layer of its own": (
        model(*[R] * 4),
        model(*[RoPE(64, base=10.0**i, pairing="halves") for i in (2, 3, 4, 5)]),
    ),
}

HARMLESS: dict[str, tuple[Any, Any]] = {
    "the same file": (llama(BANDS), llama(BANDS)),
    "the spelling of v5": (
        llama(BANDS),
        without(LLAMA, "rope_theta") | {"rope_parameters": BANDS | {"rope_theta": 500_000.0}},
    ),
    "the old name of the key": (llama(YARN), llama({"type": "yarn", **without(YARN, "rope_type")})),
    "the attention factor written out": (llama(YARN), llama(YARN | {"attention_factor": 0.1 * np.log(4) + 1})),
    "the defaults written out": (llama(YARN), llama(YARN | {"beta_fast": 32, "beta_slow": 1, "truncate": True})),
    "another limit": (llama(), llama(max_position_embeddings=4096)),
    "another vocabulary and dtype": (llama(), llama(vocab_size=3, torch_dtype="bfloat16")),
    "a scaling by one": (llama(), llama({"rope_type": "linear", "factor": 1.0})),
    "another name of the same": (llama(), llama(model_type="mistral", head_dim=128, sliding_window=None)),
    "a whole number for a base": (llama(), llama(rope_theta=500_000)),
    "a part of its own width": (RoPE(64), Partial(RoPE(64), 64)),
    "released numerics": (RoPE(64), RoPE(64, numerics="float32")),
    "rules that agree for 8 heads": (ALiBi(8), ALiBi(8, rule="geometric")),
    "layers called otherwise": (
        model(R, R),
        ModelPositions("x", (LayerGroup("text", "full_attention", (0, 1), (R,)),)),
    ),
    "an encoding for the model that uses it": (RoPE(128, 5e5, "halves"), llama()),
    "a fresh table drawn otherwise": (Learned(8, 16, std=0.5), Learned(8, 16)),
}


@pytest.mark.parametrize("case", ONE)
def test_one_planted_mistake_is_named(case: str) -> None:
    meant, there, name = ONE[case]
    found = diagnose(meant, there)
    assert not found.agree
    assert [finding.name for finding in found.findings] == [name], str(found)


@pytest.mark.parametrize("case", TWO)
def test_two_planted_mistakes_are_named(case: str) -> None:
    meant, there, expected = TWO[case]
    found = diagnose(meant, there)
    assert {finding.name for finding in found.findings} == expected, str(found)


@pytest.mark.parametrize("case", NEITHER)
def test_what_is_outside_of_the_bank_is_not_named(case: str) -> None:
    found = diagnose(*NEITHER[case])
    assert not found.agree
    assert found.findings == (), str(found)


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_harmless_is_not_flagged(case: str) -> None:
    for meant, there in (HARMLESS[case], HARMLESS[case][::-1]):
        found = diagnose(meant, there)
        assert found.agree, str(found)
        assert found.findings == ()


def test_a_mistake_is_told_where_it_is() -> None:
    found = diagnose(GEMMA, without(GEMMA, "rope_scaling"))
    assert [finding.where for finding in found.findings] == ["layers 5, 11"]


def test_what_only_short_prompts_or_drafts_use_is_compared() -> None:
    short = llama(LONG | {"short_factor": [9.0] * 64})
    assert not diagnose(llama(LONG), short).agree
    types = ["full_attention", *["sliding_attention"] * 3]
    step = {"model_type": "step3p5", "num_hidden_layers": 45, "num_nextn_predict_layers": 3, "layer_types": types * 12,
            "rope_theta": [5e6, 1e4, 1e4, 1e4] * 12, "sliding_window": 512}  # fmt: skip
    found = diagnose(step, step | {"mtp_layer_types": types[:1] * 3})
    assert [(finding.name, finding.where) for finding in found.findings] == [
        ("base", "draft"), ("window", "draft, layers 45-47")
    ]  # fmt: skip
    assert diagnose(step, step).agree
    own = {"layer_types": (types * 12)[:45], "rope_theta": step["rope_theta"][:45], "num_nextn_predict_layers": 0}
    without = diagnose(step, step | own)
    assert without.agree
    assert "note: layers 45-47 of the first alone draft further tokens; the model runs without them" in str(without)


def test_windows_are_compared_beside_another_base_of_local_layers() -> None:
    kept = gemma(sliding_window=1024)
    found = diagnose(kept, kept | {"rope_local_base_freq": 1e6, "sliding_window": 512})
    assert [finding.name for finding in found.findings] == ["one base for all layers", "window"]


def test_the_difference_is_told_where_nothing_explains_it() -> None:
    said = str(diagnose(*NEITHER["three keys"]))
    assert "none of the known mistakes explains it" in said
    assert "base: 500000.0 and 10000.0" in said


def test_there_are_as_many_as_are_promised() -> None:
    assert len(ONE) >= 30
    assert len(TWO) >= 8
    assert len(NEITHER) >= 5
    assert len(HARMLESS) >= 10


@pytest.mark.parametrize("case", ["three keys", "every layer of its own"])
def test_two_configs_take_little_work(case: str) -> None:
    with calls_at_most():
        diagnose(*NEITHER[case])
