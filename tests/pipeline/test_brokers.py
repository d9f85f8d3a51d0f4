"""Spark reads queues of brokers and publishes at brokers; everything once, whatever is killed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from folders import SUPPORT

pytest.importorskip("pyspark", reason="the pipeline needs Spark")
pytest.importorskip("grpc", reason="brokers need gRPC")

import pyarrow as pa
from broker_process import BrokerProcess
from broker_stream_driver import BATCH, number_of, order, queue, start
from process_sessions import kill_session
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from twigcast.client import SyncClient, connect_sync
from twigcast.errors import PipelineError
from twigcast.pipeline import register_brokers
from twigcast.pipeline.brokers import sink, source
from twigcast.pipeline.brokers.options import batch_options, publish_options, stream_options
from twigcast.pipeline.brokers.sink import check_columns
from twigcast.pipeline.brokers.source import (
    PART,
    QueueRange,
    acknowledge,
    ranges,
    read_range,
)
from twigcast.pipeline.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PATIENCE = 120.0
MINIMUM = {"broker": "127.0.0.1:7400", "durable": "desk"}


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    """The session knows the format, whichever test comes first."""
    register_brokers(spark)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "store", acknowledged_age=0.0) as process:
        yield process


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[SyncClient]:
    with connect_sync(broker.address) as one:
        yield one


def until(happened: Callable[[], bool], running: Iterable[StreamingQuery] = ()) -> None:
    """Wait for something while queries run."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        for query in running:
            if query.exception() is not None:
                raise AssertionError(f"a query has failed: {query.exception()}")
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.005)  # not to take a processor for asking


def publish(client: SyncClient, numbers: Iterable[int]) -> None:
    results = client.publish_all(order(number) for number in numbers)
    assert all(result.error is None for result in results)


def make(client: SyncClient, durable: str, xpath: str) -> None:
    with client.subscribe(xpath, durable=durable):
        pass


def contents(client: SyncClient, durable: str) -> list[bytes]:
    """All that a queue has."""
    state = client.queue_state(durable)
    return [each.content for each in client.read_queue(durable, 1, state.last)]


def run(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Let a query take what is there into Parquet files, in batches, to its end."""
    writer = frame.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(int(PATIENCE)), "it does not end"
    return query


def found(spark: SparkSession, folder: Path) -> list[Any]:
    return spark.read.parquet(str(folder / "out")).orderBy("sequence").collect()


def reason_why(action: Callable[[], object]) -> str:
    with pytest.raises(PySparkException) as caught:
        action()
    return reason_of(caught.value)


# ---- reading ----


def test_a_query_has_what_is_published_and_goes_on_from_its_checkpoint(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    reader = spark.readStream.format("twigcast").option("broker", broker.address)
    reader = reader.option("durable", "desk").option("maxDocuments", "4")
    reader = reader.option("xpath.even", "//O:n[.=0 or .=2 or .=4]").option("xpath.all", "O:order")
    frame = reader.option("namespaces.O", "urn:Orders").load()
    run(frame, tmp_path)
    assert found(spark, tmp_path) == [], "it begins when the query does"

    def text(number: int) -> bytes:
        return f"<order xmlns='urn:Orders'><n>{number}</n></order>".encode()

    before = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    client.publish_all(text(number) for number in range(10))
    client.publish("<order/>")
    query = run(frame, tmp_path)
    assert [progress["numInputRows"] for progress in query.recentProgress] == [4, 4, 2]
    rows = found(spark, tmp_path)
    assert [bytes(row.content) for row in rows] == [text(number) for number in range(10)]
    assert [row.sequence for row in rows] == list(range(1, 11))
    assert [sorted(row["keys"]) for row in rows[:3]] == [["all", "even"], ["all"], ["all", "even"]]
    assert len({row.id for row in rows}) == 10
    assert all(before <= row.published <= datetime.now(UTC).replace(tzinfo=None) for row in rows)
    assert client.queue_state("desk").acknowledged == 8, "all but the last batch"

    client.publish_all(text(number) for number in range(10, 13))
    run(frame, tmp_path)
    assert [bytes(row.content) for row in found(spark, tmp_path)] == [
        text(number) for number in range(13)
    ]
    assert client.queue_state("desk").acknowledged >= 10


@pytest.mark.slow
def test_expressions_that_change_replace_those_kept(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    frame = queue(spark, broker.address, "desk")
    run(frame, tmp_path)
    client.publish_all(["<order/>", "<bill/>"])
    run(frame, tmp_path)
    reader = spark.readStream.format("twigcast").option("broker", broker.address)
    run(reader.option("durable", "desk").option("xpath", "bill").load(), tmp_path)
    client.publish_all(["<order/>", "<bill/>"])
    # Without expressions it stays as it is.
    run(reader.option("durable", "desk").load(), tmp_path)
    rows = [bytes(row.content) for row in found(spark, tmp_path)]
    assert rows == [b"<order/>", b"<bill/>"]


@pytest.mark.slow
def test_what_retention_has_taken_fails_the_query_unless_that_is_allowed(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    frame = queue(spark, broker.address, "desk")
    run(frame, tmp_path)
    publish(client, range(3))
    run(frame, tmp_path)
    publish(client, range(3, 8))
    with client.subscribe(durable="desk") as attached:
        for event in attached:
            event.ack()
            if event.sequence == 6:
                break
    until(lambda: client.queue_state("desk").first == 7)

    said = reason_why(lambda: run(frame, tmp_path))
    assert "taken 3 documents of 'desk'" in said
    assert 'option("failOnDataLoss", "false")' in said
    run(queue(spark, broker.address, "desk", failOnDataLoss="false"), tmp_path)
    assert [row.sequence for row in found(spark, tmp_path)] == [1, 2, 3, 7, 8]


def test_what_is_taken_while_tasks_read_fails_them(
    broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "desk", "order")
    publish(client, range(6))
    options = stream_options({"broker": broker.address, "durable": "desk"})
    whole = QueueRange(1, 6)
    rows = [row for batch in read_range(options, whole) for row in batch.to_pylist()]
    assert [row["content"] for row in rows] == [order(number) for number in range(6)]
    asyncio.run(acknowledge(options, 2))
    until(lambda: client.queue_state("desk").first == 3)
    with pytest.raises(PipelineError, match="has taken 2 documents of 'desk'"):
        list(read_range(options, whole))
    # What was never there is not lost.
    assert sum(batch.num_rows for batch in read_range(options, QueueRange(3, 9))) == 4


def test_to_acknowledge_takes_the_subscription_away_from_nobody(
    broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "desk", "order")
    publish(client, range(4))
    options = stream_options({"broker": broker.address, "durable": "desk"})
    with client.subscribe(durable="desk") as other:
        asyncio.run(acknowledge(options, 3))
        for number in range(1, 5):
            event = other.next(timeout=10)
            assert event is not None
            assert event.sequence == number
    assert client.queue_state("desk").acknowledged == 3
    asyncio.run(acknowledge(options, 2))
    assert client.queue_state("desk").acknowledged == 3
    with client.subscribe(durable="desk") as other:
        event = other.next(timeout=10)
        assert event is not None
        assert event.sequence == 4


def test_a_broker_that_stays_away_fails_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source, sink):
        monkeypatch.setattr(module, "PATIENCE", 0.5)
    nowhere = {"broker": "127.0.0.1:9", "durable": "desk"}
    with pytest.raises(PipelineError, match=r"the broker stays away: 127\.0\.0\.1:9"):
        list(read_range(stream_options(nowhere), QueueRange(1, 2)))
    batch = pa.RecordBatch.from_pydict({"content": [b"<a/>"]})
    with pytest.raises(PipelineError, match=r"cannot be published: 127\.0\.0\.1:9"):
        sink.publish(publish_options({"broker": "127.0.0.1:9"}), iter([batch]), "run", 0)


@pytest.mark.slow
def test_a_queue_that_is_another_than_the_checkpoint_has_is_refused(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    frame = queue(spark, broker.address, "desk")
    run(frame, tmp_path)
    publish(client, range(3))
    run(frame, tmp_path)
    client.forget("desk")
    assert "made anew" in reason_why(lambda: run(frame, tmp_path))


def test_a_broker_that_is_not_there_is_told_at_once(spark: SparkSession, tmp_path: Path) -> None:
    register_brokers(spark)
    began = time.monotonic()
    said = reason_why(lambda: run(queue(spark, "127.0.0.1:9", "desk"), tmp_path))
    assert "is a broker running there?" in said
    assert time.monotonic() - began < 30


def test_a_batch_reads_what_the_queue_has(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient
) -> None:
    reader = spark.read.format("twigcast").option("broker", broker.address)
    frame = reader.option("durable", "desk")
    assert "there is no durable subscription 'desk'" in reason_why(lambda: frame.load().count())
    make(client, "desk", "order")
    assert frame.load().count() == 0
    publish(client, range(PART + 1))
    rows = frame.load().select("sequence", "content").collect()
    assert sorted((row.sequence, bytes(row.content)) for row in rows) == [
        (number + 1, order(number)) for number in range(PART + 1)
    ]
    assert client.queue_state("desk").acknowledged == 0
    assert "xpath is for readStream" in reason_why(
        lambda: frame.option("xpath", "//a").load().count()
    )


# ---- publishing ----


@pytest.mark.slow
def test_a_batch_publishes_texts_and_binaries(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "all", "*")
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?><name>Käthe</name>'
    frame = spark.createDataFrame([(declared,), ("<a/>",), ("<a/>",)], "xml string").coalesce(1)
    writer = frame.write.format("twigcast").option("broker", broker.address)
    writer.option("column", "xml").mode("append").save()
    binary = spark.createDataFrame([(b"<b/>",)], "content binary")
    binary.write.format("twigcast").option("broker", broker.address).mode("append").save()
    assert contents(client, "all") == [
        declared.replace("ISO-8859-1", "UTF-8").encode(),
        b"<a/>",
        b"<a/>",
        b"<b/>",
    ]
    assert "cannot be taken back" in reason_why(lambda: writer.mode("overwrite").save())


def test_what_is_said_beside_documents_goes_in_and_comes_out(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "desk", "//a")
    make(client, "inbox", "//never")
    later = datetime(2999, 1, 31, 14, 30, tzinfo=UTC)
    rows = [
        ("<a>1</a>", {"traceparent": "00-1", "level": None}, later, None),
        ("<a>2</a>", {}, None, []),
        ("<a>3</a>", None, datetime(2001, 1, 1, tzinfo=UTC), None),
        ("<a>4</a>", None, None, ["here:inbox"]),
    ]
    frame = spark.createDataFrame(
        rows, "content string, headers map<string,string>, expires timestamp, to array<string>"
    )
    frame.write.format("twigcast").option("broker", broker.address).mode("append").save()
    reader = spark.read.format("twigcast").option("broker", broker.address)
    found = reader.option("durable", "desk").load().orderBy("content").collect()
    assert [(row.headers, row.expires and row.expires.astimezone(UTC)) for row in found] == [
        ({"traceparent": "00-1"}, later),
        ({}, None),
    ]
    assert contents(client, "inbox") == [b"<a>4</a>"]


def test_what_was_skipped_is_said_where_the_driver_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="twigcast")
    parts = [sink.PartitionPublished(1000, 1, "row 3: no XML", 2), None]
    sink.log_refused("batch 7", parts)
    assert "batch 7: 1 of 1,003 documents were refused and skipped; one: row 3" in caplog.text
    assert "batch 7: 2 of 1,003 documents had expired, and were skipped" in caplog.text


def test_rows_that_come_again_in_another_order_are_published_once(
    broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "all", "*")
    options = publish_options({"broker": broker.address})
    rows = [b"<a/>", b"<b/>", b"<a/>", b"<c/>"]
    for again in (rows[:2], rows, rows[::-1]):
        batch = pa.RecordBatch.from_pydict({"content": again})
        sink.publish(options, iter([batch]), "query-7", 0)
    assert contents(client, "all") == rows
    # In another partition, and in another batch, they are others.
    for run_id, partition in (("query-7", 1), ("query-8", 0)):
        sink.publish(options, iter([batch]), run_id, partition)
    assert sorted(contents(client, "all")) == sorted(3 * rows)


def test_refused_documents_fail_the_job_or_are_skipped(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient
) -> None:
    make(client, "all", "*")
    frame = spark.createDataFrame([("<a>",), (None,), ("<b/>",), ("",)], "content string").coalesce(
        1
    )
    writer = frame.write.format("twigcast").option("broker", broker.address).mode("append")
    said = reason_why(writer.save)
    assert "row 0 of" in said
    assert '.option("onRefused", "skip")' in said
    before = len(contents(client, "all"))
    writer.option("onRefused", "skip").save()
    assert contents(client, "all")[before:] == [b"<b/>"]


def test_an_advertisement_is_made_before_documents(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    make(client, "all", "*")
    dtd = tmp_path / "a.dtd"
    dtd.write_text("<!ELEMENT a (#PCDATA)>")
    frame = spark.createDataFrame([("<a/>",)], "content string")
    for promise in (str(dtd), "<!ELEMENT a (#PCDATA)>", "/a", "anything"):
        writer = frame.write.format("twigcast").option("broker", broker.address)
        writer.option("advertise", promise).mode("append").save()
    assert contents(client, "all") == [b"<a/>"] * 4


# ---- kills ----


def check(spark: SparkSession, client: SyncClient, folder: Path, numbers: Sequence[int]) -> None:
    """Everything is in the files once, and in the queue of what was published again once."""
    rows = spark.read.parquet(str(folder / "kept")).collect()
    assert sorted(number_of(bytes(row.content)) for row in rows) == list(numbers)
    assert sorted(row.sequence for row in rows) == list(range(1, len(numbers) + 1))
    seen = contents(client, "seen")
    assert all(content.startswith(b"<seen>") for content in seen)
    assert sorted(map(number_of, seen)) == list(numbers)


def test_a_driver_killed_in_the_midst_of_a_batch_loses_nothing_and_repeats_nothing(
    spark: SparkSession, broker: BrokerProcess, client: SyncClient, tmp_path: Path
) -> None:
    make(client, "seen", "seen")
    for durable in ("kept", "passed"):
        make(client, durable, "order")
    publish(client, range(1, 1_301))
    log = tmp_path / "log.txt"
    driver = SUPPORT / "broker_stream_driver.py"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(driver), broker.address, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(driver.parent)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            # A session of its own, by which all processes that belong to it are found.
            start_new_session=True,
        )
    try:

        def halted() -> bool:
            assert process.poll() is None, log.read_text(errors="replace")
            return (tmp_path / "halted").exists()

        until(halted)
        until(lambda: client.queue_state("seen").last > BATCH)
    finally:
        kill_session(process)
    published = client.queue_state("seen").last
    assert BATCH < published < 2 * BATCH, "the batch is published in part"

    publish(client, range(1_301, 1_401))
    for query in start(spark, broker.address, tmp_path, once=True):
        assert query.awaitTermination(int(PATIENCE))
    check(spark, client, tmp_path, range(1, 1_401))


def test_a_broker_killed_and_started_again_loses_nothing_and_repeats_nothing(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    with connect_sync(broker.address) as client:
        make(client, "seen", "seen")
        for durable in ("kept", "passed"):
            make(client, durable, "order")
        running = start(spark, broker.address, tmp_path, once=False)
        # A query fails that is started while the broker is away.
        until(lambda: all("Waiting" in query.status["message"] for query in running), running)
        publish(client, range(1, 2_001))
        until(lambda: client.queue_state("seen").last > 300, running)
        assert client.queue_state("seen").last < 2_000, "it is in the midst"
        broker.kill()
    broker.start()
    with connect_sync(broker.address) as client:
        publish(client, range(2_001, 2_501))
        until(lambda: all(reached(query) >= 2_500 for query in running), running)
        for query in running:
            query.stop()
        check(spark, client, tmp_path, range(1, 2_501))


def reached(query: StreamingQuery) -> int:
    """How far the batches of a query that have ended go."""
    progress = query.lastProgress
    end = progress and progress["sources"][0]["endOffset"]
    return int(json.loads(end)["sequence"]) if end else 0


# ---- options ----


def test_what_is_missing_is_named_together() -> None:
    with pytest.raises(PipelineError, match="broker and durable must be given"):
        stream_options({})
    with pytest.raises(PipelineError, match="broker and durable must be given"):
        batch_options({})
    with pytest.raises(PipelineError, match="broker must be given"):
        publish_options({"durable": "desk"})


def test_options_bind_variables_and_choose() -> None:
    options = {
        **MINIMUM,
        "xpath.one": "Stock[Price > $Limit]",
        "variables.limit": "5",
        "relativeTo": "document",
        "version": "2.0",
        "scope": "cluster",
    }
    (pattern,) = stream_options(options).expressions.values()
    assert str(pattern) == "/Stock[xpath-2.0(Price>5)]"
    with pytest.raises(PipelineError, match=r"'five' is no value of \$"):
        stream_options({**options, "variables.limit": "five"})
    with pytest.raises(PipelineError, match="relative_to is"):
        stream_options({**options, "relativeTo": "root"})
    for name in ("variables.limit", "relativeTo", "version", "scope"):
        with pytest.raises(PipelineError, match=f"{name} is for readStream"):
            batch_options({**MINIMUM, name: options[name]})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maxDocuments": "0"}, "maxDocuments is a number from 1"),
        ({"maxDocuments": "many"}, "maxDocuments is a number from 1"),
        ({"failOnDataLoss": "no"}, "failOnDataLoss is true or false"),
        ({"failOnDataLos": "false"}, "no option failondatalos; failOnDataLoss perhaps"),
        ({"xpath": "//a["}, "xpath: "),
        ({"xpath.k": "p:a"}, r"xpath\.k: "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        stream_options({**MINIMUM, **options})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"onRefused": "ignore"}, "onRefused is fail or skip"),
        ({"advertise": "/nowhere/at/all.dtd"}, "advertise: "),
        ({"advertise": "<!ELEMENT a ANY><!ELEMENT b ANY>", "advertiseRoot": "c"}, "advertise: "),
        ({"advertiseRoot": "a"}, "advertiseRoot goes with a DTD"),
        ({"to": "here:desk"}, "to is no option but a column, array<string>"),
    ],
)
def test_wrong_options_of_publishing_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        publish_options({"broker": "127.0.0.1:7400", **options})


def test_options_are_read_without_regard_to_case_and_tell_no_token() -> None:
    options = stream_options(
        {**MINIMUM, "MAXDOCUMENTS": "7", "token": "hidden", "checkpointLocation": "there"}
    )
    assert options.max_documents == 7
    assert options.broker.token == "hidden"
    assert "hidden" not in repr(options)
    assert stream_options(MINIMUM).max_documents == 10_000


def test_a_wrong_broker_is_noticed_when_the_frame_is_loaded(spark: SparkSession) -> None:
    register_brokers(spark)
    assert "broker must be given" in reason_why(
        spark.readStream.format("twigcast").option("durable", "desk").load
    )


def test_a_column_that_is_none_of_documents_is_refused() -> None:
    columns = StructType().add("a", "string").add("b", "integer")
    with pytest.raises(PipelineError, match="no column 'content' to publish; there are a, b"):
        check_columns(columns, "content")
    with pytest.raises(PipelineError, match="'b' is int; documents are binary or string"):
        check_columns(columns, "b")
    said = (("headers", "map<string,string>"), ("expires", "timestamp"), ("to", "array<string>"))
    for name, kind in said:
        with pytest.raises(PipelineError, match=f"{name} is {kind}"):
            check_columns(StructType().add("content", "string").add(name, "integer"), "content")


def test_ranges_are_whole_and_cut_in_the_same_places() -> None:
    cut = ranges(3, 3 * PART)
    assert [(each.first, each.last) for each in cut] == [
        (3, PART + 2),
        (PART + 3, 2 * PART + 2),
        (2 * PART + 3, 3 * PART),
    ]
    assert ranges(5, 4) == []
