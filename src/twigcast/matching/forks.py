"""Matchers in a process that forks: a child must not inherit a lock that a thread held.

Several threads may fork at once, so each knows which engines it has paused.  All pause the engines
in the same order, that of their making, and so wait for each other and never in a circle.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Final

from twigcast.matching._kernel import MatchEngine

_engines: Final[weakref.WeakValueDictionary[int, MatchEngine]] = weakref.WeakValueDictionary()


class _Forks(threading.local):
    """The forks under way in a thread: one, and more only if a signal handler forks in a hook."""

    def __init__(self) -> None:
        self.paused: list[list[MatchEngine]] = []  # for each


_forks: Final = _Forks()


def pause_at_forks(engine: MatchEngine) -> None:
    """Let nobody into the engine while the process forks, for as long as there is the engine."""
    _engines[id(engine)] = engine


def _pause_all() -> None:
    mine = [engine for paused in _forks.paused for engine in paused]
    living = (engine for one in _engines.valuerefs() if (engine := one()) is not None)
    engines = [engine for engine in living if engine not in mine]
    paused: list[MatchEngine] = []
    _forks.paused.append(paused)
    # In one call, in which no signal handler runs: an engine is paused and in the list, or neither.
    paused.extend(map(MatchEngine.pause, engines))


def _resume_all(is_child: bool) -> None:
    if is_child:
        # Nobody else is here any more, so that an outer fork needs nothing paused either.
        for paused in _forks.paused:
            while paused:
                paused.pop().resume(True)
    if _forks.paused:
        for engine in _forks.paused.pop():
            engine.resume(False)


os.register_at_fork(
    before=_pause_all,
    after_in_parent=lambda: _resume_all(False),
    after_in_child=lambda: _resume_all(True),
)
