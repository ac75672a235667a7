"""Run the tests of the kernels, built with the address and undefined-behaviour sanitizers; `make sanitize`.

The build is in a temporary folder, first in PYTHONPATH. The first finding ends the run. Leaks are not checked: Python
and PyTorch keep memory until the process ends.
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
#: These run nothing of this folder, or compile it themselves.
OTHERS = ("triton", "gpu_benchmark", "rms_norm", "plain_torch", "bfloat16_rounding")
TESTS = ("tests/kernels", *(f"--ignore=tests/kernels/test_{name}.py" for name in OTHERS))


def path_of(library: str) -> str:
    """Where the compiler keeps one of its libraries."""
    command = [os.environ.get("CXX", "g++"), f"-print-file-name={library}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


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
            # Without libstdc++ the sanitizer does not see exceptions.
            "LD_PRELOAD": f"{path_of('libasan.so')} {path_of('libstdc++.so')}",
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        # --capture=sys: else what the sanitizers print is lost with the process.
        tests = [sys.executable, "-m", "pytest", "-q", "--capture=sys", "-p", "no:cacheprovider", *TESTS, *sys.argv[1:]]
        return subprocess.run(tests, cwd=HERE.parent, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
