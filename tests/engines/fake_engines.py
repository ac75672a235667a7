"""Engines that are a few lines of Python: one that answers well, and others that go wrong in every way."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posenc.engines.engine import Engine, Package

ROOT = Path(__file__).parents[2]
#: The engine of the guide, which reads no rope_theta.
GOOD = f"""
import importlib.util, sys
sys.path.insert(0, {str(ROOT / "tests" / "probe")!r})
from numpy_engine import engine
def answer(request, step):
    step("running the prompts")
    return {{**engine()(request["probe"]), "version": "1.0"}}
"""
WRONG = {
    "crashes": "import os, signal\ndef answer(request, step):\n    step('running the prompts')\n"
    "    os.kill(os.getpid(), signal.SIGSEGV)\n",
    "hangs": "import time\ndef answer(request, step):\n    step('loading the model')\n    time.sleep(600)\n",
    "prints nothing": "import os\ndef answer(request, step):\n    os._exit(0)\n",
    "ends": "import os, sys\ndef answer(request, step):\n    os.write(2, b'Error: no kernel')\n    os._exit(7)\n",
    "raises": "def answer(request, step):\n    step('loading the model')\n    raise KeyError('rope_theta\\nmissing')\n",
    "is missing": "import an_engine_that_nobody_has\n",
    "returns fewer logits": GOOD.replace(
        "{**engine()", '{k: v[:1] if k == "channel_0" else v for k, v in engine()'
    ).replace('(request["probe"]), "version": "1.0"}', '(request["probe"]).items()}'),
    "returns no prompt": "def answer(request, step):\n    return {}\n",
    "returns text": "def answer(request, step):\n    return {'channel_0': 'all is well'}\n",
}


def fake_engine(folder: Path, name: str, source: str, *, seconds: float = 60.0) -> Engine:
    """An engine whose runner is this source, in the running environment."""
    script = folder / f"{name.replace(' ', '_')}.py"
    script.write_text(source, encoding="utf-8")
    package = Package("numpy", np.__version__)
    return Engine(name, "whole model", str(script.with_suffix("")), (package,), reuse=True, seconds=seconds)
