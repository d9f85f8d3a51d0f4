#!/bin/sh
# Builds the source archive, and a wheel from that archive, so that the archive is known to suffice.
#
#   tools/wheel.sh dist     both into the folder dist
#
# Building happens with the Python of .venv, hence with the pinned Cython and setuptools.
set -eu
cd "${0%/*}/.."
python=$PWD/.venv/bin/python
mkdir -p "$1"
dist=$(cd "$1" && pwd)
rm -f "$dist"/twigcast-*.tar.gz "$dist"/twigcast-*.whl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -c '
import sys
from setuptools.build_meta import build_sdist
build_sdist(sys.argv[1])
' "$dist" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
"$python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir "$dist" "$dist"/twigcast-*.tar.gz
ls -l "$dist"/twigcast-*
