"""Start tags that would cost memory out of proportion to their length.

Expat reads a start tag as one piece and writes out the expanded name of each prefixed attribute
before it calls anyone: a megabyte of attributes whose prefix stands for a megabyte of namespace
name is a terabyte.  No handler comes early enough to stop that, so the limits on attributes and
on names are applied to long tags before expat sees them.

Only tags of ``LONG_TAG`` bytes and more are looked at; a shorter one cannot hold enough attributes
to do harm (a thousand of them times a namespace name of 8 KiB is 8 MiB).  No ``<`` occurs inside
a tag, so a long tag shows as a stretch without ``<``.  The search for stretches jumps from the last
``<`` of one window to that of the next: a few thousand steps for a document of 64 MiB.

A text that looks like such a tag inside a comment or a CDATA section is refused as well; telling
it apart would mean reading the whole document here.
"""

from __future__ import annotations

import re
from typing import Final

from twigcast.documents.limits import DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.positions import position_of

LONG_TAG: Final = 8 * 1024

_TAG_NAME: Final = re.compile(rb"<[^ \t\r\n<>/!?=\"']++")
_ATTRIBUTE: Final = re.compile(
    rb"[ \t\r\n]++([^ \t\r\n<>/=\"']++)[ \t\r\n]*+=[ \t\r\n]*+(\"[^\"<]*+\"|'[^'<]*+')"
)


def check_long_tags(data: bytes, codec: str, limits: DocumentLimits) -> None:
    """Refuse a document, in an encoding that extends ASCII, if a long tag exceeds a limit."""
    if excess := find_long_tag_excess(data, codec, limits):
        name, position = excess
        before = str(memoryview(data)[:position], codec, "replace")
        raise limit_exceeded(limits, name, *position_of(before, len(before)))


def find_long_tag_excess(
    data: bytes, codec: str, limits: DocumentLimits
) -> tuple[LimitName, int] | None:
    """The limit that the first excessive long tag exceeds, and the offset of that tag."""
    size = len(data)
    position = data.find(b"<")
    while position >= 0 and position + LONG_TAG < size:
        following = data.rfind(b"<", position + 1, position + LONG_TAG)
        if following < 0:
            name = _exceeded_limit(data, position, codec, limits)
            if name:
                return name, position
            following = data.find(b"<", position + 1)
        position = following
    return None


def _exceeded_limit(
    data: bytes, position: int, codec: str, limits: DocumentLimits
) -> LimitName | None:
    """The limit that the tag at ``position`` exceeds; attributes and declarations count apart."""
    tag = _TAG_NAME.match(data, position)
    attributes = declarations = 0
    position = tag.end() if tag else len(data)
    while match := _ATTRIBUTE.match(data, position):
        position = match.end()
        if match[1] == b"xmlns" or match[1].startswith(b"xmlns:"):
            declarations += 1
            value = match[2][1:-1]
            if len(value) > limits.name_length < len(value.decode(codec, "replace")):
                return "name_length"
        else:
            attributes += 1
        if max(attributes, declarations) > limits.attributes:
            return "attributes"
    return None
