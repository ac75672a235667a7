"""The reader's own formula: read by a parser, and judged as `posenc.learn.ladder_figures` judges encodings."""

import math

import pytest

from posenc import Count, DivisorPairs, NormalisedCount, OneSine, Sinusoidal
from posenc.explorer.lesson.lesson_page import FOLDER
from posenc.explorer.one_file import one_file
from posenc.learn import ladder_figures

pytestmark = pytest.mark.browser
SINUSOIDS = "sin(p / 10000^((i - i % 2) / d) + (i % 2) * pi / 2)"
AS_ENCODINGS = [
    ("p", 1, Count()),
    ("(p + 1) / n", 1, NormalisedCount(length=4)),
    ("sin(p)", 1, OneSine()),
    ("sin(p + i*pi/2)", 2, DivisorPairs(divisors=(1.0,))),
    ("sin(p / (1 + (i - i % 2)/2) + (i % 2) * pi / 2)", 6, DivisorPairs(divisors=(1.0, 2.0, 3.0))),
    (SINUSOIDS, 6, Sinusoidal(dim=6)),
    (SINUSOIDS, 16, Sinusoidal(dim=16)),
]


@pytest.fixture
def page(watched, tmp_path):
    for name in ("formula.js", "judge.js", "tiny_training.js"):
        (tmp_path / name).write_text((FOLDER / "browser" / name).read_text(encoding="utf-8"), encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text(
        'import { compile } from "./formula.js";\nimport { gap, judge } from "./judge.js";\n'
        'import { TASK, backward, forwardOf, measured, rowsOf, tinyHead, trainStep } from "./tiny_training.js";\n'
        "const training = { TASK, backward, forwardOf, measured, rowsOf, tinyHead, trainStep };\n"
        "Object.assign(window, { compile, gap, judge, training });\n",
        encoding="utf-8",
    )
    file = tmp_path / "page.html"
    file.write_text(one_file(title="Invent", entry=entry, styles=[], body="<main></main>"), encoding="utf-8")
    return watched().open(file.as_uri())


def test_verdicts_are_those_of_python(page):
    for text, d, encoding in AS_ENCODINGS:
        found = page.evaluate("([text, d]) => judge(compile(text), d)", [text, d])
        figures = ladder_figures(encoding)
        for name, value in {
            "bounded": figures.bounded,
            "continuous": figures.continuous,
            "same": figures.same_value,
            "linear": figures.linear,
        }.items():
            assert found[name] == value, (text, name)
        assert found["closest"] == pytest.approx(figures.nearest.distance, rel=1e-6), text


@pytest.mark.parametrize(
    ("text", "d", "kept"),
    [
        ("p / n", 1, {"bounded": True, "continuous": True, "same": False, "linear": False}),
        ("floor(p / 2^i) % 2", 10, {"bounded": True, "continuous": False, "same": True, "linear": False}),
        ("sin(pi * p / 2^i)", 10, {"bounded": True, "continuous": True, "same": True}),
        ("sin(100 * p)", 1, {"continuous": True}),
        ("tan(p)", 1, {"bounded": False}),
        ("round(p / 7)", 1, {"continuous": False}),
        ("3", 2, {"linear": True, "bounded": True, "closest": 0}),
    ],
)
def test_verdicts_on_other_formulas(page, text, d, kept):
    found = page.evaluate("([text, d]) => judge(compile(text), d)", [text, d])
    assert {name: found[name] for name in kept} == kept


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("2 ^ -1", 0.5),
        ("2 ** 3 − 1", 7),
        ("(p + 1) · d / (i + 1)", 8 * 4 / 3),
        ("-7 % 3", 2),
        ("min(p, 3) + max(i, 9)", 12),
        ("SIN(π / 2) + e - e", 1),
        (".5 + 1.", 1.5),
        ("10 - 3 - 2", 5),
        ("16 / 4 / 2", 2),
    ],
)
def test_formulas_mean_what_they_mean(page, text, value):
    assert page.evaluate("(text) => compile(text)({ p: 7, i: 2, d: 4, n: 10 })", text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "missing at the end"),
        ("p +", "missing at the end"),
        ("sin p", "“(” is missing at character"),
        ("2 p", "“p” does not fit at character"),
        ("alert(1)", "“alert” is no name"),
        ("constructor", "“constructor” is no name"),
        ("p; i", "“;” cannot be read, at character 2"),
        ("min(p)", "“,” is missing"),
        ("(" * 90 + "p" + ")" * 90, "too deep"),
        ("1e5", "does not fit"),
    ],
)
def test_nonsense_is_named(page, text, said):
    error = page.evaluate(
        "(text) => { try { compile(text); return ''; } catch (error) { return error.message; } }", text
    )
    assert said in error


def test_a_place_without_a_number_is_named(page):
    assert page.evaluate("gap(compile('1 / (p - 3)'), 2)") == {"p": 3, "i": 0}
    assert page.evaluate("gap(compile('log(i)'), 2)") == {"p": 0, "i": 0}
    assert page.evaluate("gap(compile('p'), 2)") is None
    assert math.isfinite(page.evaluate("compile('p')({ p: 3 })"))


#: The gradient of every weight of a head, and the difference of its loss for a small change of each.
GRADIENT = """() => {
  const { tinyHead, forwardOf, backward, rowsOf, TASK } = training;
  const head = tinyHead(rowsOf(({ p, i }) => Math.sin(p / (i + 1)), 16), 3);
  const words = Array.from({ length: TASK.length }, (_, at) => (at * at + 3) % TASK.vocabulary);
  const zeros = () => Object.fromEntries(Object.entries(head.weights).map(([n, w]) => [n, new Float64Array(w.length)]));
  const gradient = zeros();
  const loss = () => backward(head, words, forwardOf(head, words), zeros());
  const base = backward(head, words, forwardOf(head, words), gradient);
  const pairs = [];
  for (const [name, weight] of Object.entries(head.weights))
    for (let index = 0; index < weight.length; index += 13) {
      const kept = weight[index];
      weight[index] = kept + 1e-5;
      const above = loss();
      weight[index] = kept - 1e-5;
      pairs.push([name, 8 * gradient[name][index], (above - loss()) / 2e-5]);
      weight[index] = kept;
    }
  return { base, pairs };
}"""


def test_the_gradient_of_the_small_training_is_that_of_differences(page):
    found = page.evaluate(GRADIENT)
    assert found["base"] > 1
    assert {name for name, _, _ in found["pairs"]} == {"E", "Q", "K", "V", "U"}
    for name, given, expected in found["pairs"]:
        assert given == pytest.approx(expected, rel=1e-4, abs=1e-7), name


TRAIN = """([text, d]) => {
  const head = training.tinyHead(training.rowsOf(compile(text), d));
  for (let step = 0; step < 400; step += 1) training.trainStep(head);
  return training.measured(head);
}"""


def test_a_head_learns_with_sinusoids_and_not_without_an_encoding(page):
    sines, nothing = (page.evaluate(TRAIN, [text, 16]) for text in (SINUSOIDS, "0"))
    assert sines["right"] > 0.98
    assert 1 / 8 < nothing["right"] < 0.4, "it sees a bag of words"
    assert sines["loss"] < 0.1 < 1.5 < nothing["loss"]
