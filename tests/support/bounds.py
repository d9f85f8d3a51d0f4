"""Bounds on what a call may spend."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

MEBIBYTE = 1024 * 1024


@contextmanager
def bounded(seconds: float, mebibytes: float) -> Iterator[None]:
    """The body ends within both bounds.

    Expat allocates through Python, so its memory is counted too; counting slows the body down.
    """
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
        elapsed = time.process_time() - started
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert elapsed < seconds
    assert peak < mebibytes * MEBIBYTE
