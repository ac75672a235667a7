"""A user's own model at a longer context: each way is what transformers computes, each needle lies at its depth."""

import json

import numpy as np
import pytest
import torch
import transformers

from posenc.cli import main
from posenc.lab.extension_study.checkpoint_extension import (
    DEPTHS,
    CheckpointStudy,
    MeasuredLength,
    checkpoint_ways,
    extend_checkpoint,
    needle_rows,
)
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.models.checkpoint import TokenScores, load_checkpoint, spread_windows
from posenc.lab.tokens import default_text

TEXT = default_text()[:40_000]
TRAINED, LENGTH = 160, 640
SIZES = {
    "vocab_size": 258, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": TRAINED, "bos_token_id": 256,
    "eos_token_id": 256,
}  # fmt: skip
GPT2 = {"vocab_size": 258, "n_positions": TRAINED, "n_embd": 32, "n_layer": 1, "n_head": 2, "bos_token_id": 256,
        "eos_token_id": 256}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Tiny models with random weights and a tokenizer of bytes that puts a mark before every text."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from tokenizers.processors import TemplateProcessing

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(BPE(vocab={letter: index for index, letter in enumerate(letters)}, merges=[]))
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bytewise.add_special_tokens(["<s>"])
    bytewise.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bytewise, bos_token="<s>")
    folder = tmp_path_factory.mktemp("models")
    layers = {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}
    for name, kind, config in (
        ("llama", transformers.LlamaForCausalLM, transformers.LlamaConfig(**SIZES)),
        ("qwen3", transformers.Qwen3ForCausalLM, transformers.Qwen3Config(**SIZES)),
        ("gemma3", transformers.Gemma3ForCausalLM, transformers.Gemma3TextConfig(**SIZES, **layers)),
        ("gpt2", transformers.GPT2LMHeadModel, transformers.GPT2Config(**GPT2)),
    ):
        torch.manual_seed(0)
        model = kind(config)
        for parameter in model.parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.3)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    (folder / "text.txt").write_text(TEXT)
    return folder


def study(**changes):
    return CheckpointStudy(TEXT, TRAINED, LENGTH, **{"windows": 2, "needles": 2, **changes})


def measured(folder, tmp_path, **changes):
    with KeptMeasurements(tmp_path / "kept.jsonl") as kept:
        *_, found = extend_checkpoint(load_checkpoint(str(folder)), study(**changes), kept)
    return found.measured


def test_a_way_is_what_transformers_computes_with_it(folders, tmp_path):
    """Loss of the last 40 tokens of whole windows, by transformers' own YaRN and linear, and with nothing changed."""
    found = measured(folders / "llama", tmp_path)
    factor = LENGTH / TRAINED
    for way, rope in (
        ("as it is", {"rope_type": "default"}),
        ("linear", {"rope_type": "linear", "factor": factor}),
        ("YaRN", {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": TRAINED}),
    ):
        config = transformers.LlamaConfig.from_pretrained(folders / "llama")
        config.rope_parameters = {"rope_theta": 10_000.0, **rope}
        config.max_position_embeddings = LENGTH
        model = transformers.LlamaForCausalLM.from_pretrained(folders / "llama", config=config).eval()
        text = np.frombuffer(TEXT.encode(), np.uint8)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folders / "llama")
        ids = np.array(tokenizer(TEXT)["input_ids"])
        assert (ids[0], len(ids)) == (256, len(text) + 1)
        for length in (TRAINED, LENGTH):
            rows = [[256, *ids[1:][end - length : end]] for end in (LENGTH, len(text))]
            tokens = torch.tensor(rows)
            with torch.no_grad():
                logits = model(tokens[:, :-1]).logits[:, -40:].log_softmax(-1)
            losses = -logits.gather(2, tokens[:, -40:, None])[..., 0].mean(1)
            assert found[way][length].losses == pytest.approx(losses.tolist(), abs=2e-5), (way, length)
    assert found["YaRN"][LENGTH].loss != pytest.approx(found["as it is"][LENGTH].loss, abs=1e-3)


def test_ways_change_the_layers_that_see_the_whole_context(folders):
    for name, layers in (("llama", (0, 1)), ("qwen3", (0, 1)), ("gemma3", (1,))):
        ways = checkpoint_ways(load_checkpoint(str(folders / name)), TRAINED, LENGTH)
        assert {way.layers for way in ways} == {layers}
        assert {"as it is", "YaRN", "Llama 3", "linear", "dynamic", "NTK by parts", "no positions"} <= {
            way.name for way in ways
        }
    dynamic = next(way for way in ways if way.name == "dynamic")
    assert dynamic.at(320, TRAINED).scaling.length == 320


@pytest.mark.parametrize("name", ["qwen3", "gemma3"])
def test_other_families_are_measured(folders, tmp_path, name):
    found = measured(folders / name, tmp_path, windows=1, needles=1)
    assert all(np.isfinite(each.losses).all() for by in found.values() for each in by.values())
    assert found["dynamic"][TRAINED].loss == pytest.approx(found["as it is"][TRAINED].loss, abs=1e-5)
    assert found["linear"][TRAINED].loss != pytest.approx(found["as it is"][TRAINED].loss, abs=1e-5)


def test_needles_lie_at_their_depth_and_the_answer_at_the_end(folders):
    checkpoint = load_checkpoint(str(folders / "llama"))
    windows = spread_windows(checkpoint, TEXT, LENGTH + 1, 3, purpose="for a window")
    rows = needle_rows(checkpoint, windows, TRAINED, 4)
    starts = []
    for asked, answer in rows:
        assert asked.shape == (4, TRAINED + 1)
        assert (asked[:, 0] == 256).all()
        for row in asked:
            text = checkpoint.tokenizer.decode(row[1:])
            key = text[-5:]
            assert (key.isdigit(), answer) == (True, 6)  # a space and five digits
            assert text.count(key) == 3
            assert text.endswith(f"What is the pass key? The pass key is {key}")
            starts.append(text.index("\nThe pass key is"))
    assert len({checkpoint.tokenizer.decode(row[-5:]) for row in rows[0][0]}) > 1
    room = max(starts)
    assert starts[::4] == [round(depth * room) for depth in DEPTHS]


def test_a_needle_is_found_where_the_whole_answer_is_the_likeliest(folders, tmp_path):
    """A model that sees the answer within half of the length, and nothing further away."""
    checkpoint = load_checkpoint(str(folders / "llama"))

    def scores(windows, last=None):
        right = np.full((len(windows), last), windows.shape[1] <= LENGTH // 2 + 1)
        right[0, -1] = False  # one token of the first answer is wrong
        return TokenScores(np.ones(right.shape), right)

    object.__setattr__(checkpoint, "scores", scores)
    with KeptMeasurements(tmp_path / "kept.jsonl") as kept:
        *_, found = extend_checkpoint(checkpoint, study(needles=4), kept)
    by_length = {length: each.found for length, each in found.measured["YaRN"].items()}
    assert by_length == {160: (0.75,) * 5, 320: (0.75,) * 5, 480: (0.0,) * 5, 640: (0.0,) * 5}


@pytest.mark.nightly
def test_the_command_goes_on_where_it_was_killed(folders, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["extend", "--model", str(folders / "llama"), "--text", str(folders / "text.txt"), "--out", str(out)]
    words += ["--windows", "1", "--needles", "1", "--length", "320"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "YaRN" in said
    assert (out / "model.png").read_bytes()[:4] == b"\x89PNG"
    kept = (out / "model.jsonl").read_text().splitlines(keepends=True)
    (out / "model.jsonl").write_text("".join(kept[:20]) + kept[20][:30])
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["trained"], facts["length"]) == (TRAINED, 320)
    again = (out / "model.jsonl").read_text().splitlines(keepends=True)
    assert (again[:20], sorted(again)) == (kept[:20], sorted(kept))
    best = facts["ways"][0]["at"]["320"]
    assert MeasuredLength(**{name: tuple(value) for name, value in best.items()}).loss == min(
        each["at"]["320"]["losses"][0] for each in facts["ways"]
    )


@pytest.mark.parametrize(
    ("model", "more", "says"),
    [
        ("gpt2", (), "config must have one rotation for the layers that see the whole context"),
        ("nowhere", (), "model must be decoder, encoder, encoder-decoder or a folder with the config.json"),
        ("llama", ("--length", "100"), "length must exceed the trained length, 160; got 100. Ask for a longer."),
        ("llama", ("--trained", "16"), "length must be at least "),
        ("llama", ("--length", "100000"), "text must have at least 100000 tokens for a window; got 40064."),
        ("llama", ("--needles", "0"), "needles must be"),
        ("llama", ("--seeds", "3"), "seeds must be left out with --model; got 3. Leave it out."),
        ("llama", ("--device", "tpu"), "device must be cpu, cuda, cuda:NUMBER or mps; got 'tpu'."),
        ("llama", ("--dtype", "int8"), "dtype must be one of"),
    ],
)
def test_what_cannot_be_measured_is_one_line(folders, tmp_path, capsys, model, more, says):
    out = tmp_path / "out"
    words = ["extend", "--model", str(folders / model), "--text", str(folders / "text.txt"), "--out", str(out), *more]
    assert main(words) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("posenc")]
    assert says in line


def test_options_of_the_other_kind_of_model_are_refused(capsys):
    assert main(["extend", "--windows", "3"]) == 2
    assert "windows must be left out without --model; got 3. Leave it out." in capsys.readouterr().err
    assert main(["extend", "--model", "anywhere", "--slurm", "slurm_partition=gpu"]) == 2
    assert "slurm must be left out with --model; got ('slurm_partition=gpu',)." in capsys.readouterr().err
    assert main(["extend", "--model", "anywhere"]) == 2
    assert "text must be given with --model" in capsys.readouterr().err
