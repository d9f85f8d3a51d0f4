"""The document type declaration: what its internal subset declares.

    <!DOCTYPE a SYSTEM "a.dtd" [ <!ENTITY e "text"> <!ATTLIST a b CDATA "default"> ]> <a>…
              name  └ external   └────────── internal subset ──────────────────┘ ▲ end

The scanner reads declarations itself rather than through expat, for two reasons.  Expat expands
the entities in attribute defaults as it meets them, which is too late to refuse a bomb; and
Python's expat cannot be stopped from a handler before the end of the piece it was given.  The
grammar of an internal subset is small: declarations in which only quotes hide a ``>``, comments,
processing instructions, parameter-entity references.  Expat still reads it all afterwards and is
the judge of well-formedness; what this scanner cannot read is refused.  One pass, linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twigcast.documents.limits import DocumentLimits, limit_exceeded
from twigcast.documents.positions import BYTE_ORDER_MARK, position_of
from twigcast.errors import DocumentError

MOST_DECLARATIONS: Final = 50_000
"""Of entities, elements, notations and single attributes: ten times a large DTD."""

_SPACE: Final = r"[ \t\r\n]"
_NAME: Final = r"[^ \t\r\n\"'<>%&;()\[\]|,*+?#=/!]++"
_LITERAL: Final = r"\"[^\"]*+\"|'[^']*+'"
_MISCELLANY: Final = re.compile(rf"{_SPACE}++|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_SUBSET_END: Final = re.compile(rf"\]{_SPACE}*+>")
_MARKUP: Final = re.compile(r"[\"'<>\[]")
_ENTITY: Final = re.compile(
    rf"<!ENTITY{_SPACE}++(?P<parameter>%{_SPACE}++)?(?P<name>{_NAME}){_SPACE}++"
    rf"(?:(?P<literal>{_LITERAL})|SYSTEM{_SPACE}++(?:{_LITERAL})"
    rf"|PUBLIC{_SPACE}++(?:{_LITERAL}){_SPACE}++(?:{_LITERAL}))"
    rf"(?P<unparsed>{_SPACE}++NDATA{_SPACE}++{_NAME})?{_SPACE}*+>"
)
_ATTRIBUTES: Final = re.compile(rf"<!ATTLIST{_SPACE}++({_NAME})")
_ATTRIBUTE: Final = re.compile(
    rf"{_SPACE}++(?P<name>{_NAME}){_SPACE}++"
    rf"(?:(?:NOTATION{_SPACE}++)?\([^()\"'<>]*+\)|(?P<type>{_NAME})){_SPACE}++"
    rf"(?:#REQUIRED|#IMPLIED|(?:#FIXED{_SPACE}++)?(?P<default>{_LITERAL}))"
)
_ATTRIBUTES_END: Final = re.compile(rf"{_SPACE}*+>")
_CHARACTER_REFERENCE: Final = re.compile(r"&#(?:0*+([0-9]++)|x0*+([0-9a-fA-F]++));|&#x?0++;")


class EntityDeclaration(NamedTuple):
    """A general entity; ``replacement`` is None where its text lies outside the document."""

    replacement: str | None
    rank: int
    """How many entities are declared before this one."""
    offset: int


class AttributeDefault(NamedTuple):
    """An attribute's default value as written, and how many entities are declared before it."""

    value: str
    rank: int
    offset: int


@dataclass(slots=True)
class DocumentType:
    """What a document type declaration says.

    ``external``  whether it names an external subset (which nobody fetches)
    ``entities``  the general entities, unparsed ones among them
    ``defaults``  for each element name, its attributes that have default values
    ``ids``       the elements and their attributes that are declared as IDs
    ``end``       the offset behind the declaration
    """

    external: bool = False
    entities: dict[str, EntityDeclaration] = field(default_factory=dict)
    defaults: dict[str, dict[str, AttributeDefault]] = field(default_factory=dict)
    ids: list[tuple[str, str]] = field(default_factory=list)
    end: int = 0


def read_document_type(text: str, limits: DocumentLimits) -> DocumentType | None:
    """The document type declaration of a document; None where its prolog has none."""
    position = _skip_miscellany(text, text.startswith(BYTE_ORDER_MARK))
    if not text.startswith("<!DOCTYPE", position):
        return None
    start = position
    doctype = DocumentType()
    position += len("<!DOCTYPE")
    while markup := _MARKUP.search(text, position):
        position = markup.end()
        if markup[0] in "\"'":
            doctype.external = True
            position = text.find(markup[0], position) + 1
            if not position:
                break
        elif markup[0] == "<":
            break
        else:
            if markup[0] == "[":
                position = _SubsetReader(text, doctype, limits).read(position)
            doctype.end = position
            return doctype
    raise _unreadable(text, start)


class _SubsetReader:
    """Reads the declarations of an internal subset into a document type."""

    def __init__(self, text: str, doctype: DocumentType, limits: DocumentLimits) -> None:
        self.text = text
        self.doctype = doctype
        self.limits = limits
        self.declarations = 0
        self.attributes: dict[str, int] = {}  # declared for each element, with a default or not

    def read(self, position: int) -> int:
        """Read on from ``position``; the offset behind the ``]`` and ``>`` that end the subset."""
        text = self.text
        while True:
            position = _skip_miscellany(text, position)
            if end := _SUBSET_END.match(text, position):
                return end.end()
            self._count_declaration(position)
            if text.startswith("<!ENTITY", position):
                position = self._read_entity(position)
            elif text.startswith("<!ATTLIST", position):
                position = self._read_attributes(position)
            elif text.startswith(("<!ELEMENT", "<!NOTATION"), position):
                position = self._skip_declaration(position)
            elif text.startswith("%", position):
                raise DocumentError(
                    "references to parameter entities are not supported; write the declarations"
                    " that they stand for into the document type declaration",
                    *position_of(text, position),
                )
            else:
                raise _unreadable(text, position)

    def _count_declaration(self, position: int) -> None:
        self.declarations += 1
        if self.declarations > MOST_DECLARATIONS:
            reason = f"the document makes more than {MOST_DECLARATIONS:,} declarations"
            raise DocumentError(reason, *position_of(self.text, position))

    def _read_entity(self, position: int) -> int:
        match = _ENTITY.match(self.text, position)
        if match is None:
            raise _unreadable(self.text, position)
        if match["parameter"]:
            return match.end()
        literal = match["literal"]
        if literal and match["unparsed"]:
            raise _unreadable(self.text, position)
        replacement = replace_character_references(literal[1:-1]) if literal else None
        entities = self.doctype.entities
        declaration = EntityDeclaration(replacement, len(entities), position)
        entities.setdefault(match["name"], declaration)  # the first one binds
        return match.end()

    def _read_attributes(self, start: int) -> int:
        element = _ATTRIBUTES.match(self.text, start)
        if element is None:
            raise _unreadable(self.text, start)
        name, position = element[1], element.end()
        while match := _ATTRIBUTE.match(self.text, position):
            self._count_declaration(position)
            position = match.end()
            self.attributes[name] = self.attributes.get(name, 0) + 1
            if self.attributes[name] > self.limits.attributes:
                raise limit_exceeded(self.limits, "attributes", *position_of(self.text, start))
            if match["type"] == "ID":
                self.doctype.ids.append((name, match["name"]))
            if match["default"]:
                rank = len(self.doctype.entities)
                default = AttributeDefault(match["default"][1:-1], rank, start)
                self.doctype.defaults.setdefault(name, {}).setdefault(match["name"], default)
        end = _ATTRIBUTES_END.match(self.text, position)
        if end is None:
            raise _unreadable(self.text, start)
        return end.end()

    def _skip_declaration(self, start: int) -> int:
        position = start + len("<!")
        while markup := _MARKUP.search(self.text, position):
            position = markup.end()
            if markup[0] == ">":
                return position
            if markup[0] in "<[":
                break
            position = self.text.find(markup[0], position) + 1
            if not position:
                break
        raise _unreadable(self.text, start)


def _skip_miscellany(text: str, position: int) -> int:
    """Past white space, comments and processing instructions, the XML declaration among them."""
    while match := _MISCELLANY.match(text, position):
        position = match.end()
    return position


def replace_character_references(literal: str) -> str:
    """An entity's replacement text: its literal with the character references replaced."""
    return _CHARACTER_REFERENCE.sub(_character, literal)


def _character(reference: re.Match[str]) -> str:
    digits, base = (reference[1], 10) if reference[1] else (reference[2] or "0", 16)
    code = int(digits, base) if len(digits) <= 7 else 0
    surrogate = 0xD800 <= code <= 0xDFFF
    # Expat refuses a reference to what is no character; until then, anything stands for it.
    return chr(code) if 0 < code <= 0x10FFFF and not surrogate else "\ufffd"


def _unreadable(text: str, position: int) -> DocumentError:
    reason = "the document is not well-formed: the document type declaration cannot be read"
    return DocumentError(reason, *position_of(text, position))
