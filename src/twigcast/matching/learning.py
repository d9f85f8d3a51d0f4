"""The label paths that a file tells of, built before documents come.

A matcher is slow on the first documents, since it has met none of their label paths.  A file keeps
those that the saved matcher had met, so whoever loads it does not begin anew.  What takes at most a
moment is built at once, and the rest in a thread, until documents come.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Final

from twigcast.matching._kernel import MatchEngine

_MOMENT: Final = 0.1


def learn_known_paths(engine: MatchEngine) -> None:
    """Build the paths that the engine's file told of, in the background if that takes long."""
    end = time.perf_counter() + _MOMENT
    if engine.learn(lambda: time.perf_counter() < end):
        # It is no daemon, so that the process waits for it at its end: it has to look for that.
        go_on = threading.main_thread().is_alive
        thread = threading.Thread(target=engine.learn, args=(go_on,), name="twigcast-learning")
        with suppress(RuntimeError):  # there can be no more threads: documents will teach the rest
            thread.start()
