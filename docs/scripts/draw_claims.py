"""Draw docs/images/claims.svg, the trained claims with every seed: `python docs/scripts/draw_claims.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from posenc.lab.claims.claims_picture import claims_picture
from posenc.lab.claims.findings import trained_findings
from posenc.plot.export import image

PICTURE = Path(__file__).parents[1] / "images" / "claims.svg"


def main() -> int:
    PICTURE.write_bytes(image(claims_picture(trained_findings()), "svg").data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
