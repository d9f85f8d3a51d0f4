"""Text as it may stand in a document."""

from __future__ import annotations

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    # As themselves they would be read back as a space in an attribute, or as another line end.
    | {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def escape(text: str) -> str:
    """Text as it may stand between tags and within a double-quoted value."""
    return text.translate(_ESCAPES)
