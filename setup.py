"""Build the compiled kernels; all other facts of the package stand in pyproject.toml."""

from __future__ import annotations

import importlib.util
import os
import sys
import zlib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = Path("src/twigcast")
KERNEL = Path("src/kernel")
GENERATED = Path("build/kernel")

# A switch that leaves out an operator is an error.
COMPILE_ARGUMENTS = ["-std=c++17", "-Werror=switch-enum"]
LINK_ARGUMENTS = []
if os.environ.get("TWIGCAST_SANITIZE"):  # `make sanitize`; the first finding ends the process
    LINK_ARGUMENTS += ["-fsanitize=address,undefined"]
    COMPILE_ARGUMENTS += [*LINK_ARGUMENTS, "-fno-sanitize-recover=all", "-O1", "-g"]
elif os.environ.get("TWIGCAST_DEBUG"):  # with symbols, for debuggers and profilers
    COMPILE_ARGUMENTS += ["-O3", "-g"]
else:  # without symbols, which would be nine tenths of the modules
    COMPILE_ARGUMENTS += ["-O3", "-g0"]
    LINK_ARGUMENTS += ["-Wl,-s"] if sys.platform == "linux" else []


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
            str(write_operators() / "base" / "operators.hpp"),
        ],
        include_dirs=[str(KERNEL), str(GENERATED)],
        language="c++",
        extra_compile_args=COMPILE_ARGUMENTS,
        extra_link_args=LINK_ARGUMENTS,
    )


def write_operators() -> Path:
    """Write the kernel's header of operators; the folder to include it from.

    The table is loaded by its path, since the package cannot be imported before it is built.
    """
    source = SOURCES / "language" / "operators.py"
    specification = importlib.util.spec_from_file_location("operators", source)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    rows = module.OPERATORS
    codes = {(row.spelling, row.operand): row.code for row in rows}
    implied = [sum(1 << codes[name, str] for name in row.implies) for row in rows]
    bounds = [{"": 0, "below": -1, "above": 1}[row.bounds] for row in rows]
    members = {
        "Comparison": rows,
        "NumberComparison": [row for row in rows if row.operand is float],
        "TextComparison": [row for row in rows if row.operand is str],
    }
    facts = [(row.name, row.spelling, row.operand.__name__, row.code) for row in rows]
    lines = [
        "// Made by setup.py of twigcast/language/operators.py.",
        "#pragma once",
        "#include <cstdint>",
        "namespace twigcast::base {",
        *(
            f"enum class {name} : std::uint8_t "
            f"{{ {', '.join(f'{row.name} = {row.code}' for row in chosen)} }};"
            for name, chosen in members.items()
        ),
        f"constexpr std::uint8_t COMPARISON_COUNT = {len(rows)};",
        f"constexpr std::uint8_t NUMBER_COUNT = {len(members['NumberComparison'])};",
        f"constexpr std::int8_t BOUNDS[] = {{{', '.join(map(str, bounds))}}};",
        f"constexpr std::uint32_t IMPLIED[] = {{{', '.join(map(str, implied))}}};",
        f"constexpr std::uint32_t OPERATORS_CHECKSUM = {zlib.crc32(repr(facts).encode())}u;",
        "}  // namespace twigcast::base",
        "",
    ]
    header = GENERATED / "base" / "operators.hpp"
    text = "\n".join(lines)
    if not header.is_file() or header.read_text() != text:  # an old header compiles nothing again
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(text)
    return GENERATED


# The generated C++ goes under build/, so that the source folder holds only what people wrote.
setup(
    ext_modules=cythonize(
        [kernel("matching", "_kernel"), kernel("covering", "_cover")],
        build_dir="build/cython",
        language_level=3,
    )
)
