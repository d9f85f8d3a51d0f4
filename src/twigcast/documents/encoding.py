"""From whatever holds a document to bytes that expat reads.

    str ─────────────────────────────► UTF-8, forced whatever the declaration says
    bytes, UTF-8 / ISO-8859-1 / ASCII ► the same object, not copied
    bytes, any other encoding ────────► decoded strictly by Python, UTF-8, forced

So the readers meet only encodings that extend ASCII.  UTF-16 is decoded too, although expat knows
it: one shape of bytes lets every later check search them directly.

A byte order mark decides over the declaration (RFC 7303, and libxml2 does the same); without one,
the first four bytes say the family as in appendix F of XML 1.0, and the declaration must agree
with it.  The usual case costs one look at the first bytes and one at every eighth kilobyte.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from twigcast.documents.charsets import EXPAT_NAMES, UTF_8, codec_for
from twigcast.documents.limits import DocumentLimits, limit_exceeded
from twigcast.documents.positions import BYTE_ORDER_MARK, position_of
from twigcast.documents.tags import LONG_TAG, check_long_tags
from twigcast.errors import DocumentError

Source: TypeAlias = bytes | bytearray | memoryview | str
"""What a document may be given as."""

_MARKS: Final = (
    (b"\xff\xfe\0\0", "utf_32_le"),
    (b"\0\0\xfe\xff", "utf_32_be"),
    (b"\xff\xfe", "utf_16_le"),
    (b"\xfe\xff", "utf_16_be"),
)
_UTF_8_MARK: Final = b"\xef\xbb\xbf"

# The start of ``<?xml`` in families of encodings that do not extend ASCII, the codec that reads a
# declaration of that family, and the codecs that it may name; None is any EBCDIC one.
_FAMILIES: Final = (
    (b"<\0\0\0?\0\0\0", "utf_32_le", ("utf_32_le", "utf_32")),
    (b"\0\0\0<\0\0\0?", "utf_32_be", ("utf_32_be", "utf_32")),
    (b"<\0?\0", "utf_16_le", ("utf_16_le", "utf_16")),
    (b"\0<\0?", "utf_16_be", ("utf_16_be", "utf_16")),
    (b"\x4c\x6f\xa7\x94", "cp037", None),
)

# A version of other characters is left to expat, which refuses it.
_DECLARATION: Final = (
    r"<\?xml[ \t\r\n]++version[ \t\r\n]*+=[ \t\r\n]*+[\"'][A-Za-z0-9._-]*+[\"']"
    r"[ \t\r\n]++encoding[ \t\r\n]*+=[ \t\r\n]*+[\"']([A-Za-z][A-Za-z0-9._-]*+)[\"']"
)
_TEXT_DECLARATION: Final = re.compile(_DECLARATION)
_BYTES_DECLARATION: Final = re.compile(_DECLARATION.encode())


def to_parsable(data: Source, limits: DocumentLimits) -> tuple[bytes, str | None]:
    """Bytes for expat, and the encoding to force on it; None leaves it to the document.

    The size is checked first, on what is given and again once decoded; start tags too long for
    the limits are refused here because expat cannot be stopped in the middle of one.
    """
    if isinstance(data, str):
        if len(data) > limits.size:
            raise limit_exceeded(limits, "size")
        parsable, forced = _to_utf_8(data, limits), EXPAT_NAMES[UTF_8]
    else:
        _require_bytes(data)
        if (data.nbytes if isinstance(data, memoryview) else len(data)) > limits.size:
            raise limit_exceeded(limits, "size")
        given = data if type(data) is bytes else bytes(data)
        if not given.startswith((b"<?xml", b"\xef", b"\xff", b"\xfe", b"\0", b"<\0", b"\x4c\x6f")):
            parsable, forced = given, None
        else:
            parsable, forced = _from_bytes(given, limits)
    if b"\0" in parsable[:2]:
        # Expat would take this for UTF-16, whatever is forced on it.
        raise DocumentError(
            "the document is not well-formed, or it is UTF-16 or UTF-32 with neither a byte order"
            " mark nor an XML declaration",
            1,
            1,
        )
    if len(parsable) > LONG_TAG:
        check_long_tags(parsable, codec_of(parsable, forced), limits)
    return parsable, forced


def _require_bytes(data: object) -> None:
    if not isinstance(data, bytes | bytearray | memoryview):
        kind = type(data).__name__
        raise TypeError(
            f"a document is bytes or str, not {kind}; for a file, pass path.read_bytes()"
        )


def codec_of(parsable: bytes, forced: str | None) -> str:
    """The codec that reads the result of :func:`to_parsable`."""
    if forced is None:
        match = _BYTES_DECLARATION.match(parsable)
        forced = match[1].decode() if match else EXPAT_NAMES[UTF_8]
    return codec_for(forced) or UTF_8


def _from_bytes(data: bytes, limits: DocumentLimits) -> tuple[bytes, str | None]:
    if data.startswith(_UTF_8_MARK):
        return data, EXPAT_NAMES[UTF_8]
    for mark, codec in _MARKS:
        if data.startswith(mark):
            text = _decode(memoryview(data)[len(mark) :], codec)
            if text.startswith(BYTE_ORDER_MARK):
                raise DocumentError("the document starts with two byte order marks", 1, 1)
            return _to_utf_8(text, limits), EXPAT_NAMES[UTF_8]
    for start, reader, members in _FAMILIES:
        if data.startswith(start):
            return _from_family(data, reader, members, limits), EXPAT_NAMES[UTF_8]
    match = _BYTES_DECLARATION.match(data)
    if match is None:
        return data, None
    declaration = match[0].decode()
    name, codec = _declared_codec(declaration)
    if codec in EXPAT_NAMES:
        spelled_alike = name.lower() == EXPAT_NAMES[codec]
        return data, None if spelled_alike else EXPAT_NAMES[codec]
    text = _decode(data, codec)
    if not text.startswith(declaration):
        raise _disagreement(declaration)
    return _to_utf_8(text, limits), EXPAT_NAMES[UTF_8]


def _from_family(
    data: bytes, reader: str, members: tuple[str, ...] | None, limits: DocumentLimits
) -> bytes:
    """A document that starts with ``<?xml`` in an encoding that does not extend ASCII."""
    text = _decode(data, reader)
    match = _TEXT_DECLARATION.match(text)
    codec = _declared_codec(match[0])[1] if match else None
    if members is None:
        if match is None or codec is None:
            raise DocumentError("the document seems to be EBCDIC but declares no encoding", 1, 1)
        text = _decode(data, codec)
        if not text.startswith(match[0]):
            raise _disagreement(match[0])
    elif match and codec not in members:
        raise _disagreement(match[0])
    return _to_utf_8(text, limits)


def _declared_codec(declaration: str) -> tuple[str, str]:
    """The encoding name that an XML declaration gives, and the codec for it."""
    name, where = _name_in(declaration)
    codec = codec_for(name)
    if codec is None:
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        reason = f"the encoding {shown!r} is not known; convert the document to UTF-8"
        raise DocumentError(reason, *where)
    return name, codec


def _disagreement(declaration: str) -> DocumentError:
    name, where = _name_in(declaration)
    return DocumentError(f"the document declares {name!r} but is in another encoding", *where)


def _name_in(declaration: str) -> tuple[str, tuple[int, int]]:
    start = 1 + max(declaration.rfind(quote, 0, -1) for quote in "\"'")
    return declaration[start:-1], position_of(declaration, start)


def _decode(data: bytes | memoryview, codec: str) -> str:
    try:
        return str(data, codec)
    except UnicodeDecodeError as error:
        before = str(data[: error.start], codec, "replace")
        raise DocumentError(
            f"the bytes are not valid {codec.replace('_', '-')}: {error.reason}",
            *position_of(before, len(before)),
        ) from None


def _to_utf_8(text: str, limits: DocumentLimits) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"the character U+{ord(text[error.start]):04X} is half of a surrogate pair",
            *position_of(text, error.start),
        ) from None
    if len(encoded) > limits.size:
        raise limit_exceeded(limits, "size")
    return encoded
