"""The small models in the browser: tokens, logits and attention are those of PyTorch with the same weights."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from browser.untrained import drawn
from posenc import parse
from posenc.explorer.lesson.live_models import places_data, tokenizer_data, weights_data
from posenc.explorer.one_file import one_file
from posenc.lab.eight_bits import byte_matrix
from posenc.lab.tokens import default_text, encode, learn_pieces
from posenc.lab.tour_model import in_eight_bits
from posenc.lab.tour_plan import LENGTHS, PIECES, tour_experiments

pytestmark = pytest.mark.browser
TEXTS = (
    "Dog bites man",
    " it's 42 naïve CAFÉS\n\n\nNew  part\t… \u00a0x \U0001f600 don't",
    "a\n\nb\n\n  c\n",
    "",
)


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """A module that hands the page's functions to the tests."""
    from posenc.explorer.lesson.lesson_page import FOLDER

    browser = (FOLDER / "browser").resolve()
    path = tmp_path_factory.mktemp("forward") / "lesson" / "browser" / "entry.js"
    for name in ("forward.js", "tokens.js"):
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / name).write_text((browser / name).read_text(encoding="utf-8"), encoding="utf-8")
    shared = path.parents[2] / "browser"
    shared.mkdir()
    angles = browser.parents[1] / "browser" / "angles.js"
    (shared / "angles.js").write_text(angles.read_text(encoding="utf-8"), encoding="utf-8")
    path.write_text(
        'import { decoder, forward } from "./forward.js";\nimport { tokenizer } from "./tokens.js";\n'
        "Object.assign(window, { decoder, forward, tokenizer });\n",
        encoding="utf-8",
    )
    return path


def page_model(encoding, rounded):
    """A model as the page has it."""
    return {
        "shape": {"width": 64, "heads": 4, "layers": 2, "vocabulary": PIECES, "longest": LENGTHS[-1]},
        "weights": weights_data(rounded),
        "places": places_data(encoding, rounded, LENGTHS[-1]),
    }


@pytest.fixture
def page(watched, entry):
    file = entry.with_suffix(".html")
    file.write_text(one_file(title="Forward", entry=entry, styles=[], body="<main></main>"), encoding="utf-8")
    return watched().open(file.as_uri())


def attention_of(model, tokens):
    """Weights of each layer and head, taken from the values: the output for unit vectors as values."""
    maps = []
    original = torch.nn.functional.scaled_dot_product_attention

    def watching(q, k, v, **options):
        unit = torch.eye(k.shape[2]).expand(*k.shape[:3], -1)
        maps.append(original(q, k, unit, **options))
        return original(q, k, v, **options)

    from posenc.lab.models import placed

    placed.scaled_dot_product_attention = watching
    try:
        logits = model(torch.tensor([tokens]))
    finally:
        placed.scaled_dot_product_attention = original
    return logits[0], torch.stack(maps)[:, 0]


@torch.no_grad()
def test_logits_and_attention_are_those_of_pytorch_past_the_training_length(page):
    tokens = np.random.default_rng(0).integers(0, PIECES, 2 * LENGTHS[0] + 3).tolist()
    for name, experiment in tour_experiments("", 1, seed=3).items():
        exam, encoding = drawn(experiment), parse.record(experiment.encoding)
        rounded = in_eight_bits(exam, experiment)
        given = page_model(encoding, rounded)
        found = page.evaluate(
            "([given, tokens]) => { const { logits, attention } = forward(decoder(given), tokens, tokens.length);"
            "return [Array.from(logits), attention.map((maps) => maps.map((map) => Array.from(map)))]; }",
            [json.loads(json.dumps(given)), tokens],
        )
        logits, maps = attention_of(exam.model, tokens)
        assert logits.abs().max() > 1
        assert np.abs(np.reshape(found[0], logits.shape) - logits.numpy()).max() < 1e-4, name
        assert np.abs(np.reshape(found[1], maps.shape) - maps.numpy()).max() < 1e-5, name
        if name in ("rotary", "T5"):
            other = replace(rounded, params={name: value[:, ::-1] for name, value in rounded.params.items()})
            assert (places_data(encoding, other, 9) != places_data(encoding, rounded, 9)) == bool(rounded.params), (
                "the parameters of the model are used"
            )


@torch.no_grad()
def test_a_pass_over_the_training_length_takes_less_than_a_twentieth_of_a_second(page):
    experiment = tour_experiments("", 1)["rotary"]
    given = page_model(parse.record(experiment.encoding), in_eight_bits(drawn(experiment), experiment))
    taken = page.evaluate(
        "([given]) => { const model = decoder(given); const tokens = Array.from({ length: 64 }, (_, at) => at);"
        "const once = () => { const began = performance.now(); forward(model, tokens, 64);"
        "return performance.now() - began; }; return Array.from({ length: 50 }, once).sort((a, b) => a - b)[0]; }",
        [json.loads(json.dumps(given))],
    )
    assert taken < 50


def test_tokens_are_those_of_the_trained_tokenizer(page):
    pieces = learn_pieces(default_text()[:60_000])
    texts = [*TEXTS, default_text()[100_000:103_000]]
    call = (
        "([data, texts]) => { const { encode, decode } = tokenizer(data);"
        "return texts.map((text) => [encode(text), decode(encode(text))]); }"
    )
    for text, (numbers, back) in zip(texts, page.evaluate(call, [tokenizer_data(pieces), texts]), strict=True):
        assert numbers == encode(pieces, text).tolist(), text[:40]
        assert back == text


def test_rounded_rows_are_no_farther_than_half_a_step():
    matrix = np.random.default_rng(0).standard_normal((5, 40)).astype(np.float32)
    matrix[2] = 0
    rounded = byte_matrix(matrix)
    assert (np.abs(rounded.values() - matrix) <= rounded.scales[:, None] * 0.5000001).all()
    assert np.abs(rounded.integers[[0, 1, 3, 4]]).max(1).tolist() == [127] * 4
