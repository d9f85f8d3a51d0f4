"""``route`` on a real cluster: machines are lost, tasks are tried again, and nothing shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import cluster_driver
from pipeline_oracle import expected_result, read_result, totals_of
from spark_cluster import DEADLINE, SparkCluster, kill_tree, spark_cluster, wait_until

pytestmark = pytest.mark.spark

DRIVER = Path(cluster_driver.__file__)


def two_executors_at_work(cluster: SparkCluster, folder: Path) -> list[int]:
    """The Python workers that have begun, once there are some below each worker."""
    begun = [int(path.read_text()) for path in folder.glob("began-*-0")]
    try:
        homes = {cluster.worker_of(process).process.pid for process in begun}
    except AssertionError:
        return []
    return begun if len(homes) == len(cluster.workers) else []


def test_a_lost_machine_and_tasks_that_fail_at_first_leave_each_delivery_once(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    with spark_cluster(tmp_path / "cluster") as cluster:
        log = tmp_path / "driver.log"
        with log.open("wb") as errors:
            driver = subprocess.Popen(
                [sys.executable, str(DRIVER), cluster.url, str(folder)],
                env=cluster.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        try:

            def begun() -> list[int]:
                assert driver.poll() is None, log.read_text(errors="replace")[-3000:]
                written = list(folder.glob(".lost.partial*/_tries/documents/*"))
                return two_executors_at_work(cluster, folder) if len(written) > 1 else []

            victim = cluster.worker_of(wait_until(begun, "tasks of both workers")[0])
            assert not (folder / "lost").exists()
            victim.kill_with_executors()
            (folder / "go").touch()
            out, _ = driver.communicate(timeout=DEADLINE)
        finally:
            kill_tree(driver)
    assert driver.returncode == 0, log.read_text(errors="replace")[-3000:]

    expected = expected_result(cluster_driver.documents(), cluster_driver.subscriptions())
    told = json.loads(out)
    for name, totals in zip(("lost", "tried", "by-spark"), told, strict=True):
        assert read_result(folder / name) == expected, name
        assert totals == totals_of(expected), name
    assert not list(folder.glob(".*.partial*"))
    again = list(folder.glob("began-*-1"))
    assert len(again) >= 1 + len(cluster_driver.FAILING), "no task was tried again"
    # Only files that count are left: one for each part of the job.
    for name in ("lost", "tried"):
        assert len(list((folder / name / "documents").iterdir())) == cluster_driver.PARTITIONS
