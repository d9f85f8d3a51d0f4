"""What clients ask of their broker, but for documents: each is followed, or refused.

::

    LinkUp, LinkDown            ──► clients, and the sources of what they want
    Subscribe, Unsubscribe      ──► Spreading: who wants what
    Advertise, Unadvertise      ──► Client: who promises what, and trees that are planned anew
"""

from __future__ import annotations

from collections.abc import Callable

from twigcast.errors import NetworkError
from twigcast.language import Pattern
from twigcast.routing.clients import Client, Wants
from twigcast.routing.interests import Interests
from twigcast.routing.messages import Advertise, Subscribe, Unadvertise, Unsubscribe
from twigcast.routing.promises import is_promise
from twigcast.routing.scopes import require_scope
from twigcast.routing.spreading import Spreading


class ClientRequests:
    """Follows what the clients of a broker ask; ``refuse`` takes the reason why not.

    ``clients`` by name and ``wants_of`` by source are the tables that it keeps.
    """

    def __init__(
        self,
        broker: str,
        depth: int,
        clients: dict[str, Client],
        wants_of: dict[int, Wants],
        interests: Interests,
        spreading: Spreading,
        refuse: Callable[[str], None],
    ) -> None:
        self._broker = broker
        self._depth = depth
        self._clients = clients
        self._wants_of = wants_of
        self._interests = interests
        self._spreading = spreading
        self._refuse = refuse

    # --- links ------------------------------------------------------------------------------------

    def attach(self, name: str) -> None:
        """Take in that the link to a client is up."""
        client = self._clients[name] = Client(name, self._open_source)
        self._wants_of.update((each.source, each) for each in client.wants)

    def _open_source(self, scope: int) -> int:
        return self._interests.open(is_client=True, scope=scope)

    def detach(self, name: str) -> None:
        """Take in that the link to a client is down: it wants and promises nothing any more.

        :meth:`Spreading.clear_closed` forgets what it wanted, some of it at a time.
        """
        for wants in self._clients.pop(name).wants:
            del self._wants_of[wants.source]
            self._spreading.close_client(wants.source)
        self._plan_anew()

    def _close(self, wants: Wants) -> None:
        self._interests.close(wants.source)
        del self._wants_of[wants.source]

    # --- what they want ---------------------------------------------------------------------------

    def on_subscribe(self, message: Subscribe, link: str) -> None:
        """Take in what a client begins to want."""
        client = self._clients[link]
        if not self._is_scope(message.scope):
            return
        for key, pattern in message.subscriptions.items():
            if not _is_subscription(key, pattern):
                self._refuse(f"a subscription is a Pattern under a str, not {key!r}: {pattern!r}")
            elif client.wants_with(key) is not None:
                self._refuse(f"{link!r} has a subscription {key!r} already; cancel that first")
            else:
                wants = client.within(message.scope)
                self._wants_of[wants.source] = wants
                wants.subscriptions.add(key, pattern)
                self._spreading.want(wants.source, pattern)
        if message.scope:
            self._plan_anew()

    def on_unsubscribe(self, message: Unsubscribe, link: str) -> None:
        """Take in what a client ceases to want."""
        client = self._clients[link]
        for key in message.ids:
            wants = client.wants_with(key)
            if wants is None:
                self._refuse(f"{link!r} has no subscription {key!r}")
                continue
            pattern, _ = wants.subscriptions.remove(key)
            self._spreading.unwant(wants.source, pattern)
            if client.drop_empty(wants):
                self._close(wants)
                self._plan_anew()

    # --- what they promise ------------------------------------------------------------------------

    def on_advertise(self, message: Advertise, link: str) -> None:
        """Take in what a client promises."""
        client = self._clients[link]
        if message.id in client.advertised:
            self._refuse(f"{link!r} has an advertisement {message.id!r} already; end that first")
        elif not is_promise(message.promise):
            self._refuse(
                f"a Schema, an Advertisement or ANYTHING is promised, not {message.promise!r}"
            )
        elif self._is_scope(message.scope):
            client.advertise(message.id, message.promise, message.scope)
            self._plan_anew()

    def on_unadvertise(self, message: Unadvertise, link: str) -> None:
        """Take in what a client promises no longer."""
        if self._clients[link].unadvertise(message.id):
            self._plan_anew()
        else:
            self._refuse(f"{link!r} has no advertisement {message.id!r}")

    def _is_scope(self, scope: int) -> bool:
        try:
            require_scope(self._broker, scope, self._depth)
        except NetworkError as error:
            self._refuse(str(error))
            return False
        return True

    def _plan_anew(self) -> None:
        self._spreading.plan_anew((self._broker,))


def _is_subscription(key: object, pattern: object) -> bool:
    return isinstance(key, str) and isinstance(pattern, Pattern)
