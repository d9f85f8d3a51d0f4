"""How many files and connections the process may have open.

    soft limit ──raise_open_files──► hard limit ──► half for gRPC's connections
                                                ├─► a quarter for those of the HTTP port
                                                └─► the rest for the store, links and queues on disk

A port that took all of them would leave none for the store and for the other port.
"""

from __future__ import annotations

import logging
import resource
from typing import Final

_log = logging.getLogger(__name__)

_MANY: Final = 1_000_000
"""What counts as the limit where there is none."""


def open_files() -> int:
    """How many files the process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MANY if soft == resource.RLIM_INFINITY else min(soft, _MANY)


def raise_open_files() -> None:
    """Take as many as the system allows; what it starts with is for programs that use few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        _log.warning("the limit of open files stays at %d: %s", soft, error)
