"""The label paths that a file tells of, built before documents come.

A matcher is slow on the first documents, since it has met none of their label paths.  A file keeps
those that the saved matcher had met, so whoever loads it does not begin anew.  They take some ten
microseconds each: up to so many are built at once, more in a thread, until documents come.
"""

from __future__ import annotations

import threading
from typing import Final

from twigcast.matching._kernel import MatchEngine

_AT_ONCE: Final = 10_000


def learn_known_paths(engine: MatchEngine) -> None:
    """Build the paths that the engine's file told of, in the background if there are many."""
    # A thread that is not a daemon is waited for at the end of the process, so it has to look.
    go_on = threading.main_thread().is_alive
    if engine.known_path_count() <= _AT_ONCE:
        engine.learn(go_on)
    else:
        threading.Thread(target=engine.learn, args=(go_on,), name="twigcast-learning").start()
