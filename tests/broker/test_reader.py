"""Who reads the documents of a broker: the switch reaches every place that reads one."""

from __future__ import annotations

from typing import Any

import pytest

from twigcast import matching
from twigcast.broker.broker import Broker
from twigcast.broker.config import BrokerConfig
from twigcast.broker.schema_paths import strange_path
from twigcast.documents import DocumentLimits
from twigcast.errors import ConfigError
from twigcast.matching import ReaderName, batches, matcher, skeletons_of
from twigcast.matching._kernel import Documents
from twigcast.schema import Schema


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The readers that were asked for, from now on."""
    asked: list[str] = []
    documents = Documents

    def record(limits: DocumentLimits, reader: ReaderName = "checked") -> Any:
        asked.append(reader)
        return documents(limits, reader)

    monkeypatch.setattr(batches, "Documents", record)
    monkeypatch.setattr(matcher, "Documents", record)
    return asked


@pytest.mark.parametrize("reader", matching.READERS)
def test_a_broker_reads_with_the_reader_of_its_configuration(
    reader: ReaderName, readers: list[str]
) -> None:
    broker = Broker(BrokerConfig(reader=reader), "rome", None)
    broker.router.documents.recipients(b"<a/>")
    schema = Schema.from_dtd("<!ELEMENT a EMPTY>", root="a")
    assert strange_path(schema, b"<a/>", DocumentLimits(), broker.config.reader) is None
    assert len(readers) >= 3
    assert set(readers) == {reader}


def test_skeletons_are_the_same_with_either_reader(readers: list[str]) -> None:
    documents = [b"<a><b/></a>", b"<a", b"<c d='1'/>"]
    checked, expat = skeletons_of(documents), skeletons_of(documents, reader="expat")
    assert readers == ["checked", "expat"]
    assert (checked.numbers, checked.skeletons) == (expat.numbers, expat.skeletons)


def test_an_unknown_reader_is_refused() -> None:
    with pytest.raises(ConfigError, match='write "checked" or "expat"'):
        BrokerConfig(reader="libxml2")  # type: ignore[arg-type]  # what is wrong here
