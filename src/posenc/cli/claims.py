"""`posenc claims`: what the source documents say about encodings, with verdicts; and the command that checks them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from posenc.cli import run_engine
from posenc.cli.answer import Answer, Heading, attributes
from posenc.cli.progress_bar import run_with_progress
from posenc.cli.terminal import say
from posenc.lab.claims import claim_catalog, findings
from posenc.lab.claims.claim import Claim, ClaimFinding, Outcome, experiments
from posenc.lab.frequency_roles.roles import FrequencyRoles, RolesStudy
from posenc.lab.frequency_roles.run_roles import KEPT, kept_roles, missing_studies, run_studies
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.running import Engine, run_missing
from posenc.lab.store import Store


@dataclass(frozen=True)
class ClaimsVerb(run_engine.EngineVerb):
    """List what the source documents say about positional encodings, statement by statement, with the verdict.

    A verdict is supported, contradicted, undecided, or not testable where the runs could not show it; each part of a
    statement has its own. Questions that the sources leave open are marked by a question mark, with the answer that was
    tested. With names, show rule, parts and figures. With --run, check them again: some are computed in seconds, others
    train small models; a stopped run goes on where it was.

    Exit code: 0, or 1 where a rerun gives another verdict than the one on file.

    Some examples:
      posenc claims
      posenc claims shift_is_linear
      posenc claims shift_is_linear near_tokens_score_higher --run --out claims
      posenc claims shift_is_linear --run --findings mine.json
    """

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME")] = ()
    """Which claims; all of them if left out."""

    run_again: Annotated[bool, tyro.conf.arg(name="run")] = False
    """Check the claims again, and file what comes out where findings are read."""

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("claims")
    """Where --run keeps its results."""

    findings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """The findings that are read, and that --run writes; if left out, those that ship with posenc and above them
    OUT/findings.json, which --run writes."""

    engine: run_engine.Name = "local"
    """Where --run trains: processes of this machine, Ray, or Slurm."""

    def run(self) -> Answer:
        if not self.run_again:
            self.check_trains("without --run")
        chosen = {name: claim_catalog.claim(name) for name in dict.fromkeys(self.names or claim_catalog.NAMES)}
        known = self._known(chosen)
        if not self.run_again:
            return Answer(lambda: _facts(chosen, known), lambda: _lines(chosen, known, detailed=bool(self.names)))
        new = self._run(chosen)
        changed = [name for name in new if name in known and new[name].verdict != known[name].verdict]
        missing = [name for name in chosen if name not in new]
        return Answer(
            lambda: {**_facts(chosen, new), "changed": changed, "missing": missing},
            lambda: [*_lines(chosen, new, detailed=bool(self.names)), *_differences(changed, missing)],
            int(bool(changed or missing)),
        )

    @property
    def _file(self) -> Path:
        """File that --run writes."""
        return self.out / findings.SHIPPED.name if self.findings is None else self.findings

    def _known(self, chosen: Mapping[str, Claim]) -> dict[str, ClaimFinding]:
        """Findings on file of the chosen claims as they stand."""
        shipped = findings.read_findings() if self.findings is None else {}
        own = {
            name: filed
            for name, filed in findings.read_findings(self._file).items()
            if name in chosen and filed.digest == findings.claim_digest(chosen[name])
        }
        return {name: filed.finding for name, filed in (shipped | own).items() if name in chosen}

    def _run(self, chosen: Mapping[str, Claim]) -> dict[str, ClaimFinding]:
        runs = experiments(list(chosen.values()))
        engine = self.engine_in(self.out, self.engine)
        with Store(self.out) as store:
            if store.note:
                say(store.note)
            waiting = [each for each in runs if each.identity not in store.results]
            if waiting:
                run_with_progress(run_missing(runs, store, engine), len(waiting))
            results: dict[str, Outcome] = dict(store.results)
        results |= self._roles([study for claim in chosen.values() for study in claim.studies], engine)
        new = {name: claim.decided(results) for name, claim in chosen.items()}
        finished = {name: finding for name, finding in new.items() if finding is not None}
        decided = {name: (chosen[name], finding) for name, finding in finished.items()}
        today = datetime.date.today().isoformat()
        findings.write_findings(self._file, decided, today)
        return finished

    def _roles(self, studies: Sequence[RolesStudy], engine: Engine) -> Mapping[str, FrequencyRoles]:
        """Roles of frequencies that claims need, measured where they are not kept."""
        if not studies:
            return {}
        with KeptMeasurements(self.out / KEPT) as kept:
            if missing := missing_studies(studies, kept):
                run_with_progress(run_studies(missing, engine, kept), len(missing))
            return kept_roles(studies, kept)


def _facts(chosen: Mapping[str, Claim], known: Mapping[str, ClaimFinding]) -> dict[str, object]:
    return {
        "claims": {
            name: {
                **attributes(claim, "statement", "sources", "question", "rule", "trained", "revised"),
                "verdict": known[name].verdict if name in known else None,
                "parts": dict(known[name].parts) if name in known else {},
                "figures": dict(known[name].figures) if name in known else {},
                "note": known[name].note if name in known else "",
            }
            for name, claim in chosen.items()
        }
    }


def _lines(chosen: Mapping[str, Claim], known: Mapping[str, ClaimFinding], *, detailed: bool) -> Iterable[str]:
    if detailed:
        for name, claim in chosen.items():
            yield from _details(name, claim, known.get(name))
        return
    rows = [(_verdict(known.get(name)), name, _statement(each, known.get(name))) for name, each in chosen.items()]
    width = 2 + max(len(word) for word, _, _ in rows)
    yield Heading(f"{'verdict':<{width}}name: statement")
    yield from (f"{verdict:<{width}}{name}: {statement}" for verdict, name, statement in rows)
    yield ""
    words = [verdict for verdict, _, _ in rows]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    asked = sum(bool(each.question) for each in chosen.values())
    questions = f", {asked} of them answers to questions that the sources leave open" if asked else ""
    yield (
        f"{len(rows)} statements{questions}: {counts}. `posenc claims NAME` shows rule and figures, --run checks again."
    )


def _verdict(finding: ClaimFinding | None) -> str:
    return finding.verdict if finding else "not run"


def _statement(claim: Claim, finding: ClaimFinding | None) -> str:
    """Table text of a claim: its question if any, its statement, and the verdicts of its parts where they differ."""
    parts = finding.parts if finding else ()
    told = "; ".join(f"{part}: {word}" for part, word in parts) if len({word for _, word in parts}) > 1 else ""
    return f"{claim.question}{' ' if claim.question else ''}{claim.statement}{f' ({told})' if told else ''}"


def _details(name: str, claim: Claim, finding: ClaimFinding | None) -> Iterable[str]:
    yield Heading(f"{name}: {finding.verdict if finding else 'not run'}")
    said = f"Asked by: {claim.said_by}: {claim.question}" if claim.question else f"Said by: {claim.said_by}."
    yield claim.statement
    yield f"{said} Decided by {'training' if claim.trained else 'computation'}."
    yield f"Rule: {claim.rule}"
    if claim.revised:
        yield f"Revised: {claim.revised}"
    if finding is not None:
        yield from (f"  {part}: {word}" for part, word in finding.parts if len(finding.parts) > 1)
        yield from (f"  {figure}: {number:.6g}" for figure, number in finding.figures)
        yield finding.note
    yield ""


def _differences(changed: list[str], missing: list[str]) -> Iterable[str]:
    if changed:
        yield f"Another verdict than the one on file: {', '.join(changed)}."
    if missing:
        yield f"Not decided, because runs are missing: {', '.join(missing)}."
