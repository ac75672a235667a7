"""Models of transformers in a comparison: their own positions and others, from scratch and with their weights."""

import json

import pytest

from posenc.cli import main
from posenc.lab.comparison import planned_runs
from posenc.lab.models.model_folder import model_folder, read_folder
from posenc.lab.prepare import prepare
from posenc.lab.result import Result
from posenc.lab.tasks.task_table import experiment
from posenc.lab.train import train
from posenc.lab.trial import run

SHORT = {"steps": 3, "batch": 2, "length": 8, "test_lengths": (8, 16)}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of tiny models, with random weights and a tokenizer of bytes."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(BPE(vocab={letter: index for index, letter in enumerate(letters)}, merges=[]))
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bytewise, mask_token="[MASK]")
    sizes = {"vocab_size": 257, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "max_position_embeddings": 32}
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    for name, model in {
        "llama": transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)),
        "neox": transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**sizes)),
        "bert": transformers.BertForMaskedLM(transformers.BertConfig(**sizes)),
    }.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


def of(folder, encoding, *, fine_tune=False, **changes):
    read, fields = read_folder(str(folder), fine_tune=fine_tune)
    task = changes.pop("task", "masked-lm" if read.kind == "encoder" else "bpe-lm")
    options = {"options": (("tokenizer", str(folder)),)} if task.endswith("lm") else {}
    return experiment(encoding, task, **{**fields, **SHORT, **options, **changes})


def losses(planned):
    *curve, result = run(planned, every=1)
    assert isinstance(result, Result)
    return [point.loss for point in curve], [score.loss for score in result.scores], result


@pytest.mark.nightly
def test_the_same_encoding_swapped_in_trains_as_the_own_one(models):
    own = losses(of(models / "llama", "own"))
    swapped = losses(of(models / "llama", "RoPE(dim=16, pairing='halves')"))
    for one, other in zip(own[:2], swapped[:2], strict=True):  # cosines may be a rounding apart
        assert other == pytest.approx(one, rel=1e-6)
    without, _, _ = losses(of(models / "llama", "NoPE(dim=32)"))
    assert without != pytest.approx(own[0], rel=1e-6)
    assert losses(of(models / "llama", "own", seed=1))[0] != own[0]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("encoding", "learned"),
    [("KerpleLog(heads=2)", 4), ("PerLayer((RoPE(dim=16), None))", 0), ("Learned(dim=32, length=16)", 512)],
)
@pytest.mark.parametrize("name", ["llama", "neox", "bert"])
def test_every_model_begins_with_the_same_weights_whatever_is_swapped_in(models, name, encoding, learned):
    import torch

    own, other = (prepare(of(models / name, each)) for each in ("own", encoding))
    swapped = dict(other.model.named_parameters())
    assert all(torch.equal(each, swapped[key]) for key, each in own.model.named_parameters())
    before = [each.clone() for each in other.model.encoding_parameters()]
    assert sum(each.numel() for each in before) == learned
    next(train(other.model, other.examples(), steps=3, rate=1e-2, warmup=0, every=1))
    for old, new in zip(before, other.model.encoding_parameters(), strict=True):
        assert not torch.equal(old, new)


@pytest.mark.nightly
def test_fine_tuning_begins_with_the_weights_of_the_folder(models):
    import torch
    import transformers

    saved = transformers.BertForMaskedLM.from_pretrained(models / "bert").eval()
    trial = prepare(of(models / "bert", "own", fine_tune=True))
    tokens = torch.randint(256, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(trial.model.eval()(tokens), saved(tokens).logits)
    assert of(models / "bert", "own", fine_tune=True).rate == 5e-5


@pytest.mark.nightly
def test_gaps_between_positions_do_not_cut_a_sequence(models):
    """Transformers takes them for packed texts where it is given no mask."""
    import torch

    model = prepare(of(models / "llama", "own")).model.eval()
    tokens, positions = torch.arange(6)[None], torch.tensor([0, 2, 3, 9, 10, 20])
    with torch.no_grad():
        whole, alone = model(tokens, positions), model(tokens[:, -1:], positions[-1:])
    assert (whole[:, -1] - alone[:, -1]).abs().max() > 1e-4


@pytest.mark.nightly
def test_positions_beyond_the_own_table_are_for_others_alone(models):
    with pytest.raises(ValueError, match="got own: it has a row for positions up to 31, and 63 is asked for"):
        prepare(of(models / "bert", "own", test_lengths=(8, 64)))
    assert losses(of(models / "bert", "RoPE(dim=16)", test_lengths=(8, 64)))[1][1] > 0
    with pytest.raises(ValueError, match=r"got ALiBi\(heads=4\): encoding must have the model's heads, 2"):
        prepare(of(models / "bert", "ALiBi(heads=4)"))
    with pytest.raises(ValueError, match="model must be decoder for the task copy; got 'encoder from scratch: "):
        prepare(of(models / "bert", "own", task="copy"))


@pytest.mark.nightly
def test_from_a_folder_to_a_report(models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(models)
    words = ["compare", "own", "ALiBi(heads=2)", "--model", "llama", "--steps", "2", "--batch", "2", "--length", "8"]
    words += ["--seeds", "1", "--fine-tune", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "bpe-lm: decoder fine-tuned: llama, width 32, 2 layers, 2 heads" in shown
    assert "learning rate 5e-05; positions range, digest" in shown
    assert ", text the task's own, tokenizer llama; seeds 0" in shown
    path = models / "llama" / "config.json"
    path.write_text(path.read_text() + "\n")
    assert main(words) == 2
    assert f"model must be what it was when {str(tmp_path / 'out')!r} was begun; " in capsys.readouterr().err


def test_a_folder_is_named_in_one_word_and_read_back():
    named = "encoder fine-tuned: models/bert: base"
    folder = model_folder(named)
    assert folder == ("encoder", True, "models/bert: base")
    assert folder.name == named
    assert model_folder("decoder") is None
    assert experiment("own", "masked-lm", model=named).kind == "encoder"
    assert list(planned_runs.own_files(experiment("own", "masked-lm", model=named))) == []
    with pytest.raises(ValueError, match="model must be one of decoder, encoder, encoder-decoder, or the name"):
        experiment("own", "masked-lm", model="bert")


@pytest.mark.parametrize(
    ("config", "words", "says"),
    [
        (
            None,
            [],
            "model must be decoder, encoder, encoder-decoder or a folder with the config.json of",
        ),
        ("{", [], "which cannot be read: "),
        ({"hidden_size": 8}, [], "which cannot be read: 'model_type'"),
        ({"model_type": "own", "auto_map": {}}, [], "with code of its own, which is not run. Use a stock model type."),
        (
            None,
            ["--model", "decoder", "--fine-tune"],
            "fine-tune must come with --model FOLDER, whose weights it",
        ),
    ],
)
def test_what_is_no_model_is_one_line(tmp_path, monkeypatch, capsys, config, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    if config is not None:
        (tmp_path / "model" / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    assert main(["compare", "own", "--model", "model", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
