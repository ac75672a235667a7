"""transformers.js as an engine: Optimum exports the graph, as its guide says, and Node runs the library on it.

The rotations are in the graph, so they are what transformers 4 and the exporter make of the file. Position ids, with
masked tokens before a prompt and with cached keys, are those of transformers.js, and so is the shape of its cache.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

#: Packages that Optimum would import where they are installed, and that no model of text needs.
UNUSED = ("diffusers", "timm", "sentence_transformers")
#: What Optimum calls the prediction of each class.
TASKS = {
    "AutoModelForCausalLM": "text-generation-with-past",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForSeq2SeqLM": "text2text-generation-with-past",
}
#: The line of a trace that says why.
ERROR = re.compile(r"(?:Uncaught )?\w*Error\b")
#: The operator set of the exported graph.
OPERATOR_SET = 18


def answer(request: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Logits of every prompt of the probe."""
    from importlib.metadata import version

    from prompts_in_batches import answers_in_batches

    step("exporting the graph with Optimum")
    folder = _exported(request, Path(request["scratch"]) / "model")
    step("loading the graph in Node")
    library = Path(request["site"], "node_modules", "@huggingface", "transformers", "dist", "transformers.node.mjs")
    script = Path(__file__).with_suffix(".mjs")
    with (folder / "errors.txt").open("w+b") as errors:
        command = (shutil.which("node") or "node", str(script), str(library), str(folder), request["auto_class"])
        node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            own_version = _said(node, errors, "version")
            step("running the prompts")
            answers = answers_in_batches(request, lambda *tokens: _logits(node, errors, tokens, folder / "logits.bin"))
        finally:
            node.kill()
            node.wait()
    stack = f"optimum-onnx {version('optimum-onnx')} and transformers {version('transformers')}"
    return {**answers, "engine": "transformers.js", "version": f"{own_version} on a graph of {stack}"}


def _exported(request: dict[str, Any], folder: Path) -> Path:
    """Export the probe with Optimum to a folder in the layout of transformers.js, with the graph in onnx/."""
    for name in UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    from optimum.exporters.onnx import main_export

    main_export(
        request["probe"], str(folder), task=TASKS[request["auto_class"]], opset=OPERATOR_SET, do_validation=False,
        local_files_only=True,
    )  # fmt: skip
    (folder / "onnx").mkdir()
    for path in sorted(folder.glob("*.onnx*")):
        path.rename(folder / "onnx" / path.name)
    return folder


def _logits(
    node: subprocess.Popen[bytes], errors: IO[bytes], tokens: tuple[list[list[int]], ...], place: Path
) -> np.ndarray:
    """Send token ids to Node, and read the logits that it writes to the file `place`."""
    place.unlink(missing_ok=True)
    if node.stdin is not None:
        with contextlib.suppress(BrokenPipeError):  # it ended, and what it says tells why
            node.stdin.write(json.dumps({"tokens": tokens, "answer": str(place)}).encode() + b"\n")
            node.stdin.flush()
    shape = _said(node, errors, "shape")
    found = np.fromfile(place, np.float32) if place.is_file() else np.zeros(0, np.float32)
    if found.size != np.prod(shape):
        raise RuntimeError(f"Node wrote {found.size} logits where it said {shape}")
    return found.reshape(shape)


def _said(node: subprocess.Popen[bytes], errors: IO[bytes], name: str) -> Any:
    """Read the field `name` of Node's next JSON line; RuntimeError with Node's own message if there is none."""
    line = b"" if node.stdout is None else node.stdout.readline()
    try:
        return json.loads(line)[name]
    except (ValueError, KeyError, TypeError):
        if line:
            raise RuntimeError(f"Node printed {line.decode(errors='replace').strip()[:80]!r}, not its {name}") from None
    code = node.wait()
    if code < 0:
        raise RuntimeError(f"Node crashed ({signal.Signals(-code).name})")
    errors.seek(0)
    found = [one.strip() for one in errors.read().decode(errors="replace").splitlines() if one.strip()]
    telling = [one for one in found if ERROR.match(one)] or found or ["it printed nothing"]
    raise RuntimeError(f"Node ended with code {code}: {telling[0]}")
