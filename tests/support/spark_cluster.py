"""A standalone Spark cluster on this machine: a master and workers, each a process of its own.

Everything is started from the installed PySpark, on loopback and on ports that the system chooses,
and is stopped by process id, executors and their Python workers included.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyspark
import pytest
from quick_spark import QUICK_JAVA

from twigcast.pipeline.session import _find_java

DEADLINE = 180.0
"""Seconds that anything may take here, on a busy machine."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class SparkProcess:
    """A master or a worker, and the file that it writes its log to."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first place in its log that fits, as soon as it stands there."""

        def search() -> re.Match[str] | None:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended: {self.log.read_text(errors='replace')[-3000:]}")
            return re.search(pattern, self.log.read_text(errors="replace"))

        return wait_until(search, f"{pattern!r} in {self.log.name}")

    def kill_with_executors(self) -> None:
        """End it and the executors that it has started, with no chance to say goodbye.

        The Python workers of an executor are left to find out by themselves.
        """
        executors = children_of(self.process.pid)
        assert executors, "no executor runs there"
        kill(self.process.pid)
        for executor in executors:
            kill(executor)
        self.process.wait(DEADLINE)


@dataclass(frozen=True)
class SparkCluster:
    """A master and its workers."""

    url: str
    workers: tuple[SparkProcess, ...]
    environment: dict[str, str]
    """That of its processes, and for drivers."""

    def worker_of(self, descendant: int) -> SparkProcess:
        """The worker that has started a process, by way of others."""
        for worker in self.workers:
            if descendant in descendants_of(worker.process.pid):
                return worker
        raise AssertionError(f"no worker has started the process {descendant}")


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster with so many workers of one core each; its files are in the folder."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("the processes of a cluster are found in /proc, which is not there")
    (folder / "conf").mkdir(parents=True)
    environment = _environment(folder)
    started: list[SparkProcess] = []

    def start(name: str, *arguments: str) -> SparkProcess:
        log = folder / f"{name}.log"
        command = [str(Path(environment["SPARK_HOME"]) / "bin" / "spark-class"), *arguments]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        started.append(SparkProcess(process, log))
        return started[-1]

    anywhere = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        master = start("master", "org.apache.spark.deploy.master.Master", *anywhere)
        url = master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
        worker = "org.apache.spark.deploy.worker.Worker"
        room = ("--cores", "1", "--memory", "1g")
        for number in range(workers):
            files = ("--work-dir", str(folder / f"work-{number}"))
            start(f"worker-{number}", worker, *anywhere, *room, *files, url)
        for each in started[1:]:
            each.wait_for("Successfully registered with master")
        yield SparkCluster(url, tuple(started[1:]), environment)
    finally:
        for each in reversed(started):
            kill_tree(each.process)


def _environment(folder: Path) -> dict[str, str]:
    _find_java()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return kept | {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Executors get what workers have, and import the functions of tests.
        "PYTHONPATH": str(Path(__file__).parent),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }


# --- processes ----------------------------------------------------------------------------------


def wait_until(ask: Callable[[], _Value | None], what: str, deadline: float = DEADLINE) -> _Value:
    """What ``ask`` answers, as soon as it is more than nothing."""
    end = time.monotonic() + deadline
    while True:
        found = ask()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline:.0f} s in vain for {what}")
        time.sleep(0.02)  # not to take a processor for asking


def children_of(process: int) -> list[int]:
    """The processes that a process has started and that are there."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def descendants_of(process: int) -> list[int]:
    """Its children, theirs, and so on."""
    found = children_of(process)
    for child in found:
        found += children_of(child)
    return found


def kill(process: int) -> None:
    """End a process at once."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process of ours and everything that it has started."""
    if process.poll() is None:
        below = descendants_of(process.pid)
        kill(process.pid)
        for each in below:
            kill(each)
    process.wait(DEADLINE)
