"""Every way to a longer context starts from the same trained model, and changes what it says it changes."""

import pytest

from posenc.lab.context_extension import extend
from posenc.lab.tasks.table import experiment

SMALL = {"length": 16, "test_lengths": (16,), "steps": 3, "batch": 4, "width": 16, "heads": 2, "layers": 1, "warmup": 1}


def test_ways_are_measured_before_and_after_tuning():
    found = list(extend(experiment("RoPE(dim=8)", "character-lm", **SMALL), 64, steps=2))
    assert [each.way for each in found[::2]] == [each.way for each in found[1::2]]
    assert [each.steps for each in found[:2]] == [0, 2]
    before = {each.way: dict(each.losses) for each in found if not each.steps}
    assert list(before["as it is"]) == [8, 16, 24, 32, 40, 48, 56, 64]
    assert before["dynamic"][16] == before["as it is"][16]  # its frequencies follow the length
    assert before["dynamic"][64] != before["as it is"][64]
    assert before["linear"][16] != before["as it is"][16]


@pytest.mark.parametrize(
    ("encoding", "task", "length", "message"),
    [
        ("RoPE(dim=8)", "character-lm", 16, "length must exceed the trained length, 16; got 16"),
        ("ALiBi(heads=2)", "character-lm", 32, r"experiment must train a language model with one RoPE; got ALiBi"),
        ("RoPE(dim=8)", "parity", 32, "experiment must train a language model with one RoPE; got .* on parity"),
    ],
)
def test_what_cannot_be_extended_is_refused(encoding, task, length, message):
    with pytest.raises(ValueError, match=message):
        next(extend(experiment(encoding, task, **SMALL), length))
