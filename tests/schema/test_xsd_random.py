"""Small random XSDs: what libxml2 finds valid is accepted, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree
from real_documents import Drafts, split
from small_xsds import GLOBALS, NAMESPACE, SmallXsd, changed

from twigcast.errors import SchemaError, WorkloadError
from twigcast.language import name_text, parse
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

PARAMETERS = DocumentParameters(levels=6, repeats=2, size=400)
CHANGED = 40
FEWER = settings(max_examples=max(1, settings().max_examples // 3))


@cache
def drawn(seed: int) -> tuple[Schema, etree.XMLSchema, tuple[bytes, ...]] | None:
    """A schema, its validator and documents; None where it is no schema, or has no documents."""
    small = SmallXsd(seed)
    validator = small.validator()
    if validator is None:
        return None
    root = f"Q{{{NAMESPACE}}}root"
    try:
        schema = Schema.from_xsd(small.text, root)
        documents = tuple(islice(generate_documents(schema, PARAMETERS, seed=seed), 3))
    except (SchemaError, WorkloadError):
        return None
    return schema, validator, documents


def valid_documents(
    validator: etree.XMLSchema, documents: tuple[bytes, ...], seed: int
) -> Iterator[etree._Element]:
    """The generated documents, and what changes have left valid of them."""
    random = Random(seed)
    trees = [etree.fromstring(document) for document in documents]
    yield from trees
    for _ in range(CHANGED):
        tree = changed(random.choice(trees), random)
        if tree.tag == f"{{{NAMESPACE}}}{GLOBALS[0]}" and validator.validate(tree):
            yield tree


@given(st.integers(0, 1_000_000))
def test_generated_documents_are_valid(seed: int) -> None:
    case = drawn(seed)
    assume(case is not None)
    assert case is not None
    _, validator, documents = case
    for document in documents:
        assert validator.validate(etree.fromstring(document)), (
            SmallXsd(seed).text,
            document.decode(),
            validator.error_log,
        )


@FEWER
@given(st.integers(0, 1_000_000))
def test_all_that_stands_in_a_valid_document_overlaps(seed: int) -> None:
    case = drawn(seed)
    assume(case is not None)
    assert case is not None
    schema, validator, documents = case
    random = Random(seed)
    for tree in valid_documents(validator, documents, seed):
        content = etree.tostring(tree)
        for element in tree.iter("*"):
            line = [*reversed(list(element.iterancestors())), element]
            names = [split(str(one.tag)) for one in line]
            path = "".join(f"/{name_text(*name)}" for name in names)
            assert schema.overlaps(parse(path)), (SmallXsd(seed).text, content, path)
            if not len(element):
                assert schema.automaton.matches_path(names), (SmallXsd(seed).text, content, path)
            for attribute in element.attrib:
                step = f"{path}/@{name_text(*split(str(attribute)))}"
                assert schema.overlaps(parse(step)), (SmallXsd(seed).text, content, step)
            for _ in range(4):
                pattern = parse(Drafts(element, random).draw())
                if pattern.matches(content):
                    assert schema.overlaps(pattern), (SmallXsd(seed).text, content, str(pattern))


@given(st.integers(0, 1_000_000))
def test_generated_subscriptions_are_of_the_schema(seed: int) -> None:
    case = drawn(seed)
    assume(case is not None)
    assert case is not None
    schema = case[0]
    parameters = TreeParameters(height=5, distinct=False)
    patterns = generate_subscriptions(schema, parameters, seed=seed, values=ValueParameters())
    for pattern in islice(patterns, 20):
        assert schema.overlaps(pattern), (SmallXsd(seed).text, str(pattern))


def test_most_random_schemas_are_schemas() -> None:
    """Or else the tests above would hold for want of cases."""
    cases = [case for case in map(drawn, range(60)) if case is not None]
    assert len(cases) > 15
    changes = 0
    for seed, (_, validator, documents) in enumerate(cases):
        changes += sum(1 for _ in valid_documents(validator, documents, seed)) - len(documents)
    assert changes > 50
