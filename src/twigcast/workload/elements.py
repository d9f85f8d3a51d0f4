"""The part of a schema that valid documents can use.

An element counts here when it is declared, lies on a walk from the root and can be completed: its
content model allows a sequence of children that can be completed too.  (The element graph of
:mod:`twigcast.schema` also keeps children that are named but not declared; no valid document holds
one, so nothing is generated for them.  Nor is anything for a strict wildcard, which only elements
declared elsewhere may fill.)

``levels`` is the least number of levels that an element takes, itself included::

    <!ELEMENT table (row+)>  <!ELEMENT row (cell+)>  <!ELEMENT cell (#PCDATA | table)*>
       3                        2                       1

It is the least fixed point over the content models: a name costs its element, a sequence its most
expensive part, a choice its cheapest, and what may be left out nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from twigcast.errors import WorkloadError
from twigcast.schema import (
    Any,
    Choice,
    Content,
    ElementDeclaration,
    Mixed,
    Name,
    Repeat,
    Schema,
    Sequence,
    children_of,
    possible_children,
    reachable,
)


class UsableElements:
    """The elements that documents of a schema can hold, in order of declaration.

    ``children`` are those that each can have, in the order in which its model names them.
    """

    def __init__(self, schema: Schema) -> None:
        declared = {name: each for name, each in schema.elements.items() if not each.strict}
        self.levels = minimal_levels(declared)
        roots = [root for root in schema.roots if root in self.levels]
        if not roots:
            raise WorkloadError(
                f"no document can be valid: {schema.root} needs elements that are not declared, or "
                "that always need further ones"
            )
        self.root = roots[0]
        children = {name: possible_children(declared, name, self.levels) for name in self.levels}
        reached = reachable(children, (self.root,))
        self.children = {name: children[name] for name in schema.elements if name in reached}
        self.declarations = {name: schema.elements[name] for name in self.children}
        self._together: dict[tuple[str, frozenset[str]], bool] = {}

    def together(self, parent: str, wanted: frozenset[str]) -> bool:
        """Whether one ``parent`` can have all the ``wanted`` children at once."""
        key = (parent, wanted)
        known = self._together.get(key)
        if known is None:
            content = self.declarations[parent].content
            known = wanted in _gathered(content, wanted, self.levels)
            # Pairs are asked for most, and there are only so many of them.
            if len(wanted) == 2:
                self._together[key] = known
        return known

    def tallest(self, limit: int) -> dict[str, int]:
        """The most levels that each element can take, at most ``limit``."""
        tallest = dict.fromkeys(self.children, 1)
        for _ in range(limit - 1):
            result = {
                name: 1 + max((tallest[child] for child in below), default=0)
                for name, below in self.children.items()
            }
            if result == tallest:
                break
            tallest = result
        return tallest


def minimal_levels(elements: Mapping[str, ElementDeclaration]) -> dict[str, int]:
    """The least number of levels of each element that can be completed."""
    levels: dict[str, int] = {}
    # Elements of n levels are known after n rounds, and a round without news is the last.
    while True:
        result = {
            name: 1 + int(least)
            for name, declaration in elements.items()
            if (least := levels_of(declaration.content, levels)) < math.inf
        }
        if result == levels:
            return {name: levels[name] for name in elements if name in levels}
        levels = result


def levels_of(content: Content, levels: Mapping[str, int]) -> float:
    """The least number of levels that content takes; infinite where it cannot be completed."""
    content = children_of(content)
    if isinstance(content, Name):
        return levels.get(content.name, math.inf)
    if isinstance(content, Sequence):
        return max(levels_of(part, levels) for part in content.parts)
    if isinstance(content, Choice):
        return min((levels_of(part, levels) for part in content.parts), default=math.inf)
    if isinstance(content, Repeat):
        return levels_of(content.part, levels) if content.minimum else 0
    return 0


def _gathered(
    content: Content, wanted: frozenset[str], usable: Collection[str]
) -> set[frozenset[str]]:
    """The largest sets of ``wanted`` names that a sequence of usable children can hold at once.

    Exact: sets that another one includes are left out, since more children are never worse.  No
    set at all means that the content cannot be completed.
    """
    content = children_of(content)
    if isinstance(content, Any):
        return {wanted}
    if isinstance(content, Mixed):
        return {wanted.intersection(content.names)}
    if isinstance(content, Name):
        return {wanted & {content.name}} if content.name in usable else set()
    if isinstance(content, Sequence):
        result = {frozenset[str]()}
        for part in content.parts:
            more = _gathered(part, wanted, usable)
            result = _largest({some | other for some in result for other in more})
        return result
    if isinstance(content, Choice):
        return _largest(set().union(*(_gathered(part, wanted, usable) for part in content.parts)))
    if isinstance(content, Repeat):
        once = result = _gathered(content.part, wanted, usable)
        if content.maximum is None and result:
            return {frozenset().union(*result)}
        for _ in range(1, min(content.maximum or 1, len(wanted))):
            result = _largest({some | other for some in result for other in once})
        return result or ({frozenset()} if content.minimum == 0 else set())
    return {frozenset()}


def _largest(sets: set[frozenset[str]]) -> set[frozenset[str]]:
    return {some for some in sets if not any(some < other for other in sets)}
