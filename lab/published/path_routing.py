"""Documents routed path by path, as Li, Hou and Jacobsen do, in a network that routes documents.

    document ──decompose──► root-to-leaf paths ──path_document──► a document for each path

A path is matched by the same kernel as everything else when it is written as elements inside each
other.  The publisher extracts the paths (section 3 of the paper), so brokers and clients take each
path as a document of its own.  Only linear subscriptions can match one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

from twigcast.documents import ExpandedName, Source, decompose

_XML = "http://www.w3.org/XML/1998/namespace"


def path_documents(document: Source, *, distinct: bool = True) -> Iterator[bytes]:
    """The path publications of a document, each as a document; ``distinct``, each path once."""
    return (path_document(each.path) for each in decompose(document, "", distinct=distinct))


def path_document(path: Sequence[ExpandedName]) -> bytes:
    """The document whose only path this is: ``<a><b/></a>``."""
    prefixes = {"": "", _XML: "xml:"}
    for namespace, _ in path:
        prefixes.setdefault(namespace, f"n{len(prefixes)}:")
    declared = "".join(
        f" xmlns:{prefix[:-1]}={quoteattr(namespace)}"
        for namespace, prefix in prefixes.items()
        if namespace not in ("", _XML)
    )
    names = [prefixes[namespace] + local for namespace, local in path]
    opening = f"<{names[0]}{declared}>" + "".join(f"<{name}>" for name in names[1:])
    return (opening + "".join(f"</{name}>" for name in reversed(names))).encode()
