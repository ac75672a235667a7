"""Pairs are stopped, averaged and removed as a reader would do it by hand in the weights of a model."""

import csv
import dataclasses
import json

import numpy as np
import pytest
import torch
import transformers
from transformers import AttentionInterface

from posenc import RoPE
from posenc.cli import main
from posenc.lab.frequency_roles.altered_pairs import AlteredHead, AlteredPairs
from posenc.lab.frequency_roles.checkpoint_roles import CheckpointPlan, CheckpointSubject, roles_of_checkpoint
from posenc.lab.frequency_roles.lab_roles import LabSubject, study_roles
from posenc.lab.frequency_roles.roles import (
    Cost,
    FrequencyRoles,
    PairChange,
    RolesStudy,
    halves,
    planned_changes,
)
from posenc.lab.frequency_roles.rotated_layers import rotary_layers
from posenc.lab.frequency_roles.run_roles import plan_roles
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.models.checkpoint import LoadedDecoder
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import prepare
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.task_table import experiment
from posenc.transformers.swapping.own_positions import own_positions
from posenc.transformers.swapping.swap import swap

SMALL = {"length": 16, "test_lengths": (16,), "steps": 2, "batch": 4, "width": 16, "heads": 2, "layers": 2, "warmup": 1}
DIM, HEADS, KEYS = 8, 4, 2
PAIR, HEAD = 1, 2
WINDOWS = np.random.default_rng(0).integers(0, 50, (3, 21))


def sharp(model):
    """Give a model weights that make attention depend on queries and keys."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


@pytest.fixture
def llama():
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=HEADS,
        num_key_value_heads=KEYS, head_dim=DIM, max_position_embeddings=64,
    )  # fmt: skip
    model = sharp(transformers.LlamaForCausalLM(config))
    return CheckpointSubject(LoadedDecoder("llama", model, own_positions(model), None, "cpu", 2), WINDOWS)


@pytest.fixture(scope="module")
def lab():
    trial = prepare(experiment("RoPE(dim=8)", "character-lm", **SMALL))
    with torch.no_grad():
        for block in trial.model.stack.blocks:
            block.project.mul_(8)
    return LabSubject(trial, 8)


def channels(head=None, dim=DIM, heads=HEADS):
    """The two channels of the pair in halves, in all heads or in one."""
    chosen = range(heads) if head is None else [head]
    return [each * dim + channel for each in chosen for channel in (PAIR, PAIR + dim // 2)]


def test_no_change_changes_no_bit(llama, lab):
    unchanged_llama = llama.cost(None)
    with swap(llama.checkpoint.model, AlteredPairs(llama.layers[0].encoding)):
        assert llama.cost(None) == unchanged_llama
    encodings = [AlteredPairs(RoPE(dim=8))]
    model = Transformer(lab.trial.model.shape, encodings, seed=0)
    model.load_state_dict(lab.trial.model.state_dict())
    assert (lab._predictions(model).losses == lab._predictions(lab.trial.model).losses).all()


def test_stopping_is_a_frequency_of_zero(llama):
    stopped = llama.cost(PairChange("stopped", (PAIR,)))
    before = llama.cost(None)
    llama.checkpoint.model.model.rotary_emb.inv_freq[PAIR] = 0.0
    assert llama.cost(None) == pytest.approx(stopped, abs=1e-6)
    assert abs(stopped.loss - before.loss) > 1e-3


def test_stopping_all_pairs_of_the_lab_is_a_model_without_positions(lab):
    """Its weights in a model with no encoding at all."""
    bare = prepare(experiment("NoPE(dim=16)", "character-lm", **SMALL))
    bare.model.load_state_dict(lab.trial.model.state_dict())
    stopped = lab.cost(PairChange("stopped", (0, 1, 2, 3)))
    assert LabSubject(bare, 8)._predictions(bare.model).losses.mean() == pytest.approx(stopped.loss, abs=1e-6)
    assert abs(stopped.loss - lab.cost(None).loss) > 1e-3


@pytest.mark.parametrize("head", [None, HEAD])
def test_removing_is_rows_of_zeros_in_the_projections(llama, head):
    removed = llama.cost(PairChange("removed", (PAIR,), 1, head))
    before = llama.cost(None)
    with torch.no_grad():
        llama.checkpoint.model.model.layers[1].self_attn.q_proj.weight[channels(head)] = 0.0
    assert llama.cost(None) == pytest.approx(removed, abs=1e-6)
    assert abs(removed.loss - before.loss) > 1e-4


def test_removing_in_the_lab_is_columns_of_zeros(lab):
    removed = lab.cost(PairChange("removed", (PAIR,), 0, 1))
    block = lab.trial.model.stack.blocks[0]
    kept = block.project.detach().clone()
    with torch.no_grad():
        block.project[:, [8 + 2 * PAIR, 8 + 2 * PAIR + 1]] = 0.0  # the paper pairs neighbours
        by_hand = lab.cost(None)
        block.project.copy_(kept)
    assert by_hand == pytest.approx(removed, abs=1e-6)
    assert abs(by_hand.loss - lab.cost(None).loss) > 1e-5


def test_averaging_is_a_mean_behind_the_projections(llama):
    averaged = llama.cost(PairChange("averaged", (PAIR,)))
    before = llama.cost(None)

    def mean(heads):
        def hook(module, given, output):
            output = output.clone()
            for channel in channels(heads=heads):
                output[..., channel] = output[..., channel].mean()
            return output

        return hook

    for layer in llama.checkpoint.model.model.layers:
        layer.self_attn.q_proj.register_forward_hook(mean(HEADS))
        layer.self_attn.k_proj.register_forward_hook(mean(KEYS))
    assert llama.cost(None) == pytest.approx(averaged, abs=1e-6)
    assert abs(averaged.loss - before.loss) > 1e-4


def test_stopping_in_one_head_turns_its_pair_back_there_alone(llama):
    """Shared keys are turned back for that head's queries only: by complex numbers, in float64."""
    stopped = llama.cost(PairChange("stopped", (PAIR,), 1, HEAD))
    before = llama.cost(None)

    def attend(module, q, k, v, mask, scaling, **_):
        k, v = (each.repeat_interleave(HEADS // KEYS, 1).double() for each in (k, v))
        q, back = q.double(), torch.exp(-1j * torch.arange(q.shape[2]) * 10000.0 ** (-2 * PAIR / DIM))
        if module.layer_idx == 1:
            for x in (q, k):
                turned = torch.complex(x[:, HEAD, :, PAIR], x[:, HEAD, :, PAIR + DIM // 2]) * back
                x[:, HEAD, :, PAIR], x[:, HEAD, :, PAIR + DIM // 2] = turned.real, turned.imag
        scores = (q @ k.transpose(2, 3)) * scaling
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return (scores.masked_fill(future, -torch.inf).softmax(-1) @ v).transpose(1, 2).float(), None

    AttentionInterface.register("by_hand", attend)
    llama.checkpoint.model.set_attn_implementation("by_hand")
    assert llama.cost(None) == pytest.approx(stopped, abs=1e-5)
    assert abs(stopped.loss - before.loss) > 1e-4


def test_shares_are_those_of_the_projections(llama, lab):
    shares = np.array([layer.shares for layer in rotary_layers(llama)])
    assert shares.sum(-1) == pytest.approx(1.0)
    attention, seen = llama.checkpoint.model.model.layers[0].self_attn, []
    attention.register_forward_pre_hook(
        lambda module, given, named: seen.append(named["hidden_states"]), with_kwargs=True
    )
    with torch.no_grad():
        llama.checkpoint.model(torch.from_numpy(WINDOWS[:, :-1]))
        q, k = (
            projection(seen[0]).unflatten(-1, (heads, 2, DIM // 2)).norm(dim=-2).mean((0, 1))
            for projection, heads in ((attention.q_proj, HEADS), (attention.k_proj, KEYS))
        )
    products = q * k.repeat_interleave(HEADS // KEYS, 0)
    assert shares[0] == pytest.approx((products / products.sum(-1, keepdim=True)).numpy(), rel=1e-5)
    assert np.array([layer.shares for layer in rotary_layers(lab)]).sum(-1) == pytest.approx(1.0)


def test_a_study_measures_every_change_and_is_read_back():
    study = RolesStudy(experiment("RoPE(dim=8)", "character-lm", **SMALL), "head", 8)
    *progress, roles = study_roles(study)
    assert [step.step for step in progress] == sorted(step.step for step in progress)
    assert progress[-1].step == study.experiment.steps
    assert tuple(change for change, _ in roles.changes) == planned_changes(roles.layers, "head")
    assert FrequencyRoles.from_fields(json.loads(json.dumps(roles.to_fields()))) == roles
    assert halves(3) == ((0,), (1, 2))


def test_a_stopped_measurement_goes_on_where_it_was(llama, tmp_path, monkeypatch):
    monkeypatch.setattr("posenc.lab.frequency_roles.checkpoint_roles.state_of_folder", lambda path: [])
    monkeypatch.setattr("posenc.lab.frequency_roles.checkpoint_roles.spread_windows", lambda *given, **named: WINDOWS)
    plan, path = CheckpointPlan("a text", "model", 20, 3), tmp_path / "kept" / "roles.jsonl"
    with KeptMeasurements(path) as kept:
        events = roles_of_checkpoint(llama.checkpoint, plan, kept)
        for _ in range(4):
            done, planned = next(events)
        assert (done, planned) == (3, 21)
    with path.open("a") as file:
        file.write('{"digest":"torn')
    with KeptMeasurements(path) as kept:
        *counted, roles = roles_of_checkpoint(llama.checkpoint, plan, kept)
        assert counted[0] == (3, 21)
        assert len(roles.changes) == 21
        with pytest.raises(ValueError, match="out must not be in use"):
            KeptMeasurements(path)
    path.write_text(path.read_text().replace("0.", "1.", 1))
    with pytest.raises(ValueError, match=r"roles\.jsonl, line \d+ is damaged: .* Delete the line"):
        KeptMeasurements(path)


def test_measurements_of_other_batches_texts_and_versions_do_not_mix(llama, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("posenc.lab.frequency_roles.checkpoint_roles.state_of_folder", lambda path: [])
    plan = CheckpointPlan("a text", "model", 20, 3)
    assert plan.identity(llama.checkpoint) != plan.identity(dataclasses.replace(llama.checkpoint, batch=1))
    first, _ = plan_roles(seeds=2)
    assert first.experiment.options == text_options("")
    assert plan_roles(task="needle", seeds=1)[0].experiment.options == ()
    words = ["frequencies", "--seeds", "2", "--out", str(tmp_path)]
    with KeptMeasurements(tmp_path / "roles.jsonl") as kept:
        old = FrequencyRoles("", 0, 64, 128, (), Cost(1.0, 0.5), (), (("torch", "1.13.0"),))
        kept.add(first.identity, old.to_fields())
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "has torch 1.13.0, and here is torch 2." in said
    assert "Use another --out.\n" in said


def test_pairs_and_heads_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="length must be an integer from 1"):
        CheckpointPlan("a text", "model", 0, 3)
    with pytest.raises(ValueError, match="windows must be an integer from 1"):
        CheckpointPlan("a text", "model", 8, 0)
    with pytest.raises(ValueError, match="stopped must be an integer from 0 to 2; got 3"):
        AlteredPairs(RoPE(dim=6), stopped=(3,))
    with pytest.raises(ValueError, match=r"must name each pair once; got \[1\] twice"):
        AlteredPairs(RoPE(dim=6), stopped=(1,), removed=(1,))
    with pytest.raises(ValueError, match="head must be an integer from 0 to 1; got 2"):
        AlteredHead(RoPE(dim=6), heads=2, head=2)


@pytest.mark.nightly
def test_the_command_draws_and_writes_and_goes_on(tmp_path, capsys):
    words = ["frequencies", "--steps", "4", "--windows", "8", "--by", "layer", "--out", str(tmp_path / "out")]
    assert main([*words, "--seeds", "1"]) == 0
    assert "faster half" in capsys.readouterr().out
    table = tmp_path / "roles.csv"
    assert main([*words, "--seeds", "2", "--csv", str(table), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["missing"], len(said["roles"])) == (0, 2)
    assert (tmp_path / "out" / "frequencies.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 2 * (1 + 33 + 2 * 8 * 3 + 2 * 4 * 8)
    assert {row["seed"] for row in rows} == {"0", "1"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--encoding", "ALiBi(heads=4)"], "encoding must be one rotation"),
        (["--encoding", "LearnedRoPE(dim=16)"], "encoding must be one rotation"),
        (["--seeds", "0"], "seeds must be 1 or more; got 0. Use 5 for intervals."),
        (["--device", "cuda"], "device must be left out without --model; got 'cuda'."),
        (["--model", "nowhere"], "text must be given with --model"),
        (["--model", "nowhere", "--text", "missing.txt"], "text must name a readable file of UTF-8 text"),
        (["--model", "nowhere", "--seeds", "2"], "seeds must be left out with --model; got 2."),
        (["--model", "nowhere", "--workers", "-3"], "workers must be left out with --model; got -3."),
        (["--model", "nowhere", "--engine", "slurm"], "engine must be left out with --model; got 'slurm'."),
        (["--model", "nowhere", "--text", "text.txt"], "model must be decoder, encoder, encoder-decoder or a folder"),
        (["--task", "copy", "--text", "text.txt"], "text must be left out for the task copy"),
        (["--csv", "no/where.csv"], "csv must lie in a folder that exists; got 'no/where.csv'"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a word " * 1000)
    assert main(["frequencies", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert [each.name for each in tmp_path.iterdir()] == ["text.txt"]
