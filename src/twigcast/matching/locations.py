"""Where in a document a node is, as a path that leads there and nowhere else.

``/news[1]/story[2]/@id`` is spelled in the language of subscriptions, so that it can be read by
people and evaluated again.  ``name[2]`` counts the siblings of that name in no namespace,
``*:name[2]`` those in any, which spares the reader the names of namespaces.

Cost: the length of the path, plus the number of siblings once for each parent on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from twigcast.language import Kind, name_text
from twigcast.matching.reference import Node

_LONGEST: Final = 2_000


class Locations:
    """Paths that lead to one node each; siblings are counted once for each parent."""

    def __init__(self) -> None:
        self._steps: dict[Node, dict[Node, tuple[str, str]]] = {}

    def location(self, node: Node) -> str:
        """With names, or where these are too long, with ``*`` and positions."""
        named: list[str] = []
        counted: list[str] = []
        below, parent = node, node.parent
        if node.kind is Kind.NAMESPACE:
            step = f"namespace::{node.name[1] or '*'}"
            named, counted = [step], [step]
            assert parent is not None
            below, parent = parent, parent.parent
        while parent is not None:
            steps = self._steps.get(parent)
            if steps is None:
                steps = self._steps[parent] = dict(_steps_below(parent))
            name, count = steps[below]
            named.append(name)
            counted.append(count)
            below, parent = parent, parent.parent
        is_long = sum(map(len, named)) + len(named) > _LONGEST
        return "/" + "/".join(reversed(counted if is_long else named))


def _steps_below(parent: Node) -> Iterator[tuple[Node, tuple[str, str]]]:
    """The last step to each attribute and child, with its name and without.

    ``name[2]`` counts the siblings of that name in no namespace, ``*:name[2]`` in any.
    """
    counts = Counter(attribute.name[1] for attribute in parent.attributes)
    for attribute in parent.attributes:
        namespace, local = attribute.name
        is_clear = namespace and counts[local] == 1
        step = f"@*:{local}" if is_clear else f"@{name_text(namespace, local)}"
        yield attribute, (step, step)
    counts.clear()

    def numbered(test: str) -> str:
        counts[test] += 1
        return f"{test}[{counts[test]}]"

    for child in parent.children:
        if child.kind is not Kind.ELEMENT:
            step = numbered(f"{child.kind.value}()")
            yield child, (step, step)
        else:
            namespace, local = child.name
            anywhere = numbered(f"*:{local}")
            yield child, (anywhere if namespace else numbered(local), numbered("*"))
