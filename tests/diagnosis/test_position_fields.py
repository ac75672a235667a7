"""Every field of a model's positions is looked at by a kind of evidence, or named as not looked at."""

import numpy as np
import pytest

from posenc import ALiBi, RoPE, Sinusoidal
from posenc.diagnosis import diagnose
from posenc.diagnosis.position_fields import GIVE, SHOWN_BY, fields_of
from posenc.models import from_config

LLAMA = {"model_type": "llama", "head_dim": 8, "num_attention_heads": 2, "hidden_size": 16, "num_hidden_layers": 2}
BLOOM = {"model_type": "bloom", "n_head": 4, "n_layer": 2, "hidden_size": 32}
ROPE, POSITIONS = RoPE(dim=8, pairing="halves"), np.arange(64)
TURN = ROPE.rotation(POSITIONS)
Q, K = np.random.default_rng(0).standard_normal((2, 64, 8))
FREQUENCIES = 10_000.0 ** (-np.arange(0, 8, 2) / 8)
QUERIES, KEYS = {"q": Q, "q_rotated": TURN(Q)}, {"k": K, "k_rotated": TURN(K)}
LOGITS = {"q": Q, "k": K, "logits": TURN(Q) @ TURN(K).T / np.sqrt(8)}
ANGLES = POSITIONS[:, None] * FREQUENCIES
TABLE = {"cos": np.cos(ANGLES), "sin": np.sin(ANGLES)}
BIAS = {"bias": ALiBi(heads=4).matrix(POSITIONS, POSITIONS)}
BIASED_LOGITS = {"q": np.stack([Q] * 4), "k": np.stack([K] * 4), "logits": Q @ K.T / np.sqrt(8) + BIAS["bias"]}
#: What is meant, what is given, and the kinds of evidence in it.
EVIDENCE = {
    "two configs": (LLAMA, LLAMA, ["configs"]),
    "inv_freq": (LLAMA, {"inv_freq": FREQUENCIES}, ["inv_freq"]),
    "attention factor": (
        LLAMA,
        {"inv_freq": FREQUENCIES, "attention_factor": 1.0},
        ["inv_freq and its attention factor"],
    ),
    "cos and sin": (LLAMA, TABLE, ["cos and sin"]),
    "queries": (LLAMA, QUERIES, ["q and q_rotated"]),
    "keys": (LLAMA, KEYS, ["k and k_rotated"]),
    "both": (LLAMA, QUERIES | KEYS, ["q and q_rotated", "k and k_rotated"]),
    "logits": (LLAMA, LOGITS, ["logits"]),
    "lone queries and keys": (ROPE, QUERIES | KEYS, ["q and q_rotated", "k and k_rotated"]),
    "bias": (BLOOM, BIAS, ["bias"]),
    "logits with a bias": (BLOOM, BIASED_LOGITS, ["logits"]),
    "lone bias": (ALiBi(heads=4), BIAS, ["bias"]),
    "sinusoids": (Sinusoidal(dim=8), {"table": Sinusoidal(dim=8).embed(POSITIONS)}, ["table"]),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_each_field_is_looked_at_or_named(name):
    expected, actual, kinds = EVIDENCE[name]
    found = diagnose(expected, actual)
    assert found.agree
    has = fields_of(from_config(expected) if isinstance(expected, dict) else expected)
    shown = frozenset().union(*(SHOWN_BY[kind] for kind in kinds))
    named = {field for line in found.not_shown for field in line.partition(":")[0].split(", ")}
    assert set(found.looked_at) == (shown if kinds == ["configs"] else shown & has)
    assert named == has - shown
    assert (found.exit_code == 0) == (has <= shown)


def test_complete_evidence_is_no_way_out():
    assert diagnose(LLAMA, LLAMA).verdict == "agree in everything that this evidence can show"
    assert diagnose(ROPE, QUERIES | KEYS).verdict == "agree in everything that this evidence can show"
    assert diagnose(ROPE, QUERIES).verdict == "agree in what was compared"
    assert diagnose(LLAMA, QUERIES | KEYS).verdict == "agree in what was compared"


@pytest.mark.parametrize("kind", ["inv_freq", "attention factor", "cos and sin", "queries", "keys", "both", "logits"])
def test_a_field_counts_as_looked_at_only_where_a_mistake_in_it_is_seen(kind):
    """The table of what evidence shows, against evidence of a mistake in one field at a time."""
    _, _, kinds = EVIDENCE[kind]
    shown = frozenset().union(*(SHOWN_BY[one] for one in kinds))
    for field, wrong in mistakes().items():
        arrays = evidence_of(kind, *wrong)
        if arrays is not None:
            assert diagnose(ROPE, arrays).agree == (field not in shown), (kind, field)


def mistakes():
    """For each field: frequencies, amplitude, sign, pairing, and shifts of queries and keys."""
    return {
        "frequencies": (FREQUENCIES * 1.3, 1.0, 1, "halves", 0, 0),
        "amplitude": (FREQUENCIES, 1.2, 1, "halves", 0, 0),
        "direction": (FREQUENCIES, 1.0, -1, "halves", 0, 0),
        "pairing": (FREQUENCIES, 1.0, 1, "adjacent", 0, 0),
        "query positions": (FREQUENCIES, 1.0, 1, "halves", 3, 0),
        "key positions": (FREQUENCIES, 1.0, 1, "halves", 0, 3),
    }


def evidence_of(kind, frequencies, amplitude, sign, pairing, query_shift, key_shift):
    """Arrays of this kind from a rotation written out."""

    def rotated(x, shift):
        angle = (POSITIONS + shift)[:, None] * frequencies * sign
        first, second = (x[:, 0::2], x[:, 1::2]) if pairing == "adjacent" else (x[:, :4], x[:, 4:])
        parts = (first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle))
        out = np.stack(parts, -1).reshape(64, 8) if pairing == "adjacent" else np.concatenate(parts, -1)
        return amplitude * out

    angle = POSITIONS[:, None] * frequencies * sign
    q, k = {"q": Q, "q_rotated": rotated(Q, query_shift)}, {"k": K, "k_rotated": rotated(K, key_shift)}
    return {
        "inv_freq": {"inv_freq": frequencies},
        "attention factor": {"inv_freq": frequencies, "attention_factor": amplitude},
        "cos and sin": {"cos": amplitude * np.cos(angle), "sin": amplitude * np.sin(angle)},
        "queries": q,
        "keys": k,
        "both": q | k,
        "logits": {"q": Q, "k": K, "logits": q["q_rotated"] @ k["k_rotated"].T / np.sqrt(8)},
    }[kind]


def test_what_to_give_is_said_of_every_field():
    assert set(GIVE) == frozenset().union(*SHOWN_BY.values())
