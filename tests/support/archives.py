"""Random archives, and what lxml says that they answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from lxml import etree
from oracle import parse_tree

from twigcast.language import parse
from twigcast.pipeline.archive import archive, compact

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("a", "b", "c", "d")
SCHEMA = "id string, source string, content binary, problem string, time timestamp"


@dataclass(frozen=True)
class Kept:
    """A document, where it came from and its time."""

    content: bytes
    source: str
    time: datetime

    @property
    def id(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def random_document(random: Random) -> bytes:
    """Few names and values, so that shapes recur and most queries select some."""

    def element(depth: int) -> str:
        name = random.choice(NAMES)
        attribute = f' x="{random.randrange(3)}"' if random.random() < 0.05 else ""
        if depth == 0:
            return f"<{name}{attribute}>{random.randrange(20)}</{name}>"
        inside = "".join(element(depth - 1) for _ in range(random.randint(1, 2)))
        return f"<{name}{attribute}>{inside}</{name}>"

    space = ' xmlns="urn:n"' if random.random() < 0.2 else ""
    root = random.choice("rs")
    return f"<{root}{space}>{element(2) if random.random() < 0.2 else element(1)}</{root}>".encode()


def random_documents(random: Random, count: int) -> list[Kept]:
    """Distinct ones."""
    kept: dict[bytes, Kept] = {}
    while len(kept) < count:
        content = random_document(random)
        time = START + timedelta(minutes=random.randrange(1000))
        kept.setdefault(content, Kept(content, f"run-{len(kept)}", time))
    return list(kept.values())


def as_frame(spark: SparkSession, documents: Iterable[Kept]) -> DataFrame:
    """The documents as ``archive`` takes them."""
    rows = [
        (f"{number}", one.source, bytearray(one.content), None, one.time)
        for number, one in enumerate(documents)
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(2)


def answer(
    documents: Iterable[Kept],
    xpath: str,
    since: datetime | None = None,
    until: datetime | None = None,
) -> set[str]:
    """The identities of the documents that match, by libxml2, one by one."""
    text, prefixes = parse(xpath).to_xpath()
    asked = etree.XPath(text, namespaces=prefixes)
    return {
        one.id
        for one in documents
        if (since is None or one.time >= since)
        and (until is None or one.time < until)
        and asked(parse_tree(one.content))
    }


def shared_documents() -> list[Kept]:
    """Those of :func:`shared_archive`."""
    documents = random_documents(Random(7), 400)
    # Names as data: more paths than are worth remembering.
    wide = "".join(f"<n{number:0100}/>" for number in range(700))
    documents.append(Kept(f"<r><a><b>3</b></a>{wide}</r>".encode(), "wide", START))
    return documents


def shared_archive(spark: SparkSession, factory: pytest.TempPathFactory) -> Path:
    """An archive that all tests may ask, made once: two parts, one of them compacted."""
    folder = factory.getbasetemp() / "shared-archive"
    if not folder.exists():
        kept = shared_documents()
        for begin, end in ((0, 150), (100, 250)):
            archive(spark, as_frame(spark, kept[begin:end]), str(folder), file_bytes=3_000)
        compact(spark, str(folder), file_bytes=3_000)
        archive(spark, as_frame(spark, kept[200:]), str(folder), file_bytes=8_000)
    return folder


QUERIES = (
    "//a/b",
    "//a[b = 3]",
    "//b[c][d]",
    "/r[not(.//d)]",
    "//a[not(b)]/c",
    "//@x",
    "//b[@x = 1] | //c[. > 15]",
    "//*:a[contains(*:b, '1')]",
    "/Q{urn:n}r//Q{urn:n}*[2]",
    "//a/text()",
    "//d[b = 1 or c > 5][a]",
    "//nowhere",
)
