"""A schema: the elements of a DTD, what their documents look like, and whether they may match."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from twigcast.errors import SchemaError
from twigcast.keywords import exact_keywords
from twigcast.language import Kind, NodeTest, Pattern, node_test, require_pattern
from twigcast.schema.automaton import PathAutomaton
from twigcast.schema.content import nullable
from twigcast.schema.deriving import (
    Advertisements,
    AdvertisementsToDepth,
    RecursiveAdvertisements,
    count_paths,
)
from twigcast.schema.dtd import ElementDeclaration, read_dtd, write_dtd
from twigcast.schema.graph import element_graph, reachable, root_candidates, strong_components
from twigcast.schema.overlap import SchemaOverlap

_SHOWN_CANDIDATES = 20


@exact_keywords
class Schema:
    """The documents that a DTD allows below one root element.

    Immutable, equal by content.  Names are those of the DTD, with their prefixes.  A DTD knows no
    namespaces: where it uses neither prefixes nor ``xmlns`` attributes its elements are in none;
    otherwise they may be in any, and subscriptions are compared with them by local names.
    """

    def __init__(self, elements: Mapping[str, ElementDeclaration], root: str | None = None) -> None:
        self._elements = dict(elements)
        self._root = _choose_root(self._elements, root)
        self._children = element_graph(self._elements)
        if self._root not in self._children:
            raise SchemaError(
                f"no document can be valid: the root {self._root!r} needs elements that always "
                "need further ones"
            )
        inside = reachable(self._children, self._root)
        self._graph = {
            name: children for name, children in self._children.items() if name in inside
        }
        self._leaves = frozenset(name for name in self._children if self.can_be_leaf(name))
        self._qualified = _uses_namespaces(self._elements.values())

    @classmethod
    @exact_keywords
    def from_dtd(cls, path_or_text: str | os.PathLike[str], root: str | None = None) -> Schema:
        """The schema of a DTD: a path, or the text itself (a string that contains ``<!``).

        Parameter entities and conditional sections are expanded; files that a DTD in a file names
        are read from beside it.  Without ``root``, the one element that no other contains is the
        root.  Raises SchemaError, with the line and libxml2's reason for a DTD that cannot be
        read, and with the candidates where the root is not plain.
        """
        return cls(read_dtd(path_or_text), root)

    def to_dtd(self) -> str:
        """The text of a DTD with the same declarations, all in one piece."""
        return write_dtd(self._elements)

    @property
    def root(self) -> str:
        """The name of the root element."""
        return self._root

    @property
    def elements(self) -> Mapping[str, ElementDeclaration]:
        """The declared elements by name, in order of declaration."""
        return MappingProxyType(self._elements)

    def children(self, name: str) -> tuple[str, ...]:
        """The elements that can be children of ``name`` in some finite valid document.

        In the order in which its content model names them; for ``ANY``, in order of declaration.
        An element that cannot itself be part of such a document has none.  Children that the DTD
        names without declaring them count as empty elements.
        """
        if name not in self._children and name not in self._elements:
            raise SchemaError(f"the DTD has no element {name!r}")
        return self._children.get(name, ())

    def can_be_leaf(self, name: str) -> bool:
        """Whether an element can be without child elements."""
        declaration = self._elements.get(name)
        if declaration is None:
            return name in self._children
        return nullable(declaration.content)

    @cached_property
    def recursive_elements(self) -> frozenset[str]:
        """The elements below the root that can contain themselves, at whatever depth."""
        return frozenset(
            name
            for component in strong_components(self._graph, (self._root,))
            for name in component
            if len(component) > 1 or name in self._graph[name]
        )

    @property
    def is_recursive(self) -> bool:
        """Whether documents can be nested without bound."""
        return bool(self.recursive_elements)

    @cached_property
    def automaton(self) -> PathAutomaton:
        """The root-to-leaf label paths of valid documents; one position for each element."""
        index = {name: position for position, name in enumerate(self._graph)}
        follow = [sum(1 << index[child] for child in children) for children in self._graph.values()]
        last = sum(1 << index[name] for name in index if name in self._leaves)
        return PathAutomaton(
            [self._label(name) for name in index], 1 << index[self._root], follow, last
        )

    def count_paths(self, depth: int, leaves_only: bool = False) -> int:
        """How many label paths of at most ``depth`` names start at the root.

        With ``leaves_only``, of those that a leaf can end.  Nothing is enumerated.
        """
        return count_paths(self._root, self._graph, depth, self._leaves if leaves_only else None)

    def advertisements(self, max_depth: int | None = None) -> Advertisements:
        """The paths of this schema as advertisements, made as they are iterated over.

        With ``max_depth`` the paths of at most that many names, each as one advertisement without
        repetition: what the experiments of Li, Hou and Jacobsen amount to.
        """
        if max_depth is None:
            return RecursiveAdvertisements(self._root, self._graph, self._leaves, self._label)
        return AdvertisementsToDepth(self._root, self._graph, self._leaves, self._label, max_depth)

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether some valid document may match ``pattern``.

        Exact for linear expressions.  For others, "no" is always right.
        """
        require_pattern(pattern)
        return self._overlap.overlaps(pattern)

    @cached_property
    def _overlap(self) -> SchemaOverlap:
        return SchemaOverlap(self.automaton, tuple(self._graph), self._elements)

    def _label(self, name: str) -> NodeTest:
        if self._qualified:
            return node_test(Kind.ELEMENT, None, name.rpartition(":")[2])
        return node_test(Kind.ELEMENT, "", name)

    def __eq__(self, other: object) -> bool:
        """Schemas are equal that declare the same below the same root, wherever they come from."""
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return self._hash == other._hash and (
            (self._root, self._elements) == (other._root, other._elements)
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self._root, frozenset(self._elements.items())))

    def __reduce__(self) -> tuple[type[Schema], tuple[dict[str, ElementDeclaration], str]]:
        return Schema, (self._elements, self._root)

    def __repr__(self) -> str:
        recursion = f", {len(self.recursive_elements)} recursive" if self.is_recursive else ""
        return f"<Schema {self._root}: {len(self._elements)} elements{recursion}>"


def _choose_root(elements: Mapping[str, ElementDeclaration], root: str | None) -> str:
    if root is not None:
        if root not in elements:
            raise SchemaError(f"the DTD declares no element {root!r} to be the root")
        return root
    candidates = root_candidates(elements)
    if len(candidates) == 1:
        return candidates[0]
    shown = ", ".join(candidates[:_SHOWN_CANDIDATES])
    more = len(candidates) - _SHOWN_CANDIDATES
    raise SchemaError(
        f"the root element is not plain; pass root= one of: {shown}"
        + (f" and {more} more" if more > 0 else "")
    )


def _uses_namespaces(declarations: Iterable[ElementDeclaration]) -> bool:
    return any(
        ":" in declaration.name
        or any(attribute.is_namespace_declaration for attribute in declaration.attributes)
        for declaration in declarations
    )
