"""Settings that all tests share.

Hypothesis runs 80 cases by default and tens of thousands with
``--hypothesis-profile=nightly`` (``make nightly``).  Both are derandomised or print their seed, so
that a failure can be run again.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from folders import ROOT
from hypothesis import HealthCheck, settings
from postgres_server import PostgresServer, shared_postgres, stop_shared_postgres
from quick_spark import submit_arguments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile(
    "dev",
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    max_examples=20_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dev")

# Spark gives a Python worker ten seconds to start, and offers no setting; on a busy machine that is
# too little now and then.  No other failure is tried again, and no other test: to ask for each test
# how often it was tried costs pytest-rerunfailures 20 ms.
_TRIED_AGAIN = pytest.mark.flaky(reruns=2, only_rerun="Python worker failed to connect back")

os.environ["PYSPARK_SUBMIT_ARGS"] = submit_arguments()


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """A command that runs in the process of the tests may silence its log."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real DTDs and documents, which are not part of the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real documents is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests of a process, small and quick to start."""
    from twigcast.pipeline import start_session

    scratch = tmp_path_factory.mktemp("spark")
    session = start_session(
        master="local[2]",
        conf={
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.adaptive.enabled": "false",
            "spark.default.parallelism": "2",
            "spark.local.dir": str(scratch / "local"),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        },
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """One PostgreSQL for all tests of a process."""
    return shared_postgres()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The address of a new database."""
    return postgres.url(postgres.new_database())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share something costly run in one process, and the longest group begins first.

    Costly are the Spark session, whose JVM is also quicker the longer it runs, the PostgreSQL, and
    whatever the tests of a file make once: so a file that needs neither is a group of its own.
    Short files come last, so that no process works alone for long at the end.  pytest-xdist reads
    the groups in the same hook, so they must be there before.
    """
    for item in items:
        group = str(item.path.relative_to(ROOT))
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            group = "spark"
        elif _uses_postgres(item):
            group = "postgres"
        if item.get_closest_marker("spark"):
            item.add_marker(_TRIED_AGAIN)
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def _uses_postgres(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    is_named = parameters is not None and "postgres" in parameters.params.values()
    return is_named or "postgres" in getattr(item, "fixturenames", ())


def pytest_sessionfinish() -> None:
    """Nothing is left running."""
    stop_shared_postgres()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How long the tests of each folder took, all processes together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            folder = report.location[0].rpartition("/")[0]
            seconds[folder] += report.duration
            tests[folder] += report.when == "call"
    if sum(seconds.values()) > 60:
        terminalreporter.section("seconds of each folder")
        for folder, taken in sorted(seconds.items(), key=itemgetter(1), reverse=True):
            terminalreporter.write_line(f"{taken:6.0f} s {tests[folder]:6,} tests  {folder}")
