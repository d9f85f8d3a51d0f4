"""Build the one compiled module of the laboratory; pyproject.toml has all other facts.

It includes the headers of the kernel, and the one that the build of Twigcast generates.  So
Twigcast is built first.
"""

from __future__ import annotations

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNEL = Path("../src/kernel")
GENERATED = Path("../build/kernel")

published = Extension(
    "lab.published._published",
    sources=["published/_published.pyx"],
    depends=["published/published.hpp", *map(str, sorted(KERNEL.rglob("*.hpp")))],
    include_dirs=["published", str(KERNEL), str(GENERATED)],
    language="c++",
    extra_compile_args=["-std=c++17", "-O3", "-g0"],
)

setup(
    ext_modules=cythonize(
        [published], include_path=["../src"], build_dir="build/cython", language_level=3
    )
)
