"""A document in HTTP: its bytes and what is said beside it, as a body with headers or as JSON.

    headers of HTTP        name of a header of the document
    Content-Type           content-type, unless it is that of a form
    traceparent, …         the same: the trace context of W3C
    ce-id, ce-source, …    the same: a CloudEvent in binary mode
    Twigcast-Header-NAME   NAME: anything else

It is the same in both directions, so what one client posts another one gets.  Values are percent
encoded where HTTP could not carry them, as CloudEvents says for its own.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from starlette.datastructures import Headers as HttpHeaders

from twigcast.broker.store import StoredDocument
from twigcast.delivery import Headers
from twigcast.errors import RefusedError
from twigcast.times import show_time
from twigcast.wire import messages

OWN: Final = "twigcast-header-"
"""How headers of HTTP begin that stand for any other header of a document."""
_TRACE: Final = ("traceparent", "tracestate", "baggage")
_CLOUD_EVENT: Final = "ce-"
_VERSIONS: Final = ("1.0",)
_REQUIRED: Final = ("ce-id", "ce-source", "ce-type")
_ATTRIBUTE: Final = re.compile(r"ce-[a-z0-9]+", re.ASCII)
_FORM: Final = "application/x-www-form-urlencoded"
"""What curl says of any body, unless it is told otherwise."""
_VISIBLE: Final = "".join(map(chr, range(0x21, 0x7F)))
_UNQUOTED: Final = _VISIBLE.replace("%", "")
_ENCODED: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)


def trace_of(headers: HttpHeaders) -> dict[str, str]:
    """The trace context of a request."""
    return {name: _text(headers[name]) for name in _TRACE if name in headers}


def own_headers(headers: HttpHeaders) -> list[str]:
    """The headers of a request that speak of its document only."""
    return [name for name in headers if name.startswith((OWN, _CLOUD_EVENT))]


def read_headers(headers: HttpHeaders) -> dict[str, str]:
    """What a request with one document says beside it; raises RefusedError."""
    said = trace_of(headers)
    for name in headers:
        values = headers.getlist(name)
        if name.startswith((OWN, _CLOUD_EVENT)) and len(values) > 1:
            raise RefusedError(f"the header {name} is there twice; give one", "invalid")
        if name.startswith(OWN):
            said[name.removeprefix(OWN)] = _decoded(name, values[0])
        elif name.startswith(_CLOUD_EVENT):
            said[name] = _decoded(name, values[0])
    kind = headers.get("content-type", "")
    if kind and not kind.startswith(_FORM):
        _check_mode(kind)
        said["content-type"] = _text(kind)
    return said


def _text(value: str) -> str:
    """The value of a header: bytes beyond ASCII are none of HTTP's, and UTF-8 to nearly all."""
    return value.encode("latin-1").decode("utf-8", "replace")


def _decoded(name: str, value: str) -> str:
    try:
        text = value.encode("latin-1").decode("utf-8")
        if _ENCODED.search(text) is not None:
            raise ValueError
        return unquote(text, errors="strict")
    except ValueError:
        raise RefusedError(
            f"the value of the header {name} is not percent encoded UTF-8: write % as %25",
            "invalid",
        ) from None


def _check_mode(kind: str) -> None:
    if kind.lower().startswith("application/cloudevents"):
        raise RefusedError(
            "CloudEvents are taken in binary mode: attributes as headers (ce-id: …), the document "
            "as the body",
            "invalid",
        )


def cloud_event_id(said: Mapping[str, str]) -> str:
    """The id under which a CloudEvent is published: by its source and id; empty if it is none.

    Raises RefusedError for one that is not complete.
    """
    if not any(name.startswith(_CLOUD_EVENT) for name in said):
        return ""
    version = said.get("ce-specversion")
    if version not in _VERSIONS:
        has = "no header ce-specversion" if version is None else f"ce-specversion: {version}"
        raise RefusedError(f"the CloudEvent has {has}; send it with ce-specversion: 1.0", "invalid")
    for name in said:
        if name.startswith(_CLOUD_EVENT) and _ATTRIBUTE.fullmatch(name) is None:
            raise RefusedError(
                f"{name} is no attribute of a CloudEvent: these have small letters and digits only",
                "invalid",
            )
    for name in _REQUIRED:
        if not said.get(name):
            raise RefusedError(f"the CloudEvent has no header {name}, which all have", "invalid")
    # Quoted, so that the blank tells them apart.
    return f"{quote(said['ce-source'], safe=_UNQUOTED)} {quote(said['ce-id'], safe=_UNQUOTED)}"


# --- given ----------------------------------------------------------------------------------------


def http_headers(headers: Headers) -> dict[str, str]:
    """What is said beside a document, as headers of HTTP."""
    written: dict[str, str] = {}
    for name, value in headers:
        if name == "content-type" or name in _TRACE:
            written[name] = quote(value, safe=_VISIBLE + " ")
        else:
            known = name.startswith(_CLOUD_EVENT)
            safe = _UNQUOTED.replace('"', "")
            written[name if known else OWN + name] = quote(value, safe=safe)
    return written


def document_fields(document: StoredDocument | messages.Delivery) -> dict[str, Any]:
    """A document as fields of a JSON object."""
    return {
        "id": document.id,
        "published": show_time(document.published),
        "expires": show_time(document.expires) if document.expires else None,
        "headers": dict(document.headers),
        **_content_fields(document.content),
    }


def _content_fields(content: bytes) -> dict[str, str]:
    """The bytes of a document: as text where they are UTF-8, which gives them back."""
    try:
        return {"content": content.decode("utf-8"), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"content": b64encode(content).decode("ascii"), "encoding": "base64"}
