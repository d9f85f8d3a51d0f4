"""What valid documents can hold: least levels and children side by side, against brute force."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from twigcast.errors import WorkloadError
from twigcast.schema import (
    Choice,
    ElementDeclaration,
    Empty,
    Expression,
    Mixed,
    Name,
    Repeat,
    Schema,
    Sequence,
)
from twigcast.workload.elements import UsableElements, minimal_levels

CHILDREN = ("a", "b", "c", "d")


def _expressions(names: tuple[str, ...]) -> some.SearchStrategy[Expression]:
    def larger(inner: some.SearchStrategy[Expression]) -> some.SearchStrategy[Expression]:
        parts = some.lists(inner, min_size=2, max_size=3).map(tuple)
        return some.one_of(
            parts.map(Sequence),
            parts.map(Choice),
            some.builds(Repeat, inner, some.just(0), some.booleans()),
            some.builds(Repeat, inner, some.just(1), some.just(True)),
        )

    leaves: some.SearchStrategy[Expression] = some.sampled_from(names).map(Name)
    return some.recursive(leaves, larger, max_leaves=6)


def _sets_of_children(expression: Expression) -> set[frozenset[str]]:
    """The sets of names in the words of the expression, by unrolling it.

    A repetition is unrolled as often as there are names, so every union of sets comes up.
    """
    if isinstance(expression, Name):
        return {frozenset((expression.name,))}
    if isinstance(expression, Choice):
        return set().union(*map(_sets_of_children, expression.parts))
    if isinstance(expression, Sequence):
        each = [_sets_of_children(part) for part in expression.parts]
        return {frozenset().union(*word) for word in product(*each)}
    once = _sets_of_children(expression.part)
    found = set(once)
    if expression.maximum is None:
        for _ in CHILDREN:
            found |= {one | other for one in found for other in once}
    return found | ({frozenset()} if expression.minimum == 0 else set())


@given(_expressions(CHILDREN))
def test_together_is_exact(content: Expression) -> None:
    elements = {"root": ElementDeclaration("root", content)}
    elements |= {name: ElementDeclaration(name, Empty()) for name in CHILDREN}
    usable = UsableElements(Schema(elements, "root"))
    possible = _sets_of_children(content)
    for size in range(1, len(CHILDREN) + 1):
        for wanted in map(frozenset, combinations(CHILDREN, size)):
            expected = any(wanted <= word for word in possible)
            assert usable.together("root", wanted) == expected, (str(content), wanted)


@given(
    some.tuples(*[_expressions(CHILDREN)] * len(CHILDREN)), some.sets(some.sampled_from(CHILDREN))
)
def test_minimal_levels_are_those_of_the_lowest_documents(
    contents: tuple[Expression, ...], leaves: set[str]
) -> None:
    elements = {
        name: ElementDeclaration(name, Mixed(CHILDREN) if name in leaves else content)
        for name, content in zip(CHILDREN, contents, strict=True)
    }
    # By definition: an element has n levels at the least when some word of its model uses only
    # elements of fewer levels.
    expected: dict[str, int] = {}
    for levels in range(1, len(CHILDREN) + 1):
        lower = {name for name, known in expected.items() if known < levels}
        for name, declaration in elements.items():
            content = declaration.content
            words = {frozenset[str]()} if isinstance(content, Mixed) else _words(content)
            if name not in expected and any(word <= lower for word in words):
                expected[name] = levels
    assert minimal_levels(elements) == expected


def _words(content: object) -> set[frozenset[str]]:
    assert isinstance(content, (Name, Sequence, Choice, Repeat))
    return _sets_of_children(content)


def test_what_cannot_be_completed_or_reached_is_left_out() -> None:
    schema = Schema.from_dtd(
        """<!ELEMENT a (b | c | missing)*>
           <!ELEMENT b (b)>
           <!ELEMENT c (#PCDATA | b)*>
           <!ELEMENT d EMPTY>""",
        root="a",
    )
    usable = UsableElements(schema)
    assert dict(usable.children) == {"a": ("c",), "c": ()}


def test_a_root_that_needs_undeclared_elements_is_refused() -> None:
    with pytest.raises(WorkloadError, match="not declared"):
        UsableElements(Schema.from_dtd("<!ELEMENT a (b, missing)> <!ELEMENT b EMPTY>", root="a"))


def test_tallest_levels_stop_at_the_limit() -> None:
    schema = Schema.from_dtd(
        "<!ELEMENT a (b, c)> <!ELEMENT b (d?)> <!ELEMENT c (c?)> <!ELEMENT d EMPTY>", root="a"
    )
    assert UsableElements(schema).tallest(7) == {"a": 7, "b": 2, "c": 7, "d": 1}
