"""Draw pictures of the trained claims, with every seed: `python docs/scripts/draw_claims.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from posenc.lab.claims.claim_catalog import claim
from posenc.lab.claims.claims_picture import claims_picture
from posenc.lab.claims.findings import trained_findings
from posenc.lab.frequency_roles.roles_picture import roles_picture
from posenc.lab.frequency_roles.roles_summary import RolesSummary
from posenc.lab.frequency_roles.run_roles import KEPT, kept_roles
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.plot.export import image

DOCS = Path(__file__).parents[1]


def frequencies() -> RolesSummary:
    """The models whose rotary pairs were changed for a claim."""
    studies = claim("early_pairs_serve_position_later_ones_meaning").studies
    with KeptMeasurements(DOCS / "claims_runs" / KEPT) as kept:
        return RolesSummary(tuple(kept_roles(studies, kept).values()))


def main() -> int:
    for name, picture in (("claims", claims_picture(trained_findings())), ("roles", roles_picture(frequencies()))):
        (DOCS / "images" / f"{name}.svg").write_bytes(image(picture, "svg").data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
