"""What `pip install twigcast` brings: complete, without symbols, and usable without a compiler.

Compiling takes minutes, so most tests put the kernel of `make setup` where the build looks for it;
the build then finds it up to date.  The slow test compiles, and installs the dependencies anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest
from folders import ROOT

KERNEL = ["matching/_kernel", "covering/_cover"]
CYTHON = ROOT / "build" / "cython"
"""The C++ that Cython made for `make setup`."""
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
EXAMPLES = ("-m", "doctest", "-o", "ELLIPSIS", "README.md")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(source: Path, into: Path) -> Path:
    """The wheel of a folder, with the kernel that is compiled already."""
    library = into / "build" / "library"
    for module in KERNEL:
        target = library / f"twigcast/{module}{SUFFIX}"
        target.parent.mkdir(parents=True)
        shutil.copy(ROOT / f"src/twigcast/{module}{SUFFIX}", target)
        later = time.time() + 3600  # newer than what the build itself makes
        os.utime(target, (later, later))
    build: list[str | Path] = ["build", "--build-base", into / "build", "--build-lib", library]
    run(sys.executable, "setup.py", *build, "bdist_wheel", "--dist-dir", into, cwd=source)
    [wheel] = into.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that the build reads, so that it leaves nothing behind in ours."""
    folder = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
    shutil.copytree(ROOT / "src", folder / "src", ignore=unwanted)
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.txt"), ROOT / "MANIFEST.in"]:
        shutil.copy2(path, folder)
    for name in ("pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / name, folder)
    shutil.copytree(CYTHON, folder / "build/cython")
    return folder


@pytest.fixture(scope="module")
def archive(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("archive")
    script = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", script, folder, cwd=checkout)
    [packed] = folder.glob("*.tar.gz")
    with tarfile.open(packed) as file:
        file.extractall(folder, filter="data")
    [unpacked] = [path for path in folder.iterdir() if path.is_dir()]
    shutil.copytree(CYTHON, unpacked / "build/cython")
    return unpacked


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the source archive."""
    return build_wheel(archive, tmp_path_factory.mktemp("wheel"))


def install(folder: Path, *what: str | Path) -> Path:
    """An empty environment with these installed, where no compiler can be found; its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    empty = folder / "empty"
    empty.mkdir()
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--python", python, "install", *what, PATH=str(empty), CC="", CXX="")
    return python


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return set(file.namelist())


def test_the_source_archive_has_all_that_compiling_reads(archive: Path) -> None:
    suffixes = {".pyx", ".pxd", ".pxi", ".hpp", ".cpp"}
    needed = [path for path in (ROOT / "src").rglob("*") if path.suffix in suffixes]
    assert len(needed) > 20
    for path in needed:
        assert (archive / path.relative_to(ROOT)).is_file(), path


def test_a_wheel_of_the_source_archive_is_that_of_the_checkout(
    wheel: Path, checkout: Path, tmp_path: Path
) -> None:
    assert names(wheel) == names(build_wheel(checkout, tmp_path))


def test_a_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    found = names(wheel)
    assert {name.split("/")[0].partition("-")[0] for name in found} == {"twigcast"}
    assert {f"twigcast/{module}{SUFFIX}" for module in KERNEL} <= found
    assert not [name for name in found if name.endswith((".pyx", ".pxi", ".hpp", ".cpp"))]
    sources = (ROOT / "src/twigcast").rglob("*.py")
    assert {str(path.relative_to(ROOT / "src")) for path in sources} <= found


def test_the_first_example_runs_where_nothing_else_is(wheel: Path, tmp_path: Path) -> None:
    python = install(tmp_path, "--no-index", "--no-deps", wheel)
    # The dependencies are ours, so that this test needs no package index.
    [packages] = (tmp_path / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("platlib"))
    where = run(python, "-c", "import twigcast; print(twigcast.__file__)", PYTHONPATH="")
    assert Path(where).is_relative_to(tmp_path)
    run(python, *EXAMPLES, PYTHONPATH="")


@pytest.mark.slow
def test_make_wheel_compiles_it_without_symbols(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    run(ROOT / "tools" / "wheel.sh", dist)
    [built] = dist.glob("*.whl")
    with zipfile.ZipFile(built) as file:
        for module in KERNEL:
            kernel = file.read(f"twigcast/{module}{SUFFIX}")
            assert b".symtab" not in kernel
            assert len(kernel) < 5_000_000
    pins = ROOT / "constraints.txt"
    python = install(tmp_path / "venv", "--only-binary", ":all:", "--constraint", pins, built)
    run(python, *EXAMPLES, PYTHONPATH="")
