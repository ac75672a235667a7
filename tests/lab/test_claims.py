"""The claims of the sources: each is found, and its finding on file is what comes out."""

import datetime
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import stats

from posenc.cli import main
from posenc.lab.claims import claim_catalog, findings
from posenc.lab.claims.claim import experiments
from posenc.lab.claims.judging import NONE, ROTARY, SEEDS, SINUSOIDAL

SOURCES = {"lecture", "article", "lesson", "notes", "chapter"}
CLAIMS = claim_catalog.CLAIMS
FILED = findings.read_findings()
DAY = "2026-01-31"


def test_every_claim_is_found_and_has_a_finding_on_file():
    """A claim is a name at the left edge of a theme's file, behind a decorator or before a call."""
    sources = "\n".join(path.read_text() for path in Path(claim_catalog.__file__).parent.glob("claims_on_*.py"))
    written = re.findall(r"^@computed\(.*?^def (\w+)|^(\w+) = trained\(", sources, re.MULTILINE | re.DOTALL)
    assert sorted(map("".join, written)) == sorted(claim_catalog.NAMES) == sorted(FILED)
    assert (len(claim_catalog.COMPUTED), len(claim_catalog.TRAINED)) == (37, 16)
    assert claim_catalog.COMPUTED + claim_catalog.TRAINED == claim_catalog.NAMES


@pytest.mark.parametrize("name", claim_catalog.NAMES)
def test_the_finding_on_file_is_about_the_claim_as_it_stands(name):
    claim = CLAIMS[name]
    filed = FILED[name]
    assert filed.digest == findings.claim_digest(claim), "the claim was changed behind its finding: run it again"
    assert set(claim.sources) <= SOURCES
    assert filed.finding.figures
    assert filed.finding.note
    if not claim.trained:
        again = claim.decided({})
        assert again.verdict == filed.finding.verdict
        assert dict(again.figures) == pytest.approx(dict(filed.finding.figures), rel=1e-6, abs=1e-9)


def test_a_run_files_what_comes_out_and_says_what_changed(tmp_path, monkeypatch, capsys):
    name = "shift_is_linear"
    held, out = tmp_path / "held.json", tmp_path / "out" / "findings.json"
    finding = CLAIMS[name].decided({})
    findings.write_findings(held, {name: (CLAIMS[name], replace(finding, verdict="contradicted", note="Once."))}, DAY)
    monkeypatch.setattr(findings.read_findings, "__defaults__", (held,))
    kept = {"base_matters": (CLAIMS["base_matters"], FILED["base_matters"].finding)}
    findings.write_findings(out, kept, FILED["base_matters"].date)
    assert main(["claims", name, "--run", "--out", str(tmp_path / "out")]) == 1
    assert "Another verdict than the one on file: shift_is_linear." in capsys.readouterr().out
    assert findings.read_findings(out) == {
        "base_matters": FILED["base_matters"],
        name: findings.Filed(finding, findings.claim_digest(CLAIMS[name]), datetime.date.today().isoformat()),
    }


def test_a_damaged_finding_is_refused(tmp_path):
    path = tmp_path / "findings.json"
    path.write_text('{"shift_is_linear": {"verdict": "sure"}}')
    with pytest.raises(ValueError, match=r"findings\.json is damaged at shift_is_linear: .* `posenc claims shift"):
        findings.read_findings(path)
    path.write_text("[")
    with pytest.raises(ValueError, match=r"findings\.json is damaged: .*Delete it and run `posenc claims --run`"):
        findings.read_findings(path)


def test_runs_that_claims_share_are_run_once_and_a_missing_one_decides_nothing():
    claims = list(CLAIMS.values())
    runs = experiments(claims)
    assert len({each.identity for each in runs}) == len(runs)
    for claim in claims:
        if claim.trained:
            assert claim.decided({}) is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["shift_is_lineal"], "posenc claims: claim must be the name of one; got 'shift_is_lineal'. Did you mean"),
        (["--run", "--workers", "0"], "posenc claims: workers must be 1 or more, with --engine local; got 0"),
        (["--run", "--slurm", "a=1"], "posenc claims: slurm must be left out with --engine local; got a=1. Leave it"),
        (
            ["--run", "--engine", "slurm", "--slurm", "a"],
            "posenc claims: slurm must be KEY=VALUE, slurm_partition=gpu,",
        ),
    ],
)
def test_bad_input_is_one_line(words, says, capsys):
    assert main(["claims", *words]) == 2
    assert capsys.readouterr().err.startswith(says)


def test_findings_are_computed_again_from_the_runs_that_are_committed():
    """The judged measures of two claims, by SQL and scipy alone."""
    runs = Path(__file__).parents[2] / "docs" / "claims_runs" / "results.parquet"
    asked = "SELECT encoding, seed, loss, list_avg([point.loss for point in curve]) FROM read_parquet(?) "
    rows = duckdb.execute(asked + "WHERE task = 'character-lm' AND test_length = 64", [str(runs)]).fetchall()
    held_out = {(encoding, seed): loss for encoding, seed, loss, _ in rows}
    training = {(encoding, seed): loss for encoding, seed, _, loss in rows}
    for name, part, first, second, of in (
        ("encoding_improves_language_modelling", "rotary", NONE, ROTARY, held_out),
        ("rotary_converges_faster", "sinusoidal - rotary, nats", SINUSOIDAL, ROTARY, training),
    ):
        gains = np.array([of[first, seed] - of[second, seed] for seed in SEEDS])
        interval = stats.ttest_1samp(gains, 0.0).confidence_interval(1 - 0.05 / 40)
        figures, margin = dict(FILED[name].finding.figures), 0.02
        assert (figures[part], figures[f"{part}, from"]) == pytest.approx((gains.mean(), interval.low))
        assert (interval.low > margin) == (dict(FILED[name].finding.parts)[part] == "supported")
