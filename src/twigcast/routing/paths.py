"""A path of a document as a document of its own.

Li, Hou and Jacobsen route a document as its root-to-leaf paths.  A path is matched by the same
kernel as everything else when it is written as elements inside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from twigcast.documents import ExpandedName


def path_document(path: Sequence[ExpandedName]) -> bytes:
    """The document whose only path this is: ``<a><b/></a>``."""
    tags = []
    inherited = ""
    for namespace, local in path:
        declared = f" xmlns={quoteattr(namespace)}" if namespace != inherited else ""
        inherited = namespace
        tags.append((f"<{local}{declared}>", f"</{local}>"))
    opening = "".join(tag for tag, _ in tags)
    closing = "".join(tag for _, tag in reversed(tags))
    return (opening + closing).encode()
