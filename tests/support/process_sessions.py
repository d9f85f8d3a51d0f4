"""Processes that a test has started in a session of their own, found and ended."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

PATIENCE = 180.0


def members(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name of the command: state, parent, group, session.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            if int(fields[3]) == session:
                found.append(int(entry.name))
    return found


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it has started, each by its number."""
    while left := members(process.pid):
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.wait(PATIENCE)
