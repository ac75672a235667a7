"""The claims of the sources: each in a file, each with a finding on file that is what comes out."""

from pathlib import Path

import pytest

from posenc.cli import main
from posenc.lab.claims import claim_catalog, findings
from posenc.lab.claims.claim import experiments

SOURCES = {"lecture", "article", "lesson", "notes", "chapter"}
CLAIMS = {name: claim_catalog.claim(name) for name in claim_catalog.NAMES}
NOT_CLAIMS = {"__init__", "claim", "claim_catalog", "claims_picture", "findings", "judging", "recipes"}


def test_every_file_is_in_the_catalog_and_has_a_finding_on_file():
    files = {path.stem for path in Path(claim_catalog.__file__).parent.glob("*.py")} - NOT_CLAIMS
    assert files == set(claim_catalog.NAMES)
    assert {path.stem for path in findings.FOLDER.glob("*.json")} == files
    assert len(files) >= 30


@pytest.mark.parametrize("name", claim_catalog.NAMES)
def test_the_finding_on_file_is_about_the_claim_as_it_stands(name):
    claim = CLAIMS[name]
    filed = findings.read_finding(name)
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
    held = tmp_path / "held"
    finding = CLAIMS[name].decided({})
    findings.write_finding(name, CLAIMS[name], finding.__class__("contradicted", finding.figures, "Once."), held)
    monkeypatch.setattr(findings.read_finding, "__defaults__", (held,))
    assert main(["claims", name, "--run", "--out", str(tmp_path / "out")]) == 1
    assert "Another verdict than the one on file: shift_is_linear." in capsys.readouterr().out
    assert findings.read_finding(name, tmp_path / "out" / "findings").finding == finding


def test_a_damaged_finding_is_refused(tmp_path):
    (tmp_path / "shift_is_linear.json").write_text('{"verdict": "sure"}')
    with pytest.raises(ValueError, match=r"shift_is_linear\.json is damaged: .*Delete it and run `posenc claims shift"):
        findings.read_finding("shift_is_linear", tmp_path)


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
