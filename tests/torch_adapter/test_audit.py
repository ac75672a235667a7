"""Audits of a user's own module: each passes what is right and finds the mistake that it is for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from transformers import BloomConfig, BloomForCausalLM, LlamaConfig, LlamaForCausalLM

from posenc import RoPE, Shaw, Sinusoidal
from posenc.positions import Sharding
from posenc.testing import audit
from posenc.testing.rank_audit import ranks_equal_whole

WIDTH = 16


def waves(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rates = 100.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    angle = positions[..., None].float() * rates
    return torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    cos, sin = waves(positions)
    half = WIDTH // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Layer(nn.Module):
    """One causal layer with a rotation and a cache; `mistake` plants one."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        torch.manual_seed(0)
        self.project, self.mistake = nn.Linear(WIDTH, 3 * WIDTH), mistake

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(x, None)[0]

    def step(self, x: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        before = 0 if cache is None else cache[0].shape[1]
        start = {"restarts": 0, "one late": before + (before > 0)}.get(self.mistake, before)
        places = torch.arange(start, start + x.shape[1]).expand(len(x), -1)
        if self.mistake == "counts rows":
            places = places + torch.arange(len(x))[:, None]
        q, k, v = self.project(x).chunk(3, -1)
        q, k = rotate(q, places if self.mistake != "counts rows" else places * 2), rotate(k, places)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        scores = q @ k.mT / WIDTH**0.5
        mask = torch.ones(scores.shape[1:], dtype=torch.bool).tril(k.shape[1] - x.shape[1])
        return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v, (k, v)


X = torch.randn(3, 12, WIDTH, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("prompt", [1, 5, 12])
def test_decoding_with_the_right_positions_passes(prompt: int) -> None:
    layer = Layer()
    found = audit.decode_equals_prefill(layer, layer.step, X, prompt=prompt)
    assert found.ok, str(found)
    assert found.largest < found.tolerance


@pytest.mark.parametrize("mistake", ["restarts", "one late"])
def test_decoding_with_other_positions_is_found_at_the_first_token_after_the_prompt(mistake: str) -> None:
    layer = Layer(mistake)
    found = audit.decode_equals_prefill(layer, layer.step, X, prompt=4)
    assert not found.ok
    assert found.first == 4
    assert "differ from token 4" in str(found)


def test_a_row_that_depends_on_its_neighbours_is_found() -> None:
    assert audit.batch_equals_single(Layer(), X).ok
    found = audit.batch_equals_single(Layer("counts rows"), X)
    assert not found.ok
    assert found.row == 1


@pytest.mark.parametrize("scheme", ["contiguous", "zigzag"])
def test_shards_with_their_own_positions_pass_and_with_local_ones_do_not(scheme: Any) -> None:
    places = torch.arange(12)
    assert audit.sharded_equals_whole(rotate, X, places, shards=3, scheme=scheme).ok
    assert audit.sharded_equals_whole(rotate, X, places.expand(3, 12), shards=2, scheme=scheme).ok

    def local(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return rotate(x, torch.arange(x.shape[1]))

    found = audit.sharded_equals_whole(local, X, places, shards=3, scheme=scheme)
    assert not found.ok
    assert found.first == (4 if scheme == "contiguous" else 2)


class Free(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rotate(x, torch.arange(x.shape[1]))


class Baked(nn.Module):
    """A table of the first length that it saw, read again and again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(8).repeat(4)[: x.shape[1]]
        return rotate(x, places)


class Fixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(8, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] > 8:  # what code for eager mode does
            return x + torch.randn(x.shape[1], WIDTH, generator=torch.Generator().manual_seed(2))
        return x + self.table[: x.shape[1]]


def test_exports_are_run_at_another_length() -> None:
    short, long = torch.randn(2, 8, WIDTH), torch.randn(2, 11, WIDTH)
    assert audit.exported_equals_eager(Free(), [short], [long]).ok
    assert audit.exported_equals_eager(Baked(), [short], [long]).ok  # the same mistake eager and exported
    found = audit.exported_equals_eager(Fixed(), [short], [long])
    assert not found.ok
    (one_axis := Fixed()).forward = lambda x: x[None] + one_axis.table[: len(x), 0]
    found = audit.exported_equals_eager(one_axis, [short[0, :3, 0]], [short[0, :7, 0]])
    assert (found.ok, found.largest) == (False, float("inf"))


@pytest.mark.parametrize("kind", ["rotary", "alibi"])
def test_models_of_hugging_face_are_audited_in_two_lines(kind: str) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2}
    if kind == "rotary":
        model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, intermediate_size=32)).eval()
    else:
        model = BloomForCausalLM(BloomConfig(**sizes, n_head=4)).eval()
    whole, step = audit.causal_lm(model)
    found = audit.decode_equals_prefill(whole, step, torch.arange(24).reshape(2, 12), prompt=3)
    assert found.ok, str(found)
    if kind == "rotary":
        plain = model.model.rotary_emb.forward
        model.model.rotary_emb.forward = lambda x, position_ids: plain(x, position_ids - position_ids[:, :1])
        found = audit.decode_equals_prefill(whole, step, torch.arange(24).reshape(2, 12), prompt=3)
        assert (found.ok, found.first) == (False, 3)


def test_numbers_that_are_none_count_as_a_difference() -> None:
    found = audit.batch_equals_single(lambda x: x if len(x) > 1 else x * torch.nan, X)
    assert (found.ok, found.largest) == (False, float("inf"))


@pytest.mark.parametrize("mark", [torch.nan, torch.inf, -torch.inf, torch.finfo(torch.float32).min])
def test_numbers_of_no_size_switch_no_audit_off(mark: float) -> None:
    """A padded query that is NaN, or banned words: the other tokens are compared by their own size."""

    def step(part: torch.Tensor, total: Any, wrong: float = 0.0) -> tuple[torch.Tensor, Any]:
        sums = part.cumsum(1) if total is None else total + part.cumsum(1)
        return (torch.full_like(part, mark) if total is None else sums + wrong), sums[:, -1:]

    def whole(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.full_like(x[:, :1], mark), x.cumsum(1)[:, 1:]], 1)

    assert audit.decode_equals_prefill(whole, step, X).ok
    found = audit.decode_equals_prefill(whole, lambda part, total: step(part, total, 1e-3), X)
    assert (found.ok, found.first, round(found.largest, 5)) == (False, 1, 1e-3)
    found = audit.decode_equals_prefill(whole, lambda part, total: (part * 0 + 7.0, 0), X)
    assert (found.ok, found.first) == (False, 0)


def test_whole_and_complex_outputs_are_compared_too() -> None:
    ids = torch.arange(6).reshape(2, 3)
    found = audit.batch_equals_single(lambda x: 2 * x, ids)
    assert (found.ok, found.tolerance) == (True, 0.0)
    assert not audit.batch_equals_single(lambda x: x + len(x), ids).ok
    assert audit.batch_equals_single(lambda x: x * 1j, X).ok
    assert not audit.batch_equals_single(lambda x: x * 1j * len(x), X).ok


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit.decode_equals_prefill(Layer(), Layer().step, torch.ones(3)), "x must be a tensor"),
        (lambda: audit.decode_equals_prefill(Layer(), Layer().step, X, prompt=13), "prompt must be"),
        (lambda: audit.batch_equals_single(Layer(), X[:1]), "arguments must have one batch"),
        (lambda: audit.sharded_equals_whole(rotate, X, torch.arange(12), shards=5), "shards must cut"),
        (lambda: audit.sharded_equals_whole(rotate, X, torch.arange(12), scheme="ring"), "scheme must be"),
        (lambda: audit.exported_equals_eager(Free(), [X], [X]), "other must have another length"),
        (lambda: audit.exported_equals_eager(Free(), [X], []), "other must have the arguments"),
        (lambda: audit.batch_equals_single(lambda x: x[:, : len(x)], X), "module must return one shape"),
        (lambda: audit.batch_equals_single(lambda x: x[:, 0, 0], X), "module must return a tensor"),
        (lambda: audit.exported_equals_eager(nn.Identity(), [X[0, 0]], [X[0, 0, :5]]), "module must return a tensor"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


@pytest.mark.parametrize("encoding", [RoPE(dim=8), Shaw(dim=8)], ids=["rotates", "scores"])
def test_an_encoding_is_the_same_on_ranks_and_a_rank_that_restarts_is_found(encoding: Any, monkeypatch: Any) -> None:
    sharding = Sharding([8, 16], ranks=4, scheme="zigzag", each_document=True)
    assert ranks_equal_whole(encoding, sharding, causal=False).ok
    monkeypatch.setattr(
        "posenc.torch.context_parallel.rank_program._positions_of_row", lambda call: _row_of_local_positions(call)
    )
    found = ranks_equal_whole(encoding, sharding, causal=False)
    assert not found.ok
    assert "ranks equal whole: they differ from token" in str(found)
    with pytest.raises(TypeError, match=r"^encoding must act inside attention; got Sinusoidal"):
        ranks_equal_whole(Sinusoidal(dim=8), sharding)


def _row_of_local_positions(call: Any) -> Any:
    yield from ()
    return call.sharding.unshard([torch.arange(call.sharding.tokens_of_rank)] * call.sharding.ranks)
