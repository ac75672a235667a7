"""Worked steps say what the encodings compute, at every door, also for an encoding that nobody has explained."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from posenc import CATALOG, Backward, Partial, XPos, YaRN
from posenc.compose import Concatenated, LearnedScale, Scaled, Sum
from posenc.core import arrays
from posenc.core.checked_positions import checked
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, RotaryEncoding
from posenc.core.rotation import Pairing, Rotation, at_every_head
from posenc.encodings.adds.count import Count
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.temperature import Temperature
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.inspect import position_change, rotation_error, rotation_matrices, score_by_distance
from posenc.learn import worked

SAMPLES = [sample for row in CATALOG for sample in row.samples]


def drawn(encoding, seed=0):
    return encoding.init(np.random.default_rng(seed)) if encoding.shapes else None


@pytest.mark.parametrize("encoding", [one for one in SAMPLES if isinstance(one, AdditiveEncoding)])
@pytest.mark.parametrize("position", [0, 4])
def test_values_of_what_adds(encoding, position):
    place = position if encoding.axes == 1 else tuple(range(position, position + encoding.axes))
    row = encoding.embed([place], drawn(encoding))[0]
    steps = worked(encoding, place).steps
    assert [step.values[0] for step in steps] == row.tolist()
    for dimension, step in enumerate(steps):
        assert step.text.startswith(f"PE({place}, {dimension}) = ")
        assert float(step.text.split("=")[-1]) == pytest.approx(row[dimension], abs=5e-7, rel=1e-5)


@pytest.mark.parametrize("encoding", [one for one in SAMPLES if isinstance(one, Sinusoidal)])
def test_the_substituted_formula_of_each_sinusoidal_convention_evaluates_to_the_value(encoding):
    """The printed right-hand sides, read as arithmetic, give the value."""
    names = {"sin": math.sin, "cos": math.cos}
    for step in worked(encoding, 5).steps:
        _, *sides = step.text.split(" = ")
        for side in sides:
            value = eval(side.replace("·", "*").replace("^", "**"), {"__builtins__": {}}, names)
            assert value == pytest.approx(step.values[0], abs=2e-6)


def rotates_pairs(encoding):
    """Whether all heads rotate pairs of channels alike, so that a line can say a pair's angle."""
    place = np.zeros(1 if encoding.axes == 1 else (1, encoding.axes), int)
    rotation = encoding.rotation(place, drawn(encoding), role=encoding.roles[0])
    return isinstance(rotation, Rotation) and rotation.heads is None


@pytest.mark.parametrize(
    "encoding", [one for one in SAMPLES if isinstance(one, RotaryEncoding) and not rotates_pairs(one)]
)
def test_what_another_map_makes_of_a_vector(encoding):
    vector = np.arange(1.0, encoding.head_dim + 1)
    place = 7 if encoding.axes == 1 else tuple(range(7, 7 + encoding.axes))
    made = at_every_head(encoding.rotation(np.array([place]), drawn(encoding), role=encoding.roles[0]), vector[None])
    example = worked(encoding, place, vector=vector)
    assert [step.values[0] for step in example.steps] == made.reshape(-1, made.shape[-1])[0].tolist()


@pytest.mark.parametrize("encoding", [one for one in SAMPLES if isinstance(one, RotaryEncoding) and rotates_pairs(one)])
def test_angles_and_rotated_pairs_of_what_rotates(encoding):
    vector = np.arange(1.0, encoding.head_dim + 1)
    place = 7 if encoding.axes == 1 else tuple(range(7, 7 + encoding.axes))
    rotated = encoding.rotation(np.array([place]), drawn(encoding), role=encoding.roles[0])(vector[None])[0]
    example = worked(encoding, place, vector=vector)
    inner = getattr(encoding, "encoding", encoding)
    for step in example.steps:
        first, second = (int(one) for one in step.text.split("(dimensions ")[1].split(")")[0].split(","))
        angle, a, b = step.values
        assert (a, b) == (rotated[first], rotated[second])
        expected = complex(vector[first], vector[second]) * complex(math.cos(angle), math.sin(angle))
        expected *= getattr(inner, "attention_factor", 1.0)
        if isinstance(encoding, XPos | Temperature):  # stretched besides
            expected *= abs(complex(a, b)) / abs(expected)
        # The float32 sample turns by an angle rounded to 24 bits, on values up to 12.
        assert abs(expected - complex(a, b)) < 2e-5
    scaled = getattr(inner, "scaling", None) is not None or not isinstance(getattr(inner, "frequency_dim", 0), int)
    if hasattr(inner, "frequencies") and not encoding.shapes:
        number = -7 if isinstance(encoding, Backward) else 7 + getattr(encoding, "axis", (0, 0))[1]
        assert (f"angle = {number} · " if scaled else f"angle = {number} / ") in example.steps[1].text
    assert any("keeps its length" in line for line in example.lines()) == ("isometry" in encoding.claims)


@pytest.mark.parametrize("name", ["HARoPE", "LieRE"])
def test_other_maps_keep_lengths_where_they_claim_to(name):
    """The first matrices of HARoPE make a vector longer by a millionth."""
    encoding = next(sample for sample in SAMPLES if type(sample).__name__ == name)
    lines = worked(encoding, (7, 8) if encoding.axes == 2 else 7).lines()
    assert any("keeps its length" in line for line in lines) == ("isometry" in encoding.claims)


def test_a_place_of_several_coordinates():
    encoding = AxialRoPE(axis=(0, 1), frequency_index=(0, 1), frequency_dim=4)
    first, second = (step.text.split(";")[0] for step in worked(encoding, (3, 5)).steps)
    assert first == "pair 0 (dimensions 0, 1): angle = 3 / 10000^(0/4) = 3 rad = 171.89°"
    assert second == "pair 1 (dimensions 2, 3): angle = 5 / 10000^(2/4) = 0.05 rad = 2.86°"
    assert "at position (3, 5)" in worked(encoding, [3, 5]).lines()[0]
    for wrong in (3, (3,), (3, 5, 7), "35"):
        with pytest.raises(ValueError, match="position must be 2 numbers, one for each axis; got"):
            worked(encoding, wrong)
    with pytest.raises(TypeError, match="position must be"):
        worked(RoPE(dim=4), (3, 5))


@pytest.mark.parametrize(
    "measured",
    [
        lambda encoding: rotation_matrices(encoding, [1]),
        lambda encoding: rotation_error(encoding, [1]),
        lambda encoding: score_by_distance(encoding, [1]),
        lambda encoding: position_change(encoding),
    ],
)
def test_what_needs_one_number_a_place_names_the_encoding(measured):
    with pytest.raises(ValueError, match=r"encoding must be an encoding with one axis; got AxialRoPE.* with 2 axes"):
        measured(AxialRoPE(axis=(0, 1), frequency_index=(0, 1), frequency_dim=4))


def test_only_the_pairs_of_the_dimensions_asked_for():
    assert [step.text[:6] for step in worked(RoPE(dim=8, pairing="halves"), 3, dims=[6, 1]).steps] == [
        "pair 1",
        "pair 2",
    ]
    assert len(worked(ALiBi(heads=8), 3, dims=[2]).steps) == 1


@pytest.mark.parametrize("encoding", [one for one in SAMPLES if isinstance(one, AttentionBias)])
@pytest.mark.parametrize(("query", "key"), [(9, 4), (0, 30), (5, 5), (500, 0)])
def test_values_of_what_biases(encoding, query, key):
    if encoding.axes > 1:  # on a diagonal that no two axes share
        query, key = (tuple(place + axis for axis in range(encoding.axes)) for place in (query, key))
    numbers = encoding.matrix([query], [key], drawn(encoding))[:, 0, 0]
    steps = worked(encoding, query, key=key).steps
    assert [step.values[0] for step in steps] == numbers.tolist()
    assert f"query {query}, key {key}" in steps[-1].text


def test_slope_times_distance():
    assert worked(ALiBi(heads=8), 3, key=1, dims=[0]).steps[0].text == (
        "bias(head 0, query 3, key 1) = -2^(-8·1/8) · |3 - 1| = -0.5 · 2 = -1"
    )
    scaled = RoPE(dim=4, scaling=YaRN(factor=4.0, original=64, beta_fast=8.0))
    assert any("factor: logits grow by its square" in line for line in worked(scaled, 3).notes)
    assert any("factor: what pairs add to logits grows" in line for line in worked(Partial(scaled, dim=8), 3).notes)
    assert any("12 is no power of two" in line for line in worked(ALiBi(heads=12), 3).notes)


@pytest.mark.parametrize(
    "encoding", [T5Bias(heads=2), T5Bias(heads=2, bidirectional=False), T5Bias(heads=1, buckets=8, max_distance=20)]
)
def test_which_bucket_and_why(encoding):
    """The reason's arithmetic, by plain logarithms, gives the bucket; where it meets an edge to rounding is left
    out."""
    one_way = encoding.buckets // 2 if encoding.bidirectional else encoding.buckets
    exact = one_way // 2
    for distance in (-200, -50, -9, -3, 0, 3, 9, 50, 200):
        (note,) = (line for line in worked(encoding, 300, key=300 + distance).notes if line.startswith("distance"))
        assert f" = {distance}: bucket {int(encoding.bucket([distance])[0])}, " in note
        steps = abs(distance)
        if distance > 0 and not encoding.bidirectional:
            assert "all keys after the query share" in note
        elif steps < exact:
            assert "a bucket of its own" in note
        elif steps >= encoding.max_distance:
            assert "the last one" in note
        else:
            inner = exact + math.floor(
                (one_way - exact) * math.log(steps / exact) / math.log(encoding.max_distance / exact)
            )
            assert note.endswith(f"⌋ = {inner}.")
        assert ("(keys after the query)" in note) == (encoding.bidirectional and distance > 0)


def test_the_clipped_row_of_shaw():
    encoding = Shaw(dim=6, clip=2)
    q = np.arange(6.0)
    params = drawn(encoding)
    near, far = (worked(encoding, 5, key=key, vector=q, params=params) for key in (4, 99))
    assert near.steps[0].text == "row = clip(key - query, -2, 2) + 2 = clip(4 - 5, -2, 2) + 2 = 1"
    assert far.steps[0].values == (4.0,)
    for example, row in ((near, 1), (far, 4)):
        assert example.steps[1].values[0] == pytest.approx(q @ params["relative_keys"][row] / math.sqrt(6), rel=1e-12)


def test_the_terms_of_transformer_xl_sum_to_its_score():
    encoding = TransformerXL(dim=4, heads=3, model_dim=8)
    for step in worked(encoding, 9, key=2, seed=4).steps:
        *terms, total = step.values
        # Sums of 8 · 4 float64 products below 1.
        assert sum(terms) == pytest.approx(total, abs=1e-14)
        assert len(terms) == 3


def test_compositions_are_worked_out_from_their_parts():
    said = [
        worked(encoding, 3, dims=[0]).steps[0].text
        for encoding in (Scaled(Sinusoidal(dim=4), 2.0), LearnedScale(Sinusoidal(dim=4), 0.5))
    ]
    assert said == ["PE(3, 0) = 2 · 0.14112 = 0.28224", "PE(3, 0) = 0.5 · 0.14112 = 0.07056"]
    both = Sum((Sinusoidal(dim=4), Learned(dim=4, length=9)))
    table = drawn(both)["1.table"]
    assert worked(both, 3, dims=[1]).steps[0].values[0] == pytest.approx(math.cos(3) + table[3, 1], rel=1e-12)
    assert worked(Concatenated(Count()), 3).steps[0].text == "PE(3, 0) = 3 + 1 = 4"


@pytest.mark.parametrize(
    ("encoding", "position", "row"),
    [
        (Learned(dim=2, length=4, outside="wrap"), 6, "table[6 mod 4 = 2, 1]"),
        (Learned(dim=2, length=4, outside="clamp"), 6, "table[6 clamped to 3, 1]"),
        (Learned(dim=2, length=4, outside="clamp"), -6, "table[-6 clamped to 0, 1]"),
        (Learned(dim=2, length=4, outside="interpolate", extent=10), 6, "table[6 of 10, stretched, 1]"),
        (Learned(dim=2, length=4), 3, "table[3, 1]"),
    ],
)
def test_the_row_of_a_learned_table(encoding, position, row):
    assert row in worked(encoding, position, dims=[1]).steps[0].text


def test_what_is_learned_is_drawn_from_the_seed_or_given():
    encoding = Learned(dim=2, length=4)
    assert worked(encoding, 1, seed=3).steps[0].values[0] == drawn(encoding, 3)["table"][1, 0]
    assert "What is learned is drawn with seed 3." in worked(encoding, 1, seed=3).notes
    given = worked(encoding, 1, params={"table": np.ones((4, 2))})
    assert given.steps[0].text == "PE(1, 0) = table[1, 0] = 1"
    assert not any("drawn" in note for note in given.notes)


def test_fractions_and_large_positions():
    assert worked(Sinusoidal(dim=2), 0.5).steps[0].text == "PE(0.5, 0) = sin(0.5 / 10000^(0/2)) = sin(0.5) = 0.479426"
    assert worked(Sinusoidal(dim=2), 2**53).steps[0].values[0] == Sinusoidal(dim=2).embed([2**53])[0, 0]


@dataclass(frozen=True)
class Halved(AdditiveEncoding):
    @property
    def width(self):
        return 1

    def embed(self, positions, params=None, *, dtype=None):
        return checked(positions).array[..., None] / 2.0


@dataclass(frozen=True)
class FixedFrequencies(RotaryEncoding):
    """Turns by the square of the position: an angle that is not position times frequency."""

    @property
    def head_dim(self):
        return 2

    def rotation(self, positions, params=None, *, role="both", dtype=None):
        angle = np.asarray(positions)[..., None] ** 2.0
        return Rotation(np.cos(angle), np.sin(angle), Pairing("adjacent", 2, 2))


@dataclass(frozen=True)
class Constant(AttentionBias):
    def bias(self, head, query_positions, key_positions, params=None, *, dtype=None):
        return (head + query_positions - key_positions) * 1.0


@dataclass(frozen=True)
class Alike(AttentionScore):
    def score(self, q, k, query_positions, key_positions, params=None, *, hidden=None):
        return q @ k.swapaxes(-1, -2)


def test_an_encoding_that_nobody_explained_is_explained_by_its_door():
    assert worked(Halved(), 3).steps[0].text == "PE(3, 0) = 1.5"
    assert (
        worked(FixedFrequencies(), 1).steps[0].text
        == "pair 0 (dimensions 0, 1): angle = 1 rad = 57.3°; (1, 0) → (0.5403, 0.8415)"
    )
    assert worked(Constant(heads=2), 5, key=1).steps[1].text == "bias(head 1, query 5, key 1) = 5"
    assert worked(Alike(), 5, key=1, vector=np.ones(8)).steps[0].text == "score(head 0, query 5, key 1) = 8"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("Sinusoidal", 3), TypeError, "encoding must be an encoding"),
        ((Sinusoidal(dim=4), "3"), TypeError, "position must be a finite number"),
        ((Sinusoidal(dim=4), True), TypeError, "position must be"),
        ((Sinusoidal(dim=4), 2**54), ValueError, "position must be an integer from"),
        ((Sinusoidal(dim=4), math.nan), ValueError, "position must be a finite number"),
    ],
)
def test_bad_encodings_and_positions(arguments, kind, message):
    with pytest.raises(kind, match=message):
        worked(*arguments)


@pytest.mark.parametrize(
    ("encoding", "options", "kind", "message"),
    [
        (Sinusoidal(dim=4), {"dims": [4]}, ValueError, "dims must be an integer from 0 to 3; got 4"),
        (Sinusoidal(dim=4), {"dims": 2}, TypeError, "dims must be a list of whole numbers; got 2"),
        (Sinusoidal(dim=4), {"dims": "01"}, TypeError, "dims must be a list"),
        (ALiBi(heads=2), {"dims": [2]}, ValueError, "dims must be an integer from 0 to 1"),
        (ALiBi(heads=2), {"key": "0"}, TypeError, "key must be a finite number"),
        (ALiBi(heads=2), {"seed": -1}, ValueError, "seed must be an integer from 0"),
        (ALiBi(heads=2), {"vector": [1.0]}, TypeError, "vector must be left out for an encoding that biases"),
        (RoPE(dim=4), {"vector": [1.0]}, ValueError, r"vector must have shape \(4,\); got \(1,\)"),
        (Learned(dim=4, length=2), {"params": {"rows": 1}}, ValueError, "params must hold exactly"),
        (Learned(dim=4, length=2), {}, ValueError, "positions must be from 0 to 1"),
    ],
)
def test_bad_options(encoding, options, kind, message):
    with pytest.raises(kind, match=message):
        worked(encoding, 3, **options)


def test_an_encoding_without_a_door_is_refused():
    from posenc.core.doors import Encoding

    @dataclass(frozen=True)
    class Nowhere(Encoding):
        pass

    with pytest.raises(TypeError, match="encoding must enter through one of the four doors"):
        worked(Nowhere(), 1)


def test_arrays_of_any_library_are_read():
    import torch

    assert arrays.library(torch.ones(4)).name == "torch"
    assert worked(RoPE(dim=4), 1, vector=torch.ones(4)).steps == worked(RoPE(dim=4), 1, vector=np.ones(4)).steps
