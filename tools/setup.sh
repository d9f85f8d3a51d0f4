#!/bin/sh
# Makes .venv, installs the pinned dependencies into it and builds the compiled kernel in place.
#
#   tools/setup.sh all      everything; an environment that is there and works is kept
#   tools/setup.sh kernel   only the kernel, compiled where its sources are newer
#
# `make setup` calls it when something that it depends on has changed. What it needs of the
# machine is checked first: a missing piece is named in one sentence, with the remedy.
# PYTHON and CXX name another interpreter or compiler than the ones found on PATH.
set -eu
cd "${0%/*}/.."

fail() {
    echo "setup: $1" >&2
    exit 1
}

is_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

environment_works() {
    is_python .venv/bin/python && .venv/bin/python -c 'import pip' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_python "$PYTHON" ||
            fail "PYTHON names $PYTHON, which is no Python 3.11 or newer: name one that is."
        python=$PYTHON
        return
    fi
    for python in python3 python3.11 python3.12 python3.13 python3.14; do
        if is_python "$python"; then
            return
        fi
    done
    fail "no Python 3.11 or newer is on PATH: install one, or name it with \`make setup PYTHON=...\`."
}

check_environment_module() {
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$python cannot make virtual environments: install its venv module (Debian and Ubuntu: \`apt install python3-venv\`), or name another Python with \`make setup PYTHON=...\`."
}

find_compiler() {
    if [ -n "${CXX:-}" ]; then
        command -v "${CXX%% *}" >/dev/null ||
            fail "CXX names ${CXX%% *}, which is not there: name a C++ compiler that is, or unset CXX."
        return
    fi
    for CXX in g++ c++ clang++; do
        if command -v "$CXX" >/dev/null; then
            export CXX
            return
        fi
    done
    fail "no C++ compiler is on PATH: install one (Debian and Ubuntu: \`apt install g++\`, Fedora: \`dnf install gcc-c++\`, macOS: \`xcode-select --install\`), or name it with \`make setup CXX=...\`."
}

check_headers() {
    "$python" -c '
import sys, sysconfig
from pathlib import Path
folders = sysconfig.get_path("include"), sysconfig.get_config_var("INCLUDEPY")
sys.exit(not any(Path(folder, "Python.h").exists() for folder in folders))
' || fail "the C headers of $python are missing: install them (Debian and Ubuntu: \`apt install python3-dev\`, Fedora: \`dnf install python3-devel\`), or name another Python with \`make setup PYTHON=...\`."
}

install() {
    # Builds happen in the environment itself, not in isolation, so that the constraints pin what
    # they use as well. One call for pip, one for the rest: the pinned pip installs the rest.
    pip="$python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt"
    $pip pip
    $pip setuptools wheel Cython
    # For the laboratory, whose folder is its package, setuptools warns of folders of that name.
    PYTHONWARNINGS='ignore:Editable installation:UserWarning' \
        $pip --no-build-isolation --editable '.[all,dev]' --editable lab
}

if environment_works; then
    python=.venv/bin/python
else
    find_python
    check_environment_module
fi
find_compiler
check_headers

case $1 in
all)
    if ! environment_works; then
        echo "Making .venv with $("$python" --version)."
        "$python" -m venv --clear .venv
        python=.venv/bin/python
    fi
    echo "Installing the pinned dependencies and building the kernel (a minute or two)."
    install
    ;;
kernel)
    echo "Building the kernel."
    "$python" setup.py --quiet build_ext --inplace
    # The laboratory measures a published search beside the kernel's, on the kernel's headers.
    (cd lab && ../.venv/bin/python setup.py --quiet build_ext --inplace)
    ;;
esac
