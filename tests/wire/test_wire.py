"""The wire: the generated module is that of the definition, and frames can be put together."""

from __future__ import annotations

from pathlib import Path

import generate_wire
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.wire import channel_options, messages, method, raw


def test_the_generated_module_is_that_of_the_definition(tmp_path: Path) -> None:
    generate_wire.generate(tmp_path)
    for name in ("twigcast_pb2.py", "twigcast_pb2.pyi"):
        made = tmp_path / "twigcast" / "wire" / name
        kept = generate_wire.ROOT / "src" / "twigcast" / "wire" / name
        assert made.read_text() == kept.read_text(), "run tools/generate_wire.py"


@given(st.integers(0, 2**64 - 1))
def test_whole_numbers_are_encoded_as_protocol_buffers_does(value: int) -> None:
    expected = messages.QueueState(last=value).SerializeToString()
    assert (b"\x08" + raw.varint(value) if value else b"") == expected


@given(st.lists(st.binary(max_size=300), max_size=5), st.lists(st.integers(0, 2**32 - 1)))
def test_messages_can_be_put_together_from_serialized_parts(
    contents: list[bytes], numbers: list[int]
) -> None:
    documents = [messages.Delivery(content=each) for each in contents]
    shared = [messages.Shared(document=each, subscriptions=numbers) for each in documents]
    expected = messages.BrokerFrame(documents=messages.Documents(documents=shared))
    getting = messages.Shared(subscriptions=numbers).SerializeToString()
    parts = [raw.field(1, each.SerializeToString()) + getting for each in documents]
    frame = raw.field(3, raw.fields(1, parts))
    assert messages.BrokerFrame.FromString(frame) == expected


def test_methods_are_called_by_their_paths() -> None:
    assert method("Connect") == "/twigcast.v1.Broker/Connect"
    service = messages.DESCRIPTOR.services_by_name["Broker"]
    assert method("Ask") == f"/{service.full_name}/{service.methods_by_name['Ask'].name}"


@pytest.mark.parametrize("size", [1000, 4_000_000])
def test_messages_have_room_for_more_than_their_documents(size: int) -> None:
    options = dict(channel_options(size))
    assert options["grpc.max_receive_message_length"] > size
