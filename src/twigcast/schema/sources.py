"""What a schema can be made of, and which of them a caller has passed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from twigcast.errors import SchemaError
from twigcast.schema.xsd import is_url
from twigcast.schema.xsd_types import XSD_NAMESPACE

SUFFIXES: Final = (".dtd", ".xsd")
_SNIFFED: Final = 64 * 1024


def is_schema_text(text: str) -> bool:
    """Whether a string is a DTD or an XSD itself, not where one is."""
    return "<" in text


def is_path_expression(text: str) -> bool:
    """Whether a string is an advertisement, rather than a schema or where one is."""
    return text.startswith("/") and not is_schema_text(text) and not _ends_as_schema(text)


def is_xsd(source: str | os.PathLike[str]) -> bool:
    """Whether this is an XSD, or where one is; otherwise it is a DTD's.

    The name of a file decides where it ends in ``.dtd`` or ``.xsd``, else what stands in the file.
    """
    text = os.fspath(source)
    if not is_schema_text(text):
        if _ends_as_schema(text) or is_url(text):
            return not text.lower().endswith(".dtd")
        try:
            with Path(text).open("rb") as file:
                text = file.read(_SNIFFED).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SchemaError(f"{source}: {reason}") from None
    return XSD_NAMESPACE in text and "<!ELEMENT" not in text


def _ends_as_schema(text: str) -> bool:
    return text.lower().endswith(SUFFIXES)
