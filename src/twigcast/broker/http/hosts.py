"""Under which names the HTTP port is called.

    Host: rome.example:7480 ──KnownHosts──► endpoints, or 403

A web page may point its own name at the address of a broker (DNS rebinding).  To the browser the
broker then is the page's own server, so the page may read and change everything that its visitor
may.  The header ``Host`` still has the name of the page.  So the port answers only under names that
are known to be its own.  An address needs no name, and nobody can point ``localhost`` elsewhere.

With TLS every name is answered: the browser has compared the name with the certificate.  A request
without ``Host`` (HTTP/1.0) comes from no browser.
"""

from __future__ import annotations

import logging
import re
import socket
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from twigcast.broker.config import BrokerConfig
from twigcast.broker.http.errors import problem_response
from twigcast.broker.metrics import Metrics

_log = logging.getLogger(__name__)

_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^][:@/\s]+))(?::[0-9]{1,5})?")
_LOCAL: Final = "localhost"
_SHOWN: Final = 100


class KnownHosts:
    """The names of one broker."""

    def __init__(self, config: BrokerConfig) -> None:
        addresses = (config.listen_address, config.http_address)
        names = [each.host for each in addresses if each is not None]
        self._names = {_plain(name) for name in (*names, *config.http_hosts, socket.gethostname())}
        self._has_certificate = config.tls.certificate is not None

    def knows(self, header: str) -> bool:
        """Whether a header ``Host`` names this broker."""
        parts = _HOST.fullmatch(header)
        if parts is None:
            return False
        bracketed, plain = parts.groups()
        if bracketed is not None:
            return _is_address(bracketed)
        name = _plain(plain)
        return (
            self._has_certificate
            or name in self._names
            or name == _LOCAL
            or name.endswith(f".{_LOCAL}")
            or _is_address(name)
        )


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class OnlyKnownHosts:
    """An application that answers only under known names."""

    def __init__(self, app: ASGIApp, config: BrokerConfig, metrics: Metrics) -> None:
        self._app = app
        self._hosts = KnownHosts(config)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        host = Headers(scope=scope).get("host")
        if host is None or self._hosts.knows(host):
            await self._app(scope, receive, send)
            return
        self._metrics.refused("not-allowed")
        _log.info("refused a request for the host %r", host[:_SHOWN])
        reason = (
            f"{host[:_SHOWN]!r} is no known name of this broker; call it by its address, or add "
            "the name to http_hosts in its configuration"
        )
        await problem_response("not-allowed", reason)(scope, receive, send)
