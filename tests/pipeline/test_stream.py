"""``twigcast.pipeline.stream``: every document once, by the newest subscriptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from arriving import WANTED, are_bad, arrive, brute_force, document, write_wanted

from twigcast.errors import PipelineError, SubscriptionFileError

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.pipeline.locations import Location
from twigcast.pipeline.route.reading import read_table
from twigcast.pipeline.route.results import write_result
from twigcast.pipeline.sources import SourceOptions
from twigcast.pipeline.stream import batches
from twigcast.pipeline.stream.batches import BatchReport
from twigcast.pipeline.stream.job import stream
from twigcast.pipeline.stream.output import StreamOutput
from twigcast.pipeline.stream.versions import SubscriptionVersions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 120
"""Seconds after which a test is taken to hang."""


class Setting:
    """A folder where documents arrive, subscriptions, and an output."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.folder = root / "in"
        self.folder.mkdir()
        self.wanted = root / "wanted.txt"
        write_wanted(self.wanted)
        self.output = root / "out"
        self.reports: list[BatchReport] = []

    def run(self, documents: Any = None, **settings: Any) -> list[BatchReport]:
        """Take what is there; what the batches told."""
        begin = len(self.reports)
        told: Callable[[BatchReport], None] | None = settings.pop("on_batch", None)

        def on_batch(report: BatchReport) -> None:
            self.reports.append(report)
            if told is not None:
                told(report)

        given: dict[str, Any] = {
            "output": str(self.output),
            "subscriptions": str(self.wanted),
            "once": True,
            "on_batch": on_batch,
        }
        running = stream(self.spark, documents or str(self.folder), **(given | settings))
        assert running.wait(PATIENCE)
        return self.reports[begin:]

    def deliveries(self, batch: int | None = None) -> Counter[tuple[str, str]]:
        rows = read_table(self.spark, str(self.output), "deliveries").collect()
        return Counter(
            (row.document.rpartition("/")[2], row.key)
            for row in rows
            if batch is None or row.batch == batch
        )

    def names(self, table: str, column: str) -> Counter[str]:
        rows = read_table(self.spark, str(self.output), table).collect()
        return Counter(row[column].rpartition("/")[2] for row in rows)

    def batches(self) -> list[str]:
        return sorted(path.name for path in self.output.iterdir() if path.name.startswith("batch"))

    def hidden(self) -> list[str]:
        return [path.name for path in self.output.iterdir() if path.name.startswith(".batch")]


@pytest.fixture
def setting(spark: SparkSession, tmp_path: Path) -> Setting:
    return Setting(spark, tmp_path)


def test_files_that_arrive_are_delivered_once_over_batches_and_runs(setting: Setting) -> None:
    arrive(setting.folder, range(20))
    first = setting.run(max_files=8)
    assert [(one.batch, one.totals.documents, one.repeated) for one in first] == [
        (0, 8, False),
        (1, 8, False),
        (2, 4, False),
    ]
    assert setting.run() == []
    arrive(setting.folder, range(20, 25))
    assert [one.batch for one in setting.run()] == [3]
    expected = brute_force(range(25))
    assert len(expected) > 30
    assert setting.deliveries() == expected
    assert setting.names("rejected", "document") == are_bad(range(25))
    assert setting.names("documents", "id") == Counter(f"{n:05d}.xml" for n in range(25))
    assert sum(one.totals.deliveries for one in setting.reports) == expected.total()
    assert sum(one.totals.rejected for one in setting.reports) == 2
    for report in setting.reports:
        told = json.loads((setting.output / f"batch={report.batch:08d}/batch.json").read_text())
        assert BatchReport.of_json(told) == report
    assert {one.version.name for one in setting.reports} == {digest(setting.wanted)}
    assert {one.version.subscriptions for one in setting.reports} == {len(WANTED)}


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:12]


def test_each_batch_goes_by_the_newest_good_version(setting: Setting) -> None:
    arrive(setting.folder, range(12))
    second = {"rome": "/order[@city='rome']", "gift": "//gift"}
    third = {"dear": "//price[. > 90]"}
    names = {0: digest(setting.wanted)}

    def change(report: BatchReport) -> None:
        if report.batch == 0:
            write_wanted(setting.wanted, second)
            names[1] = names[2] = names[3] = names[4] = digest(setting.wanted)
        elif report.batch == 1:
            write_wanted(setting.wanted, {"bad": "//order[", "good": "//order"})
        elif report.batch == 3:
            setting.wanted.unlink()
        elif report.batch == 4:
            write_wanted(setting.wanted, third)
            names[5] = digest(setting.wanted)

    reports = setting.run(max_files=2, on_batch=change)
    assert {one.batch: one.version.name for one in reports} == names
    assert len(set(names.values())) == 3
    for number in range(6):
        wanted = WANTED if number == 0 else third if number == 5 else second
        arrived = range(2 * number, 2 * number + 2)
        assert setting.deliveries(number) == brute_force(arrived, wanted)
    told = {one.batch: one.warnings for one in reports if one.warnings}
    assert sorted(told) == [2, 4]
    assert "line 1" in told[2][0]
    assert f"version {names[1]} stays" in told[2][0]
    assert "there is no such file" in told[4][0]


def test_the_same_content_is_the_same_version(setting: Setting) -> None:
    arrive(setting.folder, range(2))
    reports = setting.run(max_files=1, on_batch=lambda _: write_wanted(setting.wanted))
    assert len({one.version for one in reports}) == 1


def test_a_table_of_subscriptions_may_change_too(setting: Setting, tmp_path: Path) -> None:
    arrive(setting.folder, range(4))
    table = tmp_path / "table"

    def write(wanted: dict[str, str]) -> None:
        frame = setting.spark.createDataFrame(list(wanted.items()), "key string, xpath string")
        frame.coalesce(1).write.mode("overwrite").parquet(str(table))

    write(WANTED)
    other = {"all": "//order"}
    reports = setting.run(subscriptions=str(table), max_files=2, on_batch=lambda _: write(other))
    assert [one.version.subscriptions for one in reports] == [len(WANTED), 1]
    assert setting.deliveries() == brute_force(range(2)) + brute_force(range(2, 4), other)


def test_a_table_that_is_being_written_is_not_taken(setting: Setting, tmp_path: Path) -> None:
    table = tmp_path / "table"
    frame = setting.spark.createDataFrame([("one", "//order")], "key string, xpath string")
    frame.write.parquet(str(table))
    versions = SubscriptionVersions(setting.spark, str(table), None)
    first = versions.version
    frame.write.mode("append").parquet(str(table))
    (table / "_temporary").mkdir()
    (told,) = versions.renew()
    assert told.endswith("it is being written")
    assert (versions.renew(), versions.version) == ((), first)
    (table / "_temporary").rmdir()
    # Now it is whole, and it has a key twice.
    (told,) = versions.renew()
    assert "'one'" in told
    assert versions.version == first
    frame.limit(0).write.mode("overwrite").parquet(str(table))
    (told,) = versions.renew()
    assert "nobody gets anything" in told
    assert versions.version.subscriptions == 0


def test_of_two_processes_only_one_puts_a_batch_in_place(setting: Setting) -> None:
    outputs = [StreamOutput(setting.spark, str(setting.output)) for _ in range(2)]
    for output in outputs:
        output.claim("parquet")

    def write_both() -> None:
        with outputs[0].writing(0) as first, outputs[1].writing(0) as second:
            first.child("first").write_text("whole")
            second.child("second").write_text("whole")

    with pytest.raises(PipelineError, match="another process"):
        write_both()
    assert [path.name for path in (setting.output / "batch=00000000").glob("[a-z]*")] == ["second"]
    assert setting.hidden() == []


def test_a_batch_that_spark_asks_for_again_is_left_as_it_is(setting: Setting) -> None:
    arrive(setting.folder, range(6))
    setting.run(max_files=3)
    before = setting.deliveries()
    written = (setting.output / "batch=00000001/batch.json").stat().st_mtime_ns
    forget_commit(setting.output / "_checkpoint", 1)
    arrive(setting.folder, range(6, 8))
    # Had the batch been done again, this version would show.
    write_wanted(setting.wanted, {"all": "//order"})
    again = setting.run(max_files=3)
    assert [(one.batch, one.repeated) for one in again] == [(1, True), (2, False)]
    assert again[0].version.subscriptions == len(WANTED)
    assert (setting.output / "batch=00000001/batch.json").stat().st_mtime_ns == written
    assert setting.deliveries() == before + brute_force(range(6, 8), {"all": "//order"})


def forget_commit(checkpoint: Path, batch: int) -> None:
    """As if the process had been killed before Spark noted that the batch is done."""
    (checkpoint / "commits" / str(batch)).unlink()
    (checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)


def test_a_batch_that_fails_leaves_nothing_and_is_done_by_the_next_run(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(setting.folder, range(6))

    def fail(*arguments: Any, **options: Any) -> Any:
        totals = write_result(*arguments, **options)
        if setting.reports:
            raise ValueError("the disk is full")
        return totals

    with monkeypatch.context() as patch:
        patch.setattr(batches, "write_result", fail)
        with pytest.raises(PipelineError, match="in batch 1: the disk is full"):
            setting.run(max_files=3)
    assert (setting.batches(), setting.hidden()) == (["batch=00000000"], [])
    leftover = setting.output / ".batch=00000001.f00d.partial"
    shutil.copytree(setting.output / "batch=00000000", leftover)
    setting.run(max_files=3)
    assert setting.deliveries() == brute_force(range(6))
    assert setting.hidden() == []


def test_stopping_lets_the_running_batch_end_and_begins_no_other(setting: Setting) -> None:
    arrive(setting.folder, range(6))
    running, go_on = threading.Event(), threading.Event()

    def hold(_: BatchReport) -> None:
        running.set()
        assert go_on.wait(PATIENCE)

    live = stream(
        setting.spark,
        str(setting.folder),
        output=str(setting.output),
        subscriptions=str(setting.wanted),
        max_files=3,
        on_batch=hold,
    )
    assert running.wait(PATIENCE)
    assert re.fullmatch(r"<Stream to file:.*: \d+ subscriptions, runs>", repr(live))
    assert not live.finish(0.01)
    go_on.set()
    live.stop()
    assert live.wait(0)
    assert setting.batches() == ["batch=00000000"]
    setting.run()
    assert setting.deliveries() == brute_force(range(6))


def test_an_output_that_is_taken_away_ends_the_stream(setting: Setting, tmp_path: Path) -> None:
    arrive(setting.folder, range(4))
    checkpoint = str(tmp_path / "checkpoint")
    with pytest.raises(PipelineError, match="has been taken away while the stream ran"):
        setting.run(
            max_files=2,
            checkpoint=checkpoint,
            on_batch=lambda _: setting.output.rename(tmp_path / "elsewhere"),
        )
    assert not setting.output.exists()
    with pytest.raises(PipelineError, match=r"goes with the output .*/out, and .*/out is another"):
        setting.run(checkpoint=checkpoint)
    (tmp_path / "elsewhere").rename(setting.output)
    setting.run(checkpoint=checkpoint)
    assert setting.deliveries() == brute_force(range(4))


def test_an_output_belongs_to_one_checkpoint(setting: Setting, tmp_path: Path) -> None:
    arrive(setting.folder, range(1))
    setting.run(checkpoint=str(tmp_path / "one"))
    with pytest.raises(PipelineError, match=r"goes with the checkpoint .*/one, and .*/two is not"):
        setting.run(checkpoint=str(tmp_path / "two"))
    with pytest.raises(PipelineError, match=r"the output .*/out, and .*/other is another"):
        setting.run(checkpoint=str(tmp_path / "one"), output=str(tmp_path / "other"))
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(PipelineError, match="is not or no longer that one"):
        setting.run(checkpoint=str(tmp_path / "one"))
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    with pytest.raises(PipelineError, match="no stream has written it"):
        setting.run(output=str(foreign))


def test_a_stream_keeps_its_format(setting: Setting) -> None:
    arrive(setting.folder, range(2))
    setting.run()
    arrive(setting.folder, range(2, 4))
    with pytest.raises(PipelineError, match=r"in the format 'parquet'.* go on in 'jsonl'"):
        setting.run(format="jsonl")
    assert setting.batches() == ["batch=00000000"]
    setting.run()
    assert setting.deliveries() == brute_force(range(4))


def test_what_cannot_work_is_told_before_any_work(setting: Setting) -> None:
    arrive(setting.folder, range(1))
    still = setting.spark.createDataFrame([("<a/>",)], "content string")
    for settings, message in (
        ({"documents": still}, "route them instead"),
        ({"output": str(setting.folder / "out")}, "is within"),
        ({"checkpoint": str(setting.folder / "marks")}, "is within"),
        ({"subscriptions": None}, "nothing to route by"),
        ({"subscriptions": "-"}, "put them into a file"),
        ({"at": "london"}, "name the network"),
        ({"trigger": "10 seconds"}, "exclude each other"),
        ({"trigger": "soon", "once": False}, "'soon' is no span of time"),
        ({"format": "xml"}, "the format 'xml' is not known"),
    ):
        with pytest.raises(PipelineError, match=message):
            setting.run(**settings)
    write_wanted(setting.wanted, {"bad": "//order[", "all": "//order"})
    with pytest.raises(SubscriptionFileError, match="line 1"):
        setting.run()
    assert not setting.output.exists()
    assert setting.run(skip_bad=True)[0].version.subscriptions == 1


def test_batches_of_json_lines_may_be_without_deliveries(setting: Setting) -> None:
    arrive(setting.folder, range(4))
    write_wanted(setting.wanted, {"nobody": "//refund"})
    setting.run(format="jsonl", max_files=2, on_batch=lambda _: write_wanted(setting.wanted))
    assert [one.totals.deliveries for one in setting.reports] == [
        0,
        brute_force(range(2, 4)).total(),
    ]
    assert setting.deliveries() == brute_force(range(2, 4))


def test_any_streaming_frame_may_be_given(setting: Setting, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.mkdir()
    rows = [{"name": f"{n:05d}.xml", "xml": document(n).decode()} for n in range(6)]
    (lines / "some.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    frame = setting.spark.readStream.schema("name string, xml string").json(str(lines))
    with pytest.raises(PipelineError, match="max_files is for a folder"):
        setting.run(frame, max_files=1)
    setting.run(frame, options=SourceOptions(id_column="name", column="xml"), format="jsonl")
    assert setting.deliveries() == brute_force(range(6))
    assert next((setting.output / "batch=00000000/deliveries").glob("*.json")).stat().st_size


NETWORK = """
brokers = ["london", "rome"]
[[links]]
between = ["london", "rome"]
[[clients]]
name = "desk"
broker = "rome"
subscriptions_file = "desk.txt"
[[clients]]
name = "shop"
broker = "london"
advertises = [{ id = "orders", anything = true }]
"""


def test_a_network_decides_and_may_change(setting: Setting, tmp_path: Path) -> None:
    arrive(setting.folder, range(4))
    network = tmp_path / "network.toml"
    network.write_text(NETWORK)
    write_wanted(tmp_path / "desk.txt")
    other = {"gifts": "//gift"}
    reports = setting.run(
        subscriptions=None,
        network=str(network),
        max_files=2,
        # A file that the network names is part of its version.
        on_batch=lambda _: write_wanted(tmp_path / "desk.txt", other),
    )
    assert [one.version.subscriptions for one in reports] == [len(WANTED), 1]
    assert setting.deliveries() == brute_force(range(2)) + brute_force(range(2, 4), other)
    links = read_table(setting.spark, str(setting.output), "links").collect()
    crossed = {(row.batch, row.sender): row.documents for row in links}
    wanted_by = len({document for document, _ in brute_force(range(2))})
    assert crossed[0, "london"] == wanted_by
    assert crossed[0, "rome"] == 0
    assert reports[0].totals.links[0].documents == wanted_by
    with pytest.raises(PipelineError, match="no broker 'oslo'"):
        setting.run(network=str(network), subscriptions=None, at="oslo")
    network.write_text(NETWORK.rpartition("advertises")[0])
    with pytest.raises(PipelineError, match="no or several brokers with a producer"):
        setting.run(network=str(network), subscriptions=None)


class WithFilesElsewhere:
    """A session whose Hadoop looks for plain paths on a file system that is not this machine's."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        files = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        files.set("fs.defaultFS", "elsewhere://host")
        self._jsc = SimpleNamespace(hadoopConfiguration=lambda: files)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)


def test_a_network_is_of_this_machine_wherever_other_files_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    elsewhere: Any = WithFilesElsewhere(spark)
    with pytest.raises(PipelineError, match="elsewhere"):
        Location(elsewhere, str(tmp_path))
    network = tmp_path / "50% of a network.toml"
    network.write_text(NETWORK)
    write_wanted(tmp_path / "desk.txt")
    versions = SubscriptionVersions(elsewhere, None, str(network))
    assert versions.version.subscriptions == len(WANTED)
    assert (versions.renew(), versions.version.subscriptions) == ((), len(WANTED))
    write_wanted(tmp_path / "desk.txt", {"gifts": "//gift"})
    assert (versions.renew(), versions.version.subscriptions) == ((), 1)


def test_an_old_file_that_comes_late_is_taken_too(setting: Setting) -> None:
    arrive(setting.folder, range(2))
    setting.run()
    draft = setting.folder.parent / "old.draft"
    draft.write_bytes(document(2))
    os.utime(draft, (1_000_000_000, 1_000_000_000))
    draft.rename(setting.folder / "00002.xml")
    setting.run()
    assert setting.deliveries() == brute_force(range(3))
