"""The root element's name, read without reading the document.

Whoever decides by the root alone (may this publisher publish such a document?) asks here.  Expat is
fed pieces, each twice as long as the one before, until it has seen the first start tag, and never
learns of the rest::

    <?xml …?><!DOCTYPE …><!-- … --><nitf xmlns="urn:x" …>│ not read
    └─ 1 KiB ─┴─── 2 KiB ───┴─────── 4 KiB ──────┘

Invariant: for a document that :func:`~twigcast.documents.reader.read_document` accepts, the answer
is the name of its root; a document that is refused before its first start tag ends is refused here
in the same words.  What stands behind that tag may be anything.

Cost: linear in what precedes the end of the root's start tag, for pieces that double even where
expat starts a long tag over with each.  On top of that come the checks that nothing may go before:
a few looks for long tags, decoding where the encoding is none that expat is given, and the entity
check where there is a document type declaration.
"""

from __future__ import annotations

from typing import Final, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate

from twigcast.documents.encoding import Source, to_parsable
from twigcast.documents.entities import check_entities, has_document_type
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.parser_errors import event_position, malformed
from twigcast.documents.reader import SEPARATOR
from twigcast.documents.tree import ExpandedName

_FIRST_PIECE: Final = 1024


def root_of(content: Source, limits: DocumentLimits = DEFAULT_LIMITS) -> ExpandedName:
    """The name of the root element; DocumentError where no root within limits begins."""
    parsable, encoding = to_parsable(content, limits)
    if has_document_type(parsable):
        check_entities(parsable, encoding, limits)
    parser = ParserCreate(encoding, SEPARATOR)
    roots: list[ExpandedName] = []

    def refuse(limit: LimitName) -> NoReturn:
        at = event_position(parser.CurrentLineNumber, parser.CurrentColumnNumber, parsable)
        raise limit_exceeded(limits, limit, *at)

    def on_start(raw: str, attributes: dict[str, str]) -> None:
        parser.StartElementHandler = None
        if len(attributes) > limits.attributes:
            refuse("attributes")
        for name in (raw, *attributes):
            if len(name) - (SEPARATOR in name) > limits.name_length:
                refuse("name_length")
        namespace, _, local = raw.rpartition(SEPARATOR)
        roots.append((namespace, local))

    parser.StartElementHandler = on_start
    start, size = 0, _FIRST_PIECE
    try:
        while not roots:
            end = start + size
            parser.Parse(parsable[start:end], end >= len(parsable))
            start, size = end, 2 * size
    except ExpatError as error:
        if not roots:  # otherwise it is about what follows in the same piece
            raise malformed(error.code, error.lineno, error.offset, parsable, encoding) from None
    finally:
        parser.StartElementHandler = None  # the handler and the parser hold each other
    return roots[0]
