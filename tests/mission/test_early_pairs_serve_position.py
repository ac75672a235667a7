"""Row 29: whether early dimensions serve position and later ones meaning, judged again from the committed runs."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import stats

from posenc.lab.claims import findings
from posenc.lab.claims.judging import FRESH, NONE, ROTARY

RUNS = Path(__file__).parents[2] / "docs" / "claims_runs"
FINDING = findings.read_findings()["early_pairs_serve_position_later_ones_meaning"].finding
EARLY, LATE = [0, 1, 2, 3], [4, 5, 6, 7]


def costs():
    """By seed, nats that a change of one half of the pairs adds, from the lines of the file alone."""
    found = {}
    for line in (RUNS / "roles.jsonl").read_text().splitlines():
        _, roles = json.loads(line)["measured"]
        before = roles["unchanged"][0]
        found[roles["seed"]] = {
            (effect, tuple(pairs)): loss - before for (effect, pairs, *_), (loss, _) in roles["changes"]
        }
    return found


def test_the_verdicts_follow_from_the_runs():
    by_seed = costs()
    assert sorted(by_seed) == list(FRESH)
    numbers = {
        "early ones serve position": [("stopped", EARLY, 1)],
        "position lies in early ones more than in later": [("stopped", EARLY, 1), ("stopped", LATE, -1)],
        "later ones serve meaning": [("averaged", LATE, 1)],
        "meaning lies in later ones more than in early": [("averaged", LATE, 1), ("averaged", EARLY, -1)],
    }
    verdicts = {}
    for part, terms in numbers.items():
        sample = [sum(sign * by[effect, tuple(pairs)] for effect, pairs, sign in terms) for by in by_seed.values()]
        interval = stats.ttest_1samp(sample, 0.0).confidence_interval(1 - 0.05 / 40)
        assert dict(FINDING.figures)[part] == pytest.approx(np.mean(sample))
        verdicts[part] = "supported" if interval.low > 0.02 else "contradicted" if interval.high < 0.02 else "undecided"
    assert verdicts == dict(FINDING.parts)
    assert verdicts["early ones serve position"] == "supported"


def test_the_encoding_helps_these_models_at_all():
    """Without it nothing would be shown of its parts."""
    asked = "SELECT encoding, seed, loss FROM read_parquet(?) WHERE task = 'character-lm' AND test_length = 64"
    losses = {(encoding, seed): loss for encoding, seed, loss in
              duckdb.execute(asked, [str(RUNS / "results.parquet")]).fetchall()}  # fmt: skip
    gains = [losses[NONE, seed] - losses[ROTARY, seed] for seed in FRESH]
    assert stats.ttest_1samp(gains, 0.0).confidence_interval(1 - 0.05 / 40).low > 0.02
