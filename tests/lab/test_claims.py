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
from posenc.lab.claims.claim import DOCUMENTS, computed, experiments
from posenc.lab.claims.judging import NONE, ROTARY, SEEDS, SINUSOIDAL

#: How a source is named that is none of the documents.
PAPER = re.compile(r"\b(19|20)\d\d\b.*\b(arXiv:\d{4}\.\d{4,5}|doi:\S+)")
CLAIMS = claim_catalog.CLAIMS
FILED = findings.read_findings()
DAY = "2026-01-31"


def test_every_claim_is_found_and_has_a_finding_on_file():
    """A claim is a name at the left edge of a theme's file, behind a decorator or before a call."""
    sources = "\n".join(path.read_text() for path in Path(claim_catalog.__file__).parent.glob("claims_on_*.py"))
    written = re.findall(r"^@computed\(.*?^def (\w+)|^(\w+) = trained\(", sources, re.MULTILINE | re.DOTALL)
    assert sorted(map("".join, written)) == sorted(claim_catalog.NAMES) == sorted(FILED)
    assert claim_catalog.COMPUTED + claim_catalog.TRAINED == claim_catalog.NAMES


@pytest.mark.parametrize("name", claim_catalog.NAMES)
def test_the_finding_on_file_is_about_the_claim_as_it_stands(name):
    claim = CLAIMS[name]
    filed = FILED[name]
    assert filed.digest == findings.claim_digest(claim), "the claim was changed behind its finding: run it again"
    assert claim.sources
    assert all(source in DOCUMENTS or PAPER.search(source) for source in claim.sources)
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


def test_findings_are_read_where_a_run_writes_them(tmp_path, monkeypatch, capsys):
    """In the folder of runs above those that ship, or in a file of one's own alone."""
    monkeypatch.chdir(tmp_path)
    name, file = "shift_is_linear", tmp_path / "mine.json"
    assert main(["claims", name, "--findings", str(file)]) == 0
    assert f"{name}: not run" in capsys.readouterr().out
    assert main(["claims", name, "--run", "--findings", str(file)]) == 0
    assert main(["claims", name, "--findings", str(file)]) == 0
    assert f"{name}: supported" in capsys.readouterr().out
    changed = replace(CLAIMS[name].decided({}), verdict="undecided")
    findings.write_findings(tmp_path / "claims" / "findings.json", {name: (CLAIMS[name], changed)}, DAY)
    assert main(["claims", name]) == 0
    assert f"{name}: undecided" in capsys.readouterr().out
    other = replace(CLAIMS[name], rule="Another one.")
    findings.write_findings(tmp_path / "claims" / "findings.json", {name: (other, changed)}, DAY)
    assert main(["claims", name]) == 0
    assert f"{name}: supported" in capsys.readouterr().out  # what was decided by another rule counts no more


def test_each_part_of_a_statement_has_its_verdict_and_a_question_is_no_claim(capsys):
    @computed(statement="Both.", sources=("notes",), rule="", note="")
    def both():
        return {"one": True, "other": False}, {}

    finding = both.decided({})
    assert (finding.verdict, finding.parts) == ("contradicted", (("one", "supported"), ("other", "contradicted")))
    assert main(["claims", "near_tokens_score_higher", "base_matters"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "equal vectors: supported any vectors: contradicted" in said
    assert "Asked by: the lecture: How do changes of the base or of the exponent affect learning?" in said
    asked = {name for name, claim in CLAIMS.items() if claim.question}
    assert asked == {"base_matters", "exponent_is_another_base", "hybrids_improve", "absolute_suits_absolute_positions"}


def test_scores_that_fall_with_distance_are_judged_alike():
    """Two statements of one notion, by one rule: of rows of sinusoids, and of equal vectors under a rotation."""
    of_rows, of_vectors = (
        dict(CLAIMS[name].decided({}).figures)["share of pairs with the nearer one higher"]
        for name in ("similarity_falls_with_distance", "near_tokens_score_higher")
    )
    by_hand = {}
    for dim in (64, 128):
        scores = [sum(np.cos(n * 10000 ** (-2 * i / dim)) for i in range(dim // 2)) for n in range(257)]
        pairs = [(a, b) for a in range(1, 257) for b in range(a + 1, 257)]
        by_hand[dim] = sum(scores[a] > scores[b] for a, b in pairs) / len(pairs)
    assert (of_rows, of_vectors) == pytest.approx((by_hand[128], by_hand[64]), abs=1e-3)


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
