"""Rows in pieces of a file that was cut without understanding it.

Spark cuts a file at every ``</row>``, or at every ``<row`` where rows are empty elements::

    <feed><a/><row/>  <row>one</row>  <!-- … --> <row>two</row>  </feed>
    └──── piece ─────────────┘     └───── piece ──────┘       └ piece ┘

A piece is read from its start: comments, processing instructions and other elements are passed
over, empty rows are taken, and at the start tag of a row the rest of the piece is its content.
That holds as long as the separator stands nowhere else.  Where a piece shows that it does not (a
comment or CDATA section that is still open at the end, a row within a row, an end tag written with
a space), the row comes out with a reason instead of being guessed.

Invariant: a row comes out as it stands in the file, or with a reason.  What a piece cannot show is
that it starts within a comment or a CDATA section, because that holds the separator.  Cost: linear
in the piece; content is searched, not tokenised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

TAG: Final = re.compile(rb"<([^\s!/>\"'<]++)((?:[^\"'<>]++|\"[^\"<]*+\"|'[^'<]*+')*+)>")
"""A start tag or an empty element; quoted values may hold ``>``, but never ``<``."""

_ATTRIBUTE: Final = re.compile(rb"\s([^\s=\"'<>/]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_SKIPPED: Final = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))

_AFTER_NAME: Final = (b" ", b"\t", b"\r", b"\n", b"/", b">")

NESTED: Final = "a row starts within the row, so that its end is not known; do not cut here"
SPACED: Final = "its end tag is written with white space, so that its rows cannot be separated"
OPEN: Final = "an end tag of the row stands in a comment, CDATA section or instruction within it"
BROKEN: Final = "the start tag of the row is not well-formed, or is cut"
ENDLESS: Final = "its end does not come before another start tag that begins with the same letters"
CUT: Final = "the file ends within the row, or right after it"
FOREIGN: Final = "it lies in another element than the first row, with namespaces of its own"


@dataclass(frozen=True, slots=True)
class Row:
    """A row's start tag and what follows it, or the reason why it cannot be had."""

    tag: bytes
    rest: bytes
    problem: str | None = None

    @property
    def names_declared(self) -> set[bytes]:
        """The namespace attributes of the start tag."""
        if b"xmlns" not in self.tag:
            return set()
        names = (attribute[1] for attribute in _ATTRIBUTE.finditer(self.tag))
        return {name for name in names if name == b"xmlns" or name.startswith(b"xmlns:")}


@dataclass(frozen=True, slots=True)
class RowScanner:
    """Finds the rows of one element in pieces; ``at_start`` where those were cut at ``<row``."""

    element: bytes
    at_start: bool
    _inner: re.Pattern[bytes] = field(init=False)
    _end: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        name = re.escape(self.element)
        inner = rb"<!--|<!\[CDATA\[|<\?|<" + name + rb"(?=[\s/>])|</" + name + rb"\s*>"
        object.__setattr__(self, "_inner", re.compile(inner))
        object.__setattr__(self, "_end", re.compile(rb"</" + name + rb"\s*>"))

    @property
    def separator(self) -> bytes:
        """Where the file is to be cut."""
        return b"<%b" % self.element if self.at_start else b"</%b>" % self.element

    def rows(self, piece: bytes, *, before: bytes = b"", is_last: bool = False) -> Iterator[Row]:
        """The rows of a piece; ``before`` is the piece before it.

        The last piece of a file has no separator behind it.
        """
        if self.at_start:
            return self._started(piece, before)
        return self._ended(piece, is_last)

    def _started(self, piece: bytes, before: bytes) -> Iterator[Row]:
        if piece[:1] not in _AFTER_NAME:
            return  # an element whose name begins with the same letters
        tag = TAG.match(b"<%b%b" % (self.element, piece))
        if tag is None:
            yield Row(b"", b"", BROKEN)
            return
        rest, problem = b"", None
        if not tag[0].endswith(b"/>"):
            body = piece[tag.end() - len(self.element) - 1 :]
            end, problem = self._content_end(body)
            if problem is None and end < 0:
                problem = ENDLESS
            rest = body[:end] + b"</%b>" % self.element
        if problem is None and leaves_namespaces_open(b"<%b%b" % (self.element, before)):
            problem = FOREIGN
        yield Row(tag[0], rest, problem)

    def _ended(self, piece: bytes, is_last: bool) -> Iterator[Row]:
        around = _OpenElements()
        for offset, tag in _tags(piece):
            if tag is None and self._starts_row(piece, offset):
                yield Row(b"", b"", CUT if is_last else BROKEN)
                return
            if tag is None or tag[1] != self.element:
                around.pass_tag(piece, offset, tag)
                continue
            foreign = FOREIGN if around.declare_namespaces() else None
            if tag[0].endswith(b"/>"):
                yield Row(tag[0], b"", foreign)
                continue
            body = piece[tag.end() :]
            end, problem = self._content_end(body)
            if problem is None and end >= 0:
                problem = SPACED
            if is_last and problem in (None, OPEN):
                problem = CUT
            yield Row(tag[0], body + b"</%b>" % self.element, problem or foreign)
            return

    def _starts_row(self, piece: bytes, offset: int) -> bool:
        after = offset + 1 + len(self.element)
        return piece.startswith(self.element, offset + 1) and (
            piece[after : after + 1] in (b"", *_AFTER_NAME)
        )

    def _content_end(self, body: bytes) -> tuple[int, str | None]:
        """Where the row's end tag starts in its content, -1 if nowhere, and what is wrong."""
        offset = 0
        while (tag := self._inner.search(body, offset)) is not None:
            if tag[0].startswith(b"</"):
                return tag.start(), None
            if not tag[0].startswith((b"<!", b"<?")):
                return -1, NESTED
            skipped = _skip(body, tag.start())
            if skipped is None or skipped < 0:
                return -1, OPEN
            offset = skipped
        return -1, None


def leaves_namespaces_open(text: bytes) -> bool:
    """Whether an element with namespace declarations starts in the text and does not end there."""
    if b"xmlns" not in text:
        return False
    around = _OpenElements()
    for offset, tag in _tags(text):
        around.pass_tag(text, offset, tag)
    return around.declare_namespaces()


class _OpenElements:
    """Elements that have started and not ended, each with whether it declares namespaces."""

    def __init__(self) -> None:
        self._opened: list[bool] = []

    def pass_tag(self, text: bytes, offset: int, tag: re.Match[bytes] | None) -> None:
        if tag is not None:
            if not tag[0].endswith(b"/>"):
                self._opened.append(b"xmlns" in tag[0])
        elif self._opened and text.startswith(b"</", offset):
            self._opened.pop()

    def declare_namespaces(self) -> bool:
        return any(self._opened)


def _tags(text: bytes) -> Iterator[tuple[int, re.Match[bytes] | None]]:
    """Start tags with their offsets; None for end tags and whatever else starts like a tag."""
    offset = 0
    while (offset := text.find(b"<", offset)) >= 0:
        skipped = _skip(text, offset)
        if skipped is None:
            tag = TAG.match(text, offset)
            yield offset, tag
            offset = tag.end() if tag is not None else offset + 1
        elif skipped < 0:
            return  # the separator stands in a comment
        else:
            offset = skipped


def _skip(piece: bytes, offset: int) -> int | None:
    """Where a comment or the like that starts here ends: -1 nowhere, None if there is none."""
    for start, end in _SKIPPED:
        if piece.startswith(start, offset):
            last = piece.find(end, offset + len(start))
            return last + len(end) if last >= 0 else -1
    return None
