"""Build the compiled kernels; all other facts of the package stand in pyproject.toml."""

from __future__ import annotations

import importlib.util
import os
import sys
import unicodedata
import zlib
from pathlib import Path
from types import ModuleType

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
            *map(str, write_headers()),
        ],
        include_dirs=[str(KERNEL), str(GENERATED)],
        language="c++",
        extra_compile_args=COMPILE_ARGUMENTS,
        extra_link_args=LINK_ARGUMENTS,
    )


def write_headers() -> list[Path]:
    """Write the headers that are made of tables in Python."""
    return [write_operators(), write_expression_codes(), write_letter_cases(), write_normal_forms()]


def load(name: str) -> ModuleType:
    """A module of the language by its path, since the package cannot be imported yet."""
    source = SOURCES / "language" / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def write_header(name: str, lines: list[str]) -> Path:
    """Write a header of the kernel; where it is there already, nothing is compiled again."""
    header = GENERATED / "base" / f"{name}.hpp"
    text = "\n".join(lines)
    if not header.is_file() or header.read_text() != text:
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(text)
    return header


def write_operators() -> Path:
    """Write the kernel's header of operators."""
    module = load("operators")
    rows = module.OPERATORS
    codes = {(row.spelling, row.operand): row.code for row in rows}
    implied = [sum(1 << codes[name, str] for name in row.implies) for row in rows]
    bounds = [{"": 0, "below": -1, "above": 1}[row.bounds] for row in rows]
    spellings = [f'"{row.spelling}"' for row in rows]
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
        f"constexpr const char* SPELLINGS[] = {{{', '.join(spellings)}}};",
        f"constexpr std::uint32_t OPERATORS_CHECKSUM = {zlib.crc32(repr(facts).encode())}u;",
        "}  // namespace twigcast::base",
        "",
    ]
    return write_header("operators", lines)


def write_expression_codes() -> Path:
    """Write the kernel's header of the functions, axes, operators and types of expressions."""
    functions, codes = load("functions"), load("expression_codes")
    rows = functions.FUNCTIONS_OF_XPATH
    members = {
        "Function": [codes.code_name(row.name) for row in rows],
        "Axis": [codes.code_name(axis) for axis in codes.AXES],
        "Operator": list(codes.OPERATORS_OF_XPATH.values()),
        "ItemType": [codes.code_name(name) for name in codes.ITEM_TYPES],
    }
    results = ["boolean", "number", "string", "nodes", "any"]
    tables = {
        "FUNCTION_LEAST": [row.least for row in rows],
        "FUNCTION_MOST": [row.most for row in rows],
        "FUNCTION_RESULT": [results.index(row.result) for row in rows],
        "FUNCTION_USES_CONTEXT": [int(row.uses_context) for row in rows],
    }
    facts = [members, tables, codes.BINDINGS, codes.TYPED, codes.OCCURRENCES]
    lines = [
        "// Made by setup.py of twigcast/language/functions.py and expression_codes.py.",
        "#pragma once",
        "#include <cstdint>",
        "namespace twigcast::base {",
        *(
            f"enum class {name} : std::uint8_t {{ {', '.join(chosen)} }};"
            for name, chosen in members.items()
        ),
        f"enum class Result : std::uint8_t {{ {', '.join(results)} }};",
        *(
            f"constexpr std::uint8_t {name.upper()}_COUNT = {len(chosen)};"
            for name, chosen in members.items()
        ),
        *(
            f"constexpr std::uint16_t {name}[] = {{{', '.join(map(str, numbers))}}};"
            for name, numbers in tables.items()
        ),
        f"constexpr std::uint32_t EXPRESSIONS_CHECKSUM = {zlib.crc32(repr(facts).encode())}u;",
        "}  // namespace twigcast::base",
        "",
    ]
    return write_header("expression_codes", lines)


def write_letter_cases() -> Path:
    """Write the kernel's header of upper and lower case, as this Python's Unicode has them."""
    lines = [
        "// Made by setup.py of Python's str.lower and str.upper.",
        "#pragma once",
        "#include <cstdint>",
        "namespace twigcast::base {",
        "struct LetterCase { std::uint32_t letter; std::uint32_t becomes[3]; };",
    ]
    for name, change in (("LOWER_CASE", str.lower), ("UPPER_CASE", str.upper)):
        letters = [chr(code) for code in range(sys.maxunicode + 1)]
        changed = [(letter, change(letter)) for letter in letters if change(letter) != letter]
        rows = (
            f"{{{ord(old)}, {{{', '.join(str(ord(x)) for x in new)}}}}}" for old, new in changed
        )
        lines.append(f"constexpr LetterCase {name}[] = {{{', '.join(rows)}}};")
    lines += ["}  // namespace twigcast::base", ""]
    return write_header("letter_cases", lines)


def write_normal_forms() -> Path:
    """Write the kernel's tables of the normal forms of Unicode, as this Python has them."""
    apart, pieces, marks, pairs = [], [], [], []
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if unicodedata.combining(letter):
            marks.append((code, unicodedata.combining(letter)))
        canonical, compatible = (unicodedata.normalize(form, letter) for form in ("NFD", "NFKD"))
        if compatible == letter or 0xAC00 <= code < 0xAC00 + 11172:  # the syllables are computed
            continue
        counts = (len(canonical) if canonical != letter else 0, len(compatible))
        apart.append((code, len(pieces), *counts))
        pieces += map(ord, (canonical if counts[0] else "") + compatible)
        parts = unicodedata.decomposition(letter).split()
        is_composed = unicodedata.normalize("NFC", letter) == letter
        if len(parts) == 2 and parts[0][0] != "<" and is_composed:
            pairs.append((int(parts[0], 16), int(parts[1], 16), code))

    def rows(entries: list[tuple[int, ...]]) -> str:
        return ", ".join("{" + ", ".join(map(str, entry)) + "}" for entry in entries)

    lines = [
        "// Made by setup.py of Python's unicodedata.",
        "#pragma once",
        "#include <cstdint>",
        "namespace twigcast::base {",
        "struct Apart { std::uint32_t character, begin, canonical, compatible; };",
        f"constexpr Apart APART[] = {{{rows(apart)}}};",
        f"constexpr std::uint32_t PIECES[] = {{{', '.join(map(str, pieces))}}};",
        "struct Mark { std::uint32_t character, rank; };",
        f"constexpr Mark MARKS[] = {{{rows(marks)}}};",
        "struct Pair { std::uint32_t first, second, together; };",
        f"constexpr Pair PAIRS[] = {{{rows(sorted(pairs))}}};",
        "}  // namespace twigcast::base",
        "",
    ]
    return write_header("normal_forms", lines)


# The generated C++ goes under build/, so that the source folder holds only what people wrote.
setup(
    ext_modules=cythonize(
        [kernel("matching", "_kernel"), kernel("covering", "_cover")],
        build_dir="build/cython",
        language_level=3,
    )
)
