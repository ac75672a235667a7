"""Experiments name runs by all of their numbers; results survive a line of JSON, and nothing else passes for one."""

import dataclasses
import json

import pytest

from posenc.lab.experiment import Experiment
from posenc.lab.result import LengthScore, Progress, Result

EXPERIMENT = Experiment("RoPE(dim=16)", "copy", options=(("depth", 0.5), ("text", "ab12")))
OTHERS = {
    "encoding": "ALiBi(heads=4)", "task": "first", "seed": 1, "steps": 7, "batch": 8, "rate": 0.1, "warmup": 1,
    "encoding_rate": 2.0, "dropout": 0.1,
    "label_smoothing": 0.1, "length": 33, "test_lengths": (32,), "width": 128, "layers": 3, "heads": 8,
    "model": "encoder", "positions": "offset", "options": (("depth", 1.0), ("text", "ab12")),
}  # fmt: skip
RESULT = Result(
    EXPERIMENT,
    (Progress(10, 2.5), Progress(20, 1.25)),
    (LengthScore(32, 0.75, 0.5, 0.1), LengthScore(64, 0.1, 0.0, 2.0, bleu=31.5, by_position=((32, 1.0), (64, 3.0)))),
    ((16, 3.0), (32, 2.0)),
    parameters=10,
    versions=(("torch", "2.13.0"),),
)


def test_every_field_is_part_of_the_identity():
    assert OTHERS.keys() == {field.name for field in dataclasses.fields(Experiment)}
    changed = [dataclasses.replace(EXPERIMENT, **{name: value}).identity for name, value in OTHERS.items()]
    assert len({EXPERIMENT.identity, *changed}) == len(OTHERS) + 1
    again = Experiment(**json.loads(json.dumps(EXPERIMENT.fields())))
    assert again == EXPERIMENT
    assert again.identity == EXPERIMENT.identity
    swapped = dataclasses.replace(EXPERIMENT, options=EXPERIMENT.options[::-1])
    assert swapped.identity == EXPERIMENT.identity


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoding": 3}, "encoding must be a word"),
        ({"heads": 5}, r"heads must divide width=64; got 5\."),
        ({"test_lengths": (64, 32)}, r"test_lengths must be lengths in rising order, at least one; got \(64, 32\)"),
        ({"test_lengths": 3}, "test_lengths must be lengths in rising order"),
        ({"rate": float("nan")}, "rate must be a finite number above 0"),
        (
            {"model": "both"},
            "model must be one of decoder, encoder, encoder-decoder, or the name of a ModelFolder",
        ),
        ({"positions": "random"}, "positions must be one of 'range'"),
        ({"options": (("depth", float("inf")),)}, "options must be pairs of a name and a number or a word"),
        ({"options": (("a", 1), ("a", 2))}, "each name once; got the names a, a"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Experiment(**{"encoding": "RoPE(dim=16)", "task": "copy", **fields})


def test_a_result_is_its_line():
    assert Result.from_json(RESULT.to_json()) == RESULT
    assert "\n" not in RESULT.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line[:-3], "Expecting"),
        (lambda line: line.replace('"accuracy":0.75', '"accuracy":1.75'), "accuracy must be a finite number from 0"),
        (lambda line: line.replace('"accuracy":0.75', '"accuracy":NaN'), "accuracy must be a finite number from 0"),
        (
            lambda line: line.replace('"accuracy"', '"acuracy"'),
            "LengthScore must have exactly its fields: accuracy, acuracy",
        ),
        (lambda line: line.replace('"seed":0', '"seed":-1'), "seed must be an integer from 0"),
        (lambda line: line.replace("[[16,3.0]", "[[64,3.0]"), "by_context must be pairs .* tokens rising"),
        (lambda line: line.replace('[["torch","2.13.0"]]', "[3]"), "versions must be pairs"),
        (lambda line: "[" * 100_000, "nested too deeply"),
        (lambda line: "7", "Result must be an object of 10 fields, not int"),
    ],
)
def test_a_damaged_line_is_refused(change, message):
    damaged = change(RESULT.to_json())
    assert damaged != RESULT.to_json()
    with pytest.raises(ValueError, match=f"(?s)line must be a result as to_json writes it; .*{message}"):
        Result.from_json(damaged)


def test_a_result_says_which_lengths_it_has():
    assert RESULT.at(64).bleu == 31.5
    with pytest.raises(ValueError, match=r"length must be a test length, one of \[32, 64\]; got 48"):
        RESULT.at(48)
