"""The tour from a text to a page: whole, self-contained, and true to what was measured."""

import html.parser
import json
import re
from pathlib import Path

import numpy as np
import pytest

from posenc.cli import main
from posenc.explorer import tour_page
from posenc.explorer.tour_order import ORDER_TITLE, PAIRS
from posenc.lab.engines.events import Event
from posenc.lab.result import Progress
from posenc.lab.run_config import Outcome
from posenc.lab.tokens import FEWEST_CHARACTERS, default_text

NAMES = ["none", "sinusoidal", "learned", "rotary", "ALiBi", "T5"]


class Page(html.parser.HTMLParser):
    """What a browser would fetch or run, and what a reader sees."""

    def __init__(self, text):
        super().__init__()
        self.links, self.tags, self.headings, self.alts, self.words = [], [""], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.links += [given[key] for key in ("src", "href", "action", "data", "poster", "srcset") if key in given]
        if tag == "img":
            self.alts.append(given["alt"])

    def handle_data(self, data):
        self.words.append(data)
        if self.tags[-1] == "h2":
            self.headings.append(data)
            self.tags.append("")

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture(scope="module")
def short_text(tmp_path_factory):
    """The shortest text that is taken, of ordinary English."""
    path = tmp_path_factory.mktemp("text") / "short.txt"
    # Every version of Python has its own text to cut, and a cut may fall behind a space.
    cut = default_text()[50_000:].lstrip()[:FEWEST_CHARACTERS].rstrip()
    path.write_text(cut.ljust(FEWEST_CHARACTERS, "."), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(short_text, tmp_path_factory):
    """A whole tour, with next to no training."""
    output = tmp_path_factory.mktemp("tour") / "tour.html"
    journey = tour_page.Journey(tour_page.Settings(text=short_text, output=output, steps=3, workers=2, seed=5))
    steps = list(journey.steps())
    return journey, steps, output.read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(done):
    _, _, text = done
    page = Page(text)
    assert page.links
    assert all(link.startswith(("#", "data:image/")) for link in page.links)
    assert not {"script", "iframe", "object", "link", "embed", "form"} & set(page.tags)
    assert "default-src 'none'" in text
    assert "url(" not in text


def test_every_stage_and_every_model_is_there(done):
    journey, steps, text = done
    page = Page(text)
    assert page.headings[1:] == [
        "In short",
        "From text to tokens and places",
        "Attention is blind to order",
        "Why not simply count? A ladder of ideas",
        "The encodings, worked out",
        "The pictures",
        "Small models that differ in nothing else",
        "Beyond the length they trained on",
        "What each encoding did",
        "What they write",
        "How far to trust this",
    ]
    finished = [step.stage for step in steps if step.done == step.total]
    assert [stage for stage in finished if stage not in NAMES] == [
        "text",
        "order",
        "ideas",
        "examples",
        "pictures",
        "all models",
    ]
    assert sorted(stage for stage in finished if stage in NAMES) == sorted(NAMES)
    assert [journey.outcomes[index].contestant.name for index in range(6)] == NAMES
    assert all(alt.strip() for alt in page.alts)
    assert len(page.alts) == 14
    assert "partial" not in page.text


def test_the_numbers_on_the_page_are_the_measured_ones(done):
    journey, _, text = done
    page = Page(text)
    for outcome in journey.outcomes.values():
        for share in (0.25, 0.5, 1.0):
            assert f"{outcome.at(share).mean():.3f}" in page.words
        assert f"{outcome.curve[-1].loss:.3f}" in page.words


def test_the_guard_rails_are_printed(done):
    text = Page(done[2]).text
    for part in (
        "One seed (5)",
        "3 steps of 2,048 tokens",
        "Orderings can change with budget",
        "learned 10× the model's, T5 10× the model's",
        "outside='clamp'",
    ):
        assert part in text


def test_worked_numbers_and_blindness_are_on_the_page(done):
    text = Page(done[2]).text
    assert "PE(3, 1) = cos(3 / 10000^(0/8)) = cos(3) = -0.989992" in text
    section = done[2].split(f">{ORDER_TITLE}</h2>")[1].split("<h2")[0]
    rows = re.findall(r"<tr><td>(.*?)</td>(.*?)</tr>", section)
    values = [(name, re.findall(r"<td>(.*?)</td>", cells)) for name, cells in rows]
    assert all(set(cells) == {"0.0"} for name, cells in values if name == "no encoding")
    assert next(cells for name, cells in values if name == "ALiBi") == ["0.0", "0.0", "0.0"]  # Dog / Man
    assert all("0.0" not in cells for name, cells in values if name in ("sinusoidal", "rotary"))


def test_the_default_sentences_are_those_of_the_sources():
    assert tour_page.Settings().pairs == PAIRS
    assert [pair[0] for pair in PAIRS] == ["Dog bites man", "The cat sat on the mat", "Rohan killed the lion"]


def fake_run(finished, then):
    """As the pool does: progress and outcomes of the first few, and then what happens."""

    def run(contestants, corpus, recipe, workers):
        for index in range(finished):
            yield Event(index, Progress(1, 5.0))
            losses = np.random.default_rng(index).random((9, recipe.bins)) + index
            yield Event(index, Outcome(contestants[index], (Progress(1, 5.0),), losses, (7, 8), 10, 0))
        raise then

    return run


@pytest.mark.parametrize("finished", [0, 2])
def test_ctrl_c_keeps_what_was_trained(monkeypatch, short_text, tmp_path, capsys, finished):
    monkeypatch.setattr(tour_page, "PICTURES", ())
    monkeypatch.setattr(tour_page, "run", fake_run(finished, KeyboardInterrupt()))
    output = tmp_path / "part.html"
    assert main(["tour", "--text", str(short_text), "--output", str(output), "--steps", "1"]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"Stopped. {output} holds a partial report, with {finished} of 6 models trained."
    page = Page(output.read_text(encoding="utf-8"))
    if finished:
        assert "This report is partial: not trained yet: learned, rotary, ALiBi, T5." in page.text
        assert "What each encoding did" in page.headings
    else:
        assert "This report is partial. The models are not trained yet." in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["part.html"]


def test_ctrl_c_at_the_very_start_writes_nothing(monkeypatch, tmp_path, capsys):
    def stopped(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(tour_page, "read", stopped)
    assert main(["tour", "--output", str(tmp_path / "x.html")]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "Stopped. Nothing was written."
    assert list(tmp_path.iterdir()) == []


def test_json_holds_the_numbers(monkeypatch, short_text, tmp_path, capsys):
    def run(contestants, corpus, recipe, workers):
        for index, contestant in enumerate(contestants):
            losses = np.full((9, recipe.bins), float(index))
            yield Event(index, Outcome(contestant, (Progress(1, 5.0),), losses, (7, 8), 10, 0))

    monkeypatch.setattr(tour_page, "PICTURES", ())
    monkeypatch.setattr(tour_page, "run", run)
    assert (
        main(["tour", "--text", str(short_text), "--output", str(tmp_path / "x.html"), "--steps", "1", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in told["models"]] == NAMES
    assert told["models"][3]["loss_by_context"]["256"] == 3.0
    assert told["models"][3]["encoding"].startswith("RoPE(dim=16")
    assert Path(told["output"]).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "/no/such/file"], "text must name a readable file of UTF-8 text; got '/no/such/file': no such "
        "file."),
        (["--text", "/"], "got '/': a folder."),
        (["--steps", "0"], "steps must be an integer from 1"),
        (["--steps", "many"], "posenc tour: "),
        (["--seed", "-1"], "seed must be an integer from 0"),
        (["--output", "/"], "output must name a file; got the folder '/'."),
        (["--output", "/no/such/folder/x.html"], "output must be in an existing folder; got "
        "'/no/such/folder/x.html'."),
        (["--sentences", "Dog bites man"], "sentences must come in pairs, the same words in two orders; got 1."),
        (["--sentences", "Dog bites man", "Cat bites dog"], "sentences must come in pairs of the same words in two "
        "orders; got 'Dog bites man' and 'Cat bites dog'."),
        (["--sentences", "Dog bites man", "dog bites man"], "sentences must come in pairs of the same words in two "
        "orders"),
        (["--sentences", "Dog", "Dog"], "sentences must have 2 to 24 words; got 1 in 'Dog' (str)."),
        (["--sentences", *(["a b", "b a"] * 9)], "sentences must come in 1 to 8 pairs; got 9."),
    ],
)  # fmt: skip
def test_bad_options_are_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["tour", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "text must have at least 4000 characters"),
        (b"\x00" * 9000, "NUL"),
        (b"\x80" * 9000, "byte 0x80 at 0 is not UTF-8"),
        (b"a" * 5000, "text must give at least 768 tokens"),
    ],
)
def test_bad_texts_are_one_line(tmp_path, capsys, content, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    assert main(["tour", "--text", str(path), "--output", str(tmp_path / "x.html"), "--steps", "1"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["bad.txt"]


def test_what_is_missing_is_named(monkeypatch, capsys):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["tour"]) == 2
    assert (
        "tour needs matplotlib, tokenizers, torch. Install what is missing with: "
        "pip install matplotlib tokenizers torch" in capsys.readouterr().err
    )
