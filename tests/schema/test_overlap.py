"""Overlap with a schema: exact for linear expressions, never wrongly "no" for the rest."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from oracle import anchored, parse_tree, to_xpath_1, xpath_matches
from schema_oracle import SmallDtd, matching_expression, nested_document, selects, small_dtds
from strategies import NAMESPACES, expressions, linear_expressions

from twigcast.language import parse
from twigcast.schema import Schema

LONGEST_TRIED = 9
FEWER = settings(max_examples=max(1, settings().max_examples // 3))


@given(small_dtds(), st.lists(linear_expressions(), min_size=4, max_size=8))
def test_linear_expressions_are_decided_exactly(dtd: SmallDtd, expressions: list[str]) -> None:
    """With three elements, a descendant step skips three names at most: so all paths are tried."""
    schema = Schema.from_dtd(dtd.text, root="a")
    for expression in expressions:
        steps = re.findall("//?", expression)
        bound = 3 * steps.count("//") + steps.count("/")
        found = schema.overlaps(parse(expression))
        paths = dtd.paths(min(bound, LONGEST_TRIED))
        witness = next((path for path in paths if selects(expression, path)), None)
        if witness is not None:
            assert found, (dtd.text, expression, witness)
            assert xpath_matches(parse_tree(nested_document(witness)), expression)
        elif bound <= LONGEST_TRIED:
            assert not found, (dtd.text, expression)


@given(small_dtds(), linear_expressions())
def test_both_ways_of_deciding_agree(dtd: SmallDtd, expression: str) -> None:
    """A predicate that is always possible leads a linear expression the way of the trees."""
    schema = Schema.from_dtd(dtd.text, root="a")
    tree = parse(f"{expression}[not(@none)]")
    assert tree.linear_steps is None
    assert schema.overlaps(tree) == schema.overlaps(parse(expression))


def _valid_documents(dtd: SmallDtd, seed: int, count: int) -> list[etree._ElementTree]:
    chance = random.Random(seed)
    validator = etree.DTD(io.StringIO(dtd.text))
    made = [dtd.document(chance) for _ in range(count)]
    trees = [parse_tree(document) for document in made if document is not None]
    for tree in trees:
        # libxml2 refuses to judge models like (b | b), though what they mean is plain.
        problems = "" if validator.validate(tree) else str(validator.error_log)
        assert all("not determinist" in line for line in problems.splitlines()), problems
    return trees


@given(small_dtds(), st.integers(0, 1_000))
def test_what_stands_in_a_valid_document_overlaps(dtd: SmallDtd, seed: int) -> None:
    """Expressions made from documents: nearly all match, so "no" would be wrong."""
    schema = Schema.from_dtd(dtd.text, root="a")
    advertisements = schema.advertisements().take(100)
    chance = random.Random(seed)
    for tree in _valid_documents(dtd, seed, 5):
        for _ in range(5):
            expression = matching_expression(tree.getroot(), chance)
            if xpath_matches(tree, expression):
                pattern = parse(expression)
                assert schema.overlaps(pattern), (dtd.text, expression)
                assert len(advertisements) == 100 or any(
                    each.overlaps(pattern) for each in advertisements
                ), (dtd.text, expression)


def test_most_expressions_made_from_documents_match() -> None:
    """Or else the test above would hold for want of cases."""
    schema = etree.fromstring('<a x="1">2<b><c>ab</c><c y="2"/></b> <b/></a>')
    chance = random.Random(1)
    made = [matching_expression(schema, chance) for _ in range(200)]
    assert sum(xpath_matches(schema.getroottree(), each) for each in made) > 150
    assert len(set(made)) > 100


@FEWER
@given(small_dtds(), st.integers(0, 1_000), st.lists(expressions(), min_size=2, max_size=4))
def test_never_wrongly_no(dtd: SmallDtd, seed: int, drawn: list[str]) -> None:
    schema = Schema.from_dtd(dtd.text, root="a")
    trees = _valid_documents(dtd, seed, 12)
    for expression in drawn:
        pattern = parse(expression, namespaces=NAMESPACES)
        if schema.overlaps(pattern):
            continue
        text = anchored(to_xpath_1(expression, NAMESPACES))
        for tree in trees:
            assert not xpath_matches(tree, text, NAMESPACES), (dtd.text, expression)


SHOP = """
    <!ELEMENT shop (item+, (sale | closed))>
    <!ELEMENT item (name, price?, (picture | sound)*, note?)>
    <!ELEMENT name (#PCDATA)>
    <!ELEMENT price (#PCDATA)>
    <!ELEMENT picture EMPTY>
    <!ELEMENT sound EMPTY>
    <!ELEMENT note (#PCDATA | name)*>
    <!ELEMENT sale (#PCDATA)>
    <!ELEMENT closed EMPTY>
    <!ATTLIST item id ID #REQUIRED size (small | large) "small" version CDATA #FIXED "2"
                   xml:lang CDATA #IMPLIED>
    <!ATTLIST picture source CDATA #REQUIRED>
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # structure
        ("/shop[item/name]/sale", True),
        ("/shop/item[name]/price/name", False),
        ("/item[name]", False),
        ("//item[picture][sound][note/name]", True),
        ("/shop[sale][closed]", False),  # one or the other
        ("/shop[closed][.//sale]", False),
        ("/shop[closed][.//picture]", True),
        ("/shop[closed or zoo]/item[zoo or name]", True),
        ("/shop[sale and item or zoo]", True),
        ("/shop[sale and closed or zoo]", False),
        ("/zoo | //item[@id]", True),
        ("/zoo | //item[@zoo]", False),
        ("//item[2][picture[3]]", True),
        ("//item[not(name)]", True),  # negations are not looked into
        ("//item[not(name)]/zoo", False),
        ("/*[. < 'x']", False),
        # attributes
        ("//item[@id]", True),
        ("//@id", True),
        ("/shop[.//@source]", True),
        ("//sound/@*", False),
        ("//name/@id", False),
        ("/@id", False),
        ("//item[@size='small']", True),
        ("//item[@size='medium']", False),
        ("//item[@size!='small']", True),
        ("//item[starts-with(@size, 'la')]", True),
        ("//item[ends-with(@size, 'rge')]", True),
        ("//item[ends-with(@size, 'la')]", False),
        ("//item/@size[starts-with(., 'la')][contains(., 'm')]", False),
        ("//item/@size[not(contains(., 'l')) and not(contains(., 's'))]", False),
        # A document may write size=" large", and be read without its DTD.
        ("//item/@size[not(starts-with(., 'l')) and not(starts-with(., 's'))]", True),
        ("//item[@version>1]", True),
        ("//item[@version>2]", False),
        ("//item[@*='zoo']", True),
        ("//item/@xml:lang", True),
        ("//item/@lang", False),
        ("//name/@xml:lang", False),
        ("//picture[@source='x']", True),
        # text and values
        ("//name/text()", True),
        ("//picture/text()", False),
        ("//picture[.//text()]", False),
        ("/shop/text()", True),  # white space
        ("/shop/text()[.=' ']", True),
        ("/shop/text()[.='x']", False),
        ("/shop/text()[.='x' or .!='y']", True),
        ("/shop/text()[.>5]", False),
        ("/shop[.='x']", True),
        ("//picture[.='']", True),
        ("//picture[.='x']", False),
        ("//picture[.>0]", False),
        ("//picture[.!=0]", True),
        ("//item[contains(name, 'x')]", True),
        ("//item[contains(picture, 'x')]", False),
        ("//item[contains(zoo, 'x')]", False),
        ("/text()", False),
        # namespaces: this DTD knows none
        ("//*:item[@*:id]", True),
        ("//p:item", False),
        ("//p:*[name]", False),
        ("//item/@p:id", False),
    ],
)
def test_the_shop(expression: str, expected: bool) -> None:
    schema = Schema.from_dtd(SHOP)
    assert schema.overlaps(parse(expression, namespaces={"p": "urn:p"})) is expected


def test_element_content_without_text_below_is_white_space() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b*)><!ELEMENT b EMPTY>")
    assert schema.overlaps(parse("/a[. = '']"))
    assert schema.overlaps(parse("/a[contains(., ' ')]"))
    assert not schema.overlaps(parse("/a[. = 'x']"))
    assert not schema.overlaps(parse("/a[. = 0]"))


def test_elements_that_are_not_declared_may_hold_any_text() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (ghost)>")
    assert schema.overlaps(parse("/a/ghost[@x = 1][. = 'y']/text()"))
    assert not schema.overlaps(parse("/a/ghost[@x = 1]/b"))
    assert not schema.overlaps(parse("/a[@x]"))


@pytest.mark.parametrize(
    "text",
    [
        "<!ELEMENT p:a (p:b*)><!ELEMENT p:b EMPTY>",
        '<!ELEMENT a (b*)><!ELEMENT b EMPTY><!ATTLIST a xmlns CDATA #FIXED "urn:x">',
        '<!ELEMENT a (b*)><!ELEMENT b EMPTY><!ATTLIST b xmlns:p CDATA #FIXED "urn:x">',
    ],
)
def test_where_namespaces_are_used_local_names_count(text: str) -> None:
    schema = Schema.from_dtd(text)
    for spelled in ("/q:a/q:b", "/a/b", "/*:a[q:*]", "/q:*[*:b]"):
        assert schema.overlaps(parse(spelled, namespaces={"q": "urn:whatever"})), spelled
    for spelled in ("/q:b", "/q:a[q:c]", "//*:c"):
        assert not schema.overlaps(parse(spelled, namespaces={"q": "urn:whatever"})), spelled


def test_attributes_with_prefixes() -> None:
    schema = Schema.from_dtd(
        '<!ELEMENT a EMPTY><!ATTLIST a p:k (1|2) #IMPLIED xmlns:p CDATA #FIXED "urn:p">'
    )
    bound = {"q": "urn:p"}
    assert schema.overlaps(parse("/*:a/@q:k", bound))
    assert schema.overlaps(parse("//@*:k[. = 2]", bound))
    assert not schema.overlaps(parse("//@q:k[. = 3]", bound))
    assert not schema.overlaps(parse("//@k", bound))
    assert not schema.overlaps(parse("//@*:p", bound))  # a declaration, not an attribute


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("/site/regions/*/item[@id]/name", True),
        ("//parlist//parlist//keyword/emph", True),
        ("//description[text][parlist]", False),
        ("//description[.//keyword][.//listitem]", True),
        ("//category[@featured]", False),
        ("//edge/text()", False),
        ("/site//person/profile[@income > 5000]/age", True),
    ],
)
def test_a_real_dtd(shared_data: Path, expression: str, expected: bool) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / "auction.dtd", root="site")
    assert schema.overlaps(parse(expression)) is expected


def test_white_space_about_tokens_is_possible() -> None:
    """The DTD normalises it away, but whoever reads a document without its DTD meets it."""
    schema = Schema.from_dtd('<!ELEMENT a EMPTY><!ATTLIST a x (yes) #IMPLIED y CDATA #FIXED "yes">')
    document = '<a x=" yes "/>'
    for text in ("/a[@x!='yes']", "/a[@x=' yes ']", "/a/@x[not(starts-with(., 'y'))]"):
        assert parse(text).matches(document)
        assert schema.overlaps(parse(text))
    assert schema.overlaps(parse("/a[@x='yes']"))
    for text in (
        "/a[@x='no']",
        "/a[@x=5]",
        "/a/@x[not(contains(., 'y'))]",
        "/a[@y!='yes']",
        "/a[@y=' yes ']",
    ):
        assert not schema.overlaps(parse(text))
