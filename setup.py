"""Build the compiled kernels; all other facts of the package stand in pyproject.toml."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = Path("src/twigcast")
KERNEL = Path("src/kernel")
# With TWIGCAST_DEBUG set, the modules keep their symbols; otherwise they take a fifth of the space.
IS_DEBUG = bool(os.environ.get("TWIGCAST_DEBUG"))


def kernel(package: str, module: str) -> Extension:
    """The compiled module of a package: the Cython in its folder, the C++ of ``src/kernel``."""
    folder = SOURCES / package
    return Extension(
        f"twigcast.{package}.{module}",
        sources=[str(folder / f"{module}.pyx")],
        # A change to any of these compiles the kernel again, and a source archive holds them.
        depends=[
            *(str(path) for suffix in ("pyx", "pxd", "pxi") for path in folder.glob(f"*.{suffix}")),
            *map(str, sorted(KERNEL.rglob("*.hpp"))),
        ],
        include_dirs=[str(KERNEL)],
        language="c++",
        extra_compile_args=["-std=c++17", "-O3", "-g" if IS_DEBUG else "-g0"],
        extra_link_args=["-Wl,-s"] if sys.platform == "linux" and not IS_DEBUG else [],
    )


# The generated C++ goes under build/, so that the source folder holds only what people wrote.
setup(
    ext_modules=cythonize(
        [kernel("matching", "_kernel"), kernel("covering", "_cover")],
        build_dir="build/cython",
        language_level=3,
    )
)
