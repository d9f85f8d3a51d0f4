"""Documents: XML bytes in, limits enforced, a tree or path publications out.

    bytes or str ──encoding──► bytes for expat ──entities──► known harmless ──reader──► Document
                   size, long tags               expansion                depth, attributes, names
                                                                                 │
                                                       publications ◄────────────┘

A document comes as bytes in any encoding that XML allows, or as str.  :func:`to_parsable` turns it
into bytes that expat reads; :func:`check_entities` refuses, before anything is expanded, entities
that would grow too much or whose text lies outside the document (nothing is ever fetched);
:func:`read_document` builds the tree of XPath's data model (:class:`Document`, :class:`Element`);
:func:`decompose` lists its root-to-leaf paths.  The compiled kernel has its own event handlers and
uses the first two, the limits and the errors of this package, so that both accept the same
documents and refuse the others in the same words.

Every refusal is a ``DocumentError``, with line and column where the position is known.

Invariant: what reaches a tree is well-formed XML 1.0 with namespaces, within
:class:`DocumentLimits`, and complete; no entity, default or character was dropped or guessed.

Cost: time and memory are linear in the size of the document plus what its entities add, whatever
the document; nothing recurses.  Documents without a document type declaration pay nothing for
the entity check, and UTF-8 is not copied.
"""

from __future__ import annotations

from twigcast.documents.charsets import UTF_8, codec_for
from twigcast.documents.encoding import Source, to_parsable
from twigcast.documents.entities import check_entities, has_document_type
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits, limit_exceeded
from twigcast.documents.parser_errors import event_position, malformed, missing_entity
from twigcast.documents.publications import PathPublication, decompose
from twigcast.documents.reader import read_document
from twigcast.documents.roots import root_of
from twigcast.documents.tags import LONG_TAG
from twigcast.documents.tree import Child, Comment, Document, Element, ExpandedName, Instruction
from twigcast.documents.value_paths import ValuePath, parse_value_path

__all__ = [
    "DEFAULT_LIMITS",
    "LONG_TAG",
    "UTF_8",
    "Child",
    "Comment",
    "Document",
    "DocumentLimits",
    "Element",
    "ExpandedName",
    "Instruction",
    "PathPublication",
    "Source",
    "ValuePath",
    "check_entities",
    "codec_for",
    "decompose",
    "event_position",
    "has_document_type",
    "limit_exceeded",
    "malformed",
    "missing_entity",
    "parse_value_path",
    "read_document",
    "root_of",
    "to_parsable",
]
