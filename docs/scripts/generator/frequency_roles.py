"""src/posenc/explorer/frequency_roles.json: means of the stored models whose rotary pairs were changed, for a view."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from posenc.lab.claims.claim_catalog import claim
from posenc.lab.frequency_roles.roles import EFFECTS, PairChange
from posenc.lab.frequency_roles.roles_summary import RolesSummary
from posenc.lab.frequency_roles.run_roles import KEPT, kept_roles
from posenc.lab.kept_measurements import KeptMeasurements

RUNS = Path(__file__).parents[2] / "claims_runs" / KEPT
CLAIM = "early_pairs_serve_position_later_ones_meaning"


def stored_roles() -> RolesSummary:
    """The models whose rotary pairs were changed for a claim."""
    with TemporaryDirectory() as folder:  # a file of measurements is opened to be added to
        copy = Path(folder) / KEPT
        copy.write_bytes(RUNS.read_bytes())
        with KeptMeasurements(copy) as kept:
            return RolesSummary(tuple(kept_roles(claim(CLAIM).studies, kept).values()))


def for_the_explorer() -> str:
    """The file that the view of the explorer reads."""
    summary = stored_roles()
    layers, pairs = summary.first.layers, range(summary.first.pairs)
    held = {
        "subject": summary.first.subject,
        "seeds": [each.seed for each in summary.roles],
        "length": summary.first.length,
        "sentence": summary.sentence(),
        "wavelengths": [round(2 * np.pi / radians, 4) for radians in layers[0].radians],
        "heads": [f"{layer.number}.{head}" for layer in layers for head in range(layer.heads)],
        "shares": np.mean([[share for layer in each.layers for share in layer.shares] for each in summary.roles], 0)
        .round(5)
        .tolist(),
        "costs": {
            effect: [round(summary.loss(PairChange(effect, (pair,))).mean, 5) for pair in pairs] for effect in EFFECTS
        },
    }
    return json.dumps(held, indent=1) + "\n"
