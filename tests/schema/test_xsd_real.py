"""The XSDs of the world beside the checkout, and the real documents that are valid against them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from twigcast.errors import SchemaError
from twigcast.language import Kind, node_test, parse
from twigcast.schema import Schema

ROOTS = {
    "camt/camt.052.001.08.xsd": ("Document",),
    "camt/camt.053.001.02.xsd": ("Document",),
    "camt/camt.053.001.08.xsd": ("Document",),
    "camt/camt.054.001.08.xsd": ("Document",),
    "cap/cap11.xsd": ("alert",),
    "cap/cap12.xsd": ("alert",),
    "newsml/NewsML-G2_2.28-spec-All-Power.xsd": (
        "newsItem",
        "packageItem",
        "conceptItem",
        "knowledgeItem",
        "planningItem",
        "catalogItem",
        "newsMessage",
    ),
    "newsml/nitf-3-6.xsd": ("nitf",),
    "ubl/maindoc/UBL-CreditNote-2.5.xsd": ("CreditNote",),
    "ubl/maindoc/UBL-Invoice-2.5.xsd": ("Invoice",),
    "ubl/maindoc/UBL-Order-2.5.xsd": ("Order",),
}
LEAST_VALID = {"camt": 15, "cap": 5, "newsml": 100, "ubl": 20}


@cache
def schema_of(path: Path, root: str | None) -> Schema:
    return Schema.from_xsd(path, root)


def chosen(root: str, roots: tuple[str, ...]) -> str | None:
    """A root that stands alone is plain, and need not be chosen."""
    return root if len(roots) > 1 else None


def named(shared_data: Path, name: str) -> Path:
    path = shared_data / "xsd" / name
    if not path.is_file():
        pytest.skip(f"xsd/{name} is not among the shared data")
    return path


@pytest.mark.parametrize("name", ROOTS)
def test_real_schemas_are_read(name: str, shared_data: Path) -> None:
    path = named(shared_data, name)
    roots = ROOTS[name]
    for root in roots:
        schema = schema_of(path, chosen(root, roots))
        assert schema.root.endswith(f"}}{root}")
        assert Schema.from_json(schema.to_json()) == schema
        assert schema.advertisements().complete


def test_of_several_roots_one_must_be_chosen(shared_data: Path) -> None:
    path = named(shared_data, "newsml/NewsML-G2_2.28-spec-All-Power.xsd")
    with pytest.raises(SchemaError, match=r"pass root= one of: .*newsItem"):
        Schema.from_xsd(path)


def label_paths(element: etree._Element, above: str = "") -> Iterator[tuple[str, ...]]:
    """The paths to each element and attribute of a document, spelled as subscriptions."""
    name = etree.QName(element)
    path = f"{above}/{node_test(Kind.ELEMENT, name.namespace or '', name.localname).text}"
    yield path, "element" if any(isinstance(child.tag, str) for child in element) else "leaf"
    for key in element.attrib:
        attribute = etree.QName(key)
        label = node_test(Kind.ATTRIBUTE, attribute.namespace or "", attribute.localname)
        yield f"{path}/{label.text}", "attribute"
    for child in element.iterchildren(tag=etree.Element):
        yield from label_paths(child, path)


@pytest.mark.parametrize("folder", sorted({name.split("/")[0] for name in ROOTS}))
def test_every_path_of_valid_documents_is_accepted(folder: str, shared_data: Path) -> None:
    documents = shared_data / "documents"
    if not documents.is_dir():
        pytest.skip("documents is not among the shared data")
    checked = 0
    validators = [
        (named(shared_data, name), roots)
        for name, roots in ROOTS.items()
        if name.startswith(folder)
    ]
    built = [(etree.XMLSchema(file=str(path)), path, roots) for path, roots in validators]
    for file in sorted(documents.rglob("*.xml")):
        try:
            tree = etree.parse(str(file))
        except etree.XMLSyntaxError:
            continue
        local = etree.QName(tree.getroot()).localname
        for validator, path, roots in built:
            if local not in roots or not validator.validate(tree):
                continue
            checked += 1
            schema = schema_of(path, chosen(local, roots))
            for spelling, kind in set(label_paths(tree.getroot())):
                assert schema.overlaps(parse(spelling)), f"{file.name}: {spelling}"
                if kind == "leaf":
                    steps = parse(spelling).linear_steps
                    assert steps is not None
                    names = [(step.test.namespace or "", step.test.local or "") for step in steps]
                    assert schema.automaton.matches_path(names), f"{file.name}: {spelling}"
    assert checked >= LEAST_VALID[folder], f"only {checked} documents are valid"
