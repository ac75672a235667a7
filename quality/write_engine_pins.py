"""Write src/posenc/engines/pins.json: versions, sizes and hashes of what engines' environments install.

pip downloads each file into a temporary folder, for this platform and for others, and its hash is taken. Give names to
write these alone: python quality/write_engine_pins.py mlx-lm mlx
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "src" / "posenc" / "engines" / "pins.json"
#: Key, name of the distribution, version, and whether it is built from source.
PACKAGES: tuple[tuple[str, str, str, bool], ...] = (
    ("transformers", "transformers", "5.23.0", False),
    ("tokenizers", "tokenizers", "0.23.3", False),
    ("huggingface-hub", "huggingface-hub", "2.4.0", False),
    ("transformers-4", "transformers", "4.57.6", False),
    ("tokenizers-4", "tokenizers", "0.22.2", False),
    ("huggingface-hub-4", "huggingface-hub", "0.36.2", False),
    ("mlx-lm", "mlx-lm", "0.32.2", False),
    ("mlx", "mlx", "0.32.4", False),
    ("mlx-cpu", "mlx-cpu", "0.32.4", False),
    ("xllamacpp", "xllamacpp", "2026.10.11549", False),
    ("vllm", "vllm", "0.33.0", True),
    ("setuptools", "setuptools", "80.10.2", False),
    ("setuptools-rust", "setuptools-rust", "1.13.0", False),
    ("setuptools-scm", "setuptools-scm", "10.3.4", False),
    ("vcs-versioning", "vcs-versioning", "2.6.0", False),
    ("semantic-version", "semantic-version", "2.10.0", False),
    ("wheel", "wheel", "0.48.0", False),
    ("jinja2", "jinja2", "3.1.6", False),
    ("markupsafe", "markupsafe", "3.0.4", False),
    ("packaging", "packaging", "26.3", False),
    ("sglang", "sglang", "0.5.23", False),
    ("msgspec", "msgspec", "0.22.0", False),
    ("orjson", "orjson", "3.13.0", False),
    ("pybase64", "pybase64", "1.5.1", False),
    ("megatron-core", "megatron-core", "0.16.1", False),
    ("torchtitan", "torchtitan", "0.3.0", False),
    ("spmd-types", "spmd-types", "0.3.1", False),
    ("keras-hub", "keras-hub", "0.32.0", False),
    ("keras", "keras", "3.15.1", False),
    ("namex", "namex", "0.1.0", False),
    ("optree", "optree", "0.20.0", False),
    ("h5py", "h5py", "3.16.0", False),
    ("kagglehub", "kagglehub", "1.0.3", False),
    ("kagglesdk", "kagglesdk", "0.1.38", False),
    ("sentencepiece", "sentencepiece", "0.2.3", False),
    ("onnxruntime", "onnxruntime", "1.32.0", False),
    ("onnxruntime-genai", "onnxruntime-genai", "0.18.0", False),
    ("onnx", "onnx", "1.23.2", False),
    ("onnx-ir", "onnx-ir", "1.1.0", False),
    ("onnxscript", "onnxscript", "0.7.2", False),
    ("onnx-shape-inference", "onnx-shape-inference", "0.4.0", False),
    ("mobius-onnx", "mobius-onnx", "0.1.0", False),
    ("protobuf", "protobuf", "7.36.2", False),
    ("ml-dtypes", "ml-dtypes", "0.6.0", False),
    ("flatbuffers", "flatbuffers", "25.12.19", False),
    ("ctranslate2", "ctranslate2", "4.8.5", False),
    ("openvino", "openvino", "2026.4.1", False),
    ("openvino-telemetry", "openvino-telemetry", "2025.2.0", False),
    ("optimum", "optimum", "2.1.0", False),
    ("optimum-onnx", "optimum-onnx", "0.1.0", False),
)
#: Packages that npm downloads: key, name and version.
OF_NPM = (
    ("transformers.js", "@huggingface/transformers", "4.3.2"),
    ("onnxruntime-node", "onnxruntime-node", "1.30.0"),
    ("onnxruntime-common", "onnxruntime-common", "1.30.0"),
)
#: Platforms besides this one, as pip names them, with the version of Python.
ELSEWHERE = (
    *((f"manylinux_2_{glibc}_x86_64", python) for glibc in (28, 35) for python in ("3.11", "3.12", "3.13")),
    *(("macosx_15_0_arm64", python) for python in ("3.11", "3.12", "3.13")),
)
BUILD_TOOLS = (
    "setuptools", "setuptools-rust", "setuptools-scm", "vcs-versioning", "semantic-version", "wheel", "jinja2",
    "markupsafe", "packaging",
)  # fmt: skip
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps")


def main() -> None:
    """Write the pins of the packages that are named, or of all."""
    held: dict[str, Any] = json.loads(PINS.read_text())["packages"] if PINS.exists() else {}
    chosen = sys.argv[1:]
    for key, name, version, from_source in PACKAGES:
        if not chosen or key in chosen:
            files, size = _files(name, version, from_source)
            pin = {"name": name, "version": version, "size": size, "files": files}
            _keep(held, key, pin | ({"from_source": True} if from_source else {}))
    for key, name, version in OF_NPM:
        if not chosen or key in chosen:
            _keep(held, key, _of_npm(name, version))


def _keep(held: dict[str, Any], key: str, pin: dict[str, Any]) -> None:
    """Write a pin beside those that are held."""
    held[key] = pin
    print(f"{key}: {len(pin['files'])} files, {pin['size'] / 1e6:.1f} MB", flush=True)
    PINS.write_text(json.dumps({"about": __doc__.splitlines()[0], "packages": held}, indent=1, sort_keys=True) + "\n")


def _of_npm(name: str, version: str) -> dict[str, Any]:
    """Pin of a package of npm, which has one file for all platforms."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(("npm", "pack", "--silent", "--pack-destination", place, f"{name}@{version}"), check=True)
        (path,) = Path(place).iterdir()
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
        return {"name": name, "version": version, "size": path.stat().st_size, "files": files, "registry": "npm"}


def _files(name: str, version: str, from_source: bool) -> tuple[dict[str, str], int]:
    """Hashes by file, and the size of this platform's file."""
    with tempfile.TemporaryDirectory() as place:
        if from_source:
            os.environ |= {f"{name.upper()}_TARGET_DEVICE": "empty", f"{name.upper()}_VERSION_OVERRIDE": version}
            os.environ["PYTHONPATH"] = _build_tools(Path(place).parent / "posenc-build-tools")
            kinds = [("--no-binary", name, "--no-build-isolation")]
        else:
            kinds = [("--only-binary", ":all:")]
            if not _fetched(name, version, kinds[0], Path(place)):
                raise SystemExit(f"pip found no file of {name} {version} for this platform")
            if not any(path.name.endswith("none-any.whl") for path in Path(place).iterdir()):
                kinds = [("--only-binary", ":all:", "--platform", on, "--python-version", py) for on, py in ELSEWHERE]
            else:
                kinds = []
        first = next(Path(place).iterdir(), None)
        for kind in kinds:
            _fetched(name, version, kind, Path(place))
        found = sorted(Path(place).iterdir())
        size = (first or found[0]).stat().st_size
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}, size


def _build_tools(folder: Path) -> str:
    """Folder of what building from source needs."""
    versions = {key: version for key, _, version, _ in PACKAGES}
    pip = (*PIP[:-2], "install", "--no-deps", "--upgrade", "--target", str(folder))
    subprocess.run((*pip, *(f"{name}=={versions[name]}" for name in BUILD_TOOLS)), check=True)
    return str(folder)


def _fetched(name: str, version: str, options: tuple[str, ...], folder: Path) -> bool:
    command = (*PIP, *options, "--dest", str(folder), f"{name}=={version}")
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    main()
