"""Camera-relative encodings against loops over tokens, in any frame of the world, and with what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cameras import camera_oracle as oracle
from posenc import AxialRoPE
from posenc.cameras import GTA, CaPE, PRoPE, cape_4dof, projection, spherical
from posenc.positions import grid

RNG = np.random.default_rng(5)
GRID = grid(2, 3)
HEADS = 12


def poses(*shape: int) -> np.ndarray:
    """Rigid matrices from world to camera."""
    rotation, _ = np.linalg.qr(RNG.normal(size=(*shape, 3, 3)))
    matrices = np.zeros((*shape, 4, 4))
    matrices[..., :3, :3] = rotation * np.linalg.det(rotation)[..., None, None]
    matrices[..., :3, 3] = RNG.normal(size=(*shape, 3))
    matrices[..., 3, 3] = 1
    return matrices


def intrinsics(*shape: int) -> np.ndarray:
    matrices = np.zeros((*shape, 3, 3))
    matrices[..., 0, 0], matrices[..., 1, 1] = RNG.uniform(150, 300, (2, *shape))
    matrices[..., 0, 2], matrices[..., 1, 2] = RNG.uniform(80, 120, (2, *shape))
    matrices[..., 2, 2] = 1
    return matrices


def heads(tokens: int, dim: int, batch: int = 2) -> np.ndarray:
    return RNG.normal(size=(batch, HEADS, tokens, dim))


def attended(of_query, of_key, q, k, v, layout="bhtd"):
    """Attention through the four maps, in NumPy."""
    q, k, v = of_query.query(q, layout=layout), of_key.key(k, layout=layout), of_key.value(v, layout=layout)
    if layout == "bthd":
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = weights / weights.sum(-1, keepdims=True) @ v
    return of_query.output(mixed.swapaxes(1, 2) if layout == "bthd" else mixed, layout=layout)


def test_prope_is_the_formula_of_the_paper_in_cross_attention():
    dim, width, height = 16, 200, 160
    views, pixels = (poses(2, 2), poses(2, 1)), (intrinsics(2, 2), intrinsics(2, 1))
    cameras = [projection(view, pixel, width=width, height=height) for view, pixel in zip(views, pixels, strict=True)]
    places = (GRID, [[1, 4]])  # one query of one camera, and six patches of each of two
    encoding = PRoPE(dim=dim)
    of_key, of_query = (encoding.transforms(c, p) for c, p in zip(cameras, places, strict=True))
    q, k, v = heads(1, dim), heads(12, dim), heads(12, dim)
    result = attended(of_query, of_key, q, k, v)
    for batch in range(2):
        tokens = [
            [
                oracle.prope(dim, oracle.normalised(view[batch, image], pixel[batch, image], width, height), *patch)
                for image in range(view.shape[1])
                for patch in place
            ]
            for view, pixel, place in zip(views, pixels, places, strict=True)
        ]
        expected = oracle.attention(q[batch], k[batch], v[batch], tokens[1], tokens[0])
        np.testing.assert_allclose(result[batch], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_gta_is_the_formula_of_the_paper_with_every_part():
    dims, scale, view, place = (2, 8, 8, 16), 0.3, poses(3), RNG.uniform(size=(4, 2))
    transforms = GTA(triv=2, se3=8, so3=8, so2=16).transforms(view, place, translation_scale=scale)
    q, k, v = (heads(12, sum(dims), 1) for _ in range(3))
    tokens = [oracle.gta(dims, matrix, row, column, scale) for matrix in view for row, column in place]
    expected = oracle.attention(q[0], k[0], v[0], tokens, tokens)
    result = attended(transforms, transforms, q, k, v)
    np.testing.assert_allclose(result[0], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_cape_is_the_formula_of_the_paper_and_leaves_values():
    view, (q, k) = poses(3), (heads(6, 8, 1) for _ in range(2))
    transforms = CaPE(dim=8).transforms(view, 2)
    result = transforms.query(q, layout="bhtd") @ transforms.key(k, layout="bhtd").swapaxes(-1, -2)
    tokens = [oracle.cape(8, matrix) for matrix in view for _ in range(2)]
    np.testing.assert_allclose(result[0], oracle.logits(q[0], k[0], tokens, tokens), rtol=0, atol=1e-11)
    assert transforms.value(q, layout="bhtd") is q
    assert transforms.output(q, layout="bhtd") is q


def test_cape_of_four_degrees_turns_each_quarter_by_a_coordinate():
    view = np.eye(4)[None].repeat(2, 0)
    view[:, :3, 3] = [[-1.0, -1.0, -1.0], [0.0, 1.2, -1.4]]  # R = 1, so that cameras stand at minus this
    where = spherical(view)
    centres = -view[:, :3, 3]
    for (polar, azimuth, depth, last), (x, y, z) in zip(where, centres, strict=True):
        radius = math.sqrt(x * x + y * y + z * z)
        assert math.isclose(polar, math.acos(z / radius), abs_tol=1e-12)
        assert math.isclose(azimuth, math.atan2(y, x), abs_tol=1e-12)
        assert math.isclose(depth, math.pi * math.log(radius / 1.5) / math.log(2.2 / 1.5), abs_tol=1e-12)
        assert last == 0
    x = RNG.normal(size=(2, 16))
    result = cape_4dof(16).rotation(where)(x)
    for token in range(2):
        for pair in range(8):
            expected = oracle.rotated(where[token, pair // 2]) @ x[token, 2 * pair : 2 * pair + 2]
            np.testing.assert_allclose(result[token, 2 * pair : 2 * pair + 2], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("encoding", "argument", "frame"),
    [
        (PRoPE(dim=16), GRID, poses()),
        (PRoPE(dim=16), GRID, RNG.normal(size=(4, 4))),  # a projective frame
        (GTA(se3=8, so3=8, so2=4), GRID / 3, poses()),
        (CaPE(dim=16), 6, poses()),
    ],
    ids=["PRoPE", "PRoPE, projective", "GTA", "CaPE"],
)
def test_another_frame_of_the_world_changes_nothing(encoding, argument, frame):
    cameras = poses(1, 2)
    if isinstance(encoding, PRoPE):
        cameras = projection(cameras, intrinsics(1, 2), width=200, height=200)
    q, k, v = (heads(12, encoding.dim, 1) for _ in range(3))
    before, after = (encoding.transforms(matrices, argument) for matrices in (cameras, cameras @ frame))
    expected, result = (attended(transforms, transforms, q, k, v) for transforms in (before, after))
    atol = 1e-13 * np.linalg.cond(frame) ** 2 * np.abs(expected).max()
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)
    moved = encoding.transforms(np.concatenate([cameras[:, :1], cameras[:, 1:] @ poses()], 1), argument)
    if not isinstance(encoding, PRoPE) or frame[3].tolist() == [0, 0, 0, 1]:
        assert np.abs(attended(moved, moved, q, k, v) - expected).max() > 1e-3  # a camera that moves alone does


def test_without_cameras_prope_is_an_axial_rope_on_half_of_the_channels():
    cameras = np.eye(4)[None].repeat(2, 0)
    transforms = PRoPE(dim=16).transforms(cameras, GRID)
    axial = AxialRoPE((1, 1, 0, 0), (0, 1, 0, 1), 4, base=100.0, pairing="halves", blocks=2)
    rotation = axial.rotation(np.tile(GRID, (2, 1)))
    q, k = RNG.normal(size=(2, 12, 16))
    expected = q[:, :8] @ k[:, :8].T + rotation(q[:, 8:]) @ rotation(k[:, 8:]).T
    other_sign = q[:, :8] @ k[:, :8].T + rotation.inverse()(q[:, 8:]) @ rotation.inverse()(k[:, 8:]).T
    result = transforms.query(q) @ transforms.key(k).T
    np.testing.assert_allclose(result, other_sign, rtol=0, atol=1e-13)
    assert np.abs(result - expected).max() > 0.1
    assert np.array_equal(transforms.value(q)[:, :8], q[:, :8])


def test_a_camera_for_each_token_is_an_image_of_one_patch():
    cameras = poses(1, 2)
    transforms = PRoPE(dim=8).transforms(cameras, GRID)
    each = PRoPE(dim=8).transforms(cameras.repeat(6, 1), np.tile(GRID, (2, 1))[:, None])
    by_batch = PRoPE(dim=8).transforms(cameras, np.broadcast_to(GRID, (1, 2, 6, 2)))
    x = heads(12, 8, 1)
    for name in ("query", "key", "value", "output"):
        expected = getattr(transforms, name)(x, layout="bhtd")
        assert np.array_equal(getattr(each, name)(x, layout="bhtd"), expected)
        assert np.array_equal(getattr(by_batch, name)(x, layout="bhtd"), expected)
        time_first = getattr(transforms, name)(x.swapaxes(1, 2), layout="bthd")
        assert np.array_equal(time_first.swapaxes(1, 2), expected)


def test_skew_stays_and_intrinsics_may_be_left_out():
    view, pixels = poses(1), intrinsics(1)
    assert np.array_equal(projection(view), view)
    pixels[0, 0, 1] = 20.0
    expected = np.eye(4)
    expected[:3, :3] = np.array([[1 / 200, 0, -0.5], [0, 1 / 100, -0.5], [0, 0, 1]]) @ pixels[0]
    result = projection(view, pixels, width=200, height=100)[0]
    np.testing.assert_allclose(result, expected @ view[0], rtol=0, atol=1e-14)


NAN, SINGULAR, SCALED = np.full((1, 4, 4), np.nan), np.diag([1.0, 0.0, 1.0, 1.0])[None], np.diag([2.0, 2, 2, 1])[None]
TRANSPOSED = np.eye(4)[None] + np.array([[0.0] * 4] * 3 + [[1, 2, 3, 0]])
ONE, PIXELS = np.eye(4)[None], np.eye(3)[None]
REFUSED = {
    "shape": (lambda: PRoPE(dim=8).transforms(np.eye(4), GRID), "cameras must have shape (images, 4, 4)"),
    "3x4": (lambda: CaPE(dim=8).transforms(ONE[:, :3], 1), "viewmats must have shape (images, 4, 4)"),
    "nan": (lambda: PRoPE(dim=8).transforms(NAN, GRID), "cameras must be finite; got NaN or infinity at index (0,)"),
    "singular": (lambda: PRoPE(dim=8).transforms(SINGULAR, GRID), "cameras must be invertible"),
    "rounding": (lambda: PRoPE(dim=8).transforms(ONE + 1e15, GRID), "cameras must be invertible"),
    "rows": (lambda: PRoPE(dim=8).transforms(TRANSPOSED, GRID), "cameras must multiply columns, P·x"),
    "rows of GTA": (lambda: GTA(se3=4).transforms(TRANSPOSED, GRID), "viewmats must have the last row (0, 0, 0, 1)"),
    "scaled": (lambda: projection(SCALED), "viewmats must hold rotations, RᵀR = 1 to within 0.001"),
    "narrow": (lambda: CaPE(dim=8).transforms(ONE.astype(np.float16), 1), "viewmats must be float32 or float64"),
    "grid": (lambda: PRoPE(dim=8).transforms(ONE, [[1, 2, 3]]), "patches must have shape (patches, 2), or (1,) before"),
    "images": (lambda: PRoPE(dim=8).transforms(ONE, np.zeros((2, 3, 2))), "patches must have shape (patches, 2)"),
    "count": (lambda: CaPE(dim=8).transforms(ONE, 0), "patches must be an integer from 1"),
    "memory": (lambda: CaPE(dim=8).transforms(ONE.repeat(2, 0), 1 << 26), "patches must need at most"),
    "size": (lambda: projection(ONE, PIXELS), "intrinsics must come with width and height"),
    "width": (lambda: projection(ONE, PIXELS, width=0, height=1), "width must be a finite number above 0"),
    "K of rows": (lambda: projection(ONE, PIXELS + 1, width=1, height=1), "intrinsics must be [fx s cx"),
    "K alone": (lambda: projection(ONE, PIXELS.repeat(2, 0), width=1, height=1), "intrinsics must have a matrix for"),
    "dim": (lambda: PRoPE(dim=12), "dim must be a multiple of 8; got 12. Use 8"),
    "dim of CaPE": (lambda: CaPE(dim=6), "dim must be a multiple of 4; got 6"),
    "width of CaPE": (lambda: cape_4dof(12), "width must be a multiple of 8; got 12"),
    "se3": (lambda: GTA(se3=6), "se3 must be a multiple of 4; got 6"),
    "nothing": (lambda: GTA(se3=0, triv=8), "se3 must be above 0"),
    "octaves": (lambda: GTA(se3=4, so2=400), "so2 must be at most 256"),
    "scale": (
        lambda: GTA(se3=4).transforms(ONE, GRID, translation_scale=math.inf),
        "translation_scale must be a finite",
    ),
    "scales": (lambda: GTA(se3=4).transforms(ONE, GRID, translation_scale=np.ones(2)), "translation_scale must be one"),
    "far": (lambda: spherical(ONE), "viewmats must have cameras at a distance of 1.5 to 2.2"),
    "range": (lambda: spherical(ONE, nearest=2.0, farthest=2.0), "farthest must be a finite number above 2"),
    "head": (lambda: PRoPE(dim=8).transforms(ONE, GRID).query(np.zeros((6, 16))), "x must have 8 channels"),
    "tokens": (lambda: CaPE(dim=8).transforms(ONE, 2).query(np.zeros((6, 8))), "x must have as many tokens as"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(case):
    call, message = REFUSED[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value).startswith(message)
