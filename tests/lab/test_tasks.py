"""Each task asks what it says: its targets are worked out again here, token by token, from the tokens alone."""

import dataclasses
import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from posenc.lab.prepare import prepare
from posenc.lab.tasks import algorithmic
from posenc.lab.tasks.task import NOTHING
from posenc.lab.tasks.task_table import TASKS, experiment, task_of, task_row
from posenc.lab.tasks.wmt14 import BASE_TRANSFORMER, WMT14, Translations
from posenc.lab.tasks.written import ADJECTIVE, BEGIN, END, NOUN, OBJECT_MARK, SUBJECT_MARK, VERB, WORDS
from posenc.lab.tasks.written import AND as CONJUNCTION
from posenc.lab.trial import run


def drawn(name, length, size=6, **options):
    task = task_row(name).kind(**options)
    return task, task.batch(np.random.default_rng(3), size, length)


def said(tokens, targets):
    """(index, target) where something is predicted."""
    return [(i, y) for i, y in enumerate(targets) if y != NOTHING]


def expect_fixed_offset(x, i):
    return x[i - 3] if i >= 3 else NOTHING


def expect_cued_offset(x, i):
    back = x[i] // 8
    return x[i - back] % 8 if back <= i else NOTHING


def expect_absolute_index(x, i):
    index = x[i] // 8 - 1
    return x[index] % 8 if index < len(x) else NOTHING


def expect_last(x, i):
    same = [j for j in range(i) if x[j] // 16 == x[i] // 16]
    return x[same[-1]] % 16 if same else NOTHING


def expect_first(x, i):
    same = [j for j in range(i) if x[j] // 16 == x[i] // 16]
    return x[same[0]] % 16 if same else NOTHING


def expect_flip_flop(x, i):
    if i % 2 or x[i] != algorithmic.READ:
        return NOTHING
    return x[max(j for j in range(0, i, 2) if x[j] == algorithmic.WRITE) + 1]


def expect_parity(x, i):
    return sum(x[: i + 1]) % 2


def expect_needle(x, i):
    if i < len(x) - 1:
        return NOTHING
    return x[next(j for j in range(len(x) - 1) if x[j] == x[-1]) + 1]


@pytest.mark.parametrize("length", [12, 33])
@pytest.mark.parametrize(
    "name",
    ["fixed-offset", "cued-offset", "absolute-index", "last", "first", "flip-flop", "parity", "needle"],
)
def test_the_target_of_each_token_is_what_the_task_says(name, length):
    rule = globals()[f"expect_{name.replace('-', '_')}"]
    task, batch = drawn(name, length)
    assert batch.tokens.max() < task.vocabulary
    for x, y in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        assert y == [rule(x, i) for i in range(len(x))]
    assert len({tuple(row) for row in batch.tokens.tolist()}) == len(batch.tokens)


@pytest.mark.parametrize("length", [1, 9])
@pytest.mark.parametrize("name", ["copy", "reverse", "selective-copy"])
def test_what_is_repeated_stands_before(name, length):
    task, batch = drawn(name, length)
    for x, y in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        end = x.index(task.symbols + 1)
        read = [token for token in x[:end] if token < task.symbols]
        answer = read[::-1] if name == "reverse" else read
        assert y == [NOTHING] * end + answer
        assert x[end + 1 :] == answer[:-1]


def test_sums_are_sums_and_ids_join_digits_of_one_significance():
    _, batch = drawn("addition", 30)
    for x, y, ids in zip(batch.tokens.tolist(), batch.targets.tolist(), batch.coupled.tolist(), strict=True):
        number = lambda digits: int("".join(map(str, digits)))  # noqa: E731
        assert x[30] == algorithmic.PLUS
        assert x[61] == algorithmic.EQUALS
        assert number(x[:30]) + number(x[31:61]) == number(y[61:][::-1])
        assert x[62:] == y[61:-1]
        assert ids[:30] == ids[31:61] == ids[62:92][::-1]
    _, moved = drawn("addition", 3, spare=40)
    shift = moved.coupled - drawn("addition", 3)[1].coupled
    assert (shift == shift[:, :1]).all()
    assert len(set(shift[:, 0].tolist())) > 1


def test_a_needle_lies_at_its_depth():
    for depth in (0.0, 0.5, 1.0, -1.0):
        task = task_row("needle").kind(depth=depth)
        batch = task.test_batch(np.random.default_rng(0), 8, 42)
        depths = np.linspace(0, 1, 8) if depth < 0 else np.full(8, depth)
        for x, about, at in zip(batch.tokens.tolist(), batch.about, depths, strict=True):
            assert x.index(x[-1]) == 2 * round(at * 19)
            assert (about == x.index(x[-1])).all()
            assert len({token for token in x[:-2] if 16 <= token < 32}) == 4


@pytest.mark.parametrize("tested", [False, True])
def test_a_fact_that_was_updated_has_its_older_values_before_it(tested):
    task = task_row("needle").kind(needles=2, updates=2)
    batch = (task.test_batch if tested else task.batch)(np.random.default_rng(3), 64, 32)
    for x, y, about in zip(batch.tokens.tolist(), batch.targets.tolist(), batch.about, strict=True):
        *older, last = (i for i in range(30) if x[i] == x[-1])
        assert len(older) == 2
        assert y[-1] == x[last + 1] not in {x[i + 1] for i in older}
        assert (about == last).all()
        assert len({token for token in x[:-2] if 16 <= token < 32}) == 2
    if tested:  # from the first place that has room for older ones before it, to the last one
        assert (batch.about[0, 0], batch.about[-1, 0]) == (4, 28)


def test_without_positions_an_encoder_cannot_tell_the_last_value_of_a_fact_from_an_older_one():
    options = {"model": "encoder", "options": (("needles", 1), ("updates", 1)), "test_lengths": (32,), "length": 32}
    told = {}
    for encoding in ("NoPE(dim=16)", "RoPE(dim=8)"):
        trial = prepare(experiment(encoding, "needle", width=16, heads=2, layers=1, **options))
        tokens = trial.task.batch(np.random.default_rng(0), 8, 32).tokens
        swapped = tokens.copy()
        for row in swapped:
            first, last = np.flatnonzero(row[:-1] == row[-1])
            row[[first + 1, last + 1]] = row[[last + 1, first + 1]]
        logits = [trial.model.eval()(torch.tensor(each))[:, -1] for each in (tokens, swapped)]
        told[encoding] = float((logits[0] - logits[1]).detach().abs().max())
    assert told["NoPE(dim=16)"] < 1e-5 < 1e-3 < told["RoPE(dim=8)"]


def test_a_translation_has_the_words_of_its_source_in_the_other_order():
    _, batch = drawn("translation", 2, size=20)
    for source, visible, target in zip(batch.source, batch.visible, batch.targets, strict=True):
        words, expected, phrase = source[visible].tolist(), [], []
        marks = [SUBJECT_MARK, OBJECT_MARK]
        verb = None
        for word in words:
            if word == CONJUNCTION:
                expected, verb, marks = [*expected, verb, word + WORDS], None, [SUBJECT_MARK, OBJECT_MARK]
            elif VERB <= word < CONJUNCTION:
                verb = word + WORDS
            elif ADJECTIVE <= word < VERB:
                phrase.insert(0, word + WORDS)
            else:
                assert NOUN <= word < ADJECTIVE
                expected, phrase = [*expected, word + WORDS, *phrase, marks.pop(0)], []
        assert [token for token in target.tolist() if token != NOTHING] == [*expected, verb, END]
    assert (batch.tokens[:, 0] == BEGIN).all()


def test_a_summary_names_what_is_marked():
    task, batch = drawn("summary", 5)
    for source, visible, target in zip(batch.source, batch.visible, batch.targets, strict=True):
        words = task.written(source[visible].tolist()).split()
        marked = [f"{words[i - 1]} {words[i + 1]}" for i, word in enumerate(words) if word == "mark"]
        assert task.written([token for token in target.tolist() if token != NOTHING]) == " ".join(marked)


def test_a_language_model_is_measured_on_what_it_did_not_read(tmp_path):
    text = "".join(chr(97 + i % 7) for i in range(9000)) + "zyxw" * 250
    file = tmp_path / "text.txt"
    file.write_text(text)
    task = task_row("character-lm").kind(text=str(file))
    train, test = (draw(np.random.default_rng(0), 40, 8) for draw in (task.batch, task.test_batch))
    words = np.array(task.corpus.words)
    assert set(words[train.tokens].ravel()) == set("abcdefg")
    assert set(words[test.tokens].ravel()) == set("zyxw")
    assert (train.tokens[:, 1:] == train.targets[:, :-1]).all()
    changed = dataclasses.asdict(task) | {"digest": "0123456789abcdef"}
    with pytest.raises(
        ValueError, match="text must be the one that this run was planned with, digest 0123456789abcdef"
    ):
        type(task)(**changed)
    with pytest.raises(ValueError, match=r"text must have more than 1000 tokens to measure with; got 1000\."):
        task.require(1000)


def test_a_masked_model_is_asked_for_what_it_cannot_see():
    task, batch = drawn("masked-lm", 32, vocabulary_size=300)
    hidden = batch.targets != NOTHING
    assert (batch.tokens[hidden] == task.vocabulary).all()
    assert (batch.tokens[~hidden] < task.vocabulary).all()
    assert 0.05 < hidden.mean() < 0.3


@pytest.mark.nightly
def test_text_comes_from_a_data_set_of_files(tmp_path):
    datasets = pytest.importorskip("datasets", reason="the data extra is not installed")
    datasets.disable_progress_bars()
    (tmp_path / "train.txt").write_text("\n".join(f"line {i} of a small data set" for i in range(400)))
    task = task_row("character-lm").kind(text=f"datasets:{tmp_path}")
    assert "".join(task.corpus.words[i] for i in task.corpus.train[:6]) == "line 0"
    with pytest.raises(ValueError, match="text must name a data set that can be loaded; got"):
        task_row("character-lm").kind(text=f"datasets:{tmp_path / 'nowhere'}")


@pytest.mark.nightly
def test_translations_come_from_a_data_set_of_files(tmp_path):
    """The way of WMT14, with a folder in its place: pieces of both languages, training, BLEU of what is written."""
    datasets = pytest.importorskip("datasets", reason="the data extra is not installed")
    datasets.disable_progress_bars()
    rows = [{"translation": {"en": f"the number {i} of many", "de": f"die Zahl {i} von vielen"}} for i in range(300)]
    for split, part in (("train", rows[:250]), ("test", rows[250:])):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, part)))
    options = (("data", str(tmp_path)), ("vocabulary_size", 300))
    small = {"width": 16, "heads": 2, "layers": 1, "batch": 8, "steps": 2, "warmup": 1}
    planned = experiment("Sinusoidal(dim=16)", "wmt14", **{**BASE_TRANSFORMER, **small}, options=options)
    *_, result = run(planned)
    assert 0 <= result.at(128).bleu < 20
    task = task_of(planned)
    batch = task.test_batch(np.random.default_rng(0), 3, 128)
    assert task.written(batch.targets[0].tolist()) == "die Zahl 250 von vielen"
    assert task.written(batch.source[1].tolist()) == "the number 251 of many"
    with pytest.raises(ValueError, match="data must have the languages fr; got en, de"):
        task_of(dataclasses.replace(planned, options=(*options, ("target", "fr"))))
    with pytest.raises(ValueError, match="length must hold some sentence of the test part; got 3"):
        task.test_batch(np.random.default_rng(0), 3, 3)
    with pytest.raises(ValueError, match="length must hold some sentence of the test part; got 3"):
        task.require(3)


class OneEach:
    """A tokenizer with a token for each word."""

    def encode(self, text):
        return SimpleNamespace(ids=list(range(len(text.split()))))


@pytest.mark.parametrize(("trained", "tested"), [(3, 9), (9, 3)])
def test_training_and_tests_each_ask_for_sentences_of_their_own_part(trained, tested):
    train, test = ([{"translation": {"en": "word " * count, "de": "Wort " * count}}] for count in (trained, tested))
    task = type("Local", (WMT14,), {"translations": Translations(OneEach(), train, test)})()
    of_training = (task.require_training, trained, "length must hold the shortest sentence of data; got 5")
    of_tests = (task.require, tested, "length must hold some sentence of the test part; got 5")
    for require, count, refused in (of_training, of_tests):
        require(10)
        with nullcontext() if count < 5 else pytest.raises(ValueError, match=refused):
            require(5)


def test_text_must_be_as_long_as_training_and_tests_each_ask(tmp_path):
    (tmp_path / "text.txt").write_text("abcdefg" * 600)  # 3,780 characters to train on, 420 to measure with
    text = (("text", str(tmp_path / "text.txt")),)
    small = {"width": 16, "heads": 2, "layers": 1, "options": text}
    longer = experiment("RoPE(dim=8)", "character-lm", length=1000, test_lengths=(300,), **small)
    assert prepare(longer).limit >= 1000
    for length, test_length, purpose in ((4000, 300, "4000 tokens to train on"), (1000, 500, "500 tokens to measure")):
        other = dataclasses.replace(longer, length=length, test_lengths=(test_length,))
        with pytest.raises(ValueError, match=f"text must have more than {purpose}"):
            prepare(other)


def test_every_row_is_an_experiment():
    assert len({row.name for row in TASKS}) == len(TASKS)
    for row in TASKS:
        planned = experiment("NoPE(dim=64)", row.name)
        assert planned.test_lengths[0] <= row.length <= planned.test_lengths[-1]
        assert planned.model in row.models
        if row.kind.__module__.endswith(("language", "wmt14")):
            continue  # these load their data
        task = task_of(planned)
        batch = task.batch(np.random.default_rng(0), 3, row.length)
        widest = max(part.shape[1] for part in (batch.tokens, batch.source) if part is not None)
        assert widest <= task.tokens_at(row.length)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cpy", {}, r"task must be one of fixed-offset, .*; got 'cpy'\. Did you mean copy\?"),
        ("copy", {"depth": 0.5}, "options must be those of the task copy, symbols; got depth"),
        ("copy", {"symbols": 1}, "symbols must be an integer from 2"),
        ("needle", {"depth": -0.5}, "depth must be from 0 to 1, or -1 for anywhere"),
        ("needle", {"needles": 17}, "needles must be at most the 16 keys; got 17"),
        ("character-lm", {"text": "nowhere.txt"}, "text must name a readable file of UTF-8 text; got 'nowhere.txt'"),
    ],
)
def test_a_task_that_cannot_be_is_refused(name, options, message):
    from posenc.lab.experiment import Experiment

    with pytest.raises(ValueError, match=message):
        task_of(Experiment("NoPE(dim=64)", name, options=tuple(options.items())))
