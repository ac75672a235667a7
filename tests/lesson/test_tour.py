"""The lesson from a text to a page: whole, self-contained, and true to what was measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from lesson.pretend_models import pretend_model
from posenc.cli import main
from posenc.explorer.lesson import journey as tour
from posenc.explorer.lesson.lesson_page import SECTIONS
from posenc.explorer.lesson.orders import PAIRS
from posenc.lab.engines.events import Event
from posenc.lab.result import Progress
from posenc.lab.scoring import Examination
from posenc.lab.tokens import FEWEST_CHARACTERS, default_text
from posenc.lab.tour_model import train_and_show

NAMES = ["none", "sinusoidal", "learned", "rotary", "ALiBi", "T5"]


@pytest.fixture(scope="module")
def short_text(tmp_path_factory):
    """The shortest text that is taken, of ordinary English."""
    path = tmp_path_factory.mktemp("text") / "short.txt"
    # Every version of Python has its own text to cut, and a cut may fall behind a space.
    cut = default_text()[50_000:].lstrip()[:FEWEST_CHARACTERS].rstrip()
    path.write_text(cut.ljust(FEWEST_CHARACTERS, "."), encoding="utf-8")
    return path


def page_data(text):
    """What the page's script finds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def trained_here(experiments, workers):
    """As the pool does, which tests/lab/test_tour_models.py runs; in this process."""
    for index, (name, experiment) in enumerate(experiments.items()):
        yield from (Event(index, report) for report in train_and_show(name, experiment))


@pytest.fixture(scope="module")
def done(short_text, tmp_path_factory):
    """A whole lesson, with next to no training, measured on a few windows of its text, which is short."""
    output, sequences = tmp_path_factory.mktemp("tour") / "tour.html", Examination.sequences
    journey = tour.Journey(tour.Settings(text=short_text, output=output, steps=3, seed=5))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tour, "run_tour", trained_here)
        patched.setattr(Examination, "sequences", lambda exam, length, count=8: sequences(exam, length, min(count, 8)))
        steps = list(journey.steps())
    return journey, steps, output.read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(done):
    text = done[2]
    links = re.findall(r'<(\w+)[^>]*\b(?:src|href|action|poster|srcset)="([^"]*)"', text.partition("<script")[0])
    assert links
    papers = ("https://arxiv.org/abs/",)  # for the reader to follow; nothing is fetched
    assert all(link.startswith(("#", "data:", *(papers if name == "a" else ()))) for name, link in links)
    assert not re.search(r"<(iframe|object|embed|form)\b", text)
    assert re.search(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", text)
    assert "style=" not in text.partition("<script")[0].replace('"style', "")


def test_every_section_and_every_model_is_there(done):
    journey, steps, text = done
    assert re.findall(r'<section id="(\w+)"', text) == [section.name for section in SECTIONS]
    assert "This part waits for its training." not in text
    finished = [step.stage for step in steps if step.done == step.total]
    assert [stage for stage in finished if stage not in NAMES] == ["text", "numbers", "attention", "all models"]
    assert sorted(stage for stage in finished if stage in NAMES) == sorted(NAMES)
    assert sorted(journey.models) == sorted(NAMES)
    assert "partial" not in text.partition("<script")[0]


def test_the_numbers_on_the_page_are_the_measured_ones(done):
    journey, _, text = done
    shown = page_data(text)["models"]["models"]
    for name, model in zip(NAMES, shown, strict=True):
        found = journey.models[name]
        assert model["at"] == [f"{found.at(context).mean():.3f}" for context in (64, 128, 256)]
        assert model["curve"][1][-1] == pytest.approx(found.result.curve[-1].loss, abs=1e-4)


def test_all_six_models_are_in_the_page_in_eight_bits(done):
    journey, _, text = done
    live = page_data(text)["live"]
    assert [model["name"] for model in live["models"]] == NAMES
    kinds = ["none", "sinusoids", "rows", "rotation", "bias", "bias"]
    assert [model["places"]["kind"] for model in live["models"]] == kinds
    assert len(live["before"]) == live["shape"]["longest"]
    assert len(text) < 2_000_000
    for model in live["models"]:
        found = journey.models[model["name"]]
        assert [row[0] for row in model["change"]] == [64, 256]
        for tokens, wide, narrow, change in model["change"]:
            assert wide == f"{found.at(tokens).mean():.4f}"
            assert narrow == f"{found.rounded.losses[tokens]:.4f}"
            assert abs(float(change)) < 0.02


def test_the_guard_rails_are_printed(done):
    conditions = " ".join(page_data(done[2])["models"]["conditions"])
    for part in (
        "One seed (5)",
        "3 steps of 2,048 tokens",
        "Orderings can change with budget",
        "learned 10× the model's, T5 10× the model's",
        "outside='clamp'",
    ):
        assert part in conditions


def test_blindness_is_on_the_page_for_every_order_of_three_words(done):
    pair = page_data(done[2])["words"][0]
    assert len(pair["orders"]) == 6
    changes = {one["name"]: one["changes"] for one in pair["choices"]}
    assert all(set(order.values()) == {"0.0"} for order in changes["no encoding"])
    mirror = pair["other"]
    assert [pair["words"][index] for index in pair["orders"][mirror]] == ["man", "bites", "dog"]
    assert set(changes["ALiBi"][mirror].values()) == {"0.0"}
    assert all("0.0" not in changes[name][mirror].values() for name in ("sinusoidal", "rotary"))


def test_the_default_sentences_are_those_of_the_sources():
    assert tour.Settings().pairs == PAIRS
    assert [pair[0] for pair in PAIRS] == ["Dog bites man", "The cat sat on the mat", "Rohan killed the lion"]


def fake_run(finished, then):
    """As the pool does: progress and models of the first few, and then what happens."""

    def run(experiments, workers):
        for index, (name, experiment) in enumerate(list(experiments.items())[:finished]):
            yield Event(index, Progress(1, 5.0))
            losses = np.random.default_rng(index).random((9, 16)) + index
            yield Event(index, pretend_model(name, experiment, losses))
        raise then

    return run


@pytest.mark.parametrize("finished", [0, 2])
def test_ctrl_c_keeps_what_was_trained(monkeypatch, short_text, tmp_path, capsys, finished):
    monkeypatch.setattr(tour, "LEARNERS", ())
    monkeypatch.setattr(tour, "lesson_data", lambda pairs, seed: {})
    monkeypatch.setattr(tour, "live_models", lambda models, reading: None)
    monkeypatch.setattr(tour, "run_tour", fake_run(finished, KeyboardInterrupt()))
    output = tmp_path / "part.html"
    assert main(["tour", "--text", str(short_text), "--output", str(output), "--steps", "1"]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"Stopped. {output} holds a partial page, with {finished} of 6 models trained."
    text = output.read_text(encoding="utf-8")
    if finished:
        assert "This page is partial: not trained yet: learned, rotary, ALiBi, T5." in text
        assert [one["name"] for one in page_data(text)["models"]["models"]] == ["none", "sinusoidal"]
    else:
        assert "This page is partial. The models are not trained yet." in text
        assert text.count("This part waits for its training.") == 5
    assert [path.name for path in tmp_path.iterdir()] == ["part.html"]


def test_ctrl_c_at_the_very_start_writes_nothing(monkeypatch, tmp_path, capsys):
    def stopped(experiment):
        raise KeyboardInterrupt

    monkeypatch.setattr(tour, "read_tokens", stopped)
    assert main(["tour", "--output", str(tmp_path / "x.html")]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "Stopped. Nothing was written."
    assert list(tmp_path.iterdir()) == []


def test_json_holds_the_numbers(monkeypatch, short_text, tmp_path, capsys):
    def run(experiments, workers):
        for index, (name, experiment) in enumerate(experiments.items()):
            yield Event(index, pretend_model(name, experiment, np.full((9, 16), float(index))))

    monkeypatch.setattr(tour, "LEARNERS", ())
    monkeypatch.setattr(tour, "live_models", lambda models, reading: None)
    monkeypatch.setattr(tour, "lesson_data", lambda pairs, seed: {})
    monkeypatch.setattr(tour, "run_tour", run)
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
        "tour needs tokenizers, torch. Install what is missing with: pip install tokenizers torch"
        in capsys.readouterr().err
    )
