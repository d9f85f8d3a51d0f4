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
from xml.parsers.expat import errors as expat_errors

from twigcast.documents.charsets import UTF_8
from twigcast.documents.encoding import Source, codec_of, to_parsable
from twigcast.documents.entities import check_entities, has_document_type
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.places import BYTE_ORDER_MARK, column_of, malformed
from twigcast.documents.tree import Document, Element, ExpandedName
from twigcast.errors import DocumentError

SEPARATOR: Final = "\x1f"
"""Stands between namespace name and local part in expat's names.

No XML 1.0 document can contain this control character, not even as a character reference, so it
cannot be smuggled into a namespace name.
"""

_INVALID_TOKEN: Final = expat_errors.codes[expat_errors.XML_ERROR_INVALID_TOKEN]
_MARK: Final = BYTE_ORDER_MARK.encode()
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
    _set_handlers(parser, holder, limits, parsable.startswith(_MARK))
    try:
        parser.Parse(parsable, True)
    except ExpatError as error:
        raise _malformed(error, parser.ErrorByteIndex, parsable, encoding) from None
    finally:
        _clear_handlers(parser)
    root = holder.children[0]
    assert isinstance(root, Element)
    root.parent = None
    return Document(root)


def _set_handlers(
    parser: XMLParserType, holder: Element, limits: DocumentLimits, marked: bool
) -> None:
    current = holder
    depth = 0
    most_depth = limits.depth
    most_attributes = limits.attributes
    pieces: list[str] = []  # of the text node being read
    names: dict[str, ExpandedName] = {}

    def refuse(limit: LimitName) -> NoReturn:
        line = parser.CurrentLineNumber
        column = column_of(line, parser.CurrentColumnNumber, marked=marked)
        raise limit_exceeded(limits, limit, line, column)

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
        # check_entities has refused these; should it ever miss one, nothing is dropped silently.
        line = parser.CurrentLineNumber
        column = column_of(line, parser.CurrentColumnNumber, marked=marked)
        raise DocumentError("an entity outside the document is never fetched", line, column)

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


def _malformed(
    error: ExpatError, offset: int, parsable: bytes, encoding: str | None
) -> DocumentError:
    refusal = malformed(error.code, error.lineno, error.offset, marked=parsable.startswith(_MARK))
    if error.code == _INVALID_TOKEN and codec_of(parsable, encoding) == UTF_8:
        try:
            parsable[offset : offset + 4].decode()
        except UnicodeDecodeError as reason:
            if reason.start == 0 and reason.reason != "unexpected end of data":
                return DocumentError("the bytes are not valid utf-8", refusal.line, refusal.column)
    return refusal
