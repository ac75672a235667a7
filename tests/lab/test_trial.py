"""A trial gives the same numbers twice, reads the same data whatever the encoding, and refuses what cannot be run."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from posenc.lab.models.example import sampled_positions
from posenc.lab.models.transformer import DecoderCache
from posenc.lab.prepare import prepare
from posenc.lab.result import Progress, Result
from posenc.lab.scoring import _bleu, _score, bleu, cut
from posenc.lab.tasks.task import NOTHING
from posenc.lab.tasks.task_table import experiment, task_row
from posenc.lab.tasks.written import BEGIN, END
from posenc.lab.train import DivergedError, train
from posenc.lab.trial import run

SMALL = {"steps": 3, "batch": 4, "width": 16, "heads": 2, "layers": 1, "warmup": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    """As a worker process has it; what else `reproducible` sets takes seconds to load, and changes no sum on a CPU."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def planned(encoding, task, **changes):
    return experiment(encoding, task, **{**SMALL, **changes})


def done(encoding, task, **changes):
    *progress, result = run(planned(encoding, task, **changes), every=2)
    assert isinstance(result, Result)
    assert tuple(progress) == result.curve
    assert all(isinstance(each, Progress) for each in progress)
    return result


def numbers(result):
    return dataclasses.replace(result, seconds=0.0, memory=0)


@pytest.mark.parametrize(
    ("encoding", "task", "changes"),
    [
        ("T5Bias(heads=2)", "fixed-offset", {"length": 12, "test_lengths": (8, 16)}),
        ("Learned(dim=16, length=40, outside='clamp') + RoPE(dim=8)", "character-lm",
         {"length": 16, "test_lengths": (16, 32)}),
        ("RoPE(dim=8)", "translation", {"length": 1, "test_lengths": (1,)}),
    ],
)  # fmt: skip
def test_the_same_experiment_gives_the_same_numbers(encoding, task, changes):
    first, again = (done(encoding, task, **changes) for _ in range(2))
    assert numbers(first) == numbers(again)
    assert Result.from_json(first.to_json()) == first
    other = done(encoding, task, **changes, seed=1)
    assert other.curve != first.curve
    assert [score.length for score in first.scores] == list(changes["test_lengths"])
    assert first.seconds > 0
    assert first.memory > 2**20


def test_an_encoding_of_zeros_and_none_are_one_run():
    """The encoding is the only difference between experiments: take it away, and every number is the same."""
    sizes = {"length": 12, "test_lengths": (8, 16)}
    bare = done("NoPE(dim=16)", "last", **sizes)
    zero = done("Learned(dim=16, length=16, std=0.0)", "last", **sizes, encoding_rate=0.0)
    assert bare.curve == zero.curve
    assert bare.scores == zero.scores
    # The answers of this task are drawn from 16 values, in equal shares.
    assert [score.chance for score in bare.scores] == pytest.approx([math.log(16)] * 2, rel=0.01)
    assert (bare.learned, zero.learned, zero.parameters - bare.parameters) == (0, 256, 256)


def test_data_and_weights_do_not_depend_on_the_encoding_or_on_each_other():
    trials = [prepare(planned(text, "copy")) for text in ("RoPE(dim=8)", "T5Bias(heads=2)", "Sinusoidal(dim=16)")]
    batches = [[next(examples) for _ in range(3)] for examples in (trial.examples() for trial in trials)]
    for others in batches[1:]:
        for one, other in zip(batches[0], others, strict=True):
            assert torch.equal(one.tokens, other.tokens)
    assert len({one.tokens.shape for one in batches[0]}) > 1  # lengths vary
    assert all(torch.equal(trial.model.embedding, trials[0].model.embedding) for trial in trials)


def test_a_sequence_is_right_where_the_model_would_write_it_greedily():
    trial = prepare(planned("RoPE(dim=8)", "copy", length=3, test_lengths=(3,), options=(("symbols", 2),)))
    batch = trial.task.test_batch(np.random.default_rng(0), 64, 3)
    model, tokens = trial.model, torch.from_numpy(batch.tokens)
    with torch.no_grad():
        model.embedding[:2] *= 30  # so that it writes symbols
        predicted = model(tokens).argmax(-1).numpy()
        exact = ((predicted == batch.targets) | (batch.targets == NOTHING)).all(1)
        cache, new, written = DecoderCache(), tokens[:, :5], []
        for _ in range(3):
            new = model(new, cache=cache, last=1).argmax(-1)
            written.append(new)
    assert np.array_equal(exact, (torch.cat(written, 1).numpy() == batch.targets[:, -3:]).all(1))
    assert 0 < exact.sum() < 64


def test_longer_contexts_are_measured_on_the_same_targets():
    trial = prepare(planned("ALiBi(heads=2)", "character-lm", length=16, test_lengths=(16, 64)))
    whole = trial.task.test_batch(np.random.default_rng(0), 5, 64)
    assert np.array_equal(cut(whole, 16).targets, whole.targets[:, -16:])
    result = done("ALiBi(heads=2)", "character-lm", length=16, test_lengths=(16, 64))
    contexts = dict(result.by_context)
    assert list(contexts) == [8, 16, 24, 32, 40, 48, 56, 64]
    # The same targets with the same context, computed twice.
    assert contexts[64] == pytest.approx(result.at(64).loss, rel=1e-9)
    assert contexts[16] == pytest.approx(result.at(16).loss, rel=1e-9)
    assert len(result.at(64).by_position) == 16
    assert len(result.sample) == 60


def test_losses_of_a_needle_are_binned_by_its_depth():
    result = done("NoPE(dim=16)", "needle", length=32, test_lengths=(32, 64))
    assert [tokens for tokens, _ in result.at(64).by_position] == list(range(4, 68, 4))


def test_bleu_of_the_references_is_100():
    task = task_row("translation").kind()
    batch = task.batch(np.random.default_rng(0), 5, 2)
    rows = [[token for token in row if token != NOTHING] for row in batch.targets.tolist()]
    assert bleu(task, batch, rows) == pytest.approx(100.0)
    assert bleu(task, batch, rows[1:] + rows[:1]) < 60
    versions = dict(done("NoPE(dim=16)", "summary", length=1, test_lengths=(1,), steps=1).versions)
    assert "tok:13a|smooth:exp|version:" in versions["sacrebleu"]


def test_a_table_that_reaches_the_longest_length_is_enough_to_write_text():
    """A weak model ends no row; a token more would need the row behind the last."""
    prepared = planned("Learned(dim=16, length=12)", "translation", length=1, test_lengths=(1,))
    assert prepare(prepared).limit == 12
    *_, result = run(prepared)
    assert result.at(1).bleu is not None


def test_text_is_written_at_the_positions_that_the_sampler_draws(monkeypatch):
    """Each token is the likeliest of a whole pass at these positions, with room for the longest text."""
    written, placed = [], []
    monkeypatch.setattr("posenc.lab.scoring.bleu", lambda task, batch, rows: float(written.extend(rows) or 1.0))
    trial = prepare(planned("Learned(dim=16, length=48, std=2.0)", "translation", test_lengths=(1, 4),
                            positions="randomised"))  # fmt: skip
    exam = dataclasses.replace(trial.examination, place=lambda *given: placed.append(trial.place(*given)) or placed[-1])
    assert _bleu(exam, 1, exam.sequences(1, 8)) == 1.0
    (example,) = placed
    assert example.positions.shape == (8, 12)
    assert (example.positions.diff(dim=1) > 0).all()
    assert example.positions.max() > 12
    for index, row in enumerate(written):
        tokens = torch.tensor([[BEGIN, *row][:12]])
        positions = example.positions[[index], : tokens.shape[1]]
        one = dataclasses.replace(example.part(index, 8), tokens=tokens, positions=positions)
        with torch.no_grad():
            likeliest = one.logits(trial.model)[0].argmax(-1).tolist()
        assert [*row, END][:12] == likeliest[:12]


def test_a_length_at_which_nothing_is_asked_has_no_score():
    exam = prepare(planned("RoPE(dim=8)", "copy")).examination
    batch = exam.sequences(4, 2)
    silent = dataclasses.replace(batch, targets=np.full_like(batch.targets, NOTHING))
    with pytest.raises(ValueError, match="test_lengths must be lengths at which the task asks something; got 4"):
        _score(exam, 4, silent)


def test_samplers_keep_below_the_limit_and_in_order():
    tokens, rng = np.zeros((200, 5)), np.random.default_rng(0)
    offset = sampled_positions("offset", tokens, None, 9, rng, training=True)
    assert (np.diff(offset, axis=1) == 1).all()
    assert set(offset[:, 0].tolist()) == {0, 1, 2, 3, 4}
    assert sampled_positions("offset", tokens, None, 9, rng, training=False) is None
    drawn = sampled_positions("randomised", tokens, None, 9, rng, training=False)
    assert (np.diff(drawn, axis=1) > 0).all()
    assert (drawn.min(), drawn.max()) == (0, 8)
    coupled = np.ones((200, 5), int)
    assert sampled_positions("coupled", tokens, coupled, 9, rng, training=True) is coupled


@pytest.mark.parametrize("sampler", ["offset", "randomised", "coupled"])
def test_a_model_trains_at_any_positions(sampler):
    result = done("T5Bias(heads=2, bidirectional=False)", "addition", length=3, test_lengths=(3, 5), positions=sampler)
    assert result.at(5).loss > 0


@pytest.mark.parametrize(
    ("encoding", "task", "changes", "message"),
    [
        ("RoPE(dim=8)", "copied", {}, "task must be one of .* Did you mean copy?"),
        (
            "RoPE(dim=16)",
            "copy",
            {},
            r"encoding must fit the model and the lengths; got RoPE\(dim=16\): ",
        ),
        ("ALiBi(heads=4)", "copy", {}, r"got ALiBi\(heads=4\): encodings must have the heads of the model, 2"),
        ("Sinusoidal(dim=8)", "copy", {}, "encoding must fit the model .* Sinusoidal"),
        ("Learned(dim=16, length=41)", "copy", {}, "encoding must fit .* positions must be from 0 to 40"),
        ("Learned(dim=16, length=41)", "copy", {"test_lengths": (20, 21)}, "positions must be from 0 to 40"),
        ("Concatenated(Sinusoidal(dim=4))", "copy", {}, "encodings must keep the width of the model, 16; got Concat"),
        ("axial(dim=8)", "copy", {}, "must begin with the name of a"),
        ("RoPE(dim=8)", "copy", {"model": "encoder"}, r"model must be decoder for the task copy; got 'encoder'\."),
        ("RoPE(dim=8)", "copy", {"positions": "coupled"}, "positions must not be 'coupled' for the task copy"),
        ("RoPE(dim=8)", "character-lm", {"test_lengths": (64, 60_000)}, "text must have more than 60000 tokens"),
        ("RoPE(dim=8", "copy", {}, "must be one call with balanced brackets"),
        ("RoPE(dim=8)", "needle", {"test_lengths": (8, 64)}, "length must be at least 10 for 4 needles; got 8"),
        ("RoPE(dim=8)", "fixed-offset", {"test_lengths": (3, 32)}, "length must be at least 4, or nothing is asked"),
        ("RoPE(dim=8)", "cued-offset", {"test_lengths": (1, 32)}, "length must be at least 2, or nothing .*; got 1"),
        ("RoPE(dim=8)", "first", {"length": 1}, "length must be at least 2, or nothing is asked; got 1"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_training(encoding, task, changes, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        next(run(planned(encoding, task, **changes)))


def test_a_training_that_diverges_says_so():
    trial = prepare(planned("RoPE(dim=8)", "parity", length=9, test_lengths=(9,)))
    with torch.no_grad():
        trial.model.embedding[1] = float("nan")
    steps = train(trial.model, trial.examples(), steps=300, rate=0.5, warmup=1)
    with pytest.raises(DivergedError, match=r"the training loss is nan at step 1 of 300\. Lower the rate, 0\.5\."):
        next(steps)
