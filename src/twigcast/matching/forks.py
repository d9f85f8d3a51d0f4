"""Matchers in a process that forks: a child must not inherit a lock that a thread held."""

from __future__ import annotations

import os
import weakref
from typing import Final

from twigcast.matching._kernel import MatchEngine

_engines: Final[weakref.WeakSet[MatchEngine]] = weakref.WeakSet()
_paused: Final[list[MatchEngine]] = []


def pause_at_forks(engine: MatchEngine) -> None:
    """Let nobody into the engine while the process forks, for as long as there is the engine."""
    _engines.add(engine)


def _pause_all() -> None:
    for engine in list(_engines):
        engine.pause()
        _paused.append(engine)


def _resume_all(is_child: bool) -> None:
    while _paused:
        _paused.pop().resume(is_child)


os.register_at_fork(
    before=_pause_all,
    after_in_parent=lambda: _resume_all(False),
    after_in_child=lambda: _resume_all(True),
)
