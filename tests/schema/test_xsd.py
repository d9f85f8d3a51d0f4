"""Reading XSDs: what they declare, what overlaps, and what is refused with which words."""

from __future__ import annotations

import gc
import pickle
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from lxml import etree

from twigcast.covering import PathCounter
from twigcast.errors import SchemaError
from twigcast.language import parse
from twigcast.schema import Schema

HEAD = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" {}>{}</xs:schema>'


def xsd(body: str, attributes: str = "") -> str:
    return HEAD.format(attributes, body)


def overlapping(schema: Schema, *expressions: str) -> list[bool]:
    return [schema.overlaps(parse(expression)) for expression in expressions]


SHOP = xsd(
    """
    <xs:element name="shop">
      <xs:complexType>
        <xs:sequence>
          <xs:element ref="s:item" maxOccurs="unbounded"/>
          <xs:element name="note" minOccurs="0"/>
        </xs:sequence>
        <xs:attribute name="currency" use="required">
          <xs:simpleType>
            <xs:restriction base="xs:token">
              <xs:enumeration value="EUR"/><xs:enumeration value="USD"/>
            </xs:restriction>
          </xs:simpleType>
        </xs:attribute>
      </xs:complexType>
    </xs:element>
    <xs:element name="item" type="s:Item" abstract="true"/>
    <xs:element name="book" type="s:Book" substitutionGroup="s:item"/>
    <xs:element name="film" substitutionGroup="s:item"/>
    <xs:complexType name="Item">
      <xs:sequence><xs:element name="price" type="s:Price" nillable="true"/></xs:sequence>
      <xs:attribute name="stock" type="s:Stock"/>
    </xs:complexType>
    <xs:complexType name="Book">
      <xs:complexContent><xs:extension base="s:Item">
        <xs:sequence><xs:element name="title" type="xs:string"/></xs:sequence>
      </xs:extension></xs:complexContent>
    </xs:complexType>
    <xs:complexType name="Antique">
      <xs:complexContent><xs:extension base="s:Book">
        <xs:sequence><xs:element name="year" type="xs:gYear"/></xs:sequence>
        <xs:attribute name="owner" type="xs:string"/>
      </xs:extension></xs:complexContent>
    </xs:complexType>
    <xs:simpleType name="Price"><xs:restriction base="xs:decimal">
      <xs:minInclusive value="0"/><xs:maxExclusive value="1000"/>
    </xs:restriction></xs:simpleType>
    <xs:simpleType name="Stock"><xs:restriction base="xs:integer">
      <xs:minInclusive value="1"/><xs:maxInclusive value="99"/>
    </xs:restriction></xs:simpleType>
    """,
    'targetNamespace="urn:s" xmlns:s="urn:s" elementFormDefault="qualified"',
)


@pytest.fixture
def shop() -> Schema:
    return Schema.from_xsd(SHOP)


def test_elements_have_the_names_of_their_namespace(shop: Schema) -> None:
    assert shop.root == "Q{urn:s}shop"
    assert overlapping(
        shop, "/Q{urn:s}shop", "/*:shop", "/shop", "/Q{urn:t}shop", "//Q{urn:s}book/Q{urn:s}title"
    ) == [True, True, False, False, True]


def test_members_of_a_substitution_group_stand_for_their_head(shop: Schema) -> None:
    assert overlapping(
        shop, "/*:shop/*:book", "/*:shop/*:film", "/*:shop/*:item", "/*:shop/*:film/*:price"
    ) == [
        True,
        True,
        False,
        True,
    ]
    assert overlapping(shop, "/*:shop/*:film/*:title") == [True], "a film may be a Book by xsi:type"


def test_a_derived_type_may_be_used_in_place(shop: Schema) -> None:
    assert overlapping(shop, "/*:shop/*:book[*:year]/@owner", "/*:shop/*:book[@owner][*:note]") == [
        True,
        False,
    ]
    assert overlapping(shop, "/*:shop/*:book/*:price/*", "/*:shop/*:book/*:price/@owner") == [
        False,
        False,
    ]


def test_attributes_of_the_instance_are_always_allowed(shop: Schema) -> None:
    instance = "Q{http://www.w3.org/2001/XMLSchema-instance}"
    assert overlapping(
        shop,
        f"/*:shop/@{instance}schemaLocation",
        f"/*:shop/*:book/*:title/@{instance}type",
        f"/*:shop/*:book/*:price[@{instance}nil='true']",
        f"/*:shop/*:book/*:title/@{instance}other",
    ) == [True, True, True, False]


def test_values_are_compared_with_enumerations_and_ranges(shop: Schema) -> None:
    assert overlapping(
        shop,
        "/*:shop[@currency='EUR']",
        "/*:shop[@currency='GBP']",
        "/*:shop[not(@currency='EUR')]",
        "/*:shop[@currency=' EUR']",
    ) == [True, False, True, True]
    assert overlapping(
        shop,
        "/*:shop/*:book[@stock > 98]",
        "/*:shop/*:book[@stock > 99]",
        "/*:shop/*:book[@stock < 1]",
        "/*:shop/*:book[@stock = 0]",
        "/*:shop/*:book[@stock != 0]",
        "/*:shop/*:book[@stock = '007']",
    ) == [True, False, False, False, True, True]
    assert overlapping(
        shop,
        "/*:shop/*:book[*:price > 5]",
        "/*:shop/*:book[*:price > 1000]",
        "/*:shop/*:book[*:price = '']",
    ) == [True, False, True]


def test_an_element_without_a_type_holds_anything(shop: Schema) -> None:
    assert overlapping(shop, "/*:shop/*:note/x/y/*:z[@k='1']", "//*:note/text()", "/*:shop/x") == [
        True,
        True,
        False,
    ]


def test_wildcards_accept_what_their_namespaces_allow() -> None:
    schema = Schema.from_xsd(
        xsd(
            """<xs:element name="a"><xs:complexType>
              <xs:choice>
                <xs:any namespace="urn:x ##local" processContents="skip"/>
                <xs:element name="b"><xs:complexType>
                  <xs:sequence>
                    <xs:any namespace="##other" processContents="strict" minOccurs="0"/>
                  </xs:sequence>
                </xs:complexType></xs:element>
              </xs:choice>
              <xs:anyAttribute namespace="urn:y"/>
            </xs:complexType></xs:element>""",
            'targetNamespace="urn:a" elementFormDefault="qualified"',
        )
    )
    assert overlapping(
        schema,
        "/*:a/Q{urn:x}p/Q{urn:z}q",
        "/*:a/p",
        "/*:a/Q{urn:z}p",
        "/*:a/*:b/Q{urn:z}p/q",
        "/*:a/@Q{urn:y}k",
        "/*:a/@k",
    ) == [True, True, False, True, True, False]
    assert [str(each) for each in schema.advertisements().take(3)] == [
        "/Q{urn:a}a/Q{}*",
        "/Q{urn:a}a/Q{}*(/*)+",
        "/Q{urn:a}a/Q{urn:x}*",
    ]


def test_one_name_with_two_types_is_told_apart() -> None:
    schema = Schema.from_xsd(
        xsd(
            """<xs:element name="a"><xs:complexType><xs:sequence>
              <xs:element name="b"><xs:complexType><xs:sequence>
                <xs:element name="v" type="xs:int"/></xs:sequence></xs:complexType></xs:element>
              <xs:element name="c"><xs:complexType><xs:sequence>
                <xs:element name="v"><xs:complexType><xs:sequence>
                  <xs:element name="w" type="xs:string"/>
                </xs:sequence></xs:complexType></xs:element>
              </xs:sequence></xs:complexType></xs:element>
            </xs:sequence></xs:complexType></xs:element>"""
        )
    )
    assert [key for key in schema.elements if key.startswith("v")] == ["v", "v #2"]
    assert overlapping(schema, "/a/b/v", "/a/c/v/w", "/a/b/v/w", "/a/c[v='x']") == [
        True,
        True,
        False,
        True,
    ]


def test_a_path_that_several_declarations_have_is_counted_once(shop: Schema) -> None:
    paths = {str(each) for each in shop.advertisements(10)}
    assert len(paths) == shop.advertisements(10).count()
    assert shop.advertisements().exact


def test_types_may_be_recursive() -> None:
    schema = Schema.from_xsd(
        xsd(
            """<xs:element name="part" type="Part"/>
            <xs:complexType name="Part"><xs:sequence>
              <xs:element ref="part" minOccurs="0" maxOccurs="2"/>
            </xs:sequence></xs:complexType>"""
        ),
        root="part",
    )
    assert schema.is_recursive
    assert [str(each) for each in schema.advertisements()] == ["(/part)+"]


def test_includes_and_imports_are_followed(tmp_path: Path) -> None:
    (tmp_path / "types.xsd").write_text(
        xsd(
            '<xs:complexType name="T"><xs:sequence><xs:element name="b"/></xs:sequence>'
            "</xs:complexType>",
            'elementFormDefault="qualified"',
        )
    )
    (tmp_path / "other.xsd").write_text(
        xsd('<xs:element name="c" type="xs:int"/>', 'targetNamespace="urn:o"')
    )
    main = tmp_path / "main.xsd"
    main.write_text(
        xsd(
            """<xs:include schemaLocation="types.xsd"/>
            <xs:import namespace="urn:o" schemaLocation="other.xsd"/>
            <xs:element name="a"><xs:complexType><xs:complexContent><xs:extension base="m:T">
              <xs:sequence><xs:element ref="o:c"/></xs:sequence>
            </xs:extension></xs:complexContent></xs:complexType></xs:element>""",
            'targetNamespace="urn:m" xmlns:m="urn:m" xmlns:o="urn:o"',
        )
    )
    schema = Schema.from_xsd(main)
    assert overlapping(schema, "/Q{urn:m}a[Q{urn:m}b]/Q{urn:o}c", "/*:a/b") == [True, False]
    (tmp_path / "other.xsd").unlink()
    with pytest.raises(SchemaError, match=r"main\.xsd: Import of namespace 'urn:o'.*put that"):
        Schema.from_xsd(main)


def test_a_schema_travels_as_text_and_in_pickles(shop: Schema) -> None:
    again = Schema.from_json(shop.to_json())
    assert again == shop == pickle.loads(pickle.dumps(shop))
    assert hash(again) == hash(shop)
    with pytest.raises(SchemaError, match="use to_json"):
        shop.to_dtd()
    deep = f'{{"roots":["a"],"attributes":[],"elements":[["a",null,false,{"NEST" * 300}]]}}'
    deep = deep.replace("NEST", '["sequence",', 300).replace('["sequence",]', '"a"' + "]" * 300)
    for text in (
        deep,
        "",
        "[]",
        "{}",
        '{"roots":["a"],"attributes":[],"elements":[]}',
        "[" * 100_000,
    ):
        with pytest.raises(SchemaError, match="no text of declarations"):
            Schema.from_json(text)


def test_of_takes_whichever_it_is_given(shop: Schema, tmp_path: Path) -> None:
    plain = tmp_path / "shop.schema"
    plain.write_text(SHOP)
    dtd = tmp_path / "a.schema"
    dtd.write_text("<!ELEMENT a EMPTY>")
    assert Schema.of(SHOP) == Schema.of(plain) == Schema.of(str(plain)) == shop
    assert Schema.of(shop) is shop
    assert Schema.of(dtd) == Schema.of("<!ELEMENT a EMPTY>") == Schema.from_dtd(dtd)
    assert Schema.of(["<a><b/></a>", b"<a/>"]).children("a") == ("b",)
    with pytest.raises(SchemaError, match="read it again with root="):
        Schema.of(shop, root="film")
    with pytest.raises(TypeError, match="not bytes"):
        Schema.of(b"<a/>")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="leave root"):
        Schema.of(["<a/>"], root="a")


@pytest.mark.parametrize(
    ("text", "root", "reason"),
    [
        ("<a/>", None, r"XSD: not an XSD: its root is a, not xs:schema"),
        ("<xs:schema", None, r"XSD: not an XSD: .*line 1"),
        (xsd('<xs:element name="a" type="T"/>'), None, r"/xs:schema/xs:element.*T"),
        (xsd(""), None, "no element is declared at the top"),
        (SHOP, "basket", r"declares no element 'basket' to be the root; pass root= one of: Q\{urn"),
        (SHOP, "title", "'title' is declared within a type only"),
        (SHOP, "item", "'item' is abstract; choose one of its substitution group"),
        (SHOP, "a b", "no name of an element"),
        (SHOP, "Q{urn:t}shop", "declares no element"),
        (
            xsd('<xs:element name="a"/><xs:element name="b"/>'),
            None,
            "the root element is not plain; pass root= one of: a, b",
        ),
        (
            xsd(
                '<xs:element name="a" type="A"/><xs:complexType name="A"><xs:sequence>'
                '<xs:element name="a" type="A"/></xs:sequence></xs:complexType>'
            ),
            None,
            "no document can be valid: the root 'a'",
        ),
    ],
)
def test_what_is_no_schema_is_refused(text: str, root: str | None, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Schema.from_xsd(text, root)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"none\.xsd: No such file"):
        Schema.from_xsd(tmp_path / "none.xsd")
    with pytest.raises(SchemaError, match=r"none\.txt: No such file"):
        Schema.of(tmp_path / "none.txt")
    with pytest.raises(SchemaError, match="Is a directory"):
        Schema.from_xsd(tmp_path)


def test_hostile_schemas_do_no_harm(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(12))
    bomb = f"<!DOCTYPE x [{entities}]>{xsd('<xs:annotation/>&e11;')}"
    with pytest.raises(SchemaError, match=r"XSD: not an XSD: .*entity"):
        Schema.from_xsd(bomb)
    with pytest.raises(SchemaError, match="document type declaration"):
        Schema.from_xsd('<!DOCTYPE x SYSTEM "file:///etc/passwd">' + xsd('<xs:element name="a"/>'))
    many = Schema.from_xsd(
        xsd(
            """<xs:element name="a"><xs:complexType><xs:sequence
            minOccurs="100000" maxOccurs="1000000"><xs:element name="b" type="xs:int"
            minOccurs="1000000" maxOccurs="100000000"/></xs:sequence></xs:complexType>
            </xs:element>"""
        )
    )
    assert overlapping(many, "/a/b", "/a/c") == [True, False]
    remote = xsd(
        '<xs:import namespace="urn:o" schemaLocation="http://127.0.0.1:9/o.xsd"/>'
        '<xs:element name="a"/>'
    )
    with pytest.raises(SchemaError, match=r"Import of namespace 'urn:o'.*URL"):
        Schema.from_xsd(remote)
    nested = xsd(
        '<xs:element name="a"><xs:complexType>'
        + "<xs:sequence>" * 400
        + '<xs:element name="b"/>'
        + "</xs:sequence>" * 400
        + "</xs:complexType></xs:element>"
    )
    with pytest.raises(SchemaError):
        Schema.from_xsd(nested)


def test_many_derived_types_are_bounded() -> None:
    types = "".join(
        f'<xs:complexType name="T{n}"><xs:complexContent><xs:extension base="T"><xs:sequence>'
        f'<xs:element name="e{n}" type="T"/></xs:sequence></xs:extension></xs:complexContent>'
        "</xs:complexType>"
        for n in range(200)
    )
    text = xsd(f'<xs:complexType name="T"/>{types}<xs:element name="a" type="T"/>')
    with pytest.raises(SchemaError, match="more than 20,000 pairs"):
        Schema.from_xsd(text, "a")


def test_lxml_agrees_about_the_shop(shop: Schema) -> None:
    """The answers above are about documents that libxml2 finds valid."""
    validator = etree.XMLSchema(etree.fromstring(SHOP))
    document = etree.fromstring(
        '<s:shop xmlns:s="urn:s" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'currency="EUR"><s:book xsi:type="s:Antique" owner="x"><s:price xsi:nil="true"/>'
        "<s:title/><s:year>1801</s:year></s:book>"
        '<s:film xsi:type="s:Book"><s:price>1</s:price><s:title/></s:film></s:shop>'
    )
    assert validator.validate(document), validator.error_log
    assert overlapping(shop, "//*:film/*:title", "//*:book[@owner]/*:year") == [True, True]


def test_a_url_is_asked_if_the_caller_passes_it(tmp_path: Path) -> None:
    (tmp_path / "o.xsd").write_text(xsd('<xs:element name="c"/>', 'targetNamespace="urn:o"'))
    (tmp_path / "m.xsd").write_text(
        xsd(
            '<xs:import namespace="urn:o" schemaLocation="o.xsd"/><xs:element name="a">'
            '<xs:complexType><xs:sequence><xs:element ref="o:c"/></xs:sequence></xs:complexType>'
            "</xs:element>",
            'xmlns:o="urn:o"',
        )
    )
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            schema = Schema.of(f"{url}/m.xsd")
            assert overlapping(schema, "/a/Q{urn:o}c", "/a/c") == [True, False]
            with pytest.raises(SchemaError, match=f"{url}/none.xsd: .*not found"):
                Schema.of(f"{url}/none.xsd")
            gc.collect()  # a connection that is still open would be a warning, and so an error
        finally:
            server.shutdown()
            thread.join()


def test_the_degree_of_mergers_is_counted_over_the_paths_of_an_xsd() -> None:
    schema = Schema.from_xsd(
        xsd(
            """<xs:element name="a" type="A"/>
            <xs:complexType name="A"><xs:choice>
              <xs:element name="b" type="xs:int" nillable="true"/>
              <xs:element name="c" type="xs:int"/><xs:element name="d" type="xs:int"/>
            </xs:choice></xs:complexType>
            <xs:complexType name="Z"><xs:complexContent><xs:extension base="A">
              <xs:attribute name="k"/></xs:extension></xs:complexContent></xs:complexType>"""
        )
    )
    assert len(schema.elements) > 4
    members = [parse("/a/b"), parse("/a/c")]
    counter = PathCounter(schema)
    assert counter.count([parse("/a/*")]) == 3, "each path once, whatever types it has"
    assert counter.degree(parse("/a/*"), members) == Fraction(1, 3)
    assert counter.degree(parse("/a/*"), [*members, parse("/a/d")]) == 0
