"""Position × frequency in the browser, against posenc over the claimed range."""

import json

import numpy as np
import pytest

from posenc import RoPE, Sinusoidal, cosine_sine
from posenc.explorer.browser_frequencies import browser_frequencies, browser_sinusoids
from posenc.explorer.one_file import BROWSER, one_file
from posenc.frequencies import YaRN
from posenc.phase import fixed_sinusoids_of

POSITIONS = [
    0, 1, 2, 7, 1000, 2**27 - 1, 2**27, 2**31 + 5, 10**12 + 7, 2**53 - 1, 2**53, -3, -(2**52) - 1,
    0.5, 1e-9, 3.141592653589793, 123456.789, 2**40 + 0.125, -7.25, 1e-30,
]  # fmt: skip
RECORDS = [
    RoPE(dim=64),
    RoPE(dim=12, base=500_000.0, scaling=YaRN(factor=8.0, original=4096)),
    RoPE(dim=6, base=1.0),
]
TABLES = [
    Sinusoidal(dim=12),
    Sinusoidal(dim=9, odd="zero", layout="concatenated", first="cosine"),
    Sinusoidal(dim=7, odd="truncate", start=1, scale=0.5),
]


@pytest.fixture
def page(watched, tmp_path):
    entry = tmp_path / "entry.js"
    angles = BROWSER / "angles.js"
    (tmp_path / "angles.js").write_text(angles.read_text(encoding="utf-8"), encoding="utf-8")
    entry.write_text(
        'import { cosSinTable, sinusoidTable } from "./angles.js";\nwindow.cosSinTable = cosSinTable;\n'
        "window.sinusoidTable = sinusoidTable;\n",
        encoding="utf-8",
    )
    file = tmp_path / "page.html"
    file.write_text(one_file(title="Angles", entry=entry, styles=[], body="<main></main>"), encoding="utf-8")
    return watched().open(file.as_uri())


def test_cosine_and_sine_agree_with_python_over_the_claimed_range(page):
    for encoding in RECORDS:
        call = "([p, f]) => cosSinTable(p, f).map((table) => Array.from(table))"
        limbs = browser_frequencies(encoding.frequencies)
        cosine, sine = (np.array(table) for table in page.evaluate(call, [POSITIONS, limbs]))
        exact = [cosine_sine([position], encoding.frequencies) for position in POSITIONS]
        assert np.abs(cosine - np.concatenate([each for each, _ in exact]).ravel()).max() < 1e-12
        assert np.abs(sine - np.concatenate([each for _, each in exact]).ravel()).max() < 1e-12


def test_tables_agree_with_python_in_every_layout(page):
    for encoding in TABLES:
        call = "([p, s]) => Array.from(sinusoidTable(p, s))"
        positions = [0.0, 1.0, 2.5, 100.0, 2.0**50, -4.0]
        table = page.evaluate(
            call, [positions, json.loads(json.dumps(browser_sinusoids(fixed_sinusoids_of(encoding), encoding.width)))]
        )
        expected = np.asarray(encoding.embed(np.array(positions)))
        assert np.abs(np.array(table).reshape(expected.shape) - expected).max() < 1e-12


def test_a_position_out_of_range_has_no_value(page):
    call = "([p, f]) => cosSinTable(p, f)[0].every(Number.isNaN)"
    assert page.evaluate(call, [[2**53 + 2, 1e300], browser_frequencies(RoPE(dim=4).frequencies)])
