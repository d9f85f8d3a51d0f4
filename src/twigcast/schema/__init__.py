"""Schemas: from a DTD or an XSD to the paths its documents have, and to who may care for them.

    DTD ──dtd (lxml)────────┐
    XSD ──xsd (xmlschema)───┼─► declarations ──graph──► element graph ──► overlaps(pattern)
    documents ──samples─────┘   (content models)            │
                                                        path graph ──► path automaton
                                                            └──deriving──► advertisements

:class:`Schema` reads a DTD through libxml2, an XSD through xmlschema, or learns from samples, and
keeps, for each element, the children that it can have in a finite valid document.  That graph is at
once an automaton whose positions are declarations of elements and whose language is the
root-to-leaf paths of valid documents.  In the path graph each label path is one walk.
:class:`Advertisement` is such a language as one expression in the papers' notation, with an
automaton of the same kind; a schema derives its own lazily (:class:`Advertisements`), since a
recursive schema has a great many.

The one question is ``overlaps``: may a document match this subscription?  Invariants: for linear
expressions (names, ``*``, ``/``, ``//``) the answer is exact, by intersecting automata; for every
other it is never wrongly "no"; every path of a schema is promised by one of its advertisements,
and where ``exact`` is true they promise nothing else.

Cost: reading a DTD of a hundred elements takes milliseconds; ``overlaps`` takes pattern × elements
operations on sets of bits, tens of microseconds there; nothing is enumerated unless asked for.
"""

from __future__ import annotations

from twigcast.schema.advertisement import Advertisement
from twigcast.schema.automaton import PathAutomaton, PathName, bits
from twigcast.schema.content import (
    Any,
    Choice,
    Content,
    Empty,
    Expression,
    Mixed,
    Name,
    Repeat,
    Sequence,
    Text,
    children_of,
    nullable,
)
from twigcast.schema.declarations import INSTANCE_NAMESPACE, Attribute, ElementDeclaration
from twigcast.schema.deriving import Advertisements
from twigcast.schema.graph import possible_children, reachable
from twigcast.schema.notation import Group
from twigcast.schema.samples import Samples
from twigcast.schema.schema import Schema
from twigcast.schema.simple_type import DECIMALS, INTEGERS, LIST, UNION, SimpleType
from twigcast.schema.sources import is_path_expression

__all__ = [
    "DECIMALS",
    "INSTANCE_NAMESPACE",
    "INTEGERS",
    "LIST",
    "UNION",
    "Advertisement",
    "Advertisements",
    "Any",
    "Attribute",
    "Choice",
    "Content",
    "ElementDeclaration",
    "Empty",
    "Expression",
    "Group",
    "Mixed",
    "Name",
    "PathAutomaton",
    "PathName",
    "Repeat",
    "Samples",
    "Schema",
    "Sequence",
    "SimpleType",
    "Text",
    "bits",
    "children_of",
    "is_path_expression",
    "nullable",
    "possible_children",
    "reachable",
]
