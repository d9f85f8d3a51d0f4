from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from bounds import bounded
from document_trees import read_rows

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Element, decompose, read_document
from twigcast.errors import DocumentError


def nested(depth: int) -> str:
    return "<a>" * depth + "</a>" * depth


def repeat(template: str, count: int) -> str:
    return "".join(template.format(number) for number in range(count))


def attributes(count: int) -> str:
    return f"<a{repeat(' x{}=_', count)}/>".replace("_", "''")


EDGES: tuple[tuple[str, Callable[[int], str], int], ...] = (
    ("size", lambda size: f"<a>{'x' * (size - 7)}</a>", 100),
    ("size", lambda size: f"<a>{'x' * (size - 7)}</a>", 20_000),
    ("depth", nested, 1),
    ("depth", nested, 512),
    ("attributes", attributes, 1),
    ("attributes", attributes, 1_000),
    ("attributes", lambda count: f"<a xmlns='u' xmlns:p='u'>{attributes(count)}</a>", 1),
    ("attributes", lambda count: attributes(count).replace("''", f"'{'v' * 90}'"), 200),
    ("name_length", lambda length: f"<{'n' * length}/>", 50),
    ("name_length", lambda length: f"<a {'n' * length}=''/>", 50),
    ("name_length", lambda length: f"<ab xmlns='{'é' * (length - 2)}'/>", 50),
    ("name_length", lambda length: f"<a xmlns:p='{'n' * (length - 1)}' p:b=''/>", 50),
    ("name_length", lambda length: f"<p:a xmlns:p='{'n' * (length - 1)}'/>", 30_000),
    ("entity_expansion", lambda size: f"<!DOCTYPE a [<!ENTITY e '{'é' * size}'>]><a>&e;</a>", 1),
    ("entity_expansion", lambda size: f"<!DOCTYPE a [<!ENTITY e 'x'>]><a>{'&e;' * size}</a>", 99),
    ("entity_expansion", lambda size: f"<!DOCTYPE a [<!ENTITY e ''>]><a>{'&e;' * size}</a>", 99),
)


@pytest.mark.parametrize(("name", "make", "limit"), EDGES)
def test_a_limit_is_kept_at_its_edge(name: str, make: Callable[[int], str], limit: int) -> None:
    limits = DocumentLimits(**{name: limit})
    read_document(make(limit), limits)
    read_document(make(limit).encode(), limits)
    for text in (make(limit + 1), make(limit + 1).encode()):
        with pytest.raises(DocumentError, match=f"{limit:,}.*raise DocumentLimits.{name} "):
            read_document(text, limits)


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("size", "<a>...........</a>", 0, 0),
        ("depth", "<a>\n<b>é<c/></b></a>", 2, 5),
        ("depth", "\ufeff<a><b><c/></b></a>", 1, 7),
        ("attributes", "<a>\n <b w='' x='' y='' z=''/></a>", 2, 2),
        ("name_length", "<a>é<bbb/></a>", 1, 5),
        ("entity_expansion", "<!DOCTYPE a [<!ENTITY e 'éee'>]>\n<a>&amp;&e;</a>", 2, 9),
    ],
)
def test_the_error_names_the_place(name: str, text: str, line: int, column: int) -> None:
    limit = 3 if name == "attributes" else 2
    with pytest.raises(DocumentError) as caught:
        read_document(text, DocumentLimits(**{name: limit}))
    assert f"DocumentLimits.{name}" in caught.value.reason
    assert (caught.value.line, caught.value.column) == (line, column)


def test_defaulted_attributes_count() -> None:
    text = "<!DOCTYPE a [<!ATTLIST a x CDATA 'v' y CDATA 'v'>]><a z=''/>"
    read_document(text, DocumentLimits(attributes=3))
    with pytest.raises(DocumentError, match=r"DocumentLimits\.attributes"):
        read_document(text, DocumentLimits(attributes=2))


def test_the_size_is_checked_before_and_after_decoding() -> None:
    euro = "<?xml version='1.0' encoding='windows-1252'?><a>" + "€" * 100 + "</a>"
    data = euro.encode("cp1252")
    read_document(data, DocumentLimits(size=len(euro.encode())))
    for size in (len(euro.encode()) - 1, len(data) - 1):
        with pytest.raises(DocumentError, match=r"DocumentLimits\.size"):
            read_document(data, DocumentLimits(size=size))
    text = "<a>" + "€" * 100 + "</a>"
    read_document(text, DocumentLimits(size=len(text.encode())))
    with pytest.raises(DocumentError, match=r"DocumentLimits\.size"):
        read_document(text, DocumentLimits(size=len(text.encode()) - 1))


def test_views_are_measured_in_bytes() -> None:
    data = b"<a>text</a>"
    view = memoryview(data + b" ").cast("H")
    assert read_rows(view, DocumentLimits(size=12)) == read_rows(data)
    with pytest.raises(DocumentError, match=r"DocumentLimits\.size"):
        read_document(view, DocumentLimits(size=11))


def test_deep_documents_are_refused_at_once() -> None:
    data = nested(100_000).encode()
    with bounded(1, 20), pytest.raises(DocumentError, match=r"512 levels") as caught:
        read_document(data)
    assert (caught.value.line, caught.value.column) == (1, 3 * 512 + 1)


def test_deep_documents_are_read_without_recursion() -> None:
    depth = 100_000
    text = "<a>" * depth + "x" + "</a>" * depth
    document = read_document(text, DocumentLimits(depth=depth))
    assert sum(1 for _ in document.elements()) == depth
    assert document.root.string_value() == "x"
    (publication,) = decompose(document, "deep")
    assert publication.path == (("", "a"),) * depth
    assert len(str(publication)) == 2 * depth
    with pytest.raises(DocumentError):
        read_document(f"<a>{text}</a>", DocumentLimits(depth=depth))


def prefixed(count: int) -> str:
    return repeat(" p:x{}=''", count)


LONG = "u" * 500_000
FAIR = "u" * 3_900
TAG_BOMBS = {
    "all in one tag": (f"<a xmlns:p='{LONG}'{prefixed(100_000)}/>", "name_length"),
    "a long name alone": (f"<a xmlns:p='{LONG}'><b{prefixed(500)}/></a>", "name_length"),
    "many attributes alone": (f"<a xmlns:p='{FAIR}'><b{prefixed(100_000)}/></a>", "attributes"),
    "declarations": ("<a" + repeat(" xmlns:p{}='u'", 100_000) + "/>", "attributes"),
    "a name from an entity": (
        f"<!DOCTYPE a [<!ENTITY e '{LONG}'>]><a xmlns:p='&e;'><b{prefixed(900)}/></a>",
        "name_length",
    ),
    "a name from an entity in an entity": (
        f"<!DOCTYPE a [<!ENTITY e '{LONG}'><!ENTITY f \"<b xmlns:p='&e;'/>\">]><a>&f;</a>",
        "name_length",
    ),
    "a tag from an entity": (
        f'<!DOCTYPE a [<!ENTITY e "&#60;b{prefixed(50_000)}/>">]><a xmlns:p="{FAIR}">&e;</a>',
        "attributes",
    ),
    "a name from a default": (
        f"<!DOCTYPE a [<!ATTLIST a xmlns:p CDATA '{LONG}'>]><a><b{prefixed(900)}/></a>",
        "name_length",
    ),
    "attributes from defaults": (
        f"<!DOCTYPE a [<!ATTLIST a{prefixed(100_000)}>]><a xmlns:p='{FAIR}'/>".replace(
            "=''", " CDATA ''"
        ),
        "attributes",
    ),
}


@pytest.mark.parametrize("name", TAG_BOMBS)
def test_long_namespace_names_times_many_attributes_are_refused(name: str) -> None:
    text, limit = TAG_BOMBS[name]
    with bounded(5, 64), pytest.raises(DocumentError, match=f"DocumentLimits.{limit}"):
        read_document(text)


def test_long_tags_within_the_limits_are_read() -> None:
    values = {f"x{number}": "v" * 100 for number in range(999)}
    tag = "".join(f"\n {name} = '{value}'" for name, value in values.items())
    text = f"<a><b xmlns:p='urn:p'{tag} p:y='>'/>{'t' * 20_000}<c/></a>"
    root = read_document(text).root
    (element, content, _) = root.children
    assert isinstance(element, Element)
    assert element.attributes == {("", name): value for name, value in values.items()} | {
        ("urn:p", "y"): ">"
    }
    assert content == "t" * 20_000


def test_limits_are_positive_whole_numbers() -> None:
    assert DocumentLimits() == DEFAULT_LIMITS
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="depth must be at least 1"):
            DocumentLimits(depth=wrong)
    for other in (1.5, "3", True, None):
        with pytest.raises(TypeError, match="size must be a whole number"):
            DocumentLimits(size=other)  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        DEFAULT_LIMITS.depth = 3  # type: ignore[misc]
