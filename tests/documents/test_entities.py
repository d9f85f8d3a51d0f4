from __future__ import annotations

import re
from xml.parsers import expat

import pytest
from bounds import MEBIBYTE, bounded
from document_trees import lxml_rows, read_rows
from hypothesis import given
from hypothesis import strategies as st

from twigcast.documents import (
    DEFAULT_LIMITS,
    DocumentLimits,
    check_entities,
    has_document_type,
    read_document,
)
from twigcast.documents.doctype import MOST_DECLARATIONS, read_document_type
from twigcast.documents.entities import MOST_NESTING
from twigcast.errors import DocumentError


def laughs(levels: int = 30, reference: str = "&{};", first: str = "ha") -> str:
    texts = [first, *(reference.format(f"e{level}") * 10 for level in range(levels - 1))]
    return "".join(f"<!ENTITY e{level} '{text}'>" for level, text in enumerate(texts))


TEXT_BOMBS = {
    "laughs in text": f"<!DOCTYPE a [{laughs()}]><a>&e29;</a>",
    "laughs in an attribute": f"<!DOCTYPE a [{laughs()}]><a b='&e29;'/>",
    "laughs in a default": f"<!DOCTYPE a [{laughs()}<!ATTLIST a b CDATA '&e29;'>]><a/>",
    "laughs in an unused default": f"<!DOCTYPE a [{laughs()}<!ATTLIST b b CDATA '&e29;'>]><a/>",
    "laughs by character references": f"<!DOCTYPE a [{laughs(reference='&#38;{};')}]><a>&e29;</a>",
    "laughs by hexadecimal ones": f"<!DOCTYPE a [{laughs(reference='&#x026;{};')}]><a>&e29;</a>",
    "laughs of nothing": f"<!DOCTYPE a [{laughs(first='')}]><a>&e29;</a>",
    "laughs of elements": f"<!DOCTYPE a [{laughs(first='<b/>')}]><a>&e29;</a>",
    "quadratic in text": f"<!DOCTYPE a [<!ENTITY e '{'x' * 100_000}'>]><a>{'&e;' * 100_000}</a>",
    "quadratic in attributes": f"<!DOCTYPE a [<!ENTITY e '{'x' * 100_000}'>]><a>"
    + '<b c="&e;"/>' * 20_000
    + "</a>",
    "one long default on many elements": f"<!DOCTYPE a [<!ATTLIST b c CDATA '{'x' * 100_000}'>]>"
    f"<a>{'<b/>' * 100_000}</a>",
    "defaults on elements of entities": f"<!DOCTYPE a [<!ATTLIST b c CDATA '{'x' * 100_000}'>"
    f"<!ENTITY e '{'<b/>' * 1_000}'>]><a>{'&e;' * 100}</a>",
    "many short defaults": "<!DOCTYPE a [<!ATTLIST b "
    + " ".join(f"c{number} CDATA ''" for number in range(1_000))
    + f">]><a>{'<b/>' * 100_000}</a>",
}


@pytest.mark.parametrize("name", TEXT_BOMBS)
def test_bombs_are_refused_in_bounded_time_and_memory(name: str) -> None:
    text = TEXT_BOMBS[name]
    data = text.encode()
    with (
        bounded(5, 2 + 12 * len(data) / MEBIBYTE),
        pytest.raises(DocumentError, match=r"raise DocumentLimits\.entity_expansion"),
    ):
        read_document(data)
    for encoded in (text, text.encode("utf-16"), f"\ufeff{text}".encode()):
        with pytest.raises(DocumentError, match=r"raise DocumentLimits\.entity_expansion"):
            read_document(encoded)


def test_chains_of_entities_are_refused_before_expat_follows_them() -> None:
    def chain(length: int, step: int) -> str:
        links = ["<!ENTITY e0 'x'>", *(f"<!ENTITY e{n} '&e{n - 1};'>" for n in range(1, length))]
        return f"<!DOCTYPE a [{''.join(links[::step])}]><a>&e{length - 1};</a>"

    for step in (1, -1):
        assert read_document(chain(MOST_NESTING, step)).root.children == ["x"]
        for length in (MOST_NESTING + 1, 10_000):
            text = chain(length, step)
            with bounded(3, 20), pytest.raises(DocumentError, match="nested deeper than 40 levels"):
                read_document(text)


@pytest.mark.parametrize(
    "declaration",
    ["<!ENTITY e{} ''>", "<!ENTITY e ''>", "<!ENTITY % e ''>", "<!ATTLIST a{} b CDATA ''>"],
)
def test_more_declarations_than_anyone_needs_are_refused(declaration: str) -> None:
    text = "".join(declaration.format(number) for number in range(2 * MOST_DECLARATIONS))
    with pytest.raises(DocumentError, match="more than 50,000 declarations"):
        read_document(f"<!DOCTYPE a [{text}]><a/>")


@pytest.mark.parametrize(
    "entities",
    [
        "<!ENTITY e '&e;'>",
        "<!ENTITY e 'x&f;'><!ENTITY f '<b c=\"&e;\"/>'>",
        "<!ENTITY e '&#38;e;'>",
        "<!ENTITY d 'x'><!ENTITY e '&d;&f;'><!ENTITY f '&g;'><!ENTITY g '&d;&f;'>",
    ],
)
def test_entities_that_contain_themselves_are_refused(entities: str) -> None:
    for content in ("&e;", ""):
        with pytest.raises(DocumentError, match="contains a reference to itself") as caught:
            read_document(f"<!DOCTYPE a [\n{entities}]><a>{content}</a>")
        assert caught.value.line == 2


def test_names_in_comments_and_cdata_are_no_references() -> None:
    text = (
        "<!DOCTYPE a SYSTEM 'absent.dtd' [<!ENTITY e '<![CDATA[&e;]]><!-- &e; --><?p &e;?>x'>]>"
        "<a>&e;<!-- &none; --><?p &none;?><![CDATA[&none; <b>]]></a>"
    )
    assert read_rows(text) == lxml_rows(text.encode())


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        # declared nowhere in the document
        ("<!DOCTYPE a SYSTEM 'x.dtd'>\n<a>é&e;</a>", "external DTDs are never fetched", 2, 5),
        ("<!DOCTYPE a SYSTEM 'x.dtd'>\n<a b='&e;'/>", "external DTDs are never fetched", 2, 7),
        ("<!DOCTYPE a PUBLIC 'p' 's' [ ]>\n<a b='&e;'/>", "external DTDs are never", 2, 7),
        (
            "<!DOCTYPE a SYSTEM 'x' [<!ENTITY f '&e;'>]>\n<a b='&f;'/>",
            "'e' is declared outside the document",
            2,
            7,
        ),
        (
            "<!DOCTYPE a SYSTEM 'x' [\n<!ATTLIST a b CDATA '&e;'>]><a/>",
            "'e' is declared outside",
            2,
            1,
        ),
        (
            "<!DOCTYPE a SYSTEM 'x' [\n<!ATTLIST a b CDATA '&e;'><!ENTITY e ''>]><a/>",
            "'e' is declared only after",
            2,
            1,
        ),
        ("<!DOCTYPE a [ ]><a>&e;</a>", "not well-formed: the entity 'e' is not declared", 1, 20),
        # declared, but its text is elsewhere
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]>\n<a>&e;</a>", "external entities are never", 2, 4),
        ("<!DOCTYPE a [<!ENTITY e PUBLIC 'p' 'x'>]>\n<a b='&e;'/>", "entities are never", 2, 7),
        (
            "<!DOCTYPE a [<!ENTITY e SYSTEM 'x'><!ENTITY f '&e;'>]>\n<a>&f;</a>",
            "external entities are never",
            2,
            4,
        ),
        (
            "<!DOCTYPE a [<!NOTATION n SYSTEM 'n'><!ENTITY e SYSTEM 'x' NDATA n>]>\n<a>&e;</a>",
            "'e' is not in the document",
            2,
            4,
        ),
        # parameter entities
        ("<!DOCTYPE a [<!ENTITY % p '<!ENTITY e \"x\">'>\n %p;]><a>&e;</a>", "parameter", 2, 2),
        ("<!DOCTYPE a [<!ENTITY % p SYSTEM 'x'>\n\n%p;]><a/>", "not supported; write", 3, 1),
    ],
)
def test_what_lies_outside_the_document_is_refused(
    text: str, reason: str, line: int, column: int
) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read_document(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "declarations",
    [
        "",
        "<!ENTITY e SYSTEM 'x'><!ENTITY f '&e;&none;'>",
        "<!ENTITY % p SYSTEM 'x'><!ENTITY % q 'y'>",
        "<!NOTATION n PUBLIC 'n'><!ENTITY e PUBLIC 'p' \"x\" NDATA n>",
        "<!ENTITY lt '&#38;#60;'><!ENTITY amp '&#38;#38;'><!ENTITY apos 'x'>",
    ],
)
@pytest.mark.parametrize("identifier", ["", "SYSTEM 'http://absent.invalid/x.dtd'"])
def test_declaring_without_using_is_fine(declarations: str, identifier: str) -> None:
    text = f"<!DOCTYPE a {identifier} [{declarations}]><a b='&lt;&#60;'>&amp;&quot;&gt;</a>"
    root = read_document(text).root
    assert root.attributes == {("", "b"): "<<"}
    assert root.children == ['&">']


@pytest.mark.parametrize(
    "doctype",
    [
        *("<!DOCTYPE a [", "<!DOCTYPE a 'x", "<!DOCTYPE a [<!ENTITY e 'x>]>", "<!DOCTYPE a <b>"),
        *("<!DOCTYPE a [<!ENTITY e>]>", "<!DOCTYPE a [<!ENTITY e 'x' NDATA n>]>"),
        *("<!DOCTYPE a [<![INCLUDE[ ]]>]>", "<!DOCTYPE a [x]>", "<!DOCTYPE a [<!ELEMENT a '>]>"),
        *("<!DOCTYPE a [<!ATTLIST>]>", "<!DOCTYPE a [<!ATTLIST a b>]>", "<!DOCTYPE a [<!-- ]>"),
        *("<!DOCTYPE a [<!ATTLIST a b CDATA>]>", "<!DOCTYPE a [<!ELEMENT a <>]>"),
    ],
)
def test_unreadable_declarations_are_refused(doctype: str) -> None:
    with pytest.raises(DocumentError, match="not well-formed"):
        read_document(f"{doctype}<a/>")


def test_the_check_stands_on_its_own() -> None:
    bomb = f"<!DOCTYPE a [{laughs()}]><a>&e29;</a>"
    assert has_document_type(bomb.encode())
    with pytest.raises(DocumentError):
        check_entities(bomb.encode(), "utf-8", DEFAULT_LIMITS)
    check_entities(b"<a><![CDATA[<!DOCTYPE]]></a>", None, DEFAULT_LIMITS)
    check_entities(b"<!DOCTYPE a><a>&amp;</a>", None, DEFAULT_LIMITS)


def test_lengths_count_in_characters_of_the_document_s_encoding() -> None:
    declaration = "<?xml version='1.0' encoding='ISO-8859-1'?>"
    text = f"{declaration}<!DOCTYPE a [<!ENTITY e 'Ã©'>]><a>&e;</a>"
    for data in (text.encode("latin-1"), text.encode("utf-16")):
        read_document(data, DocumentLimits(entity_expansion=2))
        with pytest.raises(DocumentError):
            read_document(data, DocumentLimits(entity_expansion=1))


PIECES = st.sampled_from(
    ("x", "é", "&e0;", "&e1;", "&e2;", "&#38;", "&#38;e0;", "&#x26;amp;", "&lt;", "]]>", "&#65;")
)


def expanded_length(name: str, values: dict[str, str]) -> int:
    """Straight from the definition, by expanding."""
    text = re.sub("&#(?:x26|38);", "&", values[name]).replace("&#65;", "A")
    length = len(text)
    for reference in re.findall("&[^;]*;", text):
        length -= len(reference)
        inner = reference[1:-1]
        length += expanded_length(inner, values) if inner in values else 1
    return max(1, length)


@given(st.lists(st.lists(PIECES, max_size=5), min_size=3, max_size=3), st.data())
def test_the_limit_is_the_length_that_expanding_gives(
    pieces: list[list[str]], data: st.DataObject
) -> None:
    values = {
        # a reference only to entities before, so that there is no cycle; no bare ampersand
        f"e{number}": "".join(p for p in found if not re.search(f"e[{number}-2];|#38;$", p))
        for number, found in enumerate(pieces)
    }
    uses = data.draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=4))
    entities = "".join(f"<!ENTITY {name} '{value}'>" for name, value in values.items())
    content = "".join(f"<b c='&{name};'/>" for name in uses)
    text = f"<!DOCTYPE a [{entities}]><a>{content}</a>"
    added = sum(expanded_length(name, values) for name in uses)
    assert read_rows(text, DocumentLimits(entity_expansion=added)) == lxml_rows(text.encode())
    if added > 1:
        with pytest.raises(DocumentError, match=r"DocumentLimits\.entity_expansion"):
            read_document(text, DocumentLimits(entity_expansion=added - 1))


LITERALS = st.sampled_from(
    (
        "'x'",
        '"it\'s"',
        "'<!ENTITY no \"y\">'",
        "']]>'",
        "'>'",
        '"]>"',
        "'<!-- '",
        "' -->'",
        "'&#60;?'",
    )
)


@st.composite
def declarations(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(("e", "f", "g", "é")))
    space = draw(st.sampled_from((" ", "\n", "\t ")))
    literal = draw(LITERALS)
    return draw(
        st.sampled_from(
            (
                f"<!ENTITY{space}{name}{space}{literal}>",
                f"<!ENTITY{space}{name} {literal}{space}>",
                f"<!ENTITY % {name} {literal}>",
                f"<!ENTITY {name} SYSTEM{space}{literal}>",
                f"<!ENTITY {name} PUBLIC 'p' {literal} NDATA{space}n>",
                "<!-- <!ENTITY e 'comment'> ' \" ]> -->",
                "<?p <!ENTITY e 'instruction'> ' \" ]> ?>",
                "<!ELEMENT a (#PCDATA|b)*>",
                "<!ELEMENT b ((a,b)|(c?,d+))>",
                f"<!NOTATION n SYSTEM {literal}>",
                f"<!ATTLIST a b CDATA {space}#IMPLIED c (x|y){space}'x' d NOTATION (n) 'n'>",
                f"<!ATTLIST{space}a{space}>",
                "<!ATTLIST a e CDATA #FIXED '>]>' f ( x | y ) #REQUIRED\n>",
                space,
            )
        )
    )


@given(st.lists(declarations(), max_size=8), st.sampled_from(("", " SYSTEM ']>'", " ")))
def test_declarations_read_as_expat_reads_them(found: list[str], identifier: str) -> None:
    prolog = f"<?xml version='1.0'?><!-- <!DOCTYPE --><!DOCTYPE a{identifier}[{''.join(found)}] >"
    expected: dict[str, str | None] = {}
    defaults: set[tuple[str, str, str]] = set()

    def on_entity(name: str, parameter: int, value: str | None, *rest: object) -> None:
        if not parameter:
            expected.setdefault(name, value)

    def on_attribute(element: str, name: str, kind: str, default: str | None, _: int) -> None:
        if default is not None:
            defaults.add((element, name, default))

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = on_entity
    parser.AttlistDeclHandler = on_attribute
    parser.Parse(f"{prolog}<a/>", True)
    doctype = read_document_type(f"{prolog}<a/>", DEFAULT_LIMITS)
    assert doctype is not None
    assert {name: entity.replacement for name, entity in doctype.entities.items()} == expected
    assert {
        (element, name, default.value)
        for element, members in doctype.defaults.items()
        for name, default in members.items()
    } == defaults
    assert doctype.end == len(prolog)
    assert doctype.external == ("SYSTEM" in identifier)


def test_a_document_type_costs_little() -> None:
    body = "<b c='&lt;'>text &amp; text</b>" * 100_000
    text = f"<!DOCTYPE a SYSTEM 'x' [<!ENTITY e 'x'>]><a>{body}</a>"
    with bounded(1, 4 * len(text) / MEBIBYTE):
        check_entities(text.encode(), None, DEFAULT_LIMITS)


@pytest.mark.parametrize("start", ["<!--", "<![CDATA[", "<?p ", "xmlns='", 'xmlns="', "&", "<a "])
def test_unfinished_markup_takes_linear_time(start: str) -> None:
    text = f"<!DOCTYPE a [<!ENTITY e 'x'><!ATTLIST a b CDATA 'x'>]><a>&e;{start * 100_000}"
    with bounded(5, 80), pytest.raises(DocumentError):
        read_document(text)
    with bounded(5, 80), pytest.raises(DocumentError):
        read_document(f"<!DOCTYPE a [{start * 100_000}")
