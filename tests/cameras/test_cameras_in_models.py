"""Cameras in PyTorch and JAX: their numbers, dtypes, gradients, and what a tracer cannot read."""

from __future__ import annotations

import numpy as np
import pytest

from posenc.cameras import GTA, CaPE, PRoPE, projection
from posenc.positions import grid

RNG = np.random.default_rng(11)
GRID = grid(2, 3)
CAMERAS = np.eye(4)[None].repeat(2, 0)
CAMERAS[:, :3, :3], _ = np.linalg.qr(RNG.normal(size=(2, 3, 3)))
CAMERAS[:, :3, 3] = RNG.normal(size=(2, 3))
INTRINSICS = np.array([[[200, 0, 110], [0, 180, 90], [0, 0, 1.0]]]).repeat(2, 0)
RECORDS = ((PRoPE(dim=16), GRID), (GTA(se3=4, so3=8, so2=4), GRID / 3), (CaPE(dim=16), 6))
ROLES = ("query", "key", "value", "output")
IDS = [type(encoding).__name__ for encoding, _ in RECORDS]


def as_torch(torch, argument):
    return torch.as_tensor(argument) if isinstance(argument, np.ndarray) else argument


def reference(encoding, argument, x):
    transforms = encoding.transforms(CAMERAS, argument)
    return {role: getattr(transforms, role)(x, layout="bhtd") for role in ROLES}


@pytest.mark.parametrize(("encoding", "argument"), RECORDS, ids=IDS)
def test_torch_rounds_once_and_keeps_cameras_in_their_dtype(encoding, argument):
    torch = pytest.importorskip("torch")
    x = torch.tensor(RNG.normal(size=(1, 12, 12, 16))).to(torch.bfloat16)
    exact = reference(encoding, argument, x.double().numpy())
    for cameras in (torch.tensor(CAMERAS), torch.tensor(CAMERAS, dtype=torch.float32)):
        transforms = encoding.transforms(cameras, as_torch(torch, argument))
        for role in ROLES:
            result = getattr(transforms, role)(x, layout="bhtd")
            assert result.dtype == torch.bfloat16
            error, size = np.abs(result.double().numpy() - exact[role]), np.abs(exact[role])
            assert (error <= 2.0**-8 * size + 2.0**-18 * size.max()).all()
    with pytest.raises(TypeError, match="they never take the model's dtype"):
        encoding.transforms(torch.tensor(CAMERAS).to(torch.bfloat16), as_torch(torch, argument))


def test_torch_differentiates_cameras_and_the_learned_scale():
    torch = pytest.importorskip("torch")
    x, places = torch.tensor(RNG.normal(size=(4, 8))), torch.tensor(GRID[:2] / 3)
    rotation = torch.tensor(CAMERAS[:, :3, :3])

    def logits(centre, factor):
        top = torch.cat([rotation, -rotation @ centre], -1)
        viewmats = torch.nn.functional.pad(top, (0, 0, 0, 1))
        viewmats = viewmats + torch.diag(torch.tensor([0.0, 0, 0, 1.0], dtype=torch.float64))
        transforms = GTA(se3=4, so2=4).transforms(viewmats, places, translation_scale=factor, dtype=torch.float64)
        return transforms.query(x) @ transforms.key(x).T

    centre = torch.tensor(RNG.normal(size=(2, 3, 1)), requires_grad=True)
    scale = torch.nn.Parameter(torch.tensor([0.5], dtype=torch.float64))
    assert torch.autograd.gradcheck(logits, (centre, scale))


@pytest.mark.nightly
@pytest.mark.parametrize(("encoding", "argument"), RECORDS, ids=IDS)
def test_jax_jits_and_gives_nan_for_what_it_cannot_read(encoding, argument):
    jax = pytest.importorskip("jax")
    x = RNG.normal(size=(1, 12, 12, 16)).astype(np.float32)
    exact = reference(encoding, argument, x.astype(np.float64))

    @jax.jit
    def all_roles(cameras, x):
        transforms = encoding.transforms(cameras, argument)
        return {role: getattr(transforms, role)(x, layout="bhtd") for role in ROLES}

    with jax.numpy_rank_promotion("raise"):
        result = all_roles(jax.numpy.asarray(CAMERAS, dtype=jax.numpy.float32), x)
    for role in ROLES:
        np.testing.assert_allclose(result[role], exact[role], rtol=0, atol=2.0**-18 * np.abs(exact[role]).max())
    broken = CAMERAS.copy()
    broken[1, :3, :3] = 0
    result = np.asarray(all_roles(jax.numpy.asarray(broken, dtype=jax.numpy.float32), x)["key"])
    assert np.isfinite(result[:, :, :6]).all()
    assert np.isnan(result[:, :, 6:]).any(-1).all()


@pytest.mark.nightly
@pytest.mark.parametrize(("encoding", "argument"), RECORDS, ids=IDS)
def test_torch_compiles_and_exports(encoding, argument):
    torch = pytest.importorskip("torch")

    places = as_torch(torch, argument)

    class Layer(torch.nn.Module):
        def forward(self, q, k, v, viewmats, intrinsics):
            cameras = projection(viewmats, intrinsics, width=200, height=180) if encoding == RECORDS[0][0] else viewmats
            maps = encoding.transforms(cameras, places)
            q, k, v = maps.query(q, layout="bhtd"), maps.key(k, layout="bhtd"), maps.value(v, layout="bhtd")
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return maps.output(mixed, layout="bhtd")

    inputs = (*torch.tensor(RNG.normal(size=(3, 1, 12, 12, 16)), dtype=torch.float32),)
    inputs += (torch.tensor(CAMERAS), torch.tensor(INTRINSICS))
    expected = Layer()(*inputs)
    compiled = torch.compile(Layer(), fullgraph=True)(*inputs)
    torch.testing.assert_close(compiled, expected, rtol=0, atol=2.0**-18 * expected.abs().max().item())
    exported = torch.export.export(Layer(), inputs).module()(*inputs)
    torch.testing.assert_close(exported, expected, rtol=0, atol=2.0**-18 * expected.abs().max().item())


@pytest.mark.parametrize(("encoding", "argument"), RECORDS, ids=IDS)
def test_maps_are_arguments_of_a_jitted_step(encoding, argument):
    import jax

    import posenc.jax  # which makes them pytrees

    assert posenc.jax
    cameras = jax.numpy.asarray(CAMERAS, "float32")
    given = jax.numpy.asarray(argument) if isinstance(argument, np.ndarray) else argument
    maps, x = encoding.transforms(cameras, given), jax.numpy.ones((12, 16))
    for role in ROLES:
        mapped = jax.jit(lambda maps, x, role=role: getattr(maps, role)(x))(maps, x)
        plain = getattr(maps, role)(x)
        # Sums of four products, which a compiler may fuse.
        np.testing.assert_allclose(mapped, plain, rtol=0, atol=4 * 2.0**-23 * float(abs(plain).max()))
