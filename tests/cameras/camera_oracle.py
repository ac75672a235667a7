"""Multi-view attention in plain loops: a matrix D for each token, logits qᵀ·D_i·D_j⁻¹·k, output D_i·Σ w·D_j⁻¹·v."""

import math

import numpy as np


def rotated(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def prope(dim, matrix, row, column, base=100.0):
    """Half of the channels in fours by the camera, a quarter by the column, a quarter by the row, on halves."""
    whole = np.zeros((dim, dim))
    for start in range(0, dim // 2, 4):
        whole[start : start + 4, start : start + 4] = matrix
    pairs = dim // 8
    for start, position in ((dim // 2, column), (3 * dim // 4, row)):
        for pair in range(pairs):
            at = [start + pair, start + pairs + pair]
            whole[np.ix_(at, at)] = rotated(position * base ** (-pair / pairs))
    return whole


def normalised(viewmat, intrinsics, width, height):
    """The released code's projection: pixels in parts of the image, 0 in its middle."""
    lifted = np.eye(4)
    lifted[0, 0], lifted[0, 2] = intrinsics[0, 0] / width, intrinsics[0, 2] / width - 0.5
    lifted[1, 1], lifted[1, 2] = intrinsics[1, 1] / height, intrinsics[1, 2] / height - 0.5
    return lifted @ viewmat


def gta(dims, viewmat, row, column, scale):
    """The inverse of the representation: triv, se3, so3 and so2, one behind the other."""
    triv, se3, so3, so2 = dims
    whole = np.zeros((sum(dims), sum(dims)))
    whole[:triv, :triv] = np.eye(triv)
    pose = viewmat.copy()
    pose[:3, 3] *= scale
    for start in range(triv, triv + se3, 4):
        whole[start : start + 4, start : start + 4] = pose
    for start in range(triv + se3, triv + se3 + so3, 8):
        whole[start : start + 3, start : start + 3] = on_harmonics(viewmat[:3, :3], LINEAR)
        whole[start + 3 : start + 8, start + 3 : start + 8] = on_harmonics(viewmat[:3, :3], QUADRATIC)
    octaves = so2 // 4
    for octave in range(octaves):
        for axis, place in enumerate((row, column)):
            at = triv + se3 + so3 + 4 * octave + 2 * axis
            angle = 2 * math.pi * place * 2.0 ** (octave + 1 - octaves)
            whole[at : at + 2, at : at + 2] = rotated(-angle)
    return whole


LINEAR = (lambda x, y, z: y, lambda x, y, z: z, lambda x, y, z: x)
QUADRATIC = (
    lambda x, y, z: x * y,
    lambda x, y, z: y * z,
    lambda x, y, z: (2 * z * z - x * x - y * y) / math.sqrt(12),
    lambda x, y, z: x * z,
    lambda x, y, z: (x * x - y * y) / 2,
)


def on_harmonics(rotation, forms):
    """D with Y(R·x) = D·Y(x), fitted to more points than it has unknowns."""
    points = np.random.default_rng(0).normal(size=(20, 3))
    before = np.array([[form(*point) for form in forms] for point in points])
    after = np.array([[form(*(rotation @ point)) for form in forms] for point in points])
    return np.linalg.lstsq(before, after, rcond=None)[0].T


def cape(dim, viewmat):
    """The logits alone: qᵀ·(T_j·T_i⁻¹)ᵀ·k, that is D = T⁻ᵀ."""
    return np.kron(np.eye(dim // 4), np.linalg.inv(viewmat).T)


def logits(q, k, of_query, of_key):
    """(heads, n, m) for q (heads, n, dim), k (heads, m, dim) and a matrix for each token."""
    result = np.zeros((len(q), q.shape[1], k.shape[1]))
    for head in range(len(q)):
        for i, one in enumerate(of_query):
            for j, other in enumerate(of_key):
                result[head, i, j] = q[head, i] @ one @ np.linalg.inv(other) @ k[head, j]
    return result


def attention(q, k, v, of_query, of_key):
    scores = logits(q, k, of_query, of_key) / math.sqrt(q.shape[-1])
    result = np.zeros((*q.shape[:2], v.shape[-1]))
    for head in range(len(q)):
        for i, one in enumerate(of_query):
            weights = np.exp(scores[head, i] - scores[head, i].max())
            weights /= weights.sum()
            for j, other in enumerate(of_key):
                result[head, i] += weights[j] * (one @ np.linalg.inv(other) @ v[head, j])
    return result
