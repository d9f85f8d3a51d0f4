"""Schemas: from a DTD to the paths its documents have, and to who may care for them.

    DTD ──dtd──► declarations ──graph──► element graph ──► path automaton ──► overlaps(pattern)
        (lxml)   (content models)            │                   ▲
                                             └──deriving──► advertisements ──► overlaps(pattern)

:class:`Schema` reads a DTD through libxml2 and keeps, for each element, the children that it can
have in a finite valid document.  That graph is at once an automaton whose positions are elements
and whose language is the root-to-leaf paths of valid documents.  :class:`Advertisement` is such a
language as one expression in the papers' notation, with an automaton of the same kind; a schema
derives its own lazily (:class:`Advertisements`), since a recursive DTD has a great many.

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
    nullable,
)
from twigcast.schema.deriving import Advertisements
from twigcast.schema.dtd import Attribute, ElementDeclaration
from twigcast.schema.graph import possible_children, reachable
from twigcast.schema.notation import Group
from twigcast.schema.schema import Schema

__all__ = [
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
    "Schema",
    "Sequence",
    "Text",
    "bits",
    "nullable",
    "possible_children",
    "reachable",
]
