"""What entities would add to a document, computed before anything expands them.

Nothing is ever fetched: a reference to an entity whose text is not in the document is refused,
and so are references to parameter entities.  Of internal entities the fully expanded length is
computed over the graph of their declarations, at the cost of reading each declaration once:

    <!ENTITY a "ten chars ">   weight 10
    <!ENTITY b "&a;&a;">       weight 20      each reference in the document, in an attribute
    <!ENTITY c "&b;&b;!">      weight 41      default, and each defaulted attribute counts

The sum must not exceed ``DocumentLimits.entity_expansion``.  An empty entity weighs 1, so that a
tree of empty ones is a bomb too, and chains are bounded because expat follows them on the stack.

References are looked for in the text, outside comments, CDATA sections and processing instructions.
That finds too what no handler of expat reports: a reference in an attribute value to an entity
that is not declared, which expat drops where an external DTD might have declared it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from twigcast.documents.charsets import UTF_8
from twigcast.documents.doctype import AttributeDefault, DocumentType, read_document_type
from twigcast.documents.encoding import codec_of
from twigcast.documents.limits import DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.positions import position_of
from twigcast.documents.tags import LONG_TAG, find_long_tag_excess
from twigcast.errors import DocumentError

MOST_NESTING: Final = 40

_PREDEFINED: Final = frozenset(("lt", "gt", "amp", "quot", "apos"))
_GENERAL_REFERENCE: Final = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);|#)")
# Unterminated, the first three reach to the end: expat reads nothing behind them either.
_TOKEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|&(?P<entity>[^ \t\r\n<>&;]++);|<(?P<tag>[^ \t\r\n<>&/!?]++)",
    re.DOTALL,
)
_NAMESPACE_DECLARATION: Final = re.compile(
    r"xmlns(?::[^ \t\r\n=<>]*+)?[ \t\r\n]*+=[ \t\r\n]*+(?:\"([^\"<]*+)\"|'([^'<]*+)')"
)


def has_document_type(parsable: bytes) -> bool:
    """Whether :func:`check_entities` has anything to look at; never wrongly False."""
    return b"<!DOCTYPE" in parsable


def check_entities(
    data: bytes, encoding: str | None, limits: DocumentLimits
) -> list[tuple[str, str]]:
    """Refuse a document whose entities add too much or lie outside it.

    Returns the elements and attributes that its document type declares as IDs.

    Takes what :func:`~twigcast.documents.encoding.to_parsable` gave, before expat has read past
    the start of the document type declaration.  Time and memory are linear in the document.
    """
    text = str(data, codec_of(data, encoding), "replace")
    doctype = read_document_type(text, limits)
    if doctype is None:
        return []
    _Check(text, doctype, limits).run()
    return doctype.ids


@dataclass(slots=True)
class _Uses:
    """What a stretch of text holds: its own characters, and the things that expand in it."""

    length: int
    entities: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)

    def weight(self, entities: Mapping[str, int], tags: Mapping[str, int]) -> int:
        """The characters of this text with everything in it expanded."""
        return (
            self.length
            + sum(count * entities.get(name, 0) for name, count in self.entities.items())
            + sum(count * tags.get(name, 0) for name, count in self.tags.items())
        )


def _find_uses(text: str) -> _Uses:
    uses = _Uses(len(text))
    for token in _TOKEN.finditer(text):
        if name := token["entity"]:
            known = _is_character(name)
            uses.length -= len(token[0]) - known
            if not known:
                uses.entities[name] = uses.entities.get(name, 0) + 1
        elif tag := token["tag"]:
            uses.tags[tag] = uses.tags.get(tag, 0) + 1
    return uses


def _is_character(name: str) -> bool:
    """Whether ``&name;`` stands for one character in every document."""
    return name in _PREDEFINED or name.startswith("#")


class _Check:
    """The check of one document."""

    def __init__(self, text: str, doctype: DocumentType, limits: DocumentLimits) -> None:
        self.text = text
        self.doctype = doctype
        self.limits = limits
        self.uses = {
            name: _find_uses(declaration.replacement)
            for name, declaration in doctype.entities.items()
            if declaration.replacement is not None and name not in _PREDEFINED
        }

    def run(self) -> None:
        doctype = self.doctype
        entity_weights = self._weigh_entities({})
        tag_weights = {
            element: sum(
                self._weigh_default(attribute, default, entity_weights)
                for attribute, default in defaults.items()
            )
            for element, defaults in doctype.defaults.items()
        }
        if tag_weights:
            entity_weights = self._weigh_entities(tag_weights)
        elif not _GENERAL_REFERENCE.search(self.text, doctype.end):
            return
        self._check_body(entity_weights, tag_weights)
        self._check_replacements(entity_weights)
        self._check_namespace_names(self.text, doctype.end, None, entity_weights)

    def _check_body(
        self, entity_weights: Mapping[str, int], tag_weights: Mapping[str, int]
    ) -> None:
        """Add up what is used behind the declaration, and stop where it becomes too much."""
        added = 0
        reached: set[str] = set()
        for token in _TOKEN.finditer(self.text, self.doctype.end):
            if name := token["entity"]:
                if _is_character(name):
                    continue
                if name not in reached:
                    self._check_reached([name], len(self.doctype.entities), token.start())
                    reached.add(name)
                added += entity_weights[name]
            elif tag := token["tag"]:
                added += tag_weights.get(tag, 0)
            if added > self.limits.entity_expansion:
                raise self._exceeded("entity_expansion", token.start())

    def _weigh_entities(self, tag_weights: Mapping[str, int]) -> dict[str, int]:
        """The expanded length of each internal entity; a walk in post-order, without recursion."""
        weights: dict[str, int] = {}
        heights: dict[str, int] = {}
        for root in self.uses:
            walk = [] if root in weights else [root]
            rest: list[Iterator[str]] = [iter(self.uses[name].entities) for name in walk]
            within = set(walk)
            while walk:
                name = walk[-1]
                for inner in rest[-1]:
                    if inner in within:
                        reason = f"the entity {inner!r} contains a reference to itself"
                        raise DocumentError(reason, *self._position_of_entity(inner))
                    if inner in self.uses and inner not in weights:
                        walk.append(inner)
                        rest.append(iter(self.uses[inner].entities))
                        within.add(inner)
                        break
                else:
                    uses = self.uses[name]
                    weight = uses.weight(weights, tag_weights)
                    weights[name] = min(max(1, weight), self.limits.entity_expansion + 1)
                    heights[name] = 1 + max((heights.get(i, 0) for i in uses.entities), default=0)
                    if heights[name] > MOST_NESTING:
                        reason = f"entities are nested deeper than {MOST_NESTING} levels"
                        raise DocumentError(reason, *self._position_of_entity(name))
                    walk.pop()
                    rest.pop()
                    within.remove(name)
        return weights

    def _weigh_default(
        self, attribute: str, default: AttributeDefault, entity_weights: Mapping[str, int]
    ) -> int:
        uses = _find_uses(default.value)
        self._check_reached(uses.entities, default.rank, default.offset)
        weight = uses.weight(entity_weights, {})
        if weight > self.limits.entity_expansion:
            raise self._exceeded("entity_expansion", default.offset)
        if f"{attribute}:".startswith("xmlns:") and weight > self.limits.name_length:
            raise self._exceeded("name_length", default.offset)
        return len(attribute) + weight

    def _check_reached(self, names: Iterable[str], rank: int, offset: int) -> None:
        """Refuse a reference at ``offset`` that leads to an entity whose text is not known there.

        ``rank`` is how many entities are declared before that position: an attribute default is
        expanded where it stands, when later entities are not declared yet.
        """
        pending = list(names)
        reached = set(pending)
        while pending:
            name = pending.pop()
            declaration = self.doctype.entities.get(name)
            if declaration is None or declaration.rank >= rank:
                raise DocumentError(
                    self._undeclared(name, declaration is not None), *self._position(offset)
                )
            if declaration.replacement is None:
                reason = (
                    f"the text of the entity {name!r} is not in the document, and external"
                    " entities are never fetched; write its text instead of the reference"
                )
                raise DocumentError(reason, *self._position(offset))
            inner = self.uses[name].entities.keys() - reached
            reached |= inner
            pending.extend(inner)

    def _undeclared(self, name: str, later: bool) -> str:
        if later:
            return f"the entity {name!r} is declared only after an attribute default that uses it"
        if self.doctype.external:
            return (
                f"the entity {name!r} is declared outside the document, and external DTDs are"
                " never fetched; declare it in the document type declaration"
            )
        return f"the document is not well-formed: the entity {name!r} is not declared"

    def _check_replacements(self, entity_weights: Mapping[str, int]) -> None:
        """Hold the tags that entities bring to the limits that those of the document keep."""
        for name in self.uses:
            declaration = self.doctype.entities[name]
            replacement = declaration.replacement or ""
            if len(replacement) > LONG_TAG and (
                excess := find_long_tag_excess(replacement.encode(), UTF_8, self.limits)
            ):
                raise self._exceeded(excess[0], declaration.offset)
            self._check_namespace_names(replacement, 0, declaration.offset, entity_weights)

    def _check_namespace_names(
        self, text: str, start: int, offset: int | None, entity_weights: Mapping[str, int]
    ) -> None:
        """Refuse namespace names made too long by entities; see ``tags`` for what they cost."""
        for match in _NAMESPACE_DECLARATION.finditer(text, start):
            value = match[1] or match[2] or ""
            if "&" in value:
                weight = _find_uses(value).weight(entity_weights, {})
                if weight > self.limits.name_length:
                    raise self._exceeded("name_length", match.start() if offset is None else offset)

    def _exceeded(self, name: LimitName, offset: int) -> DocumentError:
        return limit_exceeded(self.limits, name, *self._position(offset))

    def _position(self, offset: int) -> tuple[int, int]:
        return position_of(self.text, offset)

    def _position_of_entity(self, name: str) -> tuple[int, int]:
        return self._position(self.doctype.entities[name].offset)
