"""transformers.js as an engine: Optimum exports the graph, as its guide says, and Node runs the library on it.

The rotations are in the graph, so they are what transformers 4 and the exporter make of the file. Position ids, with
masked tokens before a prompt and with cached keys, are those of transformers.js, and so is the shape of its cache.
"""

from __future__ import annotations

import json
import shutil
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
        node = subprocess.Popen(
            (shutil.which("node") or "node", str(script), str(library), str(folder), request["auto_class"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8",
        )  # fmt: skip
        if node.stdin is None or node.stdout is None:
            raise ValueError("Node was started without pipes")
        said = _said(node.stdout, errors)
        step("running the prompts")
        place = folder / "logits.bin"

        def logits(*tokens: list[list[int]]) -> np.ndarray:
            print(json.dumps({"tokens": tokens, "answer": str(place)}), file=node.stdin, flush=True)
            shape = _said(node.stdout, errors)["shape"]
            return np.fromfile(place, np.float32).reshape(shape)

        answers = answers_in_batches(request, logits)
        node.stdin.close()
        node.wait()
    stack = f"optimum-onnx {version('optimum-onnx')} and transformers {version('transformers')}"
    return {**answers, "engine": "transformers.js", "version": f"{said['version']} on a graph of {stack}"}


def _exported(request: dict[str, Any], folder: Path) -> Path:
    """Folder in the layout of transformers.js, with the graph in onnx/."""
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


def _said(lines: IO[str] | None, errors: IO[bytes]) -> dict[str, Any]:
    """The next line of Node; where it ended instead, the line that says why."""
    line = "" if lines is None else lines.readline()
    if line:
        return dict(json.loads(line))
    errors.seek(0)
    found = [one.strip() for one in errors.read().decode(errors="replace").splitlines() if one.strip()]
    telling = [one for one in found if "Error" in one] or found or ["it printed nothing"]
    raise RuntimeError(f"Node ended: {telling[0]}")
