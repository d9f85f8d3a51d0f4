"""A path of a document as a document of its own.

Li, Hou and Jacobsen route a document as its root-to-leaf paths.  A path is matched by the same
kernel as everything else when it is written as elements inside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from twigcast.documents import ExpandedName

_XML = "http://www.w3.org/XML/1998/namespace"


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
