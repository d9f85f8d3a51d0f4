"""What the rows of an XML file inherit from the text before the first of them.

    <?xml … encoding="ISO-8859-1"?>       encoding
    <!DOCTYPE feed [ <!ENTITY …> ]>       internal subset
    <feed xmlns="urn:a">                  namespaces in scope
      <entries xmlns:p="urn:p">
        <p:row …>                         first row

A row becomes a document of its own, so it must bring along what it refers to.  The head is parsed
by expat on the driver; where it holds no row, more of the file is asked for, up to a bound: then
the name is probably misspelled, and nothing was read into one memory.

Rows are cut at their end tags.  Where the first rows are all empty elements (``<row …/>``) there
may be no end tag in the whole file, and rows are cut at their start instead.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from twigcast.documents import UTF_8, codec_for
from twigcast.errors import PipelineError
from twigcast.pipeline.sources.heads import LARGEST_HEAD, Head
from twigcast.pipeline.sources.rowscan import TAG, RowScanner

UTF_8_MARK: Final = b"\xef\xbb\xbf"

_ENOUGH_ROWS: Final = 1_000
_DECLARATION: Final = re.compile(
    rb"<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']"
)
# Their bytes look like markup where there is none, or markup like something else.
_UNCUTTABLE: Final = re.compile(
    r"utf_(16|32).*|iso2022.*|hz|johab|cp(037|273|424|500|875|1026|1140)"
)


# After the root only white space, comments and processing instructions may come.
_TO_END: Final = rb"\s*+>(?:\s++|<!--.*?-->|<\?.*?\?>)*+\Z"


@dataclass(frozen=True, slots=True)
class RowHead:
    """What is needed to make documents of a file's rows.

    ``scanner``     finds the rows in pieces of the file
    ``start``       what comes before the row's start tag: declaration, document type
    ``namespaces``  attribute names with the text to add, for each namespace in scope
    ``root_end``    finds the end tag of the root element at the end of the file
    ``first``       the byte at which the first row starts, not counting a byte order mark
    ``codec``       reads the file
    ``encoding``    its name, where Spark must know it because the row's name is not ASCII
    ``cut``         the last bytes of the file, where it ends too early in another block
    """

    scanner: RowScanner
    start: bytes
    namespaces: tuple[tuple[bytes, bytes], ...]
    root_end: re.Pattern[bytes]
    first: int
    codec: str
    encoding: str
    cut: bytes | None = None


class UnreadableHeadError(Exception):
    """The file is not XML up to its first row; says where."""


def find_head(url: str, element: str, heads: Iterable[Head]) -> RowHead | None:
    """What the rows inherit; None where the whole file was seen and has no row.

    Raises :class:`UnreadableHeadError` for one bad file, ``PipelineError`` where reading on would
    be in vain.
    """
    for head in heads:
        parsed = _HeadParser(element, *_encoding(url, head.data)).parse(head)
        if parsed is not None:
            return parsed
        if head.is_whole:
            return None
    raise PipelineError(
        f"{url}: no element {element} in its first {LARGEST_HEAD:,} bytes; "
        "check the name and write its prefix as the file does"
    )


def _encoding(url: str, data: bytes) -> tuple[str, str]:
    """The codec of a file, and its name in the declaration; nothing where that is needless."""
    if data.startswith(UTF_8_MARK):
        return UTF_8, ""
    remedy = "convert the file to UTF-8, for example with iconv"
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x4c\x6f\xa7")) or b"\0" in data[:4]:
        raise PipelineError(f"{url}: a file in UTF-16 or the like cannot be cut; {remedy}")
    declared = _DECLARATION.match(data)
    if declared is None:
        return UTF_8, ""
    name = declared[1].decode()
    codec = codec_for(name)
    if codec is None or _UNCUTTABLE.fullmatch(codec):
        raise PipelineError(f"{url}: a file in the encoding {name!r} cannot be cut; {remedy}")
    return codec, "" if codec == UTF_8 else name


class _EnoughError(Exception):
    """Stops the parser once enough rows were seen."""


class _HeadParser:
    """One pass of expat over a head, recoded to UTF-8."""

    def __init__(self, element: str, codec: str, encoding: str) -> None:
        self._element = element
        self._codec = codec
        self._encoding = encoding
        self._scopes: list[dict[str, str]] = [{}]
        self._rows: list[int] = []
        self._scope: dict[str, str] = {}
        self._root = ""
        self._subset = (0, 0)
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._on_start
        self._parser.EndElementHandler = self._on_end
        self._parser.StartDoctypeDeclHandler = self._on_doctype
        self._parser.EndDoctypeDeclHandler = self._on_doctype_end

    def parse(self, head: Head) -> RowHead | None:
        """What the rows of this head inherit, if it has any."""
        given = head.data.removeprefix(UTF_8_MARK)
        text, is_end = self._decoded(given, head.is_whole)
        data = text.encode()
        try:
            self._parser.Parse(data, is_end)
        except _EnoughError:
            pass
        except expat.ExpatError as error:
            if not self._rows:
                said = expat.errors.messages[error.code]
                raise UnreadableHeadError(
                    f"line {error.lineno}, column {error.offset + 1}: {said}"
                ) from None
        return self._row_head(data) if self._rows else None

    def _decoded(self, given: bytes, is_whole: bool) -> tuple[str, bool]:
        """The text of a head up to a byte that is none, and whether that is the whole file."""
        decoder = codecs.getincrementaldecoder(self._codec)()
        try:
            return decoder.decode(given, is_whole), is_whole
        except UnicodeDecodeError as error:
            # What is wrong after the first row is the affair of that row.
            return given[: error.start].decode(self._codec, "ignore"), True

    def _row_head(self, data: bytes) -> RowHead:
        start = b""
        if self._encoding:
            start = self._encoded(f'<?xml version="1.0" encoding="{self._encoding}"?>')
        opened, closed = self._subset
        if closed:
            subset = data[opened : data.rindex(b"]", opened, closed)].decode()
            start += self._encoded(f"<!DOCTYPE {self._element} {subset}]>")
        tags = (TAG.match(data, index) for index in self._rows)
        at_start = all(tag is not None and tag[0].endswith(b"/>") for tag in tags)
        namespaces = tuple(
            (self._encoded(name), self._encoded(f" {name}={quoteattr(uri)}"))
            for name, uri in sorted(self._scope.items())
            if uri
        )
        return RowHead(
            RowScanner(self._encoded(self._element), at_start),
            start,
            namespaces,
            re.compile(rb"</" + re.escape(self._encoded(self._root)) + _TO_END, re.DOTALL),
            len(self._encoded(data[: self._rows[0]].decode())),
            self._codec,
            "" if self._element.isascii() else self._encoding,
        )

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._codec, "xmlcharrefreplace")

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._root:
            self._root = name
            if name == self._element:
                raise PipelineError(
                    f"{name} is the root element of a file, so there is nothing to cut; "
                    "read the file as it is"
                )
        if name == self._element:
            if not self._rows:
                self._scope = self._scopes[-1]
            self._rows.append(self._parser.CurrentByteIndex)
            if len(self._rows) == _ENOUGH_ROWS:
                raise _EnoughError
        declared = {key: uri for key, uri in attributes.items() if _is_declaration(key)}
        self._scopes.append(self._scopes[-1] | declared if declared else self._scopes[-1])

    def _on_end(self, _name: str) -> None:
        self._scopes.pop()

    def _on_doctype(self, _name: str, _system: object, _public: object, subset: int) -> None:
        if subset:
            self._subset = (self._parser.CurrentByteIndex, 0)

    def _on_doctype_end(self) -> None:
        if self._subset[0]:
            self._subset = (self._subset[0], self._parser.CurrentByteIndex)


def _is_declaration(attribute: str) -> bool:
    return attribute == "xmlns" or attribute.startswith("xmlns:")
