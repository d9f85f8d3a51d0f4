"""A schema: the elements of a DTD or an XSD, what their documents look like, and what may match."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from twigcast.errors import SchemaError
from twigcast.keywords import exact_keywords
from twigcast.language import Kind, NodeTest, Pattern, node_test, require_pattern
from twigcast.schema.automaton import PathAutomaton
from twigcast.schema.content import nullable
from twigcast.schema.declaration_text import read_declarations, write_declarations
from twigcast.schema.declarations import ElementDeclaration
from twigcast.schema.deriving import (
    Advertisements,
    AdvertisementsToDepth,
    RecursiveAdvertisements,
    count_paths,
)
from twigcast.schema.dtd import read_dtd, write_dtd
from twigcast.schema.graph import element_graph, reachable, root_candidates, strong_components
from twigcast.schema.overlap import SchemaOverlap
from twigcast.schema.path_graph import PathGraph, path_graph
from twigcast.schema.samples import Sample, Samples, read_samples
from twigcast.schema.sources import is_xsd
from twigcast.schema.xsd import read_xsd

_SHOWN_CANDIDATES = 20


@exact_keywords
class Schema:
    """The documents that a DTD or an XSD allows below one root element.

    Immutable, equal by content.  The names of a DTD are spelled as there, with their prefixes.  A
    DTD knows no namespaces: where it uses neither prefixes nor ``xmlns`` attributes its elements
    are in none; otherwise they may be in any, and subscriptions are compared with them by local
    names.  The names of an XSD are spelled ``name`` or ``Q{uri}name``
    (:mod:`twigcast.schema.declarations`).
    """

    def __init__(
        self,
        elements: Mapping[str, ElementDeclaration],
        root: str | tuple[str, ...] | None = None,
        samples: Samples | None = None,
    ) -> None:
        self._elements = dict(elements)
        self._children = element_graph(self._elements)
        self._roots = _choose_roots(self._elements, self._children, root)
        self._samples = samples
        inside = reachable(self._children, self._roots)
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

    @classmethod
    @exact_keywords
    def from_xsd(
        cls, path_or_url_or_text: str | os.PathLike[str], root: str | None = None
    ) -> Schema:
        """The schema of an XSD: a path, a URL, or the text itself (a string that contains ``<``).

        Includes and imports are followed, from a path or a text to local files only.  ``root`` is
        ``name`` or ``Q{uri}name``; without it, the root is the one element that the XSD declares at
        its top and nothing refers to.  Raises SchemaError for what cannot be read, with the file
        and the remedy, and with the candidates where the root is not plain.  XSD 1.0 is read.
        """
        return cls(*read_xsd(path_or_url_or_text, root))

    @classmethod
    @exact_keywords
    def from_documents(cls, samples: Iterable[Sample]) -> Schema:
        """What sample documents have: bytes, texts, or paths of files.

        A guess at what else their producer publishes; :attr:`samples` says how good a guess.
        """
        return cls(*read_samples(samples))

    @classmethod
    @exact_keywords
    def of(
        cls,
        source: Schema | str | os.PathLike[str] | Iterable[Sample],
        root: str | None = None,
    ) -> Schema:
        """The schema of whatever is given: a DTD, an XSD, a schema, or sample documents.

        A string that contains ``<`` is a DTD or an XSD itself; other strings and paths say where
        one is.  Raises SchemaError.
        """
        if isinstance(source, Schema):
            return source if root in (None, source.root) else source._with_root(root)
        if isinstance(source, (str, os.PathLike)):
            return cls.from_xsd(source, root) if is_xsd(source) else cls.from_dtd(source, root)
        given: object = source
        if isinstance(given, (bytes, bytearray)) or not isinstance(given, Iterable):
            raise TypeError(
                "a schema is made of a path, a URL, a text, or a list of sample documents, not "
                f"{type(given).__name__}"
            )
        if root is not None:
            raise SchemaError("the roots of a learned schema are those of its samples; leave root")
        return cls.from_documents(source)

    def _with_root(self, root: str | None) -> Schema:
        if not self.is_dtd:
            raise SchemaError(f"this schema was read for {self.root}; read it again with root=")
        return Schema(self._elements, root)

    @property
    def is_dtd(self) -> bool:
        """Whether the declarations are those of a DTD, which has no namespaces and simple types."""
        return all(declaration.label is None for declaration in self._elements.values())

    def to_dtd(self) -> str:
        """The text of a DTD with the same declarations, all in one piece.

        SchemaError where they are not those of a DTD.
        """
        if not self.is_dtd:
            raise SchemaError("a DTD cannot say what this schema declares; use to_json()")
        return write_dtd(self._elements)

    def to_json(self) -> str:
        """The declarations and roots in one text, for :meth:`from_json`."""
        return write_declarations(self._elements, self._roots)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """The schema that :meth:`to_json` has written; SchemaError for any other text."""
        return cls(*read_declarations(text))

    @property
    def root(self) -> str:
        """The name of the root element."""
        return self._roots[0]

    @property
    def roots(self) -> tuple[str, ...]:
        """The keys of the declarations that the root of a document may have."""
        return self._roots

    @property
    def samples(self) -> Samples | None:
        """What the schema was learned from; None for one that a DTD or an XSD declares."""
        return self._samples

    @property
    def elements(self) -> Mapping[str, ElementDeclaration]:
        """The declared elements by key, in order of declaration."""
        return MappingProxyType(self._elements)

    def children(self, name: str) -> tuple[str, ...]:
        """The elements that can be children of ``name`` in some finite valid document.

        In the order in which its content model names them; for ``ANY``, in order of declaration.
        An element that cannot itself be part of such a document has none.  Children that the DTD
        names without declaring them count as empty elements.
        """
        if name not in self._children and name not in self._elements:
            raise SchemaError(f"the schema has no element {name!r}")
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
            for component in strong_components(self._graph, self._roots)
            for name in component
            if len(component) > 1 or name in self._graph[name]
        )

    @property
    def is_recursive(self) -> bool:
        """Whether documents can be nested without bound."""
        return bool(self.recursive_elements)

    @cached_property
    def automaton(self) -> PathAutomaton:
        """The root-to-leaf label paths of valid documents; one position for each element.

        Elements of one name that the same paths lead to share a position.
        """
        return _automaton(self._paths)

    def count_paths(self, depth: int, leaves_only: bool = False) -> int:
        """How many label paths of at most ``depth`` names start at the root.

        With ``leaves_only``, of those that a leaf can end.  Nothing is enumerated.  Of a wildcard,
        all names together are one.
        """
        paths = self._paths
        return count_paths(
            paths.roots, paths.children, depth, paths.leaves if leaves_only else None
        )

    def advertisements(self, max_depth: int | None = None) -> Advertisements:
        """The paths of this schema as advertisements, made as they are iterated over.

        With ``max_depth`` the paths of at most that many names, each as one advertisement without
        repetition: what the experiments of Li, Hou and Jacobsen amount to.
        """
        if max_depth is None:
            return RecursiveAdvertisements(self._paths)
        return AdvertisementsToDepth(self._paths, max_depth)

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether some valid document may match ``pattern``.

        Exact for linear expressions.  For others, "no" is always right.
        """
        require_pattern(pattern)
        return self._overlap.overlaps(pattern)

    @cached_property
    def _paths(self) -> PathGraph:
        return path_graph(self._roots, self._graph, self._leaves, self.label)

    @cached_property
    def _overlap(self) -> SchemaOverlap:
        declared = PathGraph(self._roots, self._graph, self._leaves, self.label)
        return SchemaOverlap(_automaton(declared), tuple(self._graph), self._elements)

    def label(self, name: str) -> NodeTest:
        """What subscriptions call an element."""
        declaration = self._elements.get(name)
        if declaration is not None and declaration.label is not None:
            return declaration.label
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
            (self._roots, self._elements) == (other._roots, other._elements)
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self._roots, frozenset(self._elements.items())))

    def __reduce__(self) -> tuple[object, ...]:
        return Schema, (self._elements, self._roots, self._samples)

    def __repr__(self) -> str:
        recursion = f", {len(self.recursive_elements)} recursive" if self.is_recursive else ""
        learned = "" if self._samples is None else f", {self._samples}"
        return f"<Schema {self.root}: {len(self._elements)} elements{recursion}{learned}>"


def _automaton(paths: PathGraph) -> PathAutomaton:
    index = {name: position for position, name in enumerate(paths.children)}
    follow = [sum(1 << index[child] for child in below) for below in paths.children.values()]
    return PathAutomaton(
        [paths.label(name) for name in index],
        sum(1 << index[name] for name in paths.roots),
        follow,
        sum(1 << index[name] for name in index if name in paths.leaves),
    )


def _choose_roots(
    elements: Mapping[str, ElementDeclaration],
    completed: Container[str],
    root: str | tuple[str, ...] | None,
) -> tuple[str, ...]:
    """The roots that can be completed; SchemaError where there is none."""
    roots = root if isinstance(root, tuple) else (_choose_root(elements, root),)
    able = tuple(each for each in roots if each in completed)
    if not able:
        shown = repr(roots[0]) if roots else "is abstract and"
        raise SchemaError(
            f"no document can be valid: the root {shown} needs elements that always need "
            "further ones"
        )
    return able


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
