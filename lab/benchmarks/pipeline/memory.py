"""The memory of running processes, seen from outside: of a whole tree, and of Spark's workers.

A thread looks at ``/proc`` again and again and keeps the largest figures.  What processes share is
counted once in the sum of a tree (the *proportional* set size), and what they map from files not at
all in the memory of a worker (*anonymous* memory).  A peak between two looks is missed.

    driver ──► java ──► pyspark.daemon ──► worker, worker, …      (forked from the daemon)
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_PROCESSES: Final = Path("/proc")
_DAEMON: Final = b"pyspark.daemon"
_FIELD: Final = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_KILOBYTE: Final = 1024


class MemoryWatch:
    """Watches the descendants of a process while it is entered; figures are bytes.

    Where the system has no ``/proc`` they are None.
    """

    def __init__(self, root: int, every: float = 0.5, *, whole_tree: bool = False) -> None:
        self._root = root
        self._every = every
        self._whole_tree = whole_tree
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.largest_worker: int | None = None
        """The most anonymous memory that a Python worker of Spark had."""
        self.largest_tree: int | None = None
        """The most that the process and its descendants had together, if that is asked for."""
        self.workers: set[int] = set()
        """The workers that were seen."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()
        if error is None:
            # Once more: what was too short to be met lives on as an idle worker.
            self._look()

    def _watch(self) -> None:
        while not self._end.wait(self._every):
            self._look()

    def _look(self) -> None:
        parents = _parents()
        tree = _descendants(self._root, parents)
        for process in tree:
            if _is_daemon(process) and _is_daemon(parents.get(process, 0)):
                size = _read(process, "status", "RssAnon")
                if size is not None:
                    self.workers.add(process)
                    self.largest_worker = max(self.largest_worker or 0, size)
        if self._whole_tree:
            sizes = [size for process in tree if (size := _memory(process)) is not None]
            if sizes:
                self.largest_tree = max(self.largest_tree or 0, sum(sizes))


def _parents() -> dict[int, int]:
    """The parent of each process that is there."""
    parents = {}
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        # The name in parentheses may hold anything; behind it are the state and the parent.
        parents[int(folder.name)] = int(text.rpartition(")")[2].split()[1])
    return parents


def _descendants(root: int, parents: dict[int, int]) -> list[int]:
    """The process itself and all below it."""
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    tree = [root]
    for process in tree:  # which grows as it is walked
        tree += children.get(process, ())
    return tree


def _is_daemon(process: int) -> bool:
    """Whether it is Spark's daemon for Python workers, or one of these, which are forks of it."""
    try:
        return _DAEMON in (_PROCESSES / str(process) / "cmdline").read_bytes()
    except OSError:
        return False


def _memory(process: int) -> int | None:
    """The share of memory that is this process's; where it is not reported, all that it sees."""
    shared = _read(process, "smaps_rollup", "Pss")
    return _read(process, "status", "VmRSS") if shared is None else shared


def _read(process: int, file: str, field: str) -> int | None:
    try:
        text = (_PROCESSES / str(process) / file).read_text()
    except OSError:
        return None
    return next(
        (int(size) * _KILOBYTE for name, size in _FIELD.findall(text) if name == field), None
    )
