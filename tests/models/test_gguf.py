"""GGUF metadata: read as llama.cpp understands it, written back, and hostile files."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import gguf
import numpy as np
import pytest

from effort import calls_at_most
from posenc import Partial, RoPE
from posenc.diagnosis import diagnose
from posenc.frequencies import Clipped, DynamicNTK, Geometric, Linear, Llama3, LongRoPE, Proportional, Resonance, YaRN
from posenc.models import LayerGroup, ModelPositions, diff, from_config, from_gguf, from_megatron, from_meta, to_gguf
from posenc.models.formats.gguf_architectures import ARCHITECTURES
from posenc.models.formats.gguf_divisors import divisors_of, recovered_scaling
from posenc.models.formats.gguf_header import GGUFHead, read_gguf
from posenc.models.model_positions import RoleRotation, Window, windows_of_layers


def set_of_rows():
    return {id(row): row for row in ARCHITECTURES.values()}.values()


def written(path, keys, tensors=None):
    """A file made by the gguf package."""
    arch = keys["general.architecture"]
    writer = gguf.GGUFWriter(path, arch)
    for key, value in keys.items():
        if key == "general.architecture":
            continue
        if isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        else:
            writer.add_float32(key, value)
    writer.add_token_list(["a", "b", "word"])  # what every real file has: a list of words to walk over
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, np.asarray(values, np.float32))
    writer.add_tensor("token_embd.weight", np.ones((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def llama(**more):
    keys = {"block_count": 2, "context_length": 8192, "embedding_length": 96, "attention.head_count": 12}
    keys |= {"rope.dimension_count": 8, "rope.freq_base": 5e5} | more
    return {"general.architecture": "llama", **{f"llama.{name}": value for name, value in keys.items()}}


def test_a_plain_model(tmp_path):
    found = from_gguf(written(tmp_path / "a.gguf", llama()))
    assert found.model_type == "llama"
    assert found.groups[0].layers == (0, 1)
    assert found.groups[0].encodings == (RoPE(dim=8, base=5e5, pairing="adjacent"),)
    assert str(found.groups[0].value("rope.freq_base")) == "rope.freq_base = 500000.0 (file: llama.rope.freq_base)"
    assert found.groups[0].value("rope.scaling.type").source == "class default"


def test_the_head_is_what_the_gguf_package_reads(tmp_path):
    path = written(tmp_path / "a.gguf", llama(), {"rope_freqs.weight": [1.0, 2.0, 3.5, 8.0]})
    head, reader = read_gguf(path), gguf.GGUFReader(path)
    for name, field in reader.fields.items():
        if name.startswith("llama."):
            assert head.keys[name] == field.contents()
    assert head.tensors == tuple(tensor.name for tensor in reader.tensors)
    assert head.divisors == {"rope_freqs.weight": tuple(reader.tensors[0].data.tolist())}


def test_a_model_in_several_files_is_read_whole(tmp_path):
    """gguf-split puts all keys into the first, and tensors where they come: divisors may lie in any."""
    divisors = {"rope_freqs.weight": divisors_of(Llama3(8.0, 8192), 8, 5e5)}
    first, second, third = (tmp_path / f"a-{part:05d}-of-00003.gguf" for part in (1, 2, 3))
    written(first, llama() | {"split.no": 0, "split.count": 3})
    (alone,) = from_gguf(first).groups
    assert alone.encodings == (RoPE(dim=8, base=5e5, pairing="adjacent"),)
    missing = "split.count = 3: divisors of frequencies may lie in the files that are missing (2)"
    assert from_gguf(first).not_read == (missing,)
    written(second, {"general.architecture": "llama", "split.no": 1, "split.count": 3}, divisors)
    for path in (first, second):
        found = from_gguf(path)
        assert found.groups[0].encodings[0].scaling == Llama3(factor=8.0, original=8192)
        assert found.not_read == ()  # of the third nothing is needed
    written(third, {"general.architecture": "llama", "split.no": 2, "split.count": 3}, {"output.weight": [1.0]})
    assert read_gguf(third) == read_gguf(first)
    assert set(read_gguf(first).stored) == {"rope_freqs.weight", "token_embd.weight", "output.weight"}
    assert read_gguf(first).stored["output.weight"].path == third
    other = tmp_path / "renamed.gguf"
    other.write_bytes(first.read_bytes())
    assert from_gguf(other).not_read == (missing,)


SCALINGS = (
    None,
    Linear(factor=8.0),
    YaRN(factor=4.0, original=4096, attention=1.0),
    YaRN(factor=4.0, original=4096),
    YaRN(factor=40.0, original=4096, beta_fast=24.0, beta_slow=2.0, attention=1.25),
    Llama3(factor=8.0, original=8192),
    Llama3(factor=32.0, original=8192),
    Llama3(factor=16.0, original=8192, low=1.0, high=1.0),
    LongRoPE(short=(1.0,) * 16, long=(1.5,) * 8 + (30.0,) * 8, original=4096, length=32768, factor=1.0, attention=1.25),
    Proportional(fraction=0.25),
    Proportional(fraction=0.3125, factor=1.1),
)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize(("arch", "dim"), [("llama", 32), ("qwen3", 32), ("phi2", 80), ("deepseek2", 96)])
def test_written_and_read_back(tmp_path, scaling, arch, dim):
    pairing = ARCHITECTURES[arch].pairing
    encoding = RoPE(dim=32, base=1e6, pairing=pairing, scaling=scaling)
    if dim > 32:
        encoding = Partial(encoding, dim, dim - 32 if arch == "deepseek2" else 0)
    positions = ModelPositions(arch, (LayerGroup("text", "full_attention", (0, 1, 2), (encoding,)),))
    if arch == "deepseek2" and scaling and (isinstance(scaling, Linear) or scaling.attention_factor != 1.0):
        with pytest.raises(ValueError, match=r"^scaling must be no linear one and have an attention factor of 1 to be"):
            to_gguf(positions, arch, context_length=32768)
        return
    keys, tensors = to_gguf(positions, arch, context_length=32768)
    again = from_gguf(written(tmp_path / "a.gguf", keys, tensors))
    assert again.groups[0].layers == (0, 1, 2)
    (found,) = again.groups[0].encodings
    inner = found.encoding if dim > 32 else found
    if isinstance(scaling, YaRN) and scaling.attention:  # a quotient in float32
        assert inner.attention_factor == pytest.approx(scaling.attention_factor, rel=1e-7)
        assert (inner.scaling.factor, inner.scaling.beta_fast) == (scaling.factor, scaling.beta_fast)
    else:
        assert found == encoding


def two_kinds(*windows):
    """Layers 0 and 2 of one kind, 1 and 3 of another, with other bases and widths."""
    sliding, full = RoPE(dim=8, base=1e4, pairing="halves"), RoPE(dim=16, base=1e6, pairing="halves")
    groups = (
        LayerGroup("text", "sliding_attention", (0, 2), (sliding,), window=windows[0]),
        LayerGroup("text", "full_attention", (1, 3), (full,), window=windows[1]),
    )
    return ModelPositions("mine", groups)


@pytest.mark.parametrize("arch", ["gpt-oss", "gemma2"])
def test_two_kinds_of_layers(tmp_path, arch):
    """The kind that has a window is the sliding one, whichever comes first."""
    positions = two_kinds(Window(63), None)
    keys, tensors = to_gguf(positions, arch, context_length=4096)
    assert (keys[f"{arch}.rope.freq_base"], keys[f"{arch}.rope.freq_base_swa"]) == (1e6, 1e4)
    again = from_gguf(written(tmp_path / "a.gguf", keys, tensors))
    found = [(group.attention, group.layers, group.encodings, group.window) for group in again.groups]
    assert found[::-1] == [(group.attention, group.layers, group.encodings, group.window) for group in positions.groups]


def test_two_kinds_of_layers_are_refused_where_llama_cpp_has_no_sliding_ones():
    """Its code for Qwen 3, say, reads no key of them, and would rotate every layer by rope.freq_base."""
    with pytest.raises(ValueError, match=r"^arch must be one with sliding layers, such as 'gpt-oss', .*; got 'qwen3'"):
        to_gguf(two_kinds(Window(63), None), "qwen3", context_length=4096)
    for windows in ((None, None), (Window(63), Window(63)), (Window(63), Window(31))):
        with pytest.raises(ValueError, match=r"^window must be in one of two kinds of layers that rotate differently"):
            to_gguf(two_kinds(*windows), "gpt-oss", context_length=4096)


def test_gemma_3_takes_what_llama_cpp_takes(tmp_path):
    keys = {"block_count": 7, "context_length": 131072, "attention.key_length": 256, "attention.sliding_window": 1024}
    keys |= {"rope.freq_base": 1e6, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    named = {"general.architecture": "gemma3", **{f"gemma3.{name}": value for name, value in keys.items()}}
    full, sliding = from_gguf(written(tmp_path / "a.gguf", named)).groups
    assert (full.layers, full.encodings) == ((5,), (RoPE(dim=256, base=1e6, pairing="halves", scaling=Linear(8.0)),))
    assert (sliding.layers, sliding.encodings) == ((0, 1, 2, 3, 4, 6), (RoPE(dim=256, base=1e4, pairing="halves"),))
    del named["gemma3.attention.sliding_window"]
    (alone,) = from_gguf(written(tmp_path / "b.gguf", named)).groups
    assert alone.encodings == full.encodings


PLAIN = {"rope_type": "default", "rope_theta": 5e5}
#: A small config of each architecture whose windows are read, and its base.
WINDOWS = {
    "gemma2": ({"model_type": "gemma2", "query_pre_attn_scalar": 8}, 1e4),
    "gemma3": ({"model_type": "gemma3_text", "query_pre_attn_scalar": 8}, 1e6),
    "gpt-oss": ({"model_type": "gpt_oss", "rope_parameters": {"rope_type": "default", "rope_theta": 1.5e5}}, 1.5e5),
    "olmo2": (
        {"model_type": "olmo3", "rope_parameters": dict.fromkeys(("full_attention", "sliding_attention"), PLAIN)},
        5e5,
    ),
}


def with_windows(arch, **more):
    """The config of seven layers, and its file's head with these keys."""
    config, base = WINDOWS[arch]
    keys = {"block_count": 7, "attention.key_length": 8, "rope.freq_base": base, "attention.sliding_window": 512} | more
    named = {f"{arch}.{name}": value for name, value in keys.items() if value is not None}
    head = GGUFHead({"general.architecture": arch, **named}, (), {})
    return config | {"num_hidden_layers": 7, "head_dim": 8, "sliding_window": 512}, head


@pytest.mark.parametrize("arch", WINDOWS)
def test_windows_are_read_where_llama_cpp_says_which_layers_have_one(arch):
    config, head = with_windows(arch)
    expected, found = from_config(config), from_gguf(head)
    assert windows_of_layers(found) == windows_of_layers(expected)
    agreed = diagnose(expected, found)
    assert agreed.agree
    assert agreed.not_compared == ()
    other = diagnose(expected, from_gguf(with_windows(arch, **{"attention.sliding_window": 511})[1]))
    assert [finding.name for finding in other.findings] == ["window"]
    assert not diff(found, from_gguf(with_windows(arch, **{"attention.sliding_window": 511})[1])).same


def head_of(arch, **keys):
    return GGUFHead({"general.architecture": arch, **{f"{arch}.{name}": value for name, value in keys.items()}}, (), {})


def test_sliding_layers_of_olmo_3_are_not_scaled():
    scaled = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 8192}
    ropes = {"full_attention": scaled, "sliding_attention": {"rope_type": "default", "rope_theta": 5e5}}
    sizes = {"head_dim": 8, "num_hidden_layers": 8, "sliding_window": 4096, "max_position_embeddings": 65536}
    config = from_config({"model_type": "olmo3", "rope_parameters": ropes, **sizes})
    keys = {"block_count": 8, "attention.key_length": 8, "rope.freq_base": 5e5, "rope.scaling.type": "yarn"}
    keys |= {"rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 8192, "context_length": 65536}
    windows = {"attention.sliding_window": 4096, "attention.sliding_window_pattern": (True, True, True, False) * 2}
    assert diagnose(config, from_gguf(head_of("olmo2", **keys, **windows))).agree
    (alone,) = from_gguf(head_of("olmo2", **keys)).groups  # OLMo 2 has no window
    assert alone.encodings[0].scaling == YaRN(factor=8.0, original=8192)


def test_full_layers_of_the_large_exaone_4_do_not_rotate():
    keys = {"attention.key_length": 8, "rope.freq_base": 1e6}
    sizes = {"model_type": "exaone4", "head_dim": 8, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    large = from_config(sizes | {"num_hidden_layers": 64, "sliding_window": 4096, "sliding_window_pattern": 4})
    found = from_gguf(head_of("exaone4", block_count=64, **keys, **{"attention.sliding_window": 4096}))
    assert [len(group.encodings) for group in found.groups] == [0, 1]
    assert diagnose(large, found).verdict == "agree in everything that this evidence can show"
    kinds = {"layer_types": ["full_attention"] * 30}
    small = from_config(sizes | kinds | {"num_hidden_layers": 30, "sliding_window": None})
    assert diagnose(small, from_gguf(head_of("exaone4", block_count=30, **keys))).agree
    with pytest.raises(ValueError, match="arch must be one that rotates all layers alike; got 'exaone4'"):
        to_gguf(small, "exaone4", context_length=4096)


@pytest.mark.parametrize("mscale", [1.0, 0.707])
def test_deepseek_multiplies_logits_as_its_config_says(mscale):
    scaled = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "original_max_position_embeddings": 4096}
    scaled |= {"mscale": mscale, "mscale_all_dim": mscale}
    sizes = {"num_hidden_layers": 2, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_interleave": True}
    config = {"model_type": "deepseek_v3", "max_position_embeddings": 163_840, "rope_parameters": scaled, **sizes}
    keys = {"block_count": 2, "context_length": 163_840, "rope.dimension_count": 64, "rope.freq_base": 1e4}
    keys |= {"attention.key_length": 576, "attention.key_length_mla": 192, "rope.scaling.type": "yarn"}
    keys |= {"rope.scaling.factor": 40.0, "rope.scaling.original_context_length": 4096}
    multiplier = {"rope.scaling.yarn_log_multiplier": float(np.float32(0.1 * mscale))}
    found = diagnose(from_config(config), from_gguf(head_of("deepseek2", **keys, **multiplier)))
    assert found.verdict == "agree in everything that this evidence can show", str(found)
    other = from_gguf(head_of("deepseek2", **keys))
    assert not diagnose(from_config(config), other).agree, "a file without the key leaves the factor of logits out"
    assert other.not_read == (
        "deepseek2.rope.scaling.yarn_log_multiplier is not in the file: versions of llama.cpp multiply logits "
        "differently then",
    )
    (group, *_) = from_gguf(head_of("deepseek2", **keys | {"rope.scaling.factor": 0.0}, **multiplier)).groups
    assert group.logit_factor == 1.0, "llama.cpp takes a factor of 0 for none"
    plain = {name: value for name, value in keys.items() if "scaling" not in name}
    assert from_gguf(head_of("deepseek2", **plain)).not_read == ()


def test_gemma_2_takes_its_window_where_the_file_has_none():
    _, head = with_windows("gemma2", **{"attention.sliding_window": None})
    assert [group.window for group in from_gguf(head).groups] == [None, Window(4095)]
    _, head = with_windows("gemma2", **{"attention.sliding_window": 0})
    with pytest.raises(ValueError, match=r"^gemma2\.attention\.sliding_window must be an integer from 1 to"):
        from_gguf(head)


def test_a_stated_window_wins():
    _, head = with_windows("gemma3", **{"attention.sliding_window": None})
    assert [group.window for group in from_gguf(head).groups] == [None]
    found = from_gguf(head, stated={"attention.sliding_window": 512})
    assert [(group.window, group.encodings[0].base) for group in found.groups] == [(None, 1e6), (Window(511), 1e4)]


@pytest.mark.parametrize("arch", ["gemma3", "olmo2"])
def test_a_window_of_0_is_none_and_every_layer_rotates_as_full_ones(arch):
    """llama.cpp takes the window, the base and the lack of a scaling of sliding layers only where n_swa > 0."""
    scaled = {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    _, head = with_windows(arch, **{"attention.sliding_window": 0, "rope.freq_base_swa": 1e4}, **scaled)
    (alone,) = from_gguf(head).groups
    assert (alone.window, alone.layers) == (None, tuple(range(7)))
    assert alone.encodings == (RoPE(dim=8, base=WINDOWS[arch][1], pairing="halves", scaling=Linear(8.0)),)


def test_windows_are_written_as_they_are_read(tmp_path):
    config, _ = with_windows("gpt-oss")
    scaled = {"rope_type": "yarn", "rope_theta": 1.5e5, "factor": 32.0, "original_max_position_embeddings": 4096}
    expected = from_config(config | {"rope_parameters": scaled | {"truncate": True}})
    keys, tensors = to_gguf(expected, "gpt-oss", context_length=131_072)
    found = from_gguf(written(tmp_path / "a.gguf", keys, tensors))
    assert windows_of_layers(found) == windows_of_layers(expected)
    assert diagnose(expected, found).agree
    of_audio = replace(expected, groups=tuple(replace(group, part="audio") for group in expected.groups))
    assert to_gguf(of_audio, "gpt-oss", context_length=131_072)[0] == keys
    mixed = replace(expected, groups=tuple(replace(group, window=Window(3, 4)) for group in expected.groups))
    with pytest.raises(ValueError, match=r"^window must be one for 'gpt-oss', of keys before the query; got keys"):
        to_gguf(mixed, "gpt-oss", context_length=4096)
    for arch, taken in (("gemma2", "takes one of 4,096 where no key states it"), ("gpt-oss", "needs the key of one")):
        config, _ = with_windows(arch)
        without = from_config(config | {"sliding_window": None})
        with pytest.raises(ValueError, match=f"^window must be in some layers .* as '{arch}', which {taken}; got none"):
            to_gguf(without, arch, context_length=4096)


@pytest.mark.parametrize(
    ("read", "note"),
    [
        (
            lambda: from_megatron({"num_layers": 2, "position_embedding_type": "none", "window_size": [127, 0]}),
            "window_size = [127, 0], the window of some or all layers",
        ),
        (
            lambda: from_meta(
                {"dim": 96, "n_layers": 2, "n_heads": 12, "rope_theta": 5e5, "attention_chunk_size": 8192}
            ),
            "attention_chunk_size = 8192, the chunks of some layers",
        ),
        (
            lambda: from_meta({"dim": 96, "n_layers": 2, "n_heads": 12, "rope_theta": 1e4, "sliding_window": 4096}),
            "sliding_window = 4096, the window of some or all layers",
        ),
        (
            lambda: from_megatron({"num_layers": 2, "position_embedding_type": "none", "softmax_scale": 0.125}),
            "softmax_scale = 0.125, the factor of logits in place of 1/√d",
        ),
    ],
)
def test_other_formats_name_the_windows_that_are_not_read(read, note):
    assert diff(read(), read()).not_compared == (note,)


@pytest.mark.parametrize(
    ("config", "file", "not_compared"),
    [
        (
            None,
            4096,
            ["llama.attention.sliding_window = 4096: no key says which layers have this window (the second alone)"],
        ),
        (
            4096,
            None,
            [
                "keys up to 4,095 positions before the query in layers 0-1, of which the other's format says nothing "
                "(the first alone)"
            ],
        ),
        (None, None, []),
        (None, 0, []),
    ],
)
def test_windows_that_are_not_compared_are_named(config, file, not_compared):
    sizes = {"hidden_size": 96, "num_attention_heads": 12, "num_hidden_layers": 2, "rope_theta": 5e5}
    mistral = from_config({"model_type": "mistral", "sliding_window": config, "head_dim": 8, **sizes})
    read = from_gguf(GGUFHead(llama(**({} if file is None else {"attention.sliding_window": file})), (), {}))
    found = diagnose(mistral, read)
    assert found.agree
    assert list(found.not_compared) == not_compared
    partly = "agree in what was compared"
    assert found.verdict == (partly if not_compared else "agree in everything that this evidence can show")


def test_divisors_of_llama_3_as_its_converter_forms_them():
    factor, low, high, old = 8.0, 1.0, 4.0, 8192
    frequencies = (np.float32(1.0) / np.float32(500000.0) ** (np.arange(0, 128, 2, dtype=np.float32) / 128)).astype(
        np.float32
    )
    waves = (2 * np.float32(np.pi) / frequencies).astype(np.float32)
    smooth = (old / waves - low) / (high - low)
    divisors = np.where(
        waves < old / high, 1.0, np.where(waves > old / low, factor, 1 / ((1 - smooth) / factor + smooth))
    )
    head = GGUFHead(llama(**{"attention.key_length": 128, "rope.dimension_count": 128}), (),
    {"rope_freqs.weight": tuple(map(float, divisors))})  # fmt: skip
    assert from_gguf(head).groups[0].encodings[0].scaling == Llama3(factor=8.0, original=8192, low=1.0, high=4.0)
    odd = GGUFHead(llama(), (), {"rope_freqs.weight": (1.0, 2.0, 3.0, 4.0)})
    assert from_gguf(odd).groups[0].encodings[0].scaling == LongRoPE(
        (1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0), 8192, 8192, 1.0
    )


def test_pairs_that_stand_still_have_the_divisor_of_the_converter():
    """Of llama.cpp's for Gemma 4: 1 for pairs that rotate, 1e30 for the others."""
    for pairs in range(2, 130):
        for first in {1, pairs // 3, pairs - 1} - {0}:
            divisors = (1.0,) * first + (float(np.float32(1e30)),) * (pairs - first)
            scaling = recovered_scaling(divisors, 1e6, 131072)
            assert isinstance(scaling, Proportional)
            assert scaling.rotating(Geometric(2 * pairs)) == first
            assert np.float32(divisors_of(scaling, 2 * pairs, 1e6)).tolist() == list(divisors)
    for odd in ((1e30, 1.0), (1e30, 1e30), (1.0, 2.0, 1e30)):
        with pytest.raises(ValueError, match="must let the slowest pairs alone stand still"):
            recovered_scaling(odd, 1e6, 4096)
    with pytest.raises(ValueError, match="scaling must slow every pair or be Proportional"):
        to_gguf(rotating(RoPE(dim=16, pairing="halves", scaling=Clipped(count=3))), "qwen3", context_length=64)


def test_every_architecture_of_the_package_is_known_or_named():
    names = set(gguf.MODEL_ARCH_NAMES.values())
    several_axes = {"qwen2vl", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "paddleocr", "hunyuan_vl"}
    assert names - set(ARCHITECTURES) - several_axes == {"clip"}
    assert len(ARCHITECTURES) == sum(len(row.names) for row in set_of_rows()), "an architecture is in two rows"
    assert all(row.pairing for row in set_of_rows() if row.varying or row.last)
    with pytest.raises(ValueError, match="must be one whose pairing is known here; got 'qwen2vl'"):
        from_gguf(GGUFHead({"general.architecture": "qwen2vl"}, (), {}))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"rope.scaling.yarn_log_multiplier": 0.1},
            "llama.rope.scaling.yarn_log_multiplier must be understood, since it concerns positions; some converters "
            "write mscale_all_dim of DeepSeek there and others a tenth of it, and nothing says which; read the model's "
            "config.json in its place, since waiving leaves the factor out. If it is harmless, give waive=",
        ),
        ({"rope.dimension_sections": [1, 2, 3, 0]}, "llama.rope.dimension_sections must be understood"),
        (
            {"rope.scaling.type": "ntk"},
            "llama.rope.scaling.type must be one of 'none', 'linear', 'yarn', 'longrope'; got 'ntk'",
        ),
        ({"rope.scaling.type": "longrope"}, "must both be in the file; one is missing"),
        ({"rope.scaling.attn_factor": 1.5}, "attn_factor must be 1 without YaRN or LongRoPE; got 1.5"),
        ({"rope.dimension_count": 7}, "dim must be an even integer"),
        ({"block_count": 10**7}, "llama.block_count must be an integer from 1 to 8192; got 10000000"),
        ({"rope.freq_base": float("nan")}, "llama.rope.freq_base must be a finite number"),
        ({"attention.max_alibi_bias": 8.0}, "llama.attention.max_alibi_bias must be understood"),
    ],
)
def test_what_is_not_understood_is_named(more, says):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        from_gguf(GGUFHead(llama(**more), (), {}))
    assert says in str(caught.value)


def test_refusals_and_waivers():
    with pytest.raises(ValueError, match=r"'gpt2' does not in llama.cpp"):
        from_gguf(GGUFHead({"general.architecture": "gpt2"}, (), {}))
    with pytest.raises(ValueError, match=r"must treat all layers alike, .* 'smollm3' does not"):
        from_gguf(GGUFHead({"general.architecture": "smollm3"}, (), {}))
    with pytest.raises(ValueError, match=r"llama.block_count must be known; neither the file nor the class has it"):
        from_gguf(GGUFHead({"general.architecture": "llama"}, (), {}))
    keys = llama(**{"rope.scaling.yarn_log_multiplier": 0.1})
    assert from_gguf(GGUFHead(keys, (), {}), waive=["rope.scaling.yarn_log_multiplier"]).groups
    stated = from_gguf(GGUFHead(llama(), (), {}), stated={"rope.freq_base": 1e4}).groups[0]
    assert stated.value("rope.freq_base").source == "caller"
    halves = ModelPositions("x", (LayerGroup("text", "full_attention", (0,), (RoPE(dim=8, pairing="halves"),)),))
    with pytest.raises(ValueError, match="arch must pair channels as the encoding does, 'halves'; 'llama' does not"):
        to_gguf(halves, "llama", context_length=2048)


def test_hostile_files(tmp_path):
    path = written(tmp_path / "a.gguf", llama())
    whole = path.read_bytes()
    damaged = {
        "cut": whole[:100],
        "short": whole[:10],
        "magic": b"PK\x03\x04" + whole[4:],
        "version": whole[:4] + struct.pack("<I", 9) + whole[8:],
        "big-endian": whole[:4] + struct.pack(">I", 3) + whole[8:],
        "tensors": whole[:8] + struct.pack("<Q", 1 << 60) + whole[16:],
        "keys": whole[:16] + struct.pack("<Q", 1 << 60) + whole[24:],
        "word": whole[:24] + struct.pack("<Q", 1 << 62) + whole[32:],
        "list": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8,
            1 << 61),
        "numbers": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 6,
            1 << 61),
        "words": b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * (struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8,
            1 << 20) + bytes(8 << 20)),
    }  # fmt: skip
    for name, data in damaged.items():
        bad = tmp_path / f"{name}.gguf"
        bad.write_bytes(data)
        with calls_at_most(), pytest.raises(ValueError, match=r"^[^\n]* must be a GGUF file; [^\n]*$"):
            from_gguf(bad)


def a_file(*entries: bytes, tensors: tuple[bytes, ...] = ()) -> bytes:
    """A GGUF file of these keys and descriptions of tensors, by the layout of the format."""
    return b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join((*entries, *tensors))


def named(name: bytes, form: str, *numbers: int) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack(f"<{form}", *numbers)


UINT8, UINT32, STRING, ARRAY, FLOAT16 = 0, 4, 8, 9, 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"GGUF", "it is too short"),
        (a_file(*2 * [named(b"a", "IB", UINT8, 7)]), "'a' occurs twice"),
        (a_file(named(b"a", "I", 13)), "it has a value of type 13"),
        (a_file(named(b"a", "IIQQ", ARRAY, STRING, 1, 1 << 20)), "it is cut off"),
        (a_file(tensors=(named(b"t", "I", 9),)), "'t' has 9 axes"),
        (a_file(named(b"general.alignment", "II", UINT32, 0)), "its alignment is 0"),
        (a_file(tensors=(named(b"rope_freqs.weight", "IQIQ", 1, 4, FLOAT16, 0),)),
            "rope_freqs.weight is no short list of float32 inside the file"),
        (a_file(tensors=(named(b"rope_freqs.weight", "IQIQ", 1, 1 << 20, 0, 0),)),
            "rope_freqs.weight is no short list of float32 inside the file"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(tmp_path, data, says):
    (tmp_path / "a.gguf").write_bytes(data)
    with pytest.raises(ValueError, match=r"^a\.gguf must be a GGUF file") as caught:
        read_gguf(tmp_path / "a.gguf")
    assert str(caught.value) == f"a.gguf must be a GGUF file; {says}. Name another one."


def rotating(*encodings):
    """One group an encoding, of a layer each; an encoding of None does not rotate."""
    groups = [
        LayerGroup("text", f"kind {i}", (i,), () if encoding is None else (encoding,))
        for i, encoding in enumerate(encodings)
    ]
    return ModelPositions("mine", tuple(groups))


HALVES = RoPE(dim=8, pairing="halves")
SCALED = RoPE(dim=8, pairing="halves", scaling=Linear(2.0))


def of_groups(*changes):
    """A group for each change to one of plain RoPE, of a layer each."""
    groups = [replace(LayerGroup("text", "full", (i,), (HALVES,)), **change) for i, change in enumerate(changes)]
    return ModelPositions("mine", tuple(groups))


RESONANT_YARN = RoPE(dim=8, pairing="halves", scaling=Resonance(scaling=YaRN(factor=4.0, original=64)))


@pytest.mark.parametrize(
    ("positions", "arch", "says"),
    [
        (rotating(HALVES), "smollm3", "arch must be one that rotates all layers alike; got 'smollm3'"),
        (rotating(HALVES), "no_such", "arch must be one that rotates all layers alike; got 'no_such'"),
        (rotating(HALVES, None), "qwen3", "positions must be rotations of one or two kinds of layers for GGUF; got 2"),
        (rotating(HALVES, *(RoPE(dim=8, base=base, pairing="halves") for base in (2.0, 3.0))), "qwen3",
            "positions must be rotations of one or two kinds of layers for GGUF; got 3"),
        (rotating(Partial(HALVES, 12, 4)), "qwen3", "start must be the one of qwen3, since no key states it"),
        (rotating(Partial(HALVES, 12, 0)), "minicpm3", "start must be the one of minicpm3, since no key states it"),
        (of_groups({}, {"encodings": (SCALED,), "window": Window(7)}), "gpt-oss",
            "scaling must be None for GGUF where two kinds of layers rotate"),
        (of_groups({}, {"part": "audio"}), "qwen3",
            "positions must be of one part to be written as GGUF; got text, audio"),
        (of_groups({"roles": (RoleRotation("indexer", HALVES),)}), "qwen3",
            "positions must be a plain rotation to be written as GGUF; got (RoPE("),
        (rotating(RoPE(dim=8, pairing="halves", scaling=YaRN(4.0, 64, truncate=False))), "qwen3",
            "truncate must be True for GGUF; got False"),
        (rotating(RESONANT_YARN), "qwen3", "scaling must have no attention factor to be written as divisors"),
    ],
)  # fmt: skip
def test_what_the_format_cannot_say_is_refused(positions, arch, says):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        to_gguf(positions, arch, context_length=64)
    assert str(caught.value).startswith(says)


def test_a_dynamic_scaling_is_refused_at_every_length():
    """llama.cpp has one set of frequencies; those of one length, even the trained one, are wrong at another."""
    for served in (64, 256):
        encoding = RoPE(dim=8, pairing="halves", scaling=DynamicNTK(factor=4.0, original=64, length=served))
        for length in (32, 64, 65):
            with pytest.raises(ValueError, match=r"^scaling must not follow the length to be written.* up to 64 token"):
                to_gguf(rotating(encoding), "qwen3", context_length=length)


def test_the_error_on_the_pairing_says_how_to_read_reordered_rows():
    """The config that it names gives the encoding of llama.cpp."""
    for model_type in ("llama", "mistral"):
        config = {"model_type": model_type, "head_dim": 8, "num_hidden_layers": 2, "rope_theta": 500_000.0}
        with pytest.raises(ValueError, match=r"^arch must pair channels .*'halves'; 'llama' does not") as caught:
            to_gguf(from_config(config), "llama", context_length=64)
        (named,) = re.findall(r"'model_type': '([a-z-]+)'", str(caught.value))
        keys, _ = to_gguf(from_config({**config, "model_type": named}), "llama", context_length=64)
        assert keys["llama.rope.freq_base"] == 500_000.0


def test_a_longrope_is_read_as_it_was_written():
    """Its factor too, of which a file holds the attention factor alone, in float32."""
    lists = {"short": (1.0,) * 4, "long": (2.0, 4.5, 1.0299999713897705, 64.25), "original": 4096, "length": 131072}
    for factor, attention in ((32.0, None), (8.0, None), (1.0, None), (32.0, 1.5), (32.0, 1.190238)):
        encoding = RoPE(dim=8, pairing="halves", scaling=LongRoPE(**lists, factor=factor, attention=attention))
        keys, tensors = to_gguf(rotating(encoding), "phi3", context_length=131072)
        single = {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in keys.items()}
        divisors = {name: tuple(map(float, values)) for name, values in tensors.items()}
        (found,) = from_gguf(GGUFHead(single, tuple(tensors), divisors)).groups[0].encodings
        assert found.scaling == replace(encoding.scaling, factor=factor if attention is None else 1.0)
    head = GGUFHead(*_yarn_without_attention_factor())
    assert from_gguf(head).groups[0].encodings[0].scaling == YaRN(4.0, 4096, attention=1.0)


def _yarn_without_attention_factor():
    scaling = YaRN(4.0, 4096, attention=1.0)
    keys, _ = to_gguf(rotating(RoPE(dim=8, pairing="halves", scaling=scaling)), "qwen3", context_length=16384)
    return (
        {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in keys.items()},
        (),
        {},
    )


GRANITE = {"model_type": "granite", "attention_multiplier": 0.0078125, "hidden_size": 64, "num_attention_heads": 4,
           "num_hidden_layers": 2}  # fmt: skip


def test_the_factor_of_logits_where_llama_cpp_reads_one():
    """Granite's is a key; Gemma's largest models divide by the root of their width over their heads."""
    model = from_config(GRANITE)
    (group,) = model.groups
    adjacent = replace(model, groups=(replace(group, encodings=(RoPE(dim=16, pairing="adjacent"),)),))
    keys, _ = to_gguf(adjacent, "granite", context_length=2048)
    assert keys["granite.attention.scale"] == 0.0078125
    again = from_gguf(GGUFHead(keys, (), {})).groups[0]
    assert (again.logit_factor, again.value("attention.scale").source) == (group.logit_factor, "file")
    still = from_gguf(GGUFHead(keys | {"granite.rope.scaling.finetuned": False}, (), {})).groups
    assert [(one.rotary_encoding, one.layers) for one in still] == [(None, (0, 1))]
    gemma = {"block_count": 46, "embedding_length": 4608, "attention.head_count": 32, "attention.key_length": 128}
    for layers, factor in ((46, (128 / 144) ** 0.5), (42, 1.0)):
        named = {f"gemma2.{name}": value for name, value in (gemma | {"block_count": layers}).items()}
        found = from_gguf(GGUFHead({"general.architecture": "gemma2", **named}, (), {}))
        assert found.groups[0].logit_factor == factor


@pytest.mark.parametrize(
    ("arch", "layers", "factor", "says"),
    [
        ("gemma2", 2, 0.5, "logit_factor must be 1 in all layers to be written as 'gemma2', which has no key"),
        ("gemma2", 46, 1.0, "logit_factor must be 1 in all layers to be written as 'gemma2', which computes it of"),
        ("qwen3", 2, 2.0, "logit_factor must be 1 in all layers to be written as 'qwen3', which has no key"),
    ],
)
def test_a_factor_of_logits_that_no_key_holds_is_refused(arch, layers, factor, says):
    group = LayerGroup("text", "full_attention", tuple(range(layers)), (HALVES,), logit_factor=factor)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        to_gguf(ModelPositions("mine", (group,)), arch, context_length=64)
    assert str(caught.value).startswith(says)


def test_a_longrope_without_attention_factor_writes_no_key_for_it():
    scaling = LongRoPE(short=(1.0,) * 4, long=(2.0,) * 4, original=64, length=128, factor=1.0)
    keys, tensors = to_gguf(rotating(RoPE(dim=8, pairing="halves", scaling=scaling)), "qwen3", context_length=128)
    assert scaling.attention_factor == 1.0
    assert "qwen3.rope.scaling.attn_factor" not in keys
    assert tensors["rope_factors_long.weight"].tolist() == [2.0] * 4


LISTS = {"rope_factors_long.weight": (2.0,) * 4, "rope_factors_short.weight": (1.0,) * 4}


@pytest.mark.parametrize("name", LISTS)
def test_one_list_of_a_longrope_alone_is_no_plain_rotation(name):
    """The other may lie in a missing file of a split model."""
    head = GGUFHead(llama() | {"split.count": 2}, (), {name: LISTS[name]}, missing_parts=1)
    with pytest.raises(ValueError, match=r"^rope_factors_long\.weight and rope_factors_short\.weight must both be in"):
        from_gguf(head)


def test_a_factor_that_llama_cpp_does_not_apply_is_no_second_scaling():
    """Of the type "none" it takes no factor, and one of 1 changes nothing."""
    for more in ({"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, {"rope.scaling.factor": 1.0}):
        for divisors in ({"rope_freqs.weight": (2.0,) * 4}, LISTS):
            plain = from_gguf(GGUFHead(llama(), (), divisors)).groups[0].encodings
            assert from_gguf(GGUFHead(llama(**more), (), divisors)).groups[0].encodings == plain


@pytest.mark.parametrize(
    ("more", "divisors", "says"),
    [
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}, {"rope_freqs.weight": (1.0,) * 4},
            "rope_freqs.weight must come without another scaling"),
        ({"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.yarn_ext_factor": 0.5}, {},
            "llama.rope.scaling.yarn_ext_factor must be 1 for YaRN"),
        ({"rope.scaling.attn_factor": 1.25}, {"rope_freqs.weight": (1.0,) * 4},
            "llama.rope.scaling.attn_factor must be 1 without YaRN or LongRoPE; got 1.25"),
        ({"rope.scaling.type": "longrope", "rope.scaling.factor": 4.0}, LISTS,
            "rope_factors_long.weight must come without another scaling"),
        ({"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}, LISTS,
            "rope_factors_long.weight must come without another scaling"),
        ({"rope.scaling.type": "longrope"}, LISTS | {"rope_freqs.weight": (1.0,) * 4},
            "rope_factors_long.weight must come without another scaling"),
    ],
)  # fmt: skip
def test_two_scalings_at_once_are_refused(more, divisors, says):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        from_gguf(GGUFHead(llama(**more), (), divisors))
    assert str(caught.value).startswith(says)


def test_a_pairing_may_be_stated_for_an_unknown_architecture():
    keys = {name.replace("llama.", "mine."): value for name, value in llama().items()} | {
        "general.architecture": "mine"
    }
    found = from_gguf(GGUFHead(keys, (), {}), stated={"pairing": "halves"})
    assert found.groups[0].encodings == (RoPE(dim=8, base=5e5, pairing="halves"),)
    with pytest.raises(ValueError, match=r"^stated\['pairing'\] must be one of 'adjacent', 'halves'; got 'half'"):
        from_gguf(GGUFHead(keys, (), {}), stated={"pairing": "half"})


def test_heads_of_compressed_keys_have_their_own_width_and_rotate_their_last_channels():
    keys = {"general.architecture": "deepseek2"} | {
        f"deepseek2.{name}": value
        for name, value in {"block_count": 2, "attention.key_length": 576, "attention.key_length_mla": 192,
                            "rope.dimension_count": 64, "rope.freq_base": 1e4}.items()
    }  # fmt: skip
    (group,) = from_gguf(GGUFHead(keys, (), {})).groups
    assert group.encodings == (Partial(RoPE(dim=64, pairing="adjacent"), 192, 128),)


def test_sliding_layers_may_be_listed_or_all_but_every_nth():
    keys = WIDTHS | {"block_count": 6, "rope.freq_base": 5e5, "rope.freq_base_swa": 1e4, "attention.sliding_window": 64}
    for pattern, sliding in (((True, False) * 3, (0, 2, 4)), (3, (0, 1, 3, 4)), (0, (0, 1, 2, 3, 4, 5))):
        *full, slides = from_gguf(head_of("gpt-oss", **keys, **{"attention.sliding_window_pattern": pattern})).groups
        assert (slides.layers, slides.encodings[0].base) == (sliding, 1e4)
        assert [group.encodings[0].base for group in full] == ([5e5] if pattern else [])


def test_a_base_of_sliding_layers_is_refused_where_llama_cpp_reads_none():
    """Of Llama, say, which has no such layers there: all rotate by rope.freq_base."""
    keys = {"rope.freq_base_swa": 1e4, "attention.sliding_window": 64, "attention.sliding_window_pattern": 2}
    with pytest.raises(
        ValueError, match=r"^llama\.rope\.freq_base_swa must be understood, since it concerns positions"
    ):
        from_gguf(GGUFHead(llama(**keys), (), {}))
    waived = from_gguf(GGUFHead(llama(**keys), (), {}), waive=["rope.freq_base_swa"])
    assert [group.encodings[0].base for group in waived.groups] == [5e5]


@pytest.mark.parametrize("arch", ["granitehybrid", "plamo2", "deci"])
def test_layers_without_heads_of_keys_do_not_attend(arch):
    """llama.cpp takes them for recurrent ones, or for layers without attention; other layers are compared as ever."""
    found = from_gguf(head_of(arch, **WIDTHS | {"block_count": 4, "attention.head_count_kv": (0, 2, 0, 2)}))
    assert [(bool(group.encodings), group.layers) for group in found.groups] == [(True, (1, 3)), (False, (0, 2))]
    config = {"model_type": "granitemoehybrid", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4}
    config |= {"layer_types": ["mamba", "attention"] * 2, "position_embedding_type": "rope"}
    said = from_config(config | {"attention_multiplier": 0.25})
    difference = diff(said, found)
    assert {field.name for part in difference.parts for field in part.fields} <= {"model_type", "pairing"}
    assert {part.where for part in difference.parts} <= {"", "text, layers 1, 3"}


@pytest.mark.parametrize(
    ("sliding", "pattern"),
    [((0, 2), 2), ((0, 1, 3), 3), ((0, 1, 2), 4), ((0, 1, 2, 3), 0), ((1, 3), [False, True, False, True])],
)
def test_sliding_layers_are_written_as_a_number_where_one_says_them(sliding, pattern):
    """The loader of gpt-oss ignored lists for long (`get_key_or_arr` into a number), and took every second layer."""
    groups = (
        LayerGroup("text", "full_attention", tuple(set(range(4)) - set(sliding)), (HALVES,)),
        LayerGroup("text", "sliding_attention", sliding, (HALVES,), window=Window(63)),
    )
    positions = ModelPositions("mine", tuple(group for group in groups if group.layers))
    keys, _ = to_gguf(positions, "gpt-oss", context_length=4096)
    assert keys["gpt-oss.attention.sliding_window_pattern"] == pattern
    head = {name: tuple(value) if isinstance(value, list) else value for name, value in keys.items()}
    assert windows_of_layers(from_gguf(GGUFHead(head, (), {}))) == windows_of_layers(positions)


def test_what_does_not_rotate_in_llama_cpp_is_not_said_to():
    """StarCoder adds a learned table; Baichuan rotates in its model of 32 layers alone, and has ALiBi in that of 40."""
    with pytest.raises(ValueError, match=r"^general\.architecture must rotate queries and keys; 'starcoder' does not"):
        from_gguf(head_of("starcoder", **WIDTHS))
    assert from_gguf(head_of("baichuan", **WIDTHS | {"block_count": 32})).groups[0].encodings
    with pytest.raises(ValueError, match=r"^general\.architecture must rotate .*; 'baichuan' of 40 layers does not"):
        from_gguf(head_of("baichuan", **WIDTHS | {"block_count": 40}))
    adjacent = rotating(RoPE(dim=8))
    with pytest.raises(ValueError, match=r"^arch must be one that rotates all layers alike; got 'baichuan'"):
        to_gguf(adjacent, "baichuan", context_length=64)


def test_a_scale_of_logits_that_is_one_over_the_root_of_the_width_multiplies_nothing():
    """A file holds float32, which 1/√128 is not."""
    (group,) = from_gguf(
        head_of("granite", **WIDTHS, **{"attention.key_length": 128, "attention.scale": 128**-0.5})
    ).groups
    assert group.logit_factor == 1.0
    (group,) = from_gguf(
        head_of("granite", **WIDTHS, **{"attention.key_length": 128, "attention.scale": 0.0884})
    ).groups
    assert group.logit_factor == pytest.approx(1.0001321, rel=1e-6)


WIDTHS = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "context_length": 128}


@pytest.mark.parametrize(
    ("arch", "other", "note"),
    [
        ("llama", False, "llama.attention.causal = False: queries see later keys"),
        ("qwen3", False, "qwen3.attention.causal = False: queries see later keys"),
        ("eurobert", True, "eurobert.attention.causal = True: queries see no later keys"),
        ("eurobert", None, "eurobert.attention.causal = True: queries see no later keys"),
    ],
)
def test_a_file_that_turns_the_mask_of_its_architecture_around_is_noted(arch: str, other: bool | None, note: str):
    """llama.cpp masks later keys unless attention.causal is false, which converters of encoders write."""
    usual = from_gguf(head_of(arch, **WIDTHS, **{"attention.causal": arch != "eurobert"}))
    found = from_gguf(head_of(arch, **WIDTHS, **({} if other is None else {"attention.causal": other})))
    assert usual.idle == ()
    assert found.idle == (note,)
    difference = diff(usual, found)
    assert (difference.verdict, difference.not_compared) == (
        "agree in what was compared",
        (f"{note} (the second alone)",),
    )
    assert diff(found, found).verdict.startswith("agree in everything")


def test_models_of_diffusion_see_both_sides_whatever_the_key_says():
    both = [from_gguf(head_of("dream", **WIDTHS, **{"attention.causal": causal})) for causal in (True, False)]
    assert diff(*both).verdict.startswith("agree in everything")
    with pytest.raises(TypeError, match=r"attention\.causal must be"):
        from_gguf(head_of("llama", **WIDTHS, **{"attention.causal": "no"}))
