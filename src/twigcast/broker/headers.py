"""What a publisher says beside a document: which names and values a broker takes.

Names and values travel as they are, by gRPC, by HTTP and in stores.  So a name is one that HTTP
takes, in small letters, and a value is one line.
"""

from __future__ import annotations

import re
from typing import Final

from twigcast.delivery import Headers
from twigcast.errors import RefusedError

MOST_HEADERS: Final = 64
MOST_BYTES: Final = 8192
"""Bytes of all names and values together."""
_LONGEST_NAME: Final = 128
_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_headers(headers: Headers) -> None:
    """Raise RefusedError for headers that a broker does not take."""
    if not headers:
        return
    if len(headers) > MOST_HEADERS:
        raise RefusedError(
            f"the document has {len(headers):,} headers, more than the {MOST_HEADERS} that a "
            "broker takes: leave some out",
            "invalid",
        )
    size = 0
    for name, value in headers:
        _check(name, value)
        size += len(name) + len(value.encode())
    if size > MOST_BYTES:
        raise RefusedError(
            f"the headers of the document have {size:,} bytes, more than the {MOST_BYTES:,} that a "
            "broker takes: put what is long into the document",
            "too-large",
        )


def _check(name: str, value: str) -> None:
    if len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None:
        raise RefusedError(
            f"{name[:_LONGEST_NAME]!r} cannot be the name of a header: a name has up to "
            f"{_LONGEST_NAME} small letters, digits and signs that HTTP allows, such as - and .",
            "invalid",
        )
    if _CONTROL.search(value) is not None:
        raise RefusedError(
            f"the header {name} has a line break or another control character in its value: a "
            "value is one line",
            "invalid",
        )
