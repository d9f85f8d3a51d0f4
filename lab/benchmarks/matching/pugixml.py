"""pugixml, a C++ reader that makes a tree in place: a floor of reading, where it is installed.

A few lines of C++ are compiled when the benchmark runs, so neither the laboratory nor its tests
depend on it.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

REMEDY: Final = "pugixml is not installed: apt install libpugixml-dev g++"

# In place means that the text of the tree is the document itself, which pugixml overwrites: the
# copy of the document is part of the time, a hundredth of expat's.
_SOURCE: Final = r"""
#include <cstring>
#include <pugixml.hpp>
#include <vector>

extern "C" size_t read_all(const char** documents, const size_t* sizes, size_t count, bool fastest)
{
    const unsigned options = fastest ? pugi::parse_minimal : pugi::parse_default;
    std::vector<char> copy;
    size_t refused = 0;
    for (size_t i = 0; i < count; ++i) {
        copy.assign(documents[i], documents[i] + sizes[i]);
        pugi::xml_document tree;
        refused += !tree.load_buffer_inplace(copy.data(), copy.size(), options);
    }
    return refused;
}
"""


def load_pugixml() -> Callable[[Sequence[bytes], bool], Callable[[], int]] | None:
    """Make readers of documents, with pugixml's default or its fastest setting; None without it.

    A reader reads its documents once a call and returns how many it refused.
    """
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "reader.cpp", Path(folder) / "reader.so"
        source.write_text(_SOURCE, encoding="utf-8")
        options = ["-O3", "-shared", "-fPIC", "-o", str(library), str(source), "-lpugixml"]
        if subprocess.run([compiler, *options], capture_output=True).returncode:
            return None
        read_all = ctypes.CDLL(str(library)).read_all
    read_all.restype = ctypes.c_size_t
    read_all.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool)

    def reader(documents: Sequence[bytes], fastest: bool) -> Callable[[], int]:
        count = len(documents)
        starts = (ctypes.c_char_p * count)(*documents)
        sizes = (ctypes.c_size_t * count)(*map(len, documents))
        return lambda: int(read_all(starts, sizes, count, fastest))

    return reader
