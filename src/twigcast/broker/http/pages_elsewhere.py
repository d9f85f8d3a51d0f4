"""Requests that a web page of another site makes its visitor's browser send.

    Origin, Sec-Fetch-Site ──refuse_other_origins──► 403 where the browser names another site
    Twigcast-Request ──require_mark────────────────► 403 where any page could have sent the request

A browser lets any page reach a broker on the visitor's machine, with the visitor's certificates.
Most browsers say from which site a request comes, and those of other sites are refused.  But an
image or a link of a page is fetched by ``GET`` without ``Origin``, and browsers before 2023 do not
all send ``Sec-Fetch-Site``.  Older ones leave ``Origin`` out of a form, too.  So a request that
takes over a durable subscription, acknowledges or makes a backup carries a mark: a header of our
own, or a token.  A page cannot send either without asking the broker, which never agrees.

A page of the broker's own origin is trusted.  A request that a person makes by a link
(``Sec-Fetch-Site: none``) is not, for the link may come from anybody.  ``DELETE`` needs no mark:
no page of another site can send it without asking.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

from fastapi import Header, Request

from twigcast.errors import AccessError

_MARK: Final = "Twigcast-Request"
_OWN: Final = "same-origin"
_SAME: Final = (_OWN, "none")


def refuse_other_origins(request: Request) -> None:
    """AccessError for a request that the browser says to come from another site."""
    site = _site(request)
    origin = request.headers.get("origin")
    if site is not None:
        is_other = site not in _SAME
    else:
        is_other = origin is not None and _host_of(origin) != request.headers.get("host")
    if is_other:
        raise AccessError("web pages of other origins may not call a broker; call it without one")


Mark: TypeAlias = Annotated[
    str,
    Header(
        alias=_MARK,
        description="`1`, to show that no web page of another site sends the request. A token, or "
        "the word of the browser that a page of the same origin calls, shows it, too.",
    ),
]


async def require_mark(request: Request, mark: Mark = "") -> None:
    """AccessError for a request that any web page could have sent."""
    if not mark and "authorization" not in request.headers and _site(request) != _OWN:
        raise AccessError(
            f"any web page could send this request; add the header {_MARK}: 1, or a token"
        )


def _site(request: Request) -> str | None:
    site = request.headers.get("sec-fetch-site")
    return None if site is None else site.lower()


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
