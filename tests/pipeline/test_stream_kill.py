"""``twigcast stream`` as a process: killed, interrupted, restarted; every document once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from arriving import are_bad, arrive, brute_force, write_wanted
from process_sessions import kill_session

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import pyarrow.parquet as pq

from twigcast.pipeline.stream.job import stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the processes of a session are found in /proc"
)
COMMAND = "import typer; from twigcast.cli.stream import stream; typer.run(stream)"
SETTINGS = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")
PATIENCE = 180.0
"""Seconds after which a process is taken to hang; a busy machine takes many to start Spark."""
MOST = 400
"""Documents that arrive, at most."""


class Feed:
    """A stream as a process, and documents that arrive as long as something is waited for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder, self.output = root / "in", root / "out"
        self.folder.mkdir()
        self.wanted = root / "wanted.txt"
        write_wanted(self.wanted)
        self.arrived = 0
        self._numbers = iter(range(MOST))
        self._started: list[subprocess.Popen[bytes]] = []

    def more(self, count: int) -> None:
        numbers = list(islice(self._numbers, count))
        arrive(self.folder, numbers)
        self.arrived += len(numbers)

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        arguments = ["in", "--output", "out", "--subscriptions", "wanted.txt", "--max-files", "6"]
        for setting in SETTINGS:
            arguments += ["--conf", setting]
        log = self.root / f"log-{len(self._started)}.txt"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, *arguments, "--master", "local[2]", *options],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                # A session of its own, by which all processes that belong to it are found.
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def log(self) -> str:
        return (self.root / f"log-{len(self._started) - 1}.txt").read_text(errors="replace")

    def until(self, happened: Callable[[], bool], *, feed: bool = True) -> None:
        """Wait for something while documents arrive."""
        process = self._started[-1]
        deadline = time.monotonic() + PATIENCE
        turns = 0
        while not happened():
            if process.poll() is not None:
                assert happened(), f"it has ended:\n{self.log()}"
                return
            assert time.monotonic() < deadline, f"nothing happens:\n{self.log()}"
            turns += 1
            if feed and turns % 20 == 0:
                self.more(1)
            time.sleep(0.002)

    def in_place(self) -> set[int]:
        return {int(name[6:]) for name in names(self.output) if name.startswith("batch=")}

    def being_written(self) -> set[int]:
        """The batches whose folders hold something and are not yet in place."""
        hidden = [name for name in names(self.output) if name.startswith(".batch=")]
        return {int(name[7:15]) for name in hidden if names(self.output / name)} - self.in_place()

    def kill(self) -> None:
        """Kill all processes of the last session at once: Python, Java and the workers."""
        kill_session(self._started[-1])

    def close(self) -> None:
        for process in self._started:
            kill_session(process)

    def check(self) -> None:
        """Everything that arrived is there once, and as lxml says."""
        arrived = range(self.arrived)
        deliveries: Counter[tuple[str, str]] = Counter()
        for row in self._rows("deliveries"):
            deliveries[row["document"].rpartition("/")[2], row["key"]] += 1
        assert deliveries == brute_force(arrived)
        taken = Counter(row["id"].rpartition("/")[2] for row in self._rows("documents"))
        assert taken == Counter(f"{number:05d}.xml" for number in arrived)
        bad = Counter(row["document"].rpartition("/")[2] for row in self._rows("rejected"))
        assert bad == are_bad(arrived)

    def _rows(self, table: str) -> Iterator[dict[str, str]]:
        for path in sorted(self.output.glob(f"batch=*/{table}/*.parquet")):
            yield from pq.ParquetFile(path).read().to_pylist()


def names(folder: Path) -> list[str]:
    """What is in a folder; nothing where it has gone meanwhile."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted, again and again
    except FileNotFoundError:
        return []


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    one = Feed(tmp_path)
    try:
        yield one
    finally:
        one.close()


def test_a_kill_and_an_interrupt_lose_nothing_and_repeat_nothing(
    feed: Feed, spark: SparkSession
) -> None:
    feed.more(20)
    feed.start()
    feed.until(lambda: len(feed.in_place()) >= 2)
    feed.more(10)
    feed.until(lambda: bool(feed.being_written()))
    feed.kill()

    feed.more(20)
    process = feed.start()
    before = len(feed.in_place())
    feed.until(lambda: len(feed.in_place()) > before and bool(feed.being_written()))
    running = feed.being_written()
    # As a terminal does: to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == 0, feed.log()
    assert running <= feed.in_place()
    assert not feed.being_written(), "the running batch was not finished"
    assert "stopped: " in feed.log()
    assert "Traceback" not in feed.log()
    assert "\tat " not in feed.log()

    feed.more(3)
    rest = stream(
        spark,
        str(feed.folder),
        output=str(feed.output),
        subscriptions=str(feed.wanted),
        once=True,
    )
    assert rest.wait(PATIENCE)
    assert feed.arrived > 60
    feed.check()


@pytest.mark.slow
def test_ends_at_different_moments_lose_nothing_and_repeat_nothing(feed: Feed) -> None:
    feed.more(30)
    feed.start()
    feed.until(lambda: bool(feed.being_written()))
    feed.kill()

    feed.start()
    before = feed.in_place()
    feed.until(lambda: len(feed.in_place()) > len(before) + 1)
    # Just put in place, so most likely not yet noted by Spark.
    feed.kill()

    feed.more(30)
    feed.start()
    before = feed.in_place()
    feed.until(lambda: len(feed.in_place()) > len(before) and bool(feed.being_written()))
    feed.kill()

    feed.more(30)
    process = feed.start()
    before = feed.in_place()
    feed.until(lambda: len(feed.in_place()) > len(before) and bool(feed.being_written()))
    process.send_signal(signal.SIGTERM)
    feed.until(lambda: "ending after" in feed.log() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0, feed.log()
    assert "stopped: " in feed.log()

    process = feed.start("--once")
    assert process.wait(PATIENCE) == 0, feed.log()
    feed.check()
