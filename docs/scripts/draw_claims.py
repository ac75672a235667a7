"""Draw pictures of the trained claims, with every seed: `python docs/scripts/draw_claims.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from generator.frequency_roles import stored_roles
from posenc.lab.claims.claims_picture import claims_picture
from posenc.lab.claims.findings import trained_findings
from posenc.lab.frequency_roles.roles_summary import roles_picture
from posenc.plot.export import image

DOCS = Path(__file__).parents[1]


def main() -> int:
    for name, picture in (("claims", claims_picture(trained_findings())), ("roles", roles_picture(stored_roles()))):
        (DOCS / "images" / f"{name}.svg").write_bytes(image(picture, "svg").data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
