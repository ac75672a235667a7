"""Row 17: encoder and decoder attention with any encoding, trained on real text; the 2017 input layer before
nn.TransformerEncoder."""

import math

import numpy as np
import pytest
import torch

from lab.small_text import on_text
from posenc import CATALOG, ALiBi, Learned, LearnedScale, NoPE, RoPE, Shaw, Sinusoidal, Sum, T5Bias, TransformerXL
from posenc.attention import attention
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tokens import default_text
from posenc.lab.trial import train_trial
from posenc.torch import InputLayer

RECORDS = [
    NoPE(dim=32),
    Sinusoidal(dim=32),
    Learned(dim=32, length=32),
    Sum((Sinusoidal(dim=32), Learned(dim=32, length=32))),
    LearnedScale(Sinusoidal(dim=32), initial=0.5),
    RoPE(dim=8),
    ALiBi(heads=4),
    T5Bias(heads=4),
    Shaw(dim=8, clip=8),
    TransformerXL(dim=8, heads=4, model_dim=32),
]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Real text."""
    path = tmp_path_factory.mktemp("text") / "english.txt"
    path.write_text(default_text()[:60_000], encoding="utf-8")
    return path


def test_every_door_is_among_them():
    assert {encoding.door for encoding in RECORDS} == {row.encoding.door for row in CATALOG}


@pytest.mark.parametrize("task", ["bpe-lm", "masked-lm"], ids=["decoder", "encoder"])
@pytest.mark.parametrize("encoding", RECORDS)
def test_it_trains_on_real_text(text, encoding, task):
    options = (*text_options(str(text)), ("vocabulary_size", 300))
    model = {"width": 32, "heads": 4, "length": 32, "test_lengths": (32,), "options": options}
    *_, last = train_trial(on_text(encoding, text, task, steps=40, rate=1e-2, **model))
    losses = [progress.loss for progress in last.curve]
    assert losses[0] < math.log(300) + 1.5  # near a blind guess at first
    assert losses[-1] < losses[0] - 0.5
    assert all(parameter.grad is not None for parameter in last.trial.model.encoding_parameters())


def test_attention_is_the_formula():
    """softmax(Q·Kᵀ/√d_k)·V, computed with plain loops next to the reference attention."""
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 1, 2, 5, 4))
    seen = attention(
        q,
        k,
        v,
        query_positions=range(5),
        key_positions=range(5),
        layout="bhtd",
        encodings=[ALiBi(heads=2)],
        causal=True,
    ).output
    slopes = (2.0**-4, 2.0**-8)
    for head in range(2):
        for i in range(5):
            powers = [
                math.exp(sum(q[0, head, i] * k[0, head, j]) / math.sqrt(4) - slopes[head] * (i - j))
                for j in range(i + 1)
            ]
            expected = sum(power / sum(powers) * v[0, head, j] for j, power in enumerate(powers))
            # Sums of five float64 numbers of size 1, in another order.
            assert np.allclose(seen[0, head, i], expected, rtol=0, atol=1e-14)


class Classifier(torch.nn.Module):
    """Which of two orders a sentence has: PyTorch's own encoder behind the input layer of 2017."""

    def __init__(self, encoding, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.enter = InputLayer(50, encoding, dropout=0.0, batch_first=batch_first, seed=0)
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=batch_first)
        self.encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.read = torch.nn.Linear(16, 2)

    def forward(self, ids):
        seen = self.encoder(self.enter(ids))
        return self.read(seen.mean(1 if self.batch_first else 0))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(
    ("encoding", "learns"),
    [(Sinusoidal(dim=16), True), (Learned(dim=16, length=6, std=0.5), True), (NoPE(dim=16), False)],
)
def test_the_input_layer_gives_order_to_pytorchs_encoder(encoding, learns, batch_first):
    rng = np.random.default_rng(1)
    rising = np.sort(rng.permuted(np.tile(np.arange(50), (256, 1)), axis=1)[:, :6], axis=1)
    ids = torch.from_numpy(np.concatenate([rising, rising[:, ::-1]]))
    labels = torch.arange(2).repeat_interleave(256)
    ids = ids if batch_first else ids.T.contiguous()
    model = Classifier(encoding, batch_first)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (model(ids).argmax(-1) == labels).float().mean().item()
    if learns:
        assert right > 0.95
    else:
        # The same words in both orders are one input: every sentence is right in exactly one of its two orders.
        assert right == pytest.approx(0.5, abs=0.02)  # but for ties that rounding decides


def test_the_input_layer_is_its_formula():
    layer = InputLayer(50, Sinusoidal(dim=16), batch_first=True, seed=0).eval()
    ids = torch.tensor([[3, 1, 4]])
    expected = layer.embedding[ids].detach().numpy() * 4.0 + Sinusoidal(dim=16).embed(range(3))
    # One float32 sum of numbers of size 1.
    assert np.allclose(layer(ids).detach().numpy(), expected, rtol=0, atol=1e-6)
    layer.train()
    torch.manual_seed(0)
    assert 0.02 < (layer(torch.zeros(8, 64, dtype=torch.int64)) == 0).float().mean().item() < 0.2  # dropout of a tenth
