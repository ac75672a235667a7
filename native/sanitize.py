"""The tests of the kernels, the kernels built with the sanitizers of addresses and of undefined behaviour; `make
sanitize`.

The build lies in a temporary folder and comes before any other in PYTHONPATH. The first finding ends the run. What
Python and PyTorch keep until the process ends is no finding: leaks are not looked for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
FLAGS = "-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
#: Those of Triton and of plain PyTorch run nothing of this folder.
TESTS = (
    "tests/kernels",
    *(f"--ignore=tests/kernels/test_{name}.py" for name in ("triton", "gpu_benchmark", "normed", "blocks")),
)


def runtime(name: str) -> str:
    """Where the compiler has a library of its own."""
    compiler = os.environ.get("CXX", "g++")
    asked = subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return asked.stdout.strip()


def main() -> int:
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "native"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("build", "*.so", "*.egg-info"))
        flags = dict.fromkeys(("CFLAGS", "CXXFLAGS", "LDFLAGS"), FLAGS)
        build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        subprocess.run(build, cwd=copy, env={**os.environ, **flags}, check=True)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(part for part in (str(copy), os.environ.get("PYTHONPATH", "")) if part),
            # With the library of C++, whose exceptions are otherwise thrown past the sanitizer.
            "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libstdc++.so')}",
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        # --capture=sys: what the sanitizers print themselves would be lost with the process.
        tests = [sys.executable, "-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider", *TESTS, *sys.argv[1:]]
        return subprocess.run(tests, cwd=HERE.parent, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
