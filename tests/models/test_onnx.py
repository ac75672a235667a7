"""ONNX RotaryEmbedding: what is exported runs under onnx.reference, an independent oracle, and comes back as the
encoding."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from posenc import Partial, RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, YaRN
from posenc.models import LayerGroup, ModelPositions, from_onnx, to_onnx

ENCODINGS = [
    RoPE(dim=8, pairing="adjacent"),
    RoPE(dim=6, base=5e5, pairing="halves"),
    RoPE(dim=128, base=1e6, pairing="halves"),
    Partial(RoPE(dim=6, pairing="halves"), dim=10),
    Partial(RoPE(dim=4, base=500.0, pairing="adjacent"), dim=10),
    RoPE(dim=16, pairing="halves", scaling=YaRN(factor=4.0, original=32)),
    RoPE(dim=16, pairing="adjacent", scaling=Llama3(factor=8.0, original=64)),
    RoPE(dim=16, pairing="adjacent", scaling=Linear(factor=2.0)),
]


def positions_of(encoding):
    return ModelPositions("mine", (LayerGroup("text", "full_attention", (0,), (encoding,)),))


def inner(encoding):
    return encoding.encoding if isinstance(encoding, Partial) else encoding


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_reference_evaluator_turns_as_the_encoding_does(encoding):
    heads, length = 12, 97
    model = to_onnx(positions_of(encoding), length=length, heads=heads)
    onnx.checker.check_model(model, full_check=True)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, heads, 5, encoding.head_dim)).astype(np.float32)
    places = np.array([[0, 1, 2, 50, 96], [7, 7, 3, 95, 4]])
    (theirs,) = ReferenceEvaluator(model).run(None, {"x": x, "position_ids": places})
    ours = encoding.rotation(places)(x, layout="bhtd")
    # Products of float32 numbers of size one, rounded once here and after every step there.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=4 * 2.0**-23 * np.abs(x).max())
    other = "halves" if inner(encoding).pairing == "adjacent" else "adjacent"
    wrong = onnx.ModelProto()
    wrong.CopyFrom(model)
    next(one for one in wrong.graph.node[0].attribute if one.name == "interleaved").i = int(other == "adjacent")
    (mixed,) = ReferenceEvaluator(wrong).run(None, {"x": x, "position_ids": places})
    assert np.abs(mixed - ours).max() > 0.1  # the layout matters, and the test would see it


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_there_and_back(tmp_path, encoding):
    model = to_onnx(positions_of(encoding), length=4096, heads=4)
    onnx.save(model, tmp_path / "a.onnx")
    stated = {"base": inner(encoding).base, "scaling": inner(encoding).scaling} if inner(encoding).scaling else {}
    found = from_onnx(tmp_path / "a.onnx", stated=stated)
    assert found.groups[0].encodings == (encoding,)
    if stated:
        with pytest.raises(ValueError, match=r"^caches must be (those|of a plain rotation)"):
            from_onnx(model)
        with pytest.raises(ValueError, match="caches must be those of"):
            from_onnx(model, stated=stated | {"base": 777.0})


def test_nodes_are_layers_and_what_differs_is_apart():
    model = to_onnx(positions_of(RoPE(dim=8, pairing="halves")), length=64, heads=2)
    second = model.graph.node.add()
    second.CopyFrom(model.graph.node[0])
    second.input[0], second.output[0] = "y", "z"
    next(one for one in second.attribute if one.name == "interleaved").i = 1
    first, other = from_onnx(model).groups
    assert (first.layers, first.encodings) == ((0,), (RoPE(dim=8, pairing="halves"),))
    assert (other.layers, other.encodings) == ((1,), (RoPE(dim=8, pairing="adjacent"),))


@pytest.mark.parametrize(
    "scaling",
    [DynamicNTK(4.0, 64, 128), DynamicNTK(4.0, 64, 64), LongRoPE((1.0,) * 4, (2.0,) * 4, 64, 128, 1.0)],
    ids=["dynamic", "dynamic-trained", "longrope"],
)
def test_frequencies_that_follow_the_length_have_no_one_cache(scaling):
    """Rows of one cache are for every length: dynamic NTK and LongRoPE rotate short prompts by other frequencies."""
    positions = positions_of(RoPE(dim=8, pairing="halves", scaling=scaling))
    with pytest.raises(ValueError, match=r"^scaling must not follow the length up to 128 to be written as ONNX"):
        to_onnx(positions, length=128, heads=1)
    with pytest.raises(ValueError, match=r"^scaling must not follow the length up to 100 to be written as ONNX"):
        to_onnx(positions, length=100, heads=1)
    assert from_onnx(to_onnx(positions, length=64, heads=1)).groups[0].encodings == (RoPE(dim=8, pairing="halves"),)
    same = LongRoPE((2.0,) * 4, (2.0,) * 4, 64, 128, 2.0)
    assert to_onnx(positions_of(RoPE(dim=8, scaling=same)), length=128, heads=1)


def test_refusals(tmp_path):
    last = Partial(RoPE(dim=4), dim=10, start=6)
    with pytest.raises(ValueError, match="start must be 0 for ONNX"):
        to_onnx(positions_of(last), length=8, heads=1)
    with pytest.raises(ValueError, match="length must need at most"):
        to_onnx(positions_of(RoPE(dim=4096)), length=1 << 24, heads=1)
    model = to_onnx(positions_of(RoPE(dim=8)), length=8, heads=1)
    del model.graph.initializer[0]
    with pytest.raises(ValueError, match="'cos_cache' must be an initializer inside the graph"):
        from_onnx(model)
    with pytest.raises(ValueError, match="model must have from 1 to 8192 RotaryEmbedding nodes; it has none"):
        from_onnx(onnx.ModelProto())
    with pytest.raises(TypeError, match="model must be an ONNX model or the path of one"):
        from_onnx(3)
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xff\xff\xff not a model")
    with pytest.raises(ValueError, match=r"model must be an ONNX file; bad\.onnx is damaged"):
        from_onnx(tmp_path / "bad.onnx")


def cached(cosine, sine, dtype=np.float32, **attributes):
    """A model with one RotaryEmbedding node that reads these caches, for x of unknown shape."""
    node = onnx.helper.make_node(
        "RotaryEmbedding", ["x", "cos_cache", "sin_cache", "position_ids"], ["y"], **attributes
    )
    caches = [
        onnx.numpy_helper.from_array(np.asarray(table).astype(dtype), name)
        for name, table in (("cos_cache", cosine), ("sin_cache", sine))
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    return onnx.helper.make_model(onnx.helper.make_graph([node], "rotary", [x], [y], caches))


def tables(rows, pairs, base=10_000.0):
    """cos and sin of p·base^(-i/pairs)."""
    angles = np.arange(rows)[:, None] * base ** (-np.arange(pairs) / pairs)
    return np.cos(angles), np.sin(angles)


def in_float32(rows, pairs, base, divisors=1.0):
    """The same as exporters make them: every step in float32, as in `_compute_default_rope_parameters`."""
    exponents = np.arange(pairs, dtype=np.float32) / np.float32(pairs)
    frequencies = np.float32(1.0) / np.float32(base) ** exponents / np.asarray(divisors, np.float32)
    angles = np.arange(rows, dtype=np.float32)[:, None] * frequencies
    assert angles.dtype == np.float32
    return np.cos(angles), np.sin(angles)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("rows", [2, 64, 4096, 131_072])
def test_caches_of_float32_arithmetic_are_read_at_every_length(rows, name):
    dtype = pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name
    for pairs, base in ((8, 1e4), (32, 5e5), (64, 1e6)):
        found = from_onnx(cached(*in_float32(rows, pairs, base), dtype)).groups[0].encodings
        assert found == (RoPE(dim=2 * pairs, base=base, pairing="halves"),)
        with pytest.raises(ValueError, match="caches must be those of"):
            from_onnx(cached(*in_float32(rows, pairs, base), dtype), stated={"base": 1.1 * base})


def test_a_base_next_to_a_round_one_is_not_taken_for_it():
    """Of NTK-aware scaling, say: 10,000 and 10,000.5 differ by 0.02 radians at row 2048."""
    for base in (10_000.5, 26_214.4, 99_995.0, 1_234_567.0):
        assert from_onnx(cached(*in_float32(2048, 64, base))).groups[0].encodings[0].base == base
    with pytest.raises(ValueError, match="caches must be those of"):
        from_onnx(cached(*in_float32(2048, 64, 10_000.5)), stated={"base": 1e4})


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_base_of_many_digits_is_read_from_caches_of_16_bits(name):
    """The angle of the slowest pair alone, rounded to 16 bits, gives three digits; fast pairs give the others."""
    dtype = pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name
    for base in (26_214.4, 99_995.0, 837_700.0):
        assert from_onnx(cached(*in_float32(4096, 64, base), dtype)).groups[0].encodings[0].base == base


def test_caches_of_a_scaling_in_float32_are_those_of_the_stated_one():
    """Llama 3.2's: the blend of its formula, from wavelengths in float32."""
    scaling = Llama3(factor=32.0, original=8192)
    waves = np.float32(2 * np.pi) * np.float32(5e5) ** (np.arange(64, dtype=np.float32) / np.float32(64))
    share = (np.float32(8192) / waves - np.float32(1)) / np.float32(3)
    blend = 1 / ((1 - share) / np.float32(32) + share)
    divisors = np.where(waves < 2048, 1.0, np.where(waves > 8192, 32.0, blend))
    model = cached(*in_float32(131_072, 64, 5e5, divisors))
    found = from_onnx(model, stated={"base": 5e5, "scaling": scaling}).groups[0].encodings
    assert found == (RoPE(dim=128, base=5e5, pairing="halves", scaling=scaling),)
    for other in (None, Llama3(factor=31.9, original=8192), Llama3(factor=32.0, original=8190)):
        with pytest.raises(ValueError, match="caches must be those of"):
            from_onnx(model, stated={"base": 5e5} | ({"scaling": other} if other else {}))


@pytest.mark.nightly
def test_caches_of_transformers_are_those_of_a_scaling_that_cancels():
    """Llama 3's blend puts a frequency off by 45 roundings where a band begins; positions multiply that."""
    transformers = pytest.importorskip("transformers", exc_type=ImportError)
    torch = pytest.importorskip("torch")
    stated = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "original_max_position_embeddings": 32_768,
              "low_freq_factor": 1.0, "high_freq_factor": 4.0}  # fmt: skip
    config = transformers.LlamaConfig(hidden_size=80, head_dim=80, num_attention_heads=1, rope_parameters=stated,
                                      max_position_embeddings=1_048_576)  # fmt: skip
    rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
    # 64 rows of every length are compared: this one has the row that is most off among them.
    angles = torch.outer(torch.arange(400_000, dtype=torch.float32), rotary.inv_freq)
    model = cached(angles.cos().numpy(), angles.sin().numpy())
    scaling = Llama3(factor=32.0, original=32_768)
    found = from_onnx(model, stated={"base": 5e5, "scaling": scaling}).groups[0].encodings
    assert found == (RoPE(dim=80, base=5e5, pairing="halves", scaling=scaling),)


@pytest.mark.parametrize(
    ("model", "stated", "says"),
    [
        (cached(*tables(1, 4)), {}, "'cos_cache' must hold floats, with a row for each position"),
        (cached(np.full((3, 4), np.nan), np.ones((3, 4))), {}, "'cos_cache' must be finite; it is not"),
        (cached(*tables(9, 4), rotary_embedding_dim=6), {"head_dim": 16},
            "rotary_embedding_dim must be twice the width of the caches, 8; got 6"),
        (cached(*tables(9, 4), rotary_embedding_dim=8), {},
            "head_dim must be known where a part of a head rotates; the graph does not show it"),
        (cached(np.ones((9, 4)), np.zeros((9, 4))), {}, "caches must be of a plain rotation for its base"),
        (cached(np.ones((9, 4)), [[0.0] * 4, [1.0] * 4, [-1.0] * 4, *([[9.0] * 4] * 6)]), {},
            "caches must be"),
        (cached(*tables(9, 4)), {"scaling": 2.0}, "stated['scaling'] must be a scaling; got 2.0"),
        (cached(*tables(9, 4)), "base", "stated must be a dict of keys and values; got 'base'"),
        (cached(*tables(9, 4)), {"rope_theta": 1e6},
            "stated must be one of 'base', 'scaling', 'head_dim'; got 'rope_theta'"),
        (cached(*tables(9, 4)), {"head_dim": 16},
            "head_dim must be twice the width of the caches, 8, where whole heads rotate; got 16"),
    ],
)  # fmt: skip
def test_a_node_that_cannot_be_read_is_refused(model, stated, says):
    with pytest.raises((ValueError, TypeError), match=r"^[^\n]*$") as caught:
        from_onnx(model, stated=stated)
    assert str(caught.value).startswith(says)


def test_the_width_of_a_head_is_stated_or_follows_from_the_shape_of_its_input():
    expected = Partial(RoPE(dim=8, pairing="halves"), dim=16)
    model = cached(*tables(64, 4), rotary_embedding_dim=8, num_heads=3)
    assert from_onnx(model, stated={"head_dim": 16}).groups[0].encodings == (expected,)
    whole = from_onnx(cached(*tables(64, 4)), stated={"head_dim": 8})
    assert whole.groups[0].encodings == (expected.encoding,)
    shape = model.graph.input[0].type.tensor_type.shape.dim
    for size in (2, 5, 3 * 16):
        shape.add().dim_value = size
    assert from_onnx(model).groups[0].encodings == (expected,)


def test_one_pair_turns_by_one_radian_whatever_the_base():
    assert from_onnx(cached(*tables(9, 1))).groups[0].encodings == (RoPE(dim=2, pairing="halves"),)


def test_a_file_too_large_for_a_graph_is_refused(tmp_path):
    with (tmp_path / "large.onnx").open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(
        ValueError, match=r"^model must be a file of at most 268435456 bytes; got 2147483649\. Give a graph"
    ):
        from_onnx(tmp_path / "large.onnx")


def of_onnx_runtime(encoding, **attributes):
    """The node of com.microsoft for an encoding: positions come before the caches there."""
    model = to_onnx(positions_of(encoding), length=512, heads=4)
    (node,) = model.graph.node
    x, cosine, sine, positions = node.input
    del node.input[:]
    node.input.extend([x, positions, cosine, sine])
    node.domain = "com.microsoft"
    node.attribute.extend([onnx.helper.make_attribute(name, value) for name, value in attributes.items()])
    return model


@pytest.mark.parametrize("encoding", ENCODINGS[:5])
def test_the_operator_of_onnx_runtime_is_read(encoding):
    assert from_onnx(of_onnx_runtime(encoding)).groups[0].encodings == (encoding,)


def test_a_scale_of_onnx_runtime_is_refused_by_name():
    assert from_onnx(of_onnx_runtime(ENCODINGS[0], scale=1.0)).groups[0].encodings == (ENCODINGS[0],)
    with pytest.raises(ValueError, match=r"scale must be 1 in com\.microsoft's RotaryEmbedding; got 2\.0"):
        from_onnx(of_onnx_runtime(ENCODINGS[0], scale=2.0))


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    for call in (lambda: from_onnx("a.onnx"), lambda: to_onnx(positions_of(ENCODINGS[0]), length=4, heads=1)):
        with pytest.raises(ModuleNotFoundError, match=r"^ONNX models need the onnx package.* pip install onnx$"):
            call()
