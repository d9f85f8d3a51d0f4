"""What expat reports, as errors with a position: the same from the reader and from the kernel."""

from __future__ import annotations

from typing import Final
from xml.parsers.expat import errors as expat_errors

from twigcast.documents.charsets import UTF_8
from twigcast.documents.encoding import codec_of
from twigcast.documents.positions import BYTE_ORDER_MARK, position_of
from twigcast.errors import DocumentError

_INVALID_TOKEN: Final = expat_errors.codes[expat_errors.XML_ERROR_INVALID_TOKEN]
_MARK: Final = BYTE_ORDER_MARK.encode()


def event_position(line: int, offset: int, parsable: bytes) -> tuple[int, int]:
    """The line and the column of what expat reports at its ``line`` and its ``offset``.

    Expat counts columns from 0 and a byte order mark as a character.
    """
    marked = line == 1 and offset > 0 and parsable.startswith(_MARK)
    return line, offset + 1 - marked


def malformed(
    code: int, line: int, offset: int, parsable: bytes, encoding: str | None
) -> DocumentError:
    """The error for expat's error ``code`` at its ``line`` and its ``offset``."""
    at = event_position(line, offset, parsable)
    message = expat_errors.messages.get(code, f"error {code} of the XML parser")
    if code == _INVALID_TOKEN:
        if _is_broken_utf_8(parsable, encoding, at):
            return DocumentError("the bytes are not valid utf-8", *at)
        message = "invalid token"
    return DocumentError(f"the document is not well-formed: {message}", *at)


def missing_entity(line: int, offset: int, parsable: bytes) -> DocumentError:
    """The error for a reference that leads out of the document.

    The entity check refuses these before; should it ever miss one, nothing is dropped silently.
    """
    at = event_position(line, offset, parsable)
    return DocumentError("an entity outside the document is never fetched", *at)


def _is_broken_utf_8(parsable: bytes, encoding: str | None, at: tuple[int, int]) -> bool:
    """Whether bytes that are not UTF-8 are what expat stopped at."""
    if codec_of(parsable, encoding) != UTF_8:
        return False
    try:
        parsable.decode()
    except UnicodeDecodeError as reason:
        before = parsable[: reason.start].decode()
        return reason.reason != "unexpected end of data" and position_of(before, len(before)) == at
    return False
