"""One library: its loops are compiled once for each instruction set, each with its own flags."""

import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from torch.utils.cpp_extension import include_paths, library_paths

SOURCES = Path("source")
COMMON = [
    "-std=c++20",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",  # the bits of the reference: products and sums are rounded one by one
    "-DTORCH_TARGET_VERSION=0x020a000000000000",  # PyTorch 2.10, the first with parallel_for in its stable ABI
]
# Vectors are written out. GCC 12 warns of what its AVX-512 headers leave uninitialized on purpose, and of how it would
# pass vectors to functions, all of which are inlined.
LOOPS = ["-fno-tree-vectorize", "-Wno-uninitialized", "-Wno-maybe-uninitialized", "-Wno-psabi"]
AVX2 = ["-mavx2", "-mf16c", "-mfma"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"]
INSTRUCTION_SETS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    INSTRUCTION_SETS |= {"avx2": AVX2, "avx512": AVX512, "avx512bf16": [*AVX512, "-mavx512bf16"]}

# The static libgcc brings float16 conversions that libgcc_s.so has only from GCC 12 on, so systems with GCC 11 load it.
LIBRARIES = ["torch_cpu", *(["gcc"] if sys.platform == "linux" else [])]


class BuildInstructionSets(build_ext):
    """Compile one source for each instruction set and the others once, then link them."""

    def build_extension(self, extension: Extension) -> None:
        *once, loops = extension.sources
        objects = self.compile(once, COMMON, "")
        for name, flags in INSTRUCTION_SETS.items():
            objects += self.compile([loops], [*COMMON, *LOOPS, *flags, f"-DINSTRUCTION_SET={name}"], name)
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(extension.name),
            library_dirs=library_paths(),
            libraries=LIBRARIES,
            target_lang="c++",
            build_temp=self.build_temp,
        )

    def compile(self, sources: list[str], flags: list[str], folder: str) -> list[str]:
        """The objects of these sources, in a folder of their own."""
        where = str(Path(self.build_temp, folder))
        return self.compiler.compile(sources, output_dir=where, include_dirs=include_paths(), extra_postargs=flags)

    def get_ext_filename(self, name: str) -> str:
        return str(Path(*name.split("."))) + ".so"  # no module of Python: torch.ops.load_library opens it


class WheelForEveryPython(bdist_wheel):
    """The library is opened by PyTorch and calls nothing of Python, so one wheel serves every version of it."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


names = ["rotate", "cos_sin", "cache", "embedding", "tensors", "instruction_sets", "instruction_set"]
setup(
    ext_modules=[Extension("posenc_kernels.library", [str(SOURCES / f"{name}.cpp") for name in names])],
    cmdclass={"build_ext": BuildInstructionSets, "bdist_wheel": WheelForEveryPython},
)
