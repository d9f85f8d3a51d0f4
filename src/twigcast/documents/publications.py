"""Path publications: what a document looks like to brokers that route by paths.

Li, Hou and Jacobsen decompose a document into its root-to-leaf paths and route each as a
publication of its own (document id, path id, path), unseen by clients.  A leaf is an element
without child elements.  Paths come in document order; the paths of one document share much, so
they are distinguished in a tree of names, at constant cost per element rather than per path length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from twigcast.documents.encoding import Source
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits
from twigcast.documents.reader import read_document
from twigcast.documents.tree import Document, Element, ExpandedName
from twigcast.language import name_text


class PathPublication(NamedTuple):
    """One root-to-leaf path of one document; ``path_id`` counts a document's paths from 0."""

    document_id: str
    path_id: int
    path: tuple[ExpandedName, ...]

    def __str__(self) -> str:
        """``/a/b/c``, with ``Q{uri}name`` for a name in a namespace."""
        return "".join(f"/{name_text(*name)}" for name in self.path)


def decompose(
    document: Document | Source,
    document_id: str,
    *,
    distinct: bool = True,
    limits: DocumentLimits = DEFAULT_LIMITS,
) -> Iterator[PathPublication]:
    """The path publications of ``document``; with ``distinct``, each path once.

    ``limits`` apply where the document still has to be read.  Reading happens at the call, not at
    the first publication taken, so that a document that cannot be read is met here.
    """
    if not isinstance(document, Document):
        document = read_document(document, limits)
    return _publications(document.root, document_id, distinct)


def _publications(root: Element, document_id: str, distinct: bool) -> Iterator[PathPublication]:
    path_count = 0
    path: list[ExpandedName] = []
    node_of: dict[tuple[int, ExpandedName], int] = {}  # the tree of names: (node, name) -> node
    published: set[int] = set()
    pending: list[tuple[Element, int, int]] = [(root, 0, 0)]  # element, depth above, node above
    while pending:
        element, depth, above = pending.pop()
        del path[depth:]
        path.append(element.name)
        node = node_of.setdefault((above, element.name), len(node_of) + 1)
        children = [child for child in element.children if isinstance(child, Element)]
        if children:
            pending.extend((child, depth + 1, node) for child in reversed(children))
        elif not distinct or node not in published:
            published.add(node)
            yield PathPublication(document_id, path_count, tuple(path))
            path_count += 1
