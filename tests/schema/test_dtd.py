"""Reading DTDs: what libxml2 hands over becomes declarations, and errors say where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from schema_oracle import SmallDtd, small_dtds

from twigcast.errors import SchemaError
from twigcast.language import parse
from twigcast.schema import (
    Any,
    Attribute,
    Choice,
    Empty,
    Mixed,
    Name,
    Repeat,
    Schema,
    Sequence,
    Text,
)
from twigcast.schema.content import companions, names, nullable, useful_children
from twigcast.schema.dtd import read_dtd, write_dtd

A, B, C, D = map(Name, "abcd")


@pytest.mark.parametrize(
    ("spelling", "content"),
    [
        ("EMPTY", Empty()),
        ("ANY", Any()),
        ("(#PCDATA)", Text()),
        ("(#PCDATA)*", Text()),
        ("(#PCDATA|b|c)*", Mixed(("b", "c"))),
        ("(b)", B),
        ("(b?)", Repeat(B, 0, 1)),
        ("(b)*", Repeat(B, 0, None)),
        ("(b,c,d,a)", Sequence((B, C, D, A))),
        ("(b|c|d)+", Repeat(Choice((B, C, D)), 1, None)),
        (
            "(b,(c|d)*,a?)",
            Sequence((B, Repeat(Choice((C, D)), 0, None), Repeat(A, 0, 1))),
        ),
        ("((b,c)|d)", Choice((Sequence((B, C)), D))),
        ("((b,c)+,d)", Sequence((Repeat(Sequence((B, C)), 1, None), D))),
        ("(d,(b,c)+)", Sequence((D, Repeat(Sequence((B, C)), 1, None)))),
    ],
)
def test_content_models(spelling: str, content: object) -> None:
    declared = read_dtd(f"<!ELEMENT a {spelling}>")["a"]
    assert declared.content == content
    assert read_dtd(str(declared))["a"] == declared  # the printed declaration says the same


def test_parameter_entities_and_conditional_sections() -> None:
    text = """
        <!ENTITY % inline "em | code">
        <!ENTITY % draft "INCLUDE">
        <!ENTITY % final "IGNORE">
        <![%draft;[ <!ELEMENT note (#PCDATA | %inline;)*> ]]>
        <![%final;[ <!ELEMENT note EMPTY> <!ELEMENT hidden EMPTY> ]]>
        <!ELEMENT em (#PCDATA)> <!ELEMENT code (#PCDATA)>
    """
    elements = read_dtd(text)
    assert list(elements) == ["note", "em", "code"]
    assert elements["note"].content == Mixed(("em", "code"))


def test_the_first_of_two_declarations_counts() -> None:
    assert read_dtd("<!ELEMENT a EMPTY><!ELEMENT a (b)>")["a"].content == Empty()


def test_attributes() -> None:
    text = """<!ELEMENT a EMPTY> <!NOTATION gif SYSTEM "gif">
        <!ATTLIST a size (small|large) "small" version CDATA #FIXED "1" id ID #REQUIRED
                    words NMTOKENS #IMPLIED picture NOTATION (gif) #IMPLIED xml:lang CDATA #IMPLIED
                    xmlns:p CDATA #FIXED "urn:p">"""
    attributes = read_dtd(text)["a"].attributes
    assert attributes == (
        Attribute("id", "id", "required"),
        Attribute("picture", "notation", "implied", None, ("gif",)),
        Attribute("size", "enumeration", None, "small", ("small", "large")),
        Attribute("version", "cdata", "fixed", "1"),
        Attribute("words", "nmtokens", "implied"),
        Attribute("xml:lang", "cdata", "implied"),
        Attribute("xmlns:p", "cdata", "fixed", "urn:p"),
    )
    assert [each.name for each in attributes if each.is_namespace_declaration] == ["xmlns:p"]


def test_prefixes_are_found_again_in_content_models() -> None:
    elements = read_dtd("<!ELEMENT p:a (p:b, c?)><!ELEMENT p:b EMPTY><!ELEMENT c EMPTY>")
    assert elements["p:a"].content == Sequence((Name("p:b"), Repeat(C, 0, 1)))


def test_where_prefixes_alone_differ_all_are_allowed() -> None:
    elements = read_dtd("<!ELEMENT a (p:b)><!ELEMENT p:b EMPTY><!ELEMENT q:b EMPTY>")
    assert set(names(elements["a"].content)) == {"p:b", "q:b"}


def test_text_with_an_encoding_declaration() -> None:
    text = '<?xml version="1.0"\n encoding="ISO-8859-1"?><!ELEMENT é (#PCDATA)>'
    assert list(read_dtd(text)) == ["é"]


def test_a_file_and_the_file_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "part.dtd").write_text("<!ELEMENT b (#PCDATA)>")
    main = tmp_path / "main.dtd"
    main.write_text('<!ELEMENT a (b)><!ENTITY % part SYSTEM "part.dtd">%part;')
    for place in (main, str(main)):
        assert Schema.from_dtd(place).children("a") == ("b",)
    (tmp_path / "part.dtd").unlink()
    with pytest.raises(SchemaError, match=r"main\.dtd: line 1: .*part\.dtd.*; put that part there"):
        Schema.from_dtd(main)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<!ELEMENT a (b", "line 1:"),
        ("<!ELEMENT a EMPTY>\n<!ELEMENT b (#PCDATA, c)>", "line 2:"),
        ("<!ELEMENT a EMPTY>\n\n<!ELEMENT b %unknown;>", "line 3: Entity 'unknown' not defined"),
        ("<!ELEMENT a (b %more;)><!ELEMENT b EMPTY>", "line 1: Entity 'more' not defined"),
        ('<!ENTITY % p SYSTEM "p.mod">\n%p;<!ELEMENT a EMPTY>', r"DTD: line 2: .*p\.mod"),
        ("<!-- nothing -->", "no element is declared"),
        ("<!ELEMENT \ud800 EMPTY>", "surrogates"),
    ],
)
def test_a_text_that_is_no_dtd(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Schema.from_dtd(text)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.dtd"
    with pytest.raises(SchemaError, match=r"missing\.dtd: No such file"):
        Schema.from_dtd(missing)
    with pytest.raises(SchemaError, match="Is a directory"):
        Schema.from_dtd(tmp_path)
    broken = tmp_path / "broken.dtd"
    broken.write_text("<!ELEMENT a EMPTY>\n<!ELEMENT b (>")
    with pytest.raises(SchemaError, match=r"broken\.dtd: line 2"):
        Schema.from_dtd(broken)


def test_an_entity_bomb_is_refused() -> None:
    bomb = '<!ENTITY % a0 "<!-- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -->">'
    for level in range(1, 12):
        bomb += f'<!ENTITY % a{level} "{f"&#37;a{level - 1};" * 10}">'
    with pytest.raises(SchemaError, match="amplification"):
        Schema.from_dtd(f"{bomb}%a11;<!ELEMENT a EMPTY>")


def test_questions_about_one_model() -> None:
    model = read_dtd("<!ELEMENT a ((b,c)|d?|(a,b+))>")["a"].content
    assert names(model) == ("b", "c", "d", "a")
    assert nullable(model)
    assert not nullable(read_dtd("<!ELEMENT a (b?,c)>")["a"].content)
    assert useful_children(model, {"b", "c"}) == frozenset("bc")
    assert useful_children(model, {"b"}) == frozenset()  # only `d?`, left out, remains
    assert useful_children(Sequence((B, C)), {"b"}) is None
    beside = companions(model, {"a", "b", "c", "d"})
    assert beside == {"b": {"a", "b", "c"}, "c": {"b", "c"}, "d": {"d"}, "a": {"a", "b"}}
    repeated = companions(Repeat(Choice((A, B)), 1, None), {"a", "b"})
    assert repeated == {"a": {"a", "b"}, "b": {"a", "b"}}
    assert companions(Mixed(("a", "b")), {"a", "b"}) is None


def test_default_values_are_those_that_documents_have() -> None:
    dtd = """<!ELEMENT a EMPTY>
             <!ATTLIST a p CDATA "x&amp;y" q CDATA #FIXED "&#38;#38;z" r CDATA "&lt;&#65;">"""
    declared = Schema.from_dtd(dtd).elements["a"].attributes
    assert [attribute.value for attribute in declared] == ["x&y", "&#38;z", "<A"]


def test_entities_in_default_values_are_expanded() -> None:
    dtd = """<!ELEMENT a EMPTY> <!ENTITY foo "b&bar;"> <!ENTITY bar "a&amp;r">
             <!ATTLIST a x CDATA #FIXED "&foo;!">"""
    schema = Schema.from_dtd(dtd)
    assert [attribute.value for attribute in schema.elements["a"].attributes] == ["ba&r!"]
    pattern = parse("//a[@x='ba&r!']")
    assert pattern.matches(f"<!DOCTYPE a [{dtd}]><a/>")
    assert schema.overlaps(pattern)
    assert not schema.overlaps(parse("//a[@x='&foo;!']"))


@given(small_dtds())
def test_a_schema_written_out_is_the_same_schema(dtd: SmallDtd) -> None:
    elements = read_dtd(dtd.text)
    assert read_dtd(write_dtd(elements)) == elements


def test_everything_about_attributes_is_written_out() -> None:
    text = """
        <!ELEMENT a (b*)+> <!ELEMENT b (#PCDATA)>
        <!ATTLIST a
            one CDATA "a&amp;b&lt;&quot;c' %" two (p | q) "q" three ID #IMPLIED
            four NMTOKENS #REQUIRED five CDATA #FIXED "always">
    """
    schema = Schema.from_dtd(text)
    again = Schema.from_dtd(schema.to_dtd(), root="a")
    assert again == schema
    assert again.elements["a"].attributes == schema.elements["a"].attributes
