"""Build the compiled modules of the laboratory; pyproject.toml has all other facts.

It includes the headers of the kernel, and the one that the build of Twigcast generates.  So
Twigcast is built first.
"""

from __future__ import annotations

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNEL = Path("../src/kernel")
GENERATED = Path("../build/kernel")


def module(package: str) -> Extension:
    """The compiled module of a package: its Cython, its header, and the kernel's."""
    return Extension(
        f"lab.{package}._{package}",
        sources=[f"{package}/_{package}.pyx"],
        depends=[f"{package}/{package}.hpp", *map(str, sorted(KERNEL.rglob("*.hpp")))],
        include_dirs=[package, str(KERNEL), str(GENERATED)],
        language="c++",
        extra_compile_args=["-std=c++17", "-O3", "-g0"],
    )


setup(
    ext_modules=cythonize(
        [module("published"), module("readers")],
        include_path=["../src"],
        build_dir="build/cython",
        language_level=3,
    )
)
