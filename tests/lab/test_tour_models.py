"""Models of the tour are runs of the lab, measured on the same tokens, only later and with more before them."""

import dataclasses

import numpy as np
import pytest
import torch

from lab.small_text import on_text, ruled_text
from posenc import Learned, NoPE, RoPE
from posenc.lab import trial
from posenc.lab.engines.events import Finished
from posenc.lab.prepare import prepare
from posenc.lab.result import Progress
from posenc.lab.tokens import default_text
from posenc.lab.tour_model import losses_by_context, scaled_losses, train_and_show
from posenc.lab.tour_plan import LENGTHS, NAMES, TourModel, contexts, run_tour, tour_experiments


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return ruled_text(tmp_path_factory.mktemp("text"))


def small(encoding, text, **changes):
    return on_text(encoding, text, **{"steps": 20, "test_lengths": (16, 32), **changes})


def test_the_six_differ_in_their_encoding_and_its_rate_alone(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(default_text()[:40_000], encoding="utf-8")
    six = tour_experiments(str(path), 700, 3)
    assert tuple(six) == NAMES
    plain = {dataclasses.replace(each, encoding="any", encoding_rate=1.0) for each in six.values()}
    (one,) = plain
    assert (one.steps, one.seed, one.length, one.test_lengths) == (700, 3, 64, LENGTHS)
    assert [each.encoding_rate for each in six.values()] == [1.0, 1.0, 10.0, 1.0, 1.0, 10.0]
    assert "held_out" not in dict(one.options)


@pytest.mark.parametrize("characters", [4_000, 6_000])
def test_a_short_text_holds_out_enough_for_the_longest_context(tmp_path, characters):
    path = tmp_path / "text.txt"
    path.write_text(default_text()[60_000:].strip()[:characters].strip() + "...", encoding="utf-8")
    one = tour_experiments(str(path), 1)["rotary"]
    corpus = prepare(one).task.corpus
    assert LENGTHS[-1] < len(corpus.held_out) < len(corpus.train)
    assert 0.1 < dict(one.options)["held_out"] < 0.5


def test_a_model_of_the_tour_is_its_run(text):
    experiment = small(RoPE(dim=8), text)
    *curve, model = train_and_show("rotary", experiment)
    *_, result = trial.run(experiment)
    assert tuple(curve) == model.result.curve
    assert dataclasses.replace(model.result, seconds=result.seconds, memory=result.memory) == result
    letters = prepare(experiment).task.corpus.words
    assert "".join(letters[token] for token in model.sample) == result.sample
    assert model.encoding == RoPE(dim=8)
    assert set(model.rounded.losses) == {16, 32}
    for context, loss in model.rounded.losses.items():
        assert loss == pytest.approx(model.at(context).mean(), abs=0.02)


def test_every_context_scores_the_same_tokens(text):
    experiment = small(RoPE(dim=8), text)
    prepared = prepare(experiment)
    exam, held_out = prepared.examination, prepared.task.corpus.held_out
    losses = losses_by_context(exam, experiment, contexts(experiment)[1::2])
    # 500 letters hold out 117 ends of 4 targets, each with 32 letters before its last.
    assert losses.shape == (117, 8)
    ends = np.linspace(33, len(held_out), 117).astype(int)
    assert (np.diff(ends) >= 4).all()
    with torch.no_grad():
        for window, place in ((0, 1), (57, 3), (116, 7)):
            context, end = contexts(experiment)[1::2][place], ends[window]
            logits = prepared.model(torch.from_numpy(held_out[None, end - context - 1 : end - 1]))[0, -4:]
            slow = -torch.log_softmax(logits, -1)[torch.arange(4), torch.from_numpy(held_out[end - 4 : end])].mean()
            assert losses[window, place] == pytest.approx(slow.item(), abs=1e-5)  # float32 in another batch


def test_a_model_that_ignores_all_but_the_last_tokens_has_one_loss_everywhere(text):
    """The comparison across contexts is of like with like: only what the model makes of position can differ."""
    experiment = small(Learned(dim=16, length=32, std=0.0), text)
    exam = prepare(experiment).examination
    with torch.no_grad():
        exam.model.stack.blocks[0].mix.zero_()  # attention adds nothing
    losses = losses_by_context(exam, experiment, (4, 16, 32))
    assert np.abs(losses - losses[:, :1]).max() < 1e-5
    assert np.ptp(losses[:, 0]) > 0.01


@pytest.mark.nightly
def test_workers_give_the_numbers_of_this_process(text):
    runs = {"none": small(NoPE(dim=16), text), "rotary": small(RoPE(dim=8), text)}
    events = list(run_tour(runs, workers=2))
    models = {event.job: event.report for event in events if isinstance(event.report, TourModel)}
    assert models.keys() == {0, 1}
    for index, (name, experiment) in enumerate(runs.items()):
        *_, here = train_and_show(name, experiment)
        assert models[index].result.curve == here.result.curve
        assert models[index].sample == here.sample
        assert np.array_equal(models[index].losses, here.losses)
        steps = [event.report.step for event in events if event.job == index and isinstance(event.report, Progress)]
        assert steps == [10, 20]
    assert not any(isinstance(event.report, Finished) for event in events)


@pytest.mark.nightly
def test_a_broken_run_says_why(text):
    broken = {"learned": small(Learned(dim=16, length=4), text)}
    with pytest.raises(RuntimeError, match=r"training learned failed: ValueError: encoding must fit .* from 0 to 3"):
        list(run_tour(broken, workers=1))


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_scaled_frequencies_change_a_trained_model_by_its_encoding_alone(text):
    trained = prepare(small(RoPE(dim=8), text))
    before = {name: value.clone() for name, value in trained.model.state_dict().items()}
    plain, *scaled = scaled_losses(trained)
    assert plain.contexts == (4, 8, 12, 16, 24, 32)
    assert np.array_equal(plain.losses, losses_by_context(trained.examination, trained.experiment, plain.contexts, 48))
    assert [(one.way, one.factor) for one in scaled[:3]] == [("YaRN", 1.5), ("linear", 1.5), ("larger base", 1.5)]
    assert len(scaled) == 3 * 6
    slow = {(one.way, one.factor): one.encoding.frequencies.wavelengths() for one in scaled}
    usual = RoPE(dim=8).frequencies.wavelengths()
    np.testing.assert_allclose(slow["linear", 4.0], 4 * usual, rtol=1e-12)
    np.testing.assert_allclose(slow["larger base", 4.0][[0, -1]], usual[[0, -1]] * [1, 4], rtol=1e-4)
    assert all(not np.array_equal(one.losses, plain.losses) for one in scaled)
    assert all(torch.equal(value, before[name]) for name, value in trained.model.state_dict().items())
    assert scaled_losses(prepare(small(NoPE(dim=16), text))) == ()
