"""A scaling of one axis of a rotation over several: that axis is the scaled RoPE, the others stay."""

from __future__ import annotations

import numpy as np
import pytest

from posenc import AxialRoPE, RIFLEx, RoPE, YaRN, axial, parse
from posenc.frequencies import Bands, Geometric, Joined, Linear, Rescaled

VIDEO = RIFLEx(pair=2, length=400)
#: Layouts in which time shares its frequencies with other axes, or has its own.
ENCODINGS = (
    axial("qwen3-vl", (24, 20, 20), base=1e4),
    axial("videorope", (8, 12, 12), base=1e4),
    AxialRoPE((0,) * 8 + (1,) * 8, (*range(8), *range(8)), 16, base=256.0),
    AxialRoPE((0,) * 8 + (1,) * 4, (*range(8), *range(8, 12)), Joined((Geometric(16, 256.0), Geometric(8)))),
)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_axis_is_scaled_and_the_others_stay(encoding: AxialRoPE) -> None:
    slowed = encoding.scaled(VIDEO, axis=0)
    before, after = encoding.frequencies.exact(), slowed.frequencies.exact()
    unscaled = encoding.all_frequencies.parts[0] if isinstance(encoding.frequency_dim, Joined) else (
        encoding.all_frequencies)  # fmt: skip
    changed = Rescaled(unscaled, VIDEO).exact()  # type: ignore[arg-type]
    for pair, axis in enumerate(encoding.axis):
        assert after[pair] == (changed[encoding.frequency_index[pair]] if axis == 0 else before[pair])
    assert after != before or VIDEO.pair not in [
        index for index, axis in zip(encoding.frequency_index, encoding.axis, strict=True) if axis == 0
    ]
    assert (slowed.axis, slowed.pairing, slowed.blocks) == (encoding.axis, encoding.pairing, encoding.blocks)
    assert parse.record(repr(slowed)) == slowed
    places = np.zeros((3, encoding.axes), np.int64)
    places[:, 1:] = [[1] * (encoding.axes - 1), [70] * (encoding.axes - 1), [9] * (encoding.axes - 1)]
    assert np.array_equal(slowed.rotation(places).cos, encoding.rotation(places).cos)  # time is 0 throughout


def test_the_time_of_a_video_turns_as_the_scaled_rope() -> None:
    encoding = AxialRoPE((0,) * 8 + (1,) * 8, (*range(8), *range(8)), 16, base=256.0).scaled(VIDEO, axis=0)
    frames = np.arange(0, 400, 13)
    rotation = encoding.rotation(np.stack([frames, 0 * frames], -1))
    line = RoPE(16, base=256.0, scaling=VIDEO).rotation(frames)
    assert np.array_equal(rotation.cos[:, :8], line.cos)
    # Less than a revolution over the whole length: no two frames have the same angle in the pair.
    assert np.diff(np.unwrap(np.arctan2(line.sin[:, 2], line.cos[:, 2]))).min() > 0
    assert 399 * 0.9 * 2 * np.pi / 400 < 2 * np.pi


def test_what_cannot_be_scaled() -> None:
    encoding = ENCODINGS[2]
    with pytest.raises(ValueError, match=r"^axis must be an integer from 0 to 1; got 2"):
        encoding.scaled(VIDEO, axis=2)
    with pytest.raises(TypeError, match=r"^scaling must be a scaling, Linear"):
        encoding.scaled(2.0, axis=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^scaling must change geometric frequencies of one axis"):
        encoding.scaled(YaRN(4.0, original=64), axis=0)
    with pytest.raises(ValueError, match=r"^scaling must change geometric frequencies .* got Linear"):
        AxialRoPE((0, 1), (0, 1), Bands(count=2)).scaled(Linear(2.0), axis=0)
    with pytest.raises(ValueError, match=r"^scaling must change geometric frequencies .* got Linear"):
        encoding.scaled(Linear(2.0), axis=0).scaled(Linear(2.0), axis=0)
    with pytest.raises(ValueError, match=r"^pair must be below the 8 pairs"):
        encoding.scaled(RIFLEx(pair=8, length=400), axis=0)
