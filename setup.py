"""Build the compiled kernels; all other facts of the package stand in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = Path("src/twigcast")


def kernel(package: str, module: str) -> Extension:
    """The compiled module of a package, made from the C++ and Cython in its folder."""
    folder = SOURCES / package
    return Extension(
        f"twigcast.{package}.{module}",
        sources=[str(folder / f"{module}.pyx")],
        # A change to any of these compiles the kernel again, and a source archive holds them.
        depends=[
            str(path)
            for pattern in ("*.pyx", "*.pxd", "*.pxi", "*.hpp")
            for path in folder.glob(pattern)
        ],
        include_dirs=[str(folder)],
        language="c++",
        extra_compile_args=["-std=c++17", "-O3"],
    )


# The generated C++ goes under build/, so that the source folder holds only what people wrote.
setup(
    ext_modules=cythonize(
        [kernel("matching", "_kernel"), kernel("covering", "_cover")],
        build_dir="build/cython",
        language_level=3,
    )
)
