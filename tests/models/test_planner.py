"""Plans for a longer context: every figure against a plain computation, every snippet read by others."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from posenc import Partial, RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, YaRN
from posenc.models import GGUFHead, base_bound, from_config, from_gguf, plan_context
from posenc.models.extension_planning.metrics import figures, first_negative, mean_cosine
from posenc.models.pair_rotation import pair_rotation

LLAMA = {
    "model_type": "llama", "rope_theta": 1e4, "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
}  # fmt: skip
GEMMA = {
    "model_type": "gemma3_text", "hidden_size": 2560, "num_attention_heads": 8, "head_dim": 256, "num_hidden_layers": 6,
    "max_position_embeddings": 2048, "sliding_window": 1024, "query_pre_attn_scalar": 256,
    "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e6},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
}  # fmt: skip


def frequencies(dim, base):
    return [base ** (-2 * i / dim) for i in range(dim // 2)]


def test_mean_cosine_is_the_plain_sum():
    omega = frequencies(10, 500.0)
    found = mean_cosine(np.array(omega), 173, unrotated=2)
    for m in (0, 1, 12, 13, 14, 99, 172):
        assert found[m] == pytest.approx((sum(math.cos(m * w) for w in omega) + 2) / 7, abs=1e-12)
    assert len(found) == 173
    plain = next((m for m in range(4000) if sum(math.cos(m * w) for w in omega) < 0), None)
    assert first_negative(np.array(omega), 4000) == plain


# The table of Men et al. 2024 for heads of 128 channels, where kexue.fm/archives/10122 found the same by a search of
# its own.
@pytest.mark.parametrize(("length", "published"), [(1024, 4.3e3), (4096, 2.7e4), (8192, 8.4e4)])
def test_the_least_base_is_the_published_one(length, published):
    assert float(f"{base_bound(128, length):.1e}") == published


def test_the_least_base_holds_and_those_just_below_do_not():
    base = base_bound(64, 2000)
    assert min(sum(math.cos(m * w) for w in frequencies(64, base)) for m in range(2000)) >= 0
    assert min(sum(math.cos(m * w) for w in frequencies(64, base * 0.995)) for m in range(2000)) < 0
    assert base_bound(64, 2000, unrotated=32) == 1.0  # as many pairs that stand still: nothing can be negative


def test_figures_by_hand():
    trained, length = 100, 400
    before = RoPE(dim=16, base=1e4, pairing="halves")
    after = RoPE(dim=16, base=1e4, pairing="halves", scaling=Linear(2.0))
    found = figures(pair_rotation(before), pair_rotation(after), trained, length, 50, pair_rotation(after))
    omega = frequencies(16, 1e4)
    rotations = [w * trained / (2 * math.pi) for w in omega]
    slow = [i for i in range(8) if rotations[i] < 1]
    assert [band.pairs for band in found.bands] == [
        sum(t >= 32 for t in rotations),
        sum(1 <= t < 32 for t in rotations),
        len(slow),
    ]
    assert found.unseen == len(slow)  # half of the stretch is missing: 400 / 2 > 100
    assert found.beyond == pytest.approx(2.0)
    assert found.disturbance == pytest.approx(8 * math.log(2.0))  # fast pairs half as fast, slow ones twice as far
    change = [abs(sum(math.cos(m * w) - math.cos(m * w / 2) for w in omega)) / 8 for m in range(50)]
    assert found.short == pytest.approx(max(change), abs=1e-12)
    below = next(m for m in range(400) if sum(math.cos(m * w / 2) for w in omega) < 0)
    assert found.aggregates_to == below
    wider = Partial(after, 36)  # ten pairs that stand still outweigh eight that rotate
    assert (
        figures(
            pair_rotation(Partial(before, 36)), pair_rotation(wider), trained, length, 50, pair_rotation(wider)
        ).aggregates_to
        is None
    )
    whole = RoPE(dim=16, base=1e4, pairing="halves", scaling=Linear(4.0))
    found = figures(pair_rotation(before), pair_rotation(whole), trained, length, 50, pair_rotation(whole))
    assert (found.unseen, found.disturbance) == (0, pytest.approx((8 - len(slow)) * math.log(4.0)))
    same = figures(pair_rotation(before), pair_rotation(before), trained, trained, 50, pair_rotation(before))
    assert same.disturbance == 0.0


def test_ways_for_a_plain_rotation():
    plan = plan_context(LLAMA, length=16384)
    found = {planned.candidate.name: planned for planned in plan.candidates}
    plain = RoPE(dim=128, base=1e4, pairing="halves")
    assert (plan.encoding, plan.trained, plan.typical) == (plain, 4096, 4096)
    assert plan.trained_from == "max_position_embeddings = 4096 (file: max_position_embeddings)"
    assert found["YaRN"].candidate.encoding.scaling == YaRN(4.0, 4096)
    assert found["Llama 3"].candidate.encoding.scaling == Llama3(4.0, 4096)
    assert found["linear"].candidate.encoding.scaling == Linear(4.0)
    assert found["dynamic"].candidate.encoding.scaling == DynamicNTK(4.0, 4096, 16384)
    assert found["dynamic"].figures.short == 0.0
    assert found["larger base"].candidate.encoding.base == pytest.approx(1e4 * 4 ** (128 / 126), rel=1e-5)
    assert found["YaRN"].figures.attention == pytest.approx(0.1 * math.log(4) + 1)
    assert list(found) == ["Llama 3", "YaRN", "larger base", "dynamic", "linear", "as it is"]
    assert {name for name, planned in found.items() if planned.figures.unseen} == {"larger base", "as it is"}
    assert plan.candidates[-1].figures.beyond == pytest.approx(4.0)
    assert plan.bound == pytest.approx(2.3e5, rel=0.02)  # kexue.fm/archives/10122


@pytest.mark.parametrize(
    "config",
    [
        LLAMA,
        LLAMA | {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        {**LLAMA, "model_type": "stablelm", "partial_rotary_factor": 0.25},
        GEMMA,
        LLAMA | {"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048}},
        LLAMA | {"rope_scaling": {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 2048,
            "low_freq_factor": 1.0, "high_freq_factor": 4.0}},
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.0}},
    ],
    ids=lambda config: config["model_type"] + "-" + str(config.get("rope_scaling", {}).get("factor", "")),
)  # fmt: skip
def test_every_snippet_says_what_was_planned(config):
    length = config["max_position_embeddings"] * 2
    plan = plan_context(config, length=length)
    assert len(plan.candidates) >= 2
    for planned in plan.candidates:
        text = dict(planned.snippets)["transformers"]
        read = from_config({**config, **json.loads(text)}, length=length)
        group = next(one for one in read.groups if one.attention == "full_attention")
        inner = group.rotary_encoding.encoding if isinstance(group.rotary_encoding, Partial) else group.rotary_encoding
        assert inner == planned.candidate.encoding, planned.candidate.name
        assert planned.checked == "read back through from_config: the same encodings"
        others = [one.encodings for one in read.groups if one.attention != "full_attention"]
        assert others == [one.encodings for one in from_config(config).groups if one.attention != "full_attention"]


@pytest.mark.parametrize(
    "kind", ["gemma2", "gemma3_text", "gpt_neox", "gpt_oss", "mistral", "modernbert", "qwen2", "smollm3"]
)
def test_a_snippet_for_the_class_default_of_every_kind_of_config(kind):
    before = from_config({"model_type": kind})
    plan = plan_context({"model_type": kind}, length=8192, trained=2048)
    assert len(plan.candidates) >= 2
    for planned in plan.candidates:
        assert planned.checked.startswith("read back through from_config: the same encodings"), (
            kind,
            planned.candidate.name,
        )
        keys = json.loads(dict(planned.snippets)["transformers"])
        read = from_config({"model_type": kind, **keys}, length=8192)
        changed = [one != other for one, other in zip(read.groups, before.groups, strict=True)]
        assert any(changed)
    if kind == "gpt_oss":  # one rotation for both types of layers: its keys cannot part them
        assert "layers with a window rotate by the same keys" in plan.candidates[0].checked
    if kind == "gemma3_text":
        assert "layers with a window" not in plan.candidates[0].checked
        assert "llama.cpp" not in dict(plan.candidates[0].snippets)  # whose options are for all layers alike


@pytest.mark.parity
def test_transformers_builds_the_same_frequencies_from_the_snippet():
    transformers = pytest.importorskip("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    base = {name: value for name, value in LLAMA.items() if name != "model_type"}
    for planned in plan_context(LLAMA, length=16384).candidates:
        if planned.candidate.name == "dynamic":
            continue  # its frequencies follow the length of the call
        keys = json.loads(dict(planned.snippets)["transformers"])
        theirs = LlamaRotaryEmbedding(transformers.LlamaConfig(**{**base, **keys}))
        ours = planned.candidate.encoding.frequencies.radians()
        # float32 powers and a ramp formed in float32.
        np.testing.assert_allclose(theirs.inv_freq.numpy(), ours, rtol=1e-5)
        assert theirs.attention_scaling == pytest.approx(planned.candidate.encoding.attention_factor)


def test_llama_cpp_options_are_what_its_keys_mean():
    keys = {"block_count": 1, "context_length": 4096, "attention.key_length": 128, "rope.freq_base": 1e4}
    head = GGUFHead({"general.architecture": "qwen3", **{f"qwen3.{k}": v for k, v in keys.items()}}, (), {})
    options = {"--rope-scaling": "rope.scaling.type", "--rope-scale": "rope.scaling.factor",
               "--yarn-orig-ctx": "rope.scaling.original_context_length",
               "--rope-freq-base": "rope.freq_base"}  # fmt: skip
    seen = 0
    for planned in plan_context(LLAMA, length=16384).candidates:
        text = dict(planned.snippets).get("llama.cpp")
        if text:
            words = text.split()
            pairs = [(words[i], words[i + 1]) for i, word in enumerate(words) if word in options]
            stated = {options[name]: value if value.isalpha() else float(value) for name, value in pairs}
            stated = {name: int(value) if "context" in name else value for name, value in stated.items()}
            assert from_gguf(head, stated=stated).groups[0].encodings == (planned.candidate.encoding,), text
            seen += 1
    assert seen == 4


@pytest.mark.parametrize("more", [{"rope_type": "yarn"}, {"rope_type": "llama3", "low_freq_factor": 1.0,
    "high_freq_factor": 4.0}])  # fmt: skip
def test_a_scaling_that_is_in_the_file_already_is_counted_once(more):
    """Qwen2.5's own advice leaves max_position_embeddings as it was beside YaRN, whose factor 4 is for 4 times that."""
    scaling = {"factor": 4.0, "original_max_position_embeddings": 1024, **more}
    config = LLAMA | {"max_position_embeddings": 1024, "rope_scaling": scaling}
    reached = plan_context(config, length=4096)
    assert [ranked.candidate.name for ranked in reached.candidates] == ["as it is"]
    assert (reached.trained, reached.candidates[0].figures.unseen) == (4096, 0)
    assert reached.trained_from.endswith(": 1024 positions times its factor 4")
    assert plan_context(config, length=8192).candidates[0].candidate.encoding.scaling.factor == 8.0
    trained = plan_context(config | {"max_position_embeddings": 5000}, length=5000).trained
    assert trained == (4096 if more["rope_type"] == "yarn" else 5000)  # Llama 3.1 was trained beyond its own product


def test_a_dynamic_scaling_stretches_as_it_is():
    """Its frequencies follow the length: no pair reaches an angle that a plain rotation of 4,096 has not shown."""
    config = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 4.0}}
    for typical, disturbed in ((4096, False), (8192, True)):
        (only,) = plan_context(config, length=16384, typical=typical).candidates
        assert only.candidate.encoding.scaling == DynamicNTK(4.0, 4096, 16384)
        new_ways = plan_context(LLAMA, length=16384, typical=typical).candidates
        assert only.figures == next(one.figures for one in new_ways if one.candidate.name == "dynamic")
        assert (only.figures.short > 0) == disturbed
    assert only.checked == "read back through from_config: the same encodings"
    text = dict(only.snippets)["transformers"]
    assert from_config({**config, **json.loads(text)}) == from_config(config)


@pytest.mark.parametrize("model_type", ["llama", "phi3"])
def test_both_lists_of_longrope_were_trained(model_type):
    """Prompts up to 4,096 tokens are served by the short list, longer ones by the long one: neither is a change."""
    lists = {"short_factor": [1.0] * 64, "long_factor": [1.0 + i for i in range(64)]}
    scaling = {"rope_type": "longrope", "factor": 32.0, "original_max_position_embeddings": 4096, **lists}
    config = LLAMA | {"model_type": model_type, "max_position_embeddings": 131072, "rope_scaling": scaling}
    for length, unseen in ((4096, False), (131072, False), (262144, True)):
        (only,) = plan_context(config, length=length).candidates
        assert only.candidate.encoding.scaling.length == length
        assert (only.figures.unseen > 0, only.figures.disturbance > 0, only.figures.short) == (unseen, unseen, 0.0)
        assert only.checked == "read back through from_config: the same encodings", "phi3 takes longrope"


def test_layers_whose_window_lies_within_the_trained_length_need_no_plan():
    """Mistral 7B v0.1: a key lies at most 4,095 positions before its query, however long the text."""
    mistral = LLAMA | {"model_type": "mistral", "max_position_embeddings": 32768}
    with pytest.raises(ValueError, match=r"^length must bring distances .* in 32,768 positions; got 65,536, where que"):
        plan_context(mistral | {"sliding_window": 4096}, length=65536)
    for far in ({"sliding_window": None}, {"sliding_window": 65536}):
        assert plan_context(mistral | far, length=65536).candidates[-1].figures.unseen
    assert plan_context(mistral | {"sliding_window": 4096}, length=32768).candidates[0].figures.unseen == 0
    compressed = plan_context(
        {"model_type": "deepseek_v4"}, length=1 << 19, trained=16384
    )  # sees them besides a window
    assert len(compressed.candidates) > 1


def test_a_factor_of_logits_that_follows_the_scaling_is_said():
    """DeepSeek-V3 multiplies logits by (0.1·mscale_all_dim·ln(factor) + 1)², which a larger factor changes."""
    scaling = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 1.0}
    config = LLAMA | {"model_type": "deepseek_v3", "max_position_embeddings": 163840}
    for mscale_all_dim, said in (
        (1.0, "; logits are multiplied by 2.068 besides 1/√d, and by 1.874 before"),
        (0.0, ""),
    ):
        keys = config | {"rope_scaling": scaling | {"mscale_all_dim": mscale_all_dim}}
        larger = plan_context(keys, length=327680).candidates[0]
        assert larger.checked == f"read back through from_config: the same encodings{said}"


def test_what_needs_no_plan_and_what_has_none():
    (only,) = plan_context(LLAMA, length=2048).candidates
    assert (only.candidate.name, only.figures.unseen, only.figures.short) == ("as it is", 0, 0.0)
    assert plan_context(GEMMA, length=4096).left == ("text, sliding_attention: it does not see the whole context",)
    assert plan_context(LLAMA, length=8192, trained=2048).trained_from == "stated by the caller"
    with pytest.raises(ValueError, match="length must be an integer from 2 to"):
        plan_context(LLAMA, length=10**12)
    with pytest.raises(TypeError, match="length must be an integer"):
        plan_context(LLAMA, length=8192.0)
    with pytest.raises(ValueError, match="typical must be an integer"):
        plan_context(LLAMA, length=8192, typical=0)
    assert plan_context(LLAMA, length=1 << 18).bound is None
    clvp = {"model_type": "clvp_encoder"}  # whose class has no length
    with pytest.raises(ValueError, match=r"^trained must be given where the config states no length; got None"):
        plan_context(clvp, length=8192)
    assert plan_context(clvp, length=8192, trained=2048).trained == 2048


def test_the_encoding_of_a_way_by_its_name():
    """YaRN from a model's config in one call, around what the model leaves unrotated."""
    plan = plan_context(LLAMA, length=16384)
    for planned in plan.candidates:
        assert plan.rotary_encoding(planned.candidate.name) == planned.candidate.encoding
    partial = plan_context(LLAMA | {"model_type": "glm", "partial_rotary_factor": 0.5}, length=16384)
    assert partial.rotary_encoding("YaRN").head_dim == partial.encoding.head_dim
    assert type(partial.rotary_encoding("YaRN")) is type(partial.encoding) is Partial
    with pytest.raises(ValueError, match=r"^name must be one of 'Llama 3', 'YaRN'.*; got 'yarn'"):
        plan.rotary_encoding("yarn")
