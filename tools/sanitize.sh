#!/bin/sh
# Builds the kernel with the address and undefined-behaviour sanitizers and runs its tests.
#
#   tools/sanitize.sh [seconds]     the seconds that each of the three fuzzers may take, 60 by default
#
# `make sanitize` calls it.  Everything goes to build/sanitize, a copy of the package with modules of
# its own, so the modules in src stay as they are.  The first finding ends the run, with a stack.
set -eu
cd "${0%/*}/.."
seconds=${1:-60}
python=$PWD/.venv/bin/python
folder=$PWD/build/sanitize

# Left out: tests that bound time or memory, which would measure the sanitizers; the test that a
# crash is reported as SIGSEGV, which the sanitizers report themselves; and the tests of covering
# that are about Python.
chosen='not hostile and not leaks and not cost and not memory and not quick and not a_crash_a_hang'

echo "Fuzzing the checked reader against expat, $seconds seconds."
fuzzer=build/fuzz_reader
if clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -Ilab/readers -Isrc/kernel -Ibuild/kernel tools/fuzz_reader.cpp -o "$fuzzer" -lexpat; then
    mkdir -p build/fuzz_reader_corpus
    "$fuzzer" -max_total_time="$seconds" -max_len=2000 -print_final_stats=1 -verbosity=0 \
        -dict=tools/fuzz_reader.dict -artifact_prefix=build/ build/fuzz_reader_corpus
else
    echo "left out: it needs clang++ with libFuzzer, and expat's header" >&2
    echo "(Debian and Ubuntu: \`apt install clang libexpat1-dev\`)" >&2
fi

echo "Building the kernel with sanitizers."
TWIGCAST_SANITIZE=1 "$python" setup.py --quiet build \
    --build-lib "$folder/lib" --build-temp "$folder/temp"

# The interpreter knows nothing of the sanitizers, so their libraries are loaded before it starts;
# libstdc++ too, since they look for it then.  Python's own allocator would hide what is overrun.
compiler=${CXX:-g++}
LD_PRELOAD="$($compiler -print-file-name=libasan.so) $($compiler -print-file-name=libstdc++.so.6)"
ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:abort_on_error=1:allocator_may_return_null=1
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
PYTHONMALLOC=malloc
PYTHONPATH=$folder/lib
export LD_PRELOAD ASAN_OPTIONS UBSAN_OPTIONS PYTHONMALLOC PYTHONPATH

"$python" -c "
import twigcast.matching._kernel as kernel
assert kernel.__file__.startswith('$folder'), kernel.__file__
"
echo "Running the tests of the kernel."
"$python" -m pytest -q -x -p no:cacheprovider -m 'not slow and not spark' -k "$chosen" \
    tests/conformance tests/matching tests/covering/test_cover*.py tests/covering/test_fuzz.py \
    tests/covering/test_table.py tests/covering/test_minimal_covering.py \
    tests/lab/published/test_searches.py
echo "Fuzzing the matcher and covering, $seconds seconds each."
"$python" tools/fuzz_matcher.py --seconds "$seconds"
"$python" tools/fuzz_covering.py --seconds "$seconds"
