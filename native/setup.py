"""One library, a source for each level of vectors: every source has flags of its own, which one Extension does not
give."""

import platform
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from torch.utils.cpp_extension import include_paths, library_paths

SOURCES = Path("source")
COMMON = [
    "-std=c++20",
    "-O3",
    "-fPIC",
    "-fopenmp-simd",
    "-fvisibility=hidden",
    "-ffp-contract=off",  # the bits of the reference: products and sums are rounded one by one
    "-DTORCH_TARGET_VERSION=0x020a000000000000",  # PyTorch 2.10, the first with parallel_for in its stable ABI
]
INTEL = platform.machine().lower() in ("x86_64", "amd64")
AVX2 = ["-mavx2", "-mf16c", "-mfma"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"]
# GCC 12 takes what its own header of AVX-512 leaves undefined on purpose for a mistake.
LEVELS = {"avx2.cpp": AVX2, "avx512.cpp": [*AVX512, "-Wno-maybe-uninitialized"]}


class BuildLevels(build_ext):
    """Compile each source with its own flags, then link them."""

    def build_extension(self, extension: Extension) -> None:
        objects = []
        for source in extension.sources:
            flags = COMMON + LEVELS.get(Path(source).name, [])
            objects += self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=include_paths(), extra_postargs=flags
            )
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(extension.name),
            library_dirs=library_paths(),
            libraries=["torch_cpu"],
            target_lang="c++",
            build_temp=self.build_temp,
        )

    def get_ext_filename(self, name: str) -> str:
        return str(Path(*name.split("."))) + ".so"  # no module of Python: torch.ops.load_library opens it


names = [
    "operator.cpp",
    "angles.cpp",
    "cache.cpp",
    "calls.cpp",
    "embedding.cpp",
    "tensors.cpp",
    "view.cpp",
    "levels.cpp",
    "baseline.cpp",
    *(LEVELS if INTEL else ()),
]
setup(
    ext_modules=[Extension("posenc_kernels.library", [str(SOURCES / name) for name in names])],
    cmdclass={"build_ext": BuildLevels},
)
