"""`python -m posenc.cli`."""

import sys

from posenc.cli.main import main

sys.exit(main())
