"""Schemas learned from sample documents."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from twigcast.errors import SchemaError
from twigcast.language import parse
from twigcast.schema import Empty, Samples, Schema, Text
from twigcast.workload import DocumentParameters, generate_documents

SAMPLES = (
    b"<a xmlns='urn:x'><b k='1'/> <b>text<c/></b></a>",
    "<a xmlns='urn:x'><b/></a>",
    "<a xmlns='urn:x'><d/></a>",
    "<a xmlns='urn:x'/>",
    "<a xmlns='urn:x'><d/><b/></a>",
)


def test_what_the_samples_have_overlaps() -> None:
    schema = Schema.from_documents(SAMPLES)
    names = {"": "urn:x"}
    for expression in ("/a/b[@k]", "/a[b][d]", "/a/b[c]/text()", "/a/b[. = 'other']"):
        assert schema.overlaps(parse(expression, namespaces=names)), expression
    for expression in ("/a/c", "/b", "/a/@k", "/a/d/text()", "/a/b/c/*"):
        assert not schema.overlaps(parse(expression, namespaces=names)), expression
    assert isinstance(schema.elements["Q{urn:x}c"].content, Empty)


def test_confidence_is_counted() -> None:
    schema = Schema.from_documents(SAMPLES)
    assert schema.samples == Samples(5, 2)
    assert str(schema.samples) == (
        "learned from 5 samples, the last 2 of which brought nothing new"
    )
    assert Schema.from_dtd("<!ELEMENT a EMPTY>").samples is None


def test_samples_may_have_several_roots() -> None:
    schema = Schema.of(["<a><c>1</c></a>", "<b><c/></b>"])
    assert schema.roots == ("a", "b")
    assert isinstance(schema.elements["c"].content, Text)
    assert sorted(map(str, schema.advertisements())) == ["/a", "/a/c", "/b", "/b/c"]
    assert sorted(map(str, schema.advertisements(1))) == ["/a", "/b"]
    assert schema.count_paths(5) == 4


def test_generated_documents_are_like_the_samples() -> None:
    schema = Schema.from_documents(SAMPLES)
    for document in islice(generate_documents(schema, DocumentParameters(), seed=1), 20):
        again = Schema.from_documents([*SAMPLES, document])
        assert again == schema


def test_samples_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<a/>")
    assert Schema.from_documents([path]).root == "a"
    with pytest.raises(SchemaError, match=r"none\.xml: No such file"):
        Schema.from_documents([tmp_path / "none.xml"])
    with pytest.raises(SchemaError, match="sample 2: line 1"):
        Schema.from_documents(["<a/>", "<a>"])
    with pytest.raises(SchemaError, match="pass at least one document"):
        Schema.from_documents([])
