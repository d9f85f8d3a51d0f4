"""Reading a document into a tree, through the expat that CPython brings along.

This is the plain reader: the reference evaluation and the decomposition stand on it, and the
compiled kernel is compared with it.  Events go through closures rather than methods, the text
handler is a list's ``append``, and expanded names are made once per document and name; the rest is
as obvious as it looks.

Handlers and parser refer to each other; the reader lets go of the handlers when it is done, so
that no parser waits for the cyclic collector.  After an error in a handler expat still finishes the
piece it was given (a megabyte at most), but calls nobody.
"""

from __future__ import annotations

from typing import Final, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

from twigcast.documents.encoding import Source, to_parsable
from twigcast.documents.entities import check_entities, has_document_type
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.parser_errors import event_position, malformed, missing_entity
from twigcast.documents.tree import Document, Element, ExpandedName

SEPARATOR: Final = "\x1f"
"""Stands between namespace name and local part in expat's names.

No XML 1.0 document can contain this control character, not even as a character reference, so it
cannot be smuggled into a namespace name.
"""

_BUFFER_SIZE: Final = 64 * 1024


def read_document(data: Source, limits: DocumentLimits = DEFAULT_LIMITS) -> Document:
    """The tree of a document in any encoding; DocumentError where it is not one within limits."""
    parsable, encoding = to_parsable(data, limits)
    if has_document_type(parsable):
        check_entities(parsable, encoding, limits)
    parser = ParserCreate(encoding, SEPARATOR)
    parser.buffer_text = True
    parser.buffer_size = _BUFFER_SIZE
    holder = Element(("", ""))  # stands above the root until the end
    _set_handlers(parser, holder, limits, parsable)
    try:
        parser.Parse(parsable, True)
    except ExpatError as error:
        raise malformed(error.code, error.lineno, error.offset, parsable, encoding) from None
    finally:
        _clear_handlers(parser)
    root = holder.children[0]
    assert isinstance(root, Element)
    root.parent = None
    return Document(root)


def _set_handlers(
    parser: XMLParserType, holder: Element, limits: DocumentLimits, parsable: bytes
) -> None:
    current = holder
    depth = 0
    most_depth = limits.depth
    most_attributes = limits.attributes
    pieces: list[str] = []  # of the text node being read
    names: dict[str, ExpandedName] = {}

    def refuse(limit: LimitName) -> NoReturn:
        at = event_position(parser.CurrentLineNumber, parser.CurrentColumnNumber, parsable)
        raise limit_exceeded(limits, limit, *at)

    def expand(raw: str) -> ExpandedName:
        namespace, separator, local = raw.rpartition(SEPARATOR)
        if len(raw) - len(separator) > limits.name_length:
            refuse("name_length")
        name = names[raw] = (namespace, local)
        return name

    def end_text() -> None:
        if pieces:
            current.children.append("".join(pieces))
            pieces.clear()

    def on_start(raw: str, attributes: dict[str, str]) -> None:
        nonlocal current, depth
        if pieces:
            end_text()
        depth += 1
        if depth > most_depth:
            refuse("depth")
        if len(attributes) > most_attributes:
            refuse("attributes")
        element = Element(
            names.get(raw) or expand(raw),
            {names.get(name) or expand(name): value for name, value in attributes.items()},
            current,
        )
        current.children.append(element)
        current = element

    def on_end(raw: str) -> None:
        nonlocal current, depth
        if pieces:
            end_text()
        depth -= 1
        current = current.parent or holder

    def on_comment(text: str) -> None:
        end_text()

    def on_instruction(target: str, text: str) -> None:
        end_text()

    def on_missing_entity(*description: object) -> NoReturn:
        raise missing_entity(parser.CurrentLineNumber, parser.CurrentColumnNumber, parsable)

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = pieces.append
    parser.CommentHandler = on_comment
    parser.ProcessingInstructionHandler = on_instruction
    parser.SkippedEntityHandler = on_missing_entity
    parser.ExternalEntityRefHandler = on_missing_entity


def _clear_handlers(parser: XMLParserType) -> None:
    parser.StartElementHandler = None
    parser.EndElementHandler = None
    parser.CharacterDataHandler = None
    parser.CommentHandler = None
    parser.ProcessingInstructionHandler = None
    parser.SkippedEntityHandler = None
    parser.ExternalEntityRefHandler = None
