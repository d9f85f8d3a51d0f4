"""Batches of documents as a Spark worker gets them, hopeless ones among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from twigcast.language import Subscription
from twigcast.pipeline.route import bundles
from twigcast.pipeline.route.bundles import Bundle
from twigcast.pipeline.route.indexes import load_index, write_index
from twigcast.pipeline.route.verdicts import MatchDocuments

BAD: dict[str, bytes] = {
    "malformed": b"<a>\n<b></a>",
    "cut off": b"<a><b/>\n ",
    "empty": b"",
    "blank": b" \n",
    "not XML": b"%PDF-1.7 \x00\x01",
    "noise": bytes(range(256)),
    "two roots": b"<a/>\n<b/>",
    "bomb": (
        b'<!DOCTYPE a [<!ENTITY x "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx">'
        + b"".join(
            b'<!ENTITY x%d "%s">' % (n, b"&x%s;" % (b"%d" % (n - 1) if n else b"") * 20)
            for n in range(12)
        )
        + b"]><a>&x11;</a>"
    ),
    "entity without end": b'<!DOCTYPE a [<!ENTITY x "&x;">]><a>&x;</a>',
    "too deep": b"<a>" * 600 + b"</a>" * 600,
    "too many attributes": b"<a " + b" ".join(b"n%d=''" % n for n in range(2_000)) + b"/>",
    "unknown encoding": b"<?xml version='1.0' encoding='klingon'?><a/>",
    "wrong encoding": b"<?xml version='1.0' encoding='utf-16'?><a/>",
    "not UTF-8": "<a>ü</a>".encode("latin-1"),
    "forbidden character": b"<a>\x01</a>",
    "unbound prefix": b"<p:a/>",
}
"""Documents that are none, each in another way."""


BINARY = pa.binary()


def batch_of(*contents: bytes | None, kind: pa.DataType = BINARY, **more: Any) -> Any:
    ids = [f"d{number}" for number in range(len(contents))]
    columns = {"id": ids, "source": ids, "content": pa.array(contents, kind)}
    return pa.RecordBatch.from_pydict(columns | more)


def matching(
    folder: Path, monkeypatch: pytest.MonkeyPatch, subscriptions: list[Subscription]
) -> MatchDocuments:
    """Decides by subscriptions, from files as workers have them."""
    write_index(subscriptions, folder)
    monkeypatch.setitem(bundles._kept, str(folder), load_index(folder))
    return MatchDocuments(Bundle(str(folder), load_index))
