"""Who calls at the HTTP port, and what all endpoints share.

    request ──identify──► Caller ──► endpoint ──► broker, by the same rules as over gRPC

A caller shows ``Authorization: Bearer ...``, or a certificate where TLS asks for them.  Web pages
of other origins are turned away (:mod:`~twigcast.broker.http.pages_elsewhere`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import Depends, Query, Request

from twigcast.broker.access import Permission, Principal
from twigcast.broker.broker import Broker
from twigcast.broker.client_session import LONGEST_NAME, ClientSession
from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.http.gauges import Gauges
from twigcast.broker.http.pages_elsewhere import refuse_other_origins
from twigcast.broker.http.publishers import Publishers
from twigcast.broker.log_handler import one_line
from twigcast.broker.peers import peer_of
from twigcast.errors import RefusedError
from twigcast.language import Bindings

_log = logging.getLogger(__name__)

CERTIFICATE: Final = "twigcast.certificate"
"""Where the scope of a request has the names of a certificate."""
_NAMESPACE: Final = "ns."
"""How parameters begin that bind a prefix."""
_VARIABLE: Final = "variable."
"""How parameters begin that bind a variable."""
_CHOICES: Final = ("relative-to", "version")

Scope: TypeAlias = Annotated[
    str,
    Query(
        min_length=1,
        description="A unit that the broker is in, or `cluster`, `super-cluster` or "
        "`super-super-cluster`, to count from the innermost one. A document does not leave it; a "
        "subscription gets what is published in it.",
    ),
]


class Api:
    """What all endpoints share."""

    def __init__(self, sessions: ClientSessions) -> None:
        self.broker = sessions.broker
        self.sessions = sessions
        self.stopping = asyncio.Event()
        self.publishers = Publishers()
        self.gauges = Gauges(sessions)
        self.backups = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody at the HTTP port."""

    api: Api
    principal: Principal
    host: str
    agent: str

    @property
    def broker(self) -> Broker:
        """The broker that is called."""
        return self.api.broker

    @property
    def key(self) -> str:
        """Whom to count this caller as."""
        principal = self.principal
        return f"at {self.host}" if principal.is_anonymous else f"as {principal.name}"

    def open_session(self) -> ClientSession:
        """A new client session; raises AccessError and RefusedError."""
        client = "".join(each for each in self.agent if each.isprintable())
        session = self.api.sessions.open(self.principal, client[:LONGEST_NAME])
        _log.info(
            "%s connected over HTTP from %s as %s (%s)",
            *(session.link, self.host, one_line(str(self.principal)), session.client),
        )
        return session

    def may(self, permission: Permission) -> bool:
        """Whether this caller may do a thing."""
        return self.broker.access.may(self.principal, permission)

    def require(self, permission: Permission) -> None:
        """AccessError where this caller may not do a thing."""
        self.broker.access.require(self.principal, permission)

    def require_known(self) -> None:
        """AccessError for whoever is not known, unless everybody may do everything."""
        self.broker.access.require_known(self.principal)


async def identify(request: Request) -> Caller:
    """Who calls; AccessError for bad credentials, and for pages of other origins."""
    refuse_other_origins(request)
    api: Api = request.app.state.api
    host = request.client.host if request.client else ""
    principal = await api.broker.identification.identify(
        peer_of(host),
        request.headers.get("authorization"),
        tuple(request.scope.get(CERTIFICATE, ())),
    )
    return Caller(
        api,
        principal,
        host,
        request.headers.get("user-agent", "http"),
    )


KnownCaller = Annotated[Caller, Depends(identify)]


def only(*names: str, repeated: str = "", binding: bool = False) -> Any:
    """A dependency that refuses parameters of other names, so that none is passed over.

    Only ``repeated`` may be there more than once.  With ``binding``, the parameters of
    :func:`bindings_of` may be there, too.
    """
    known = (*names, *_CHOICES) if binding else names
    prefixes = (_NAMESPACE, _VARIABLE) if binding else ()

    async def check(request: Request) -> None:
        given = Counter(name for name, _ in request.query_params.multi_items())
        for name, times in given.items():
            if times > 1 and name != repeated:
                raise RefusedError(f"the parameter {name!r} is there twice; give one", "invalid")
            if name not in known and not name.startswith(prefixes):
                raise RefusedError(
                    f"there is no parameter {name!r} here; there are {', '.join(known)}"
                    + (f", {_NAMESPACE}PREFIX and {_VARIABLE}NAME" if binding else ""),
                    "invalid",
                )

    return Depends(check)


async def refuse_body(request: Request) -> None:
    """Raise RefusedError for a body where there is none to be read."""
    headers = request.headers
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        raise RefusedError(
            "this request has no body: put what it says into the address, as in ?xpath=… (with "
            "curl, -G)",
            "invalid",
        )


async def bindings_of(
    request: Request,
    relative_to: Annotated[
        Literal["anywhere", "document"],
        Query(alias=_CHOICES[0], description="Where a relative path of an expression begins."),
    ] = "anywhere",
    version: Annotated[
        Literal["1.0", "2.0"],
        Query(description="Whose rules hold where XPath 1.0 and 2.0 disagree."),
    ] = "1.0",
) -> Bindings:
    """What the expressions of a request are read with.

    ``ns.PREFIX=URI`` binds a prefix (``ns.=URI`` the default namespace), ``variable.NAME=JSON`` a
    variable.  Raises RefusedError for what cannot be bound.
    """
    api: Api = request.app.state.api
    return api.broker.bind(
        _under(request, _NAMESPACE), _under(request, _VARIABLE), relative_to, version
    )


def _under(request: Request, prefix: str) -> dict[str, str]:
    """The parameters whose names begin so, by what follows."""
    return {
        name.removeprefix(prefix): value
        for name, value in request.query_params.items()
        if name.startswith(prefix)
    }


RequestBindings: TypeAlias = Annotated[Bindings, Depends(bindings_of)]


def _described(name: str, prefix: str, description: str) -> dict[str, Any]:
    """Parameters that begin with a prefix, as the description of an endpoint has them."""
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": description,
        "style": "form",
        "explode": True,
        "schema": {
            "type": "object",
            "patternProperties": {f"^{re.escape(prefix)}": {"type": "string"}},
            "additionalProperties": False,
        },
    }


def binding_parameters() -> dict[str, Any]:
    """What the description of an endpoint has beside the parameters of :func:`bindings_of`."""
    return {
        "parameters": [
            _described(
                "namespaces",
                _NAMESPACE,
                "Prefixes of the expressions, as in `ns.cap=urn:example:alerts`.",
            ),
            _described(
                "variables",
                _VARIABLE,
                "Variables of the expressions. A value is JSON: a number, `true`, `false`, a text "
                "in quotes, or a list of these, as in `variable.limit=5`.",
            ),
        ]
    }
