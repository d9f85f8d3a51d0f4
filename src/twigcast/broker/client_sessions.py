"""All client sessions of a broker: who may have one, and what each principal has together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from twigcast.broker.access import Principal
from twigcast.broker.broker import Broker
from twigcast.broker.client_session import ClientSession
from twigcast.broker.quotas import Quota
from twigcast.errors import RefusedError


class ClientSessions:
    """All client sessions of a broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._sessions: dict[int, ClientSession] = {}
        self._numbers = itertools.count(1)
        self._quotas: dict[str, Quota] = {}

    def __iter__(self) -> Iterator[ClientSession]:
        return iter(self._sessions.values())

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, principal: Principal, client: str = "") -> ClientSession:
        """A new session; ``client`` is what the client calls itself.

        Raises AccessError for a principal that may do nothing, and RefusedError where there are as
        many clients as may be.
        """
        self.broker.access.require_something(principal)
        limit = self.broker.config.limits.clients
        if len(self) >= limit:
            raise RefusedError(
                f"this broker serves {limit:,} clients (limits.clients), and has as many", "quota"
            )
        number = next(self._numbers)
        key = f"client:{number}" if principal.is_anonymous else principal.name
        quota = self._quotas.setdefault(key, Quota())
        quota.connections += 1

        def forget() -> None:
            del self._sessions[number]
            quota.connections -= 1
            if not quota.connections:
                del self._quotas[key]

        session = ClientSession(self.broker, principal, number, quota, client, forget)
        self._sessions[number] = session
        return session
