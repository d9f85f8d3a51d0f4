"""Queries at a broker in a unit: kept within it, with documents addressed, as executors do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")
pytest.importorskip("grpc", reason="brokers need gRPC")

import pyarrow as pa
from broker_process import BrokerProcess

from twigcast.client import connect_sync
from twigcast.errors import PipelineError
from twigcast.pipeline.brokers import sink, source
from twigcast.pipeline.brokers.options import publish_options, stream_options


def test_queries_keep_within_a_unit_and_address_documents(tmp_path: Path) -> None:
    with (
        BrokerProcess(tmp_path / "store", unit="north") as broker,
        connect_sync(broker.address) as client,
    ):
        options = {"broker": broker.address, "durable": "desk", "scope": "cluster"}
        reader = source.QueueStreamReader(stream_options({**options, "xpath": "//a"}))
        assert reader.initialOffset() == {"broker": "north/here", "sequence": 0}
        reader.stop()
        with client.subscribe(durable="desk") as desk:
            assert desk.scope == "north"
        client.subscribe("//never", durable="inbox").close()

        def write(scope: str, to: Sequence[list[str | None] | None], **more: str) -> list[bytes]:
            """Publish equal documents to some destinations; what the inbox has then."""
            batch = pa.RecordBatch.from_pydict({"content": ["<a/>"] * len(to), "to": to})
            given = publish_options({"broker": broker.address, "scope": scope, **more})
            sink.publish(given, iter([batch]), f"query-{scope}", 0)
            state = client.queue_state("inbox")
            return [each.content for each in client.read_queue("inbox", 1, state.last)]

        inbox: list[str | None] = ["north/here:inbox"]
        # Rows that come again are the same ones, and one that goes elsewhere is another.
        for to in ([inbox], [None, inbox]):
            assert write("north", to, advertise="anything") == [b"<a/>"]
        assert client.queue_state("desk").last == 1
        for more in ({}, {"advertise": "anything"}):
            with pytest.raises(PipelineError, match="choose a scope among: cluster, north"):
                write("south", [None], **more)
        with pytest.raises(PipelineError, match=r"row 0 of .*: a destination .* is null"):
            write("", [[None]])
        assert write("", [[None]], onRefused="skip") == [b"<a/>"]
