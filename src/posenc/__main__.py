"""`python -m posenc`, the command line where no script is on the path."""

import sys

from posenc.cli import main

sys.exit(main())
