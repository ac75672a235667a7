"""Maps that are no rotation of pairs: refused fields, and what they are in special cases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import (
    CayleySTRING,
    ComRoPE,
    FoPE,
    LearnedRoPE,
    LieRE,
    MultiplicativeGRAPE,
    Partial,
    PoPE,
    RoPE,
    RoPEPlusPlus,
)
from posenc.attention import attention
from posenc.core.doors import RotaryEncoding
from posenc.core.operators import Rebased
from posenc.core.rotation import Operator
from posenc.phase import exponential
from posenc.torch import Rotate, module
from posenc.transformers import HuggingFaceRotary


def drawn(encoding: RotaryEncoding) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: value + 0.3 * rng.standard_normal(value.shape) for name, value in encoding.init(rng).items()}


@pytest.mark.parametrize(
    ("make", "begins"),
    [
        (lambda: CayleySTRING(dim=3), "dim must be"),
        (lambda: CayleySTRING(dim=4, axes=0), "axes must be"),
        (lambda: CayleySTRING(dim=4, base=0.0), "base must be"),
        (lambda: CayleySTRING(dim=1 << 20), "dim"),
        (lambda: MultiplicativeGRAPE(dim=1), "dim must be"),
        (lambda: MultiplicativeGRAPE(dim=4, rate=0.0), "rate must be"),
        (lambda: PoPE(dim=0, heads=1), "dim must be"),
        (lambda: LieRE(dim=4, heads=1, block=3), "block must divide dim=4; got 3"),
        (lambda: LieRE(dim=4, heads=1, block=1), "block must be"),
        (lambda: LieRE(dim=4, heads=1, block=2, axes=0), "axes must be"),
        (lambda: ComRoPE(dim=4, heads=1, block=3), "block must divide dim=4; got 3"),
        (
            lambda: ComRoPE(dim=4, heads=1, block=2, axes=3, commuting="partition"),
            "axes must divide the number of blocks, 2",
        ),
        (lambda: ComRoPE(dim=4, heads=1, block=2, commuting="never"), "commuting must be"),
        (lambda: ComRoPE(dim=4, heads=1, block=2, std=0.0), "std must be"),
        (
            lambda: LieRE(dim=2, heads=1, block=2).rotation([1 << 17], {"generators": np.ones((1, 1, 1, 2, 2))}),
            "positions must rotate by at most 65536 radians; got about 131072",
        ),
        (lambda: PoPE(dim=4, heads=0), "heads must be"),
        (lambda: PoPE(dim=4, heads=1, phase="some"), "phase must be"),
        (
            lambda: PoPE(dim=4, heads=1).rotation([0], {"phase": np.zeros((1, 4))}),
            "role must be 'query' or 'key' for PoPE",
        ),
        (lambda: FoPE(dim=5, heads=1, length=9), "dim must be"),
        (lambda: FoPE(dim=4, heads=1, length=6), "length must be"),
        (lambda: FoPE(dim=4, heads=1, length=9, base=0.5), "base must be"),
        (lambda: FoPE(dim=4, heads=1, length=9, padding="two"), "padding must be"),
        (lambda: FoPE(dim=4, heads=1, length=9, gain=-1.0), "gain must be"),
        (lambda: RoPEPlusPlus(dim=4, heads=3), "heads must be even, since each real head has an imaginary one; got 3"),
        (lambda: RoPEPlusPlus(dim=4, heads=2).rotation([0]), "role must be 'query' or 'key' for RoPEPlusPlus"),
    ],
)
def test_refused_fields(make: object, begins: str) -> None:
    with pytest.raises(ValueError, match=f"^{begins}"):
        make()  # type: ignore[operator]


def test_string_begins_as_rope_with_learned_frequencies() -> None:
    encoding = CayleySTRING(dim=6)
    params = encoding.init(np.random.default_rng(0))
    x, places = np.random.default_rng(2).standard_normal((9, 6)), np.arange(9) * 1_000
    own = LearnedRoPE(dim=6).rotation(places, {"frequencies": params["frequencies"][0]})
    assert np.allclose(encoding.rotation(places, params)(x), own(x), atol=1e-15)


def test_string_is_relative_along_every_axis() -> None:
    encoding = CayleySTRING(dim=6, axes=3)
    params, x = drawn(encoding), np.random.default_rng(2).standard_normal((2, 6))
    places = np.array([[3, 4, 5], [1, 9, 2]])

    def logit(shift: list[int]) -> float:
        rotated = encoding.rotation(places + shift, params)(x)
        return float(rotated[0] @ rotated[1])

    for shift in ([1, 0, 0], [0, 7, 0], [0, 0, -1_000_000]):
        assert abs(logit(shift) - logit([0, 0, 0])) <= 64 * 2**-52 * 6


def test_grape_of_parallel_vectors_has_no_plane() -> None:
    with np.errstate(invalid="ignore"):
        rotation = MultiplicativeGRAPE(dim=3).rotation([1], {"a": np.eye(3)[0], "b": 2 * np.eye(3)[0]})
    assert np.isnan(rotation(np.ones((1, 3)))).all()


RECORDS = [CayleySTRING(dim=4), CayleySTRING(dim=4, axes=2), MultiplicativeGRAPE(dim=4)]


def of(encoding: RotaryEncoding, positions: list[int]) -> np.ndarray:
    return np.array(positions) if encoding.axes == 1 else np.array([[place] * encoding.axes for place in positions])


@pytest.mark.parametrize("encoding", RECORDS)
def test_an_operator_passes_through_jit(encoding: RotaryEncoding) -> None:
    """A map made once is handed to a compiled layer, as its leaves."""
    import posenc.jax  # noqa: F401  (registers the operators as pytrees)

    params = {name: jnp.asarray(value, jnp.float32) for name, value in drawn(encoding).items()}
    operator = encoding.rotation(jnp.asarray(of(encoding, [0, 3, 1])), params)
    x = jnp.asarray(np.random.default_rng(2).standard_normal((2, 3, 5, 4))[:, :, :3], jnp.float32)
    apply = jax.jit(lambda operator, x: operator(x, layout="bhtd"))
    expected = encoding.rotation(of(encoding, [0, 3, 1]), drawn(encoding))(np.asarray(x, np.float64), layout="bhtd")
    assert np.allclose(apply(operator, x), expected, atol=1e-5)


@pytest.mark.parametrize("encoding", RECORDS)
def test_what_does_not_belong_together_is_refused(encoding: RotaryEncoding) -> None:
    operator = encoding.rotation(of(encoding, [0, 3, 1]), drawn(encoding))
    assert isinstance(operator, Operator)
    assert (operator.dim, operator.width) == (4, 4)
    for x, layout, begins in (
        (np.ones((3, 5)), None, "x must have 4 channels"),
        (np.ones((2, 4)), None, "x must have as many tokens"),
        (np.ones((1, 2, 3, 4)), None, "layout must be"),
        (np.ones((1, 2, 4, 4)), "bhtd", "x must have as many tokens"),
    ):
        with pytest.raises(ValueError, match=f"^{begins}"):
            operator(x, layout=layout)
    with pytest.raises(TypeError, match=r"^x must not be more precise"):
        encoding.rotation(of(encoding, [0, 3, 1]), drawn(encoding), dtype=np.float32)(np.ones((3, 4)))


def test_what_needs_pairs_refuses_another_map() -> None:
    encoding = MultiplicativeGRAPE(dim=4)
    with pytest.raises(TypeError, match=r"^encoding must rotate pairs of channels; got one that returns Rebased"):
        Partial(encoding, dim=6).rotation([0], drawn(encoding))
    with pytest.raises(ValueError, match=r"^encoding must have no parameters"):
        HuggingFaceRotary(encoding)


def test_the_module_gives_what_the_encoding_gives() -> None:
    encoding = CayleySTRING(dim=4, axes=2)
    rotate = module(encoding)
    assert isinstance(rotate, Rotate)
    q, k = torch.randn(2, 6, 3, 4), torch.randn(2, 2, 5, 4)
    query_positions, key_positions = torch.randint(9, (3, 2)), torch.randint(9, (5, 2))
    rotated, _ = rotate(q, k, query_positions, key_positions, layout="bhtd")
    assert torch.equal(rotated, encoding.rotation(query_positions, rotate.params, role="query")(q, layout="bhtd"))


def test_attention_scales_by_the_width_that_comes_in() -> None:
    encoding = MultiplicativeGRAPE(dim=4)
    params, x = drawn(encoding), np.random.default_rng(3).standard_normal((1, 2, 3, 4))
    found = attention(
        x, x, x, query_positions=range(3), key_positions=range(3), layout="bhtd", encodings=[encoding], params=[params]
    )
    operator = encoding.rotation(range(3), params)
    assert isinstance(operator, Rebased)
    rotated = operator(x, layout="bhtd")
    assert np.allclose(found.logits, rotated @ np.swapaxes(rotated, -1, -2) / 2)
    assert np.allclose(operator.inverse()(rotated, layout="bhtd"), x)


def test_fope_of_ones_is_rope_where_nothing_is_dropped() -> None:
    encoding = FoPE(dim=4, heads=2, length=1_000)
    x, places = np.random.default_rng(2).standard_normal((1, 2, 5, 4)), np.arange(5)
    ones = {name: np.broadcast_to(np.eye(2), (2, 2, 2)) for name in encoding.shapes}
    rotated, own = encoding.rotation(places, ones), RoPE(dim=4, pairing="halves").rotation(places)
    assert np.allclose(rotated(x, layout="bhtd"), own(x, layout="bhtd"), atol=1e-15)


def test_the_two_heads_of_rope_pp_are_the_two_parts_of_one_product() -> None:
    encoding, rng = RoPEPlusPlus(dim=6, heads=2), np.random.default_rng(2)
    x, k = rng.standard_normal((2, 1, 1, 1, 6))
    q = np.repeat(x, 2, 1)  # each projected query twice
    rotated_q, rotated_k = (
        encoding.rotation([7], role="query")(q, layout="bhtd"),
        encoding.rotation([3], role="key")(k, layout="bhtd"),
    )
    real, imaginary = (rotated_q @ np.swapaxes(rotated_k, -1, -2))[0, :, 0, 0]
    as_complex = [(row[..., :3] + 1j * row[..., 3:])[0, 0, 0] for row in (x, k)]
    product = (as_complex[0] * as_complex[1].conj() * np.exp(4j * RoPE(dim=6).frequencies.radians())).sum()
    assert np.allclose([real, imaginary], [product.real, product.imag])


@pytest.mark.parametrize("role", ["query", "key"])
def test_grouped_keys_of_pope_are_repeated_first(role: str) -> None:
    encoding = PoPE(dim=3, heads=4)
    operator = encoding.rotation([0, 1], drawn(encoding), role=role)
    x = np.ones((1, 2, 2, 3))
    if role == "query":
        assert operator(x, layout="bhtd").shape == (1, 2, 2, 6)
        return
    with pytest.raises(ValueError, match=r"^x must have 4 heads, one for each.*Repeat grouped heads first"):
        operator(x, layout="bhtd")
    assert operator(np.repeat(x, 2, 1), layout="bhtd").shape == (1, 4, 2, 6)


@pytest.mark.parametrize("radians", [1e-9, 0.1, 3.0, 200.0, 60_000.0])
def test_the_exponential_is_that_of_torch_in_two_channels(radians: float) -> None:
    """In the plane it is known: cosine and sine; the error is some units a radian."""
    made = exponential(np.array([[0.0, radians], [-radians, 0.0]]))
    known = np.array([[np.cos(radians), np.sin(radians)], [-np.sin(radians), np.cos(radians)]])
    assert np.abs(made - known).max() <= (8 * radians + 64) * 2**-53
    assert np.allclose(exponential(np.ones((3, 3)) / 3), np.eye(3) + (np.e - 1) / 3, atol=1e-15)  # of a projection


def test_comrope_is_relative_along_every_axis_and_liere_is_not() -> None:
    places, x = np.array([[3, 4], [1, 9]]), np.random.default_rng(2).standard_normal((2, 6))

    def change(encoding: RotaryEncoding, shift: list[int]) -> float:
        params = drawn(encoding)
        q, k = (encoding.rotation(places + by, params)(x[None, None], layout="bhtd")[0, 0] for by in ([0, 0], shift))
        return abs(float(q[0] @ q[1] - k[0] @ k[1]))

    for commuting in ("dependent", "partition"):
        assert change(ComRoPE(dim=6, heads=1, block=3, axes=2, commuting=commuting), [2, 0]) <= 1e-11
    assert change(LieRE(dim=6, heads=1, block=3, axes=2), [2, 0]) > 1e-3


def test_an_exponential_is_that_of_each_matrix_in_its_own_float() -> None:
    drawn = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    together = exponential(drawn)
    for batch in range(2):
        for place in range(3):
            assert np.array_equal(together[batch, place], exponential(drawn[batch, place]))
    assert exponential(drawn.astype(np.float32)).dtype == np.float32
