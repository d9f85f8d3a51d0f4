r"""Where in a document something is.

Lines and columns count from 1, columns in characters; ``\n``, ``\r\n`` and a lone ``\r`` end
a line, and a byte order mark is not a character of the document.
"""

from __future__ import annotations

from typing import Final

BYTE_ORDER_MARK: Final = "\ufeff"


def position_of(text: str, offset: int) -> tuple[int, int]:
    """The line and the column of ``text[offset]``."""
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset)
    ends -= text.count("\r\n", 0, offset)
    start = 1 + max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    marks = start == 0 < offset and text.startswith(BYTE_ORDER_MARK)
    return ends + 1, offset - start - marks + 1
