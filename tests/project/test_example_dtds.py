"""The DTDs under examples/: their size and shape, by libxml2's own reading of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from folders import EXAMPLES
from lxml import etree

from twigcast.schema import Schema


def _named(particle: Any) -> Iterator[str]:
    if particle is not None:
        if particle.type == "element":
            yield particle.name
        yield from _named(particle.left)
        yield from _named(particle.right)


def _graph(name: str) -> dict[str, set[str]]:
    dtd: Any = etree.DTD(str(EXAMPLES / name))
    return {element.name: set(_named(element.content)) for element in dtd.iterelements()}


def _below(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = graph[waiting.pop()] - found
        found |= fresh
        waiting.extend(fresh)
    return found


@pytest.mark.parametrize(("name", "root"), [("news.dtd", "news"), ("protein.dtd", "proteins")])
def test_everything_is_declared_and_used(name: str, root: str) -> None:
    graph = _graph(name)
    assert set().union(*graph.values()) | {root} == set(graph)
    assert _below(graph, root) == set(graph) - {root}
    schema = Schema.from_dtd(EXAMPLES / name)
    assert schema.root == root
    assert list(schema.elements) == list(graph)


def test_news_is_as_large_and_as_recursive_as_real_news_formats() -> None:
    graph = _graph("news.dtd")
    recursive = {name for name in graph if name in _below(graph, name)}
    assert len(graph) == 125
    assert len(recursive) == 25
    assert {"section", "item", "cell", "block-quote", "emphasis", "quote"} <= recursive
    schema = Schema.from_dtd(EXAMPLES / "news.dtd")
    assert schema.recursive_elements == recursive
    assert schema.count_paths(10) > 500_000


def test_protein_has_seven_levels_and_no_recursion() -> None:
    graph = _graph("protein.dtd")
    assert len(graph) == 66
    level = {"proteins"}
    levels = 0
    while level:
        levels += 1
        level = set().union(*(graph[name] for name in level))
        assert levels <= len(graph)
    assert levels == 7
    assert not Schema.from_dtd(EXAMPLES / "protein.dtd").is_recursive
    parts = "header protein organism reference genetics function classification keywords feature"
    assert {*parts.split(), "summary", "sequence"} <= graph["entry"]
    assert {"refinfo", "accinfo"} <= graph["reference"]


def test_attributes_are_of_many_kinds() -> None:
    dtds: list[Any] = [etree.DTD(str(EXAMPLES / name)) for name in ("news.dtd", "protein.dtd")]
    kinds = {
        (attribute.type, attribute.default)
        for dtd in dtds
        for element in dtd.iterelements()
        for attribute in element.iterattributes()
    }
    assert {kind for kind, _ in kinds} >= {
        "id",
        "idref",
        "enumeration",
        "nmtoken",
        "nmtokens",
        "cdata",
    }
    assert {default for _, default in kinds} == {"required", "implied", "fixed", "none"}
