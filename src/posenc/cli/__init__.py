"""The command line, one file for each verb; what a verb computes lives in `inspect`, `models` or `diagnosis`."""

import sys

try:
    from posenc.cli.main import main
except KeyboardInterrupt:  # Ctrl-C before there is a `main` that could say so
    print("posenc: stopped.", file=sys.stderr)
    sys.exit(130)

__all__ = ["main"]
