r"""Where in a document something is, and the errors that expat's verdicts become.

Lines and columns count from 1, columns in characters; ``\n``, ``\r\n`` and a lone ``\r`` end
a line, and a byte order mark is not a character of the document.
"""

from __future__ import annotations

from typing import Final
from xml.parsers.expat import errors as expat_errors

from twigcast.errors import DocumentError

BYTE_ORDER_MARK: Final = "\ufeff"


def place(text: str, offset: int) -> tuple[int, int]:
    """The line and the column of ``text[offset]``."""
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset)
    ends -= text.count("\r\n", 0, offset)
    start = 1 + max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    marks = start == 0 < offset and text.startswith(BYTE_ORDER_MARK)
    return ends + 1, offset - start - marks + 1


def malformed(code: int, line: int, offset: int, *, marked: bool = False) -> DocumentError:
    """The error for expat's error ``code`` at its ``line`` and its ``offset``.

    Expat counts columns from 0 and a byte order mark as a character; ``marked`` says that the
    document starts with one.
    """
    message = expat_errors.messages.get(code, f"error {code} of the XML parser")
    if code == expat_errors.codes[expat_errors.XML_ERROR_INVALID_TOKEN]:
        message = "invalid token"
    column = column_of(line, offset, marked=marked)
    return DocumentError(f"the document is not well-formed: {message}", line, column)


def column_of(line: int, offset: int, *, marked: bool) -> int:
    """The column that expat's 0-based ``offset`` in ``line`` stands for."""
    return offset + 1 - (marked and line == 1 and offset > 0)
