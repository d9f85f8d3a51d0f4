"""Generated documents: valid, as deep and large as asked, and repeatable."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from folders import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as some
from lxml import etree
from workloads import REAL_DTDS, SMALL, example, real, small

from twigcast.errors import SchemaError, WorkloadError
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    DocumentPlan,
    Vocabulary,
    generate_documents,
)
from twigcast.workload.elements import UsableElements


def _documents(
    schema: Schema, parameters: DocumentParameters, count: int, seed: int = 1
) -> list[bytes]:
    return list(islice(generate_documents(schema, parameters, seed=seed), count))


def _depth(root: Any) -> int:
    return max(sum(1 for _ in element.iterancestors()) + 1 for element in root.iter())


def _check(dtd: Any, document: bytes, levels: int) -> Any:
    root = etree.fromstring(document)
    assert dtd.validate(root), f"{dtd.error_log}\n{document.decode()}"
    assert _depth(root) <= levels
    return root


PARAMETERS = (
    DocumentParameters(),
    DocumentParameters(levels=7, repeats=1, optional=0.0, attributes=0.0),
    DocumentParameters(levels=7, repeats=2, optional=1.0, attributes=1.0),
    DocumentParameters(levels=8, size=2_000),
    DocumentParameters(levels=15, size=10_000, attributes=0.1),
)


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("name", ["news.dtd", "protein.dtd"])
def test_documents_are_valid_and_no_deeper_than_asked(
    name: str, parameters: DocumentParameters
) -> None:
    dtd = etree.DTD(str(EXAMPLES / name))
    for document in _documents(example(name), parameters, 25):
        _check(dtd, document, parameters.levels)


@pytest.mark.parametrize("name", list(REAL_DTDS))
def test_documents_of_real_dtds_are_valid(name: str, shared_data: Path) -> None:
    schema = real(shared_data, name)
    dtd = etree.DTD(str(shared_data / "dtd" / name))
    for parameters in (DocumentParameters(size=4_000), DocumentParameters(repeats=2)):
        for document in _documents(schema, parameters, 15):
            _check(dtd, document, parameters.levels)


@some.composite
def _dtds(draw: some.DrawFn) -> str:
    """DTDs in which each model names an element once, so that none is ambiguous."""
    names = "abcdef"
    text = []
    for name in names:
        attributes = draw(
            some.sampled_from(
                [
                    "",
                    "i ID #IMPLIED",
                    "i ID #REQUIRED r IDREF #IMPLIED",
                    "r IDREFS #REQUIRED",
                    "k (x | y) 'x' n NMTOKENS #REQUIRED",
                    "f CDATA #FIXED 'one two' xml:space (default | preserve) #IMPLIED",
                ]
            )
        )
        children = draw(some.lists(some.sampled_from(names), unique=True, max_size=4))
        kind = draw(some.sampled_from(["EMPTY", "ANY", "mixed", "model", "model", "model"]))
        if kind == "mixed":
            kind = f"(#PCDATA | {' | '.join(children)})*" if children else "(#PCDATA)"
        elif kind == "model":
            kind = f"({draw(_model(children))})" if children else "EMPTY"
        text.append(f"<!ELEMENT {name} {kind}>")
        if attributes:
            text.append(f"<!ATTLIST {name} {attributes}>")
    return "\n".join(text)


@some.composite
def _model(draw: some.DrawFn, names: list[str]) -> str:
    mark = draw(some.sampled_from(["", "", "?", "*", "+"]))
    if len(names) == 1:
        return names[0] + mark
    cut = draw(some.integers(1, len(names) - 1))
    joint = draw(some.sampled_from([", ", " | "]))
    return f"({draw(_model(names[:cut]))}{joint}{draw(_model(names[cut:]))}){mark}"


@given(_dtds(), some.integers(0, 3), some.sampled_from([None, 300, 2_000]), some.integers(0, 99))
@settings(max_examples=150)
def test_documents_of_any_dtd_are_valid(text: str, spare: int, size: int | None, seed: int) -> None:
    dtd = etree.DTD(io.BytesIO(text.encode()))
    reason = ""
    documents = []
    levels = 0
    try:
        schema = Schema.from_dtd(text, root="a")
        levels = UsableElements(schema).levels["a"] + spare
        plan = DocumentPlan(schema, DocumentParameters(levels=levels, size=size), seed=seed)
        documents = [plan.document(index) for index in range(3)]
    except (SchemaError, WorkloadError) as error:
        reason = str(error)
    # The only reasons that such a DTD gives.
    assert documents or "no document can be valid" in reason or "reference" in reason
    for document in documents:
        _check(dtd, document, levels)


# --- depth and size --------------------------------------------------------------------------


def test_too_few_levels_are_refused_with_the_least() -> None:
    for levels in (1, 2, 5):
        with pytest.raises(WorkloadError, match=f"at least 6 levels, not {levels}"):
            DocumentPlan(example("protein.dtd"), DocumentParameters(levels=levels), seed=1)
    dtd = etree.DTD(str(EXAMPLES / "protein.dtd"))
    for document in _documents(example("protein.dtd"), DocumentParameters(levels=6), 10):
        assert _depth(_check(dtd, document, 6)) == 6


def test_recursion_is_used_up_to_the_levels() -> None:
    for levels in (6, 10, 14):
        parameters = DocumentParameters(levels=levels, size=10_000)
        depths = [
            _depth(etree.fromstring(document))
            for document in _documents(example("news.dtd"), parameters, 20)
        ]
        assert max(depths) == levels


@pytest.mark.parametrize("name", ["news.dtd", "protein.dtd"])
@pytest.mark.parametrize(("size", "tolerance"), [(4_000, 0.25), (10_000, 0.1), (60_000, 0.1)])
def test_sizes_come_close_to_the_target(name: str, size: int, tolerance: float) -> None:
    lengths = [
        len(document)
        for document in _documents(example(name), DocumentParameters(size=size), 240_000 // size)
    ]
    assert sum(lengths) / len(lengths) == pytest.approx(size, rel=tolerance / 2)
    close = [length for length in lengths if abs(length - size) < tolerance * size]
    assert len(close) >= 0.9 * len(lengths)


def test_a_target_below_the_least_gives_small_valid_documents() -> None:
    dtd = etree.DTD(str(EXAMPLES / "protein.dtd"))
    documents = _documents(example("protein.dtd"), DocumentParameters(size=1), 20)
    assert max(map(len, documents)) < 2_000
    for document in documents:
        _check(dtd, document, 10)


def test_sizes_hold_where_expectations_have_no_bound() -> None:
    parameters = DocumentParameters(levels=300, size=20_000)
    for document in _documents(example("news.dtd"), parameters, 3):
        assert 15_000 < len(document) < 25_000


def test_documents_without_a_target_stop_growing_at_a_million() -> None:
    parameters = DocumentParameters(levels=60, repeats=6)
    lengths = [len(document) for document in _documents(example("news.dtd"), parameters, 3)]
    assert 900_000 < max(lengths) < 1_300_000


def test_repeats_are_a_bound_without_a_target() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b*, c+)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>")
    seen = set()
    for document in _documents(schema, DocumentParameters(repeats=4), 300):
        root = etree.fromstring(document)
        seen.add((len(root.findall("b")), len(root.findall("c"))))
    assert seen == {(b, c) for b in range(5) for c in range(1, 5)}


def test_optional_parts_come_with_their_chance() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b?)> <!ATTLIST a x CDATA #IMPLIED> <!ELEMENT b EMPTY>")
    parameters = DocumentParameters(optional=0.8, attributes=0.2)
    roots = [etree.fromstring(document) for document in _documents(schema, parameters, 1_000)]
    assert sum(len(root) for root in roots) / 1_000 == pytest.approx(0.8, abs=0.05)
    assert sum(len(root.attrib) for root in roots) / 1_000 == pytest.approx(0.2, abs=0.05)


# --- attributes and text ---------------------------------------------------------------------


def test_identifiers_are_unique_and_references_lead_to_them() -> None:
    dtd = etree.DTD(io.BytesIO(SMALL.encode()))
    referred = 0
    for document in _documents(small(), DocumentParameters(size=2_000, attributes=0.6), 40):
        root = _check(dtd, document, 10)
        identifiers = root.xpath("//@id")
        assert len(identifiers) == len(set(identifiers))
        assert set(root.xpath("//@like")) <= set(identifiers)
        referred += len(root.xpath("//@like"))
    assert referred > 100


def test_a_required_reference_makes_room_for_an_identifier() -> None:
    text = """<!ELEMENT a (b)> <!ATTLIST a i ID #IMPLIED>
              <!ELEMENT b EMPTY> <!ATTLIST b r IDREF #REQUIRED>"""
    dtd = etree.DTD(io.BytesIO(text.encode()))
    parameters = DocumentParameters(attributes=0.0)
    (document,) = _documents(Schema.from_dtd(text), parameters, 1)
    assert _check(dtd, document, 10).xpath("string(/a/@i) = string(//@r)")


def test_a_required_reference_without_any_identifier_is_refused() -> None:
    schema = Schema.from_dtd("<!ELEMENT a EMPTY> <!ATTLIST a r IDREF #REQUIRED>")
    with pytest.raises(WorkloadError, match="reference finds no element"):
        next(generate_documents(schema, DocumentParameters(), seed=1))


def test_entities_are_left_out_or_refused() -> None:
    optional = Schema.from_dtd("<!ELEMENT a EMPTY> <!ATTLIST a e ENTITY #IMPLIED>")
    parameters = DocumentParameters(attributes=1.0)
    assert b" e=" not in next(generate_documents(optional, parameters, seed=1))
    required = Schema.from_dtd("<!ELEMENT a EMPTY> <!ATTLIST a e ENTITY #REQUIRED>")
    with pytest.raises(WorkloadError, match="attribute e of a must name an unparsed entity"):
        DocumentPlan(required, DocumentParameters(), seed=1)


def test_words_are_escaped_and_encoded() -> None:
    words = ("R&D", "a<b", "x>y", 'so "called"', "it's", "日本", "plain")
    text = """<!ELEMENT a (#PCDATA | b)*> <!ATTLIST a t CDATA #REQUIRED n NMTOKEN #REQUIRED>
              <!ELEMENT b (#PCDATA)>"""
    schema = Schema.from_dtd(text)
    vocabulary = Vocabulary(words=words, skew=0.0, numbers=0.0)
    seen = set()
    for document in _documents(schema, DocumentParameters(vocabulary=vocabulary), 60):
        root = _check(etree.DTD(io.BytesIO(text.encode())), document, 10)
        seen |= {word for word in words if word in "".join(root.itertext())}
        assert root.get("n") in ("日本", "plain")
    assert seen == set(words)
    assert document.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<a ')


def test_namespace_declarations_are_always_written() -> None:
    schema = Schema.from_dtd(
        """<!ELEMENT s:list (s:entry+)>
           <!ATTLIST s:list xmlns:s CDATA #FIXED "urn:s" version CDATA #FIXED "2">
           <!ELEMENT s:entry (#PCDATA)>"""
    )
    for document in _documents(schema, DocumentParameters(attributes=0.0), 5):
        root = etree.fromstring(document)
        assert {element.tag for element in root.iter()} == {"{urn:s}list", "{urn:s}entry"}


def test_enumerations_and_fixed_values_are_kept() -> None:
    countries = set()
    for document in _documents(small(), DocumentParameters(size=500), 60):
        countries.add(etree.fromstring(document).get("country"))
    assert countries == {"at", "ch", "de"}
    parameters = DocumentParameters(attributes=1.0, size=1_000)
    for document in _documents(example("news.dtd"), parameters, 5):
        assert etree.fromstring(document).get("version") == "1.0"


# --- the same again --------------------------------------------------------------------------


def test_a_seed_determines_every_byte() -> None:
    parameters = DocumentParameters(size=3_000)
    schema = example("news.dtd")
    once = _documents(schema, parameters, 10, seed=4)
    assert once == _documents(schema, parameters, 10, seed=4)
    assert once != _documents(schema, parameters, 10, seed=5)
    assert len(set(once)) == 10


def test_documents_stay_what_they_were_on_every_machine() -> None:
    """A change here means that results with old and new workloads cannot be compared."""
    documents = _documents(small(), DocumentParameters(size=1_000), 20, seed=6)
    assert hashlib.sha256(b"".join(documents)).hexdigest()[:16] == "6b96fb18c0b832d7"


def test_the_thousandth_needs_none_of_those_before() -> None:
    parameters = DocumentParameters(size=500)
    plan = DocumentPlan(small(), parameters, seed=4)
    documents = generate_documents(small(), parameters, seed=4)
    assert isinstance(documents, Iterator)
    expected = next(islice(documents, 1_000, None))
    assert plan.document(1_000) == expected
    assert pickle.loads(pickle.dumps(plan)).document(1_000) == expected


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"levels": 0}, "levels must be from 1"),
        ({"levels": 1_001}, "levels must be from 1 to 1,000"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"optional": -0.1}, "optional is a probability"),
        ({"attributes": 1.1}, "attributes is a probability"),
        ({"size": 0}, "size must be from 1"),
    ],
)
def test_impossible_parameters_are_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(WorkloadError, match=reason):
        DocumentParameters(**arguments)


def test_line_ends_and_tabs_in_fixed_values_are_read_back() -> None:
    text = '<!ELEMENT a EMPTY><!ATTLIST a x CDATA #FIXED "q&#10;r&#9;s&#13;t">'
    plan = DocumentPlan(Schema.from_dtd(text), DocumentParameters(attributes=1.0), seed=1)
    assert etree.fromstring(plan.document(0)).get("x") == "q\nr\ts\rt"
