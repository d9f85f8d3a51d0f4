"""Build the compiled matching kernel; all other facts of the package stand in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FOLDER = Path("src/twigcast/matching")

kernel = Extension(
    "twigcast.matching._kernel",
    sources=[str(FOLDER / "_kernel.pyx")],
    # A change to any of these compiles the kernel again, and a source archive holds them.
    depends=[
        str(path)
        for pattern in ("*.pyx", "*.pxd", "*.pxi", "*.hpp")
        for path in FOLDER.glob(pattern)
    ],
    include_dirs=[str(FOLDER)],
    language="c++",
    extra_compile_args=["-std=c++17", "-O3"],
)

# The generated C++ goes under build/, so that the source folder holds only what people wrote.
setup(ext_modules=cythonize([kernel], build_dir="build/cython", language_level=3))
