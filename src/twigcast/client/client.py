"""The client: everything that a program asks of a broker."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, TypeAlias

from twigcast.client import asking, letters
from twigcast.client.advertising import Advertised, Advertisements, Promised
from twigcast.client.asking import Asked
from twigcast.client.connection import Connection
from twigcast.client.endpoints import Endpoint
from twigcast.client.events import Moment, QueueState, from_when, queue_state
from twigcast.client.letters import Letter
from twigcast.client.publishing import Outgoing, Publisher
from twigcast.client.publishing_all import Documents, PublishAll
from twigcast.client.requests import Requests
from twigcast.client.results import Status
from twigcast.client.subscribing import Subscription
from twigcast.client.subscriptions import Subscriptions
from twigcast.documents import Source, parse_value_path
from twigcast.errors import ConnectionFailedError, RefusedError
from twigcast.language import (
    NO_BINDINGS,
    Bindings,
    Pattern,
    RelativeTo,
    Variables,
    Version,
    parse_all,
)
from twigcast.wire import messages

DEFAULT_WINDOW = 256

Expressions: TypeAlias = str | Pattern | Sequence[str | Pattern] | Mapping[str, str | Pattern]
"""One expression, several, or several under keys."""


def connect(
    address: str | Iterable[str],
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    tls: bool = False,
    name: str | None = None,
    timeout: float = 10.0,
    reconnect: bool = True,
) -> Client:
    """A client of the broker at ``address``; ``async with`` connects it and closes it.

    Several addresses, in a list or with commas between, are tried in turn.  ``token`` is taken
    from the environment variable ``TWIGCAST_TOKEN`` where none is given.  ``ca`` is the file of
    the authority whose certificates are trusted, ``certificate`` and ``key`` are those of this
    client; with either, or with ``tls``, the connection is encrypted.  ``name`` stands in the
    broker's log.  ``timeout`` bounds, in seconds, how long connecting and single questions may
    take; publishing and subscribing wait through re-connections, as long as it takes.  Without
    ``reconnect`` a connection that is lost ends the client.

    Raises ConnectionFailedError for an address or a file that cannot be right.
    """
    endpoint = Endpoint(address, token=token, ca=ca, certificate=certificate, key=key, tls=tls)
    return Client(endpoint, name=name, timeout=timeout, reconnect=reconnect)


class Client:
    """A connection to a broker, made by :func:`connect`; belongs to one event loop."""

    def __init__(
        self, endpoint: Endpoint, *, name: str | None, timeout: float, reconnect: bool
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout is a number of seconds above 0, not {timeout}")
        if name is None:
            name = f"{socket.gethostname()}/{os.getpid()}"
        connection = Connection(endpoint, name=name, timeout=timeout, reconnect=reconnect)
        requests = Requests(connection)
        self._connection = connection
        self._subscriptions = Subscriptions(connection, requests)
        self._advertisements = Advertisements(connection, requests)
        self._publisher = Publisher(connection)
        for speaker in (self._subscriptions, self._advertisements, requests, self._publisher):
            connection.add(speaker)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._connection} with {self._subscriptions}>"

    async def open(self) -> Self:
        """Connect; ``async with`` does it.  Raises ConnectionFailedError or RefusedError."""
        await self._connection.open()
        return self

    async def close(self) -> None:
        """Send what is still to be sent and end the connection; does nothing a second time.

        Subscriptions end; what others still wait for raises NetworkError.
        """
        if not self._connection.is_closing:
            self._subscriptions.leave_all()
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *reason: object) -> None:
        await self.close()

    @property
    def address(self) -> str:
        """The address of the broker that this client is connected to, or was last."""
        return self._connection.address

    @property
    def broker(self) -> str | None:
        """The name of the broker; None while there is no connection."""
        welcome = self._connection.welcome
        return None if welcome is None else welcome.broker

    async def publish(
        self,
        document: Source,
        *,
        id: str = "",  # noqa: A002 - what it is called everywhere
        headers: Mapping[str, str] | None = None,
        expires: Moment | None = None,
        scope: str = "",
        to: str | Sequence[str] = (),
    ) -> str:
        """Publish a document; returns its event id when the broker has it safely.

        A text is sent in UTF-8.  ``id`` is unique among all publishers and makes publishing the
        same document again harmless; without it the client chooses one, which protects what it
        sends again after a lost connection.  ``headers`` are carried to subscribers as they are:
        names in small letters, such as ``traceparent``, and texts.  From the time ``expires`` on,
        or so long from now, the document is delivered to nobody.  It does not leave the unit
        ``scope``: one that the broker is in, or ``"cluster"``, ``"super-cluster"`` or
        ``"super-super-cluster"``, to count from the innermost one.  With ``to`` the document is
        addressed: it goes into the queues of these durable subscriptions, whatever they want, and
        to nobody else.  Each is named by its broker's full name, a colon and its own name, as
        ``"north/oslo/b3:inbox"``.  Waits while much is unanswered.
        Raises RefusedError if the broker does not take the document, ConnectionFailedError if the
        connection is lost for good.
        """
        return await self._publisher.publish(Outgoing(document, id, headers, expires, scope, to))

    def publish_all(self, documents: Documents) -> PublishAll:
        """Publish documents from an iterable, asynchronous or not, as fast as the broker takes.

        ``await`` it for the list of results, or iterate over it with ``async for``.  A document
        that has an id, headers, destinations, a scope or a time at which it expires comes as an
        :class:`Outgoing`.
        """
        return PublishAll(self._publisher, documents)

    def subscribe(
        self,
        expressions: Expressions | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        durable: str | None = None,
        since: int | Moment | None = None,
        shared: bool | None = None,
        ordered_by: str | None = None,
        deliveries: int | None = None,
        scope: str = "",
        confirmed: bool = True,
        window: int = DEFAULT_WINDOW,
    ) -> Subscription:
        """Subscribe to the documents that match; iterate over the result for its events.

        ``expressions`` is one expression or several, whose keys are their own texts, or several
        under keys.  ``namespaces``, ``variables``, ``relative_to`` and ``version`` hold for all of
        them, as for :func:`twigcast.parse`.  A ``durable`` subscription is kept by the broker under
        that name, with its documents, while the client is away; without expressions it goes on as
        it is.  It begins with the first document that is not acknowledged, or ``since`` a sequence
        number, a time, or so long ago (``timedelta(hours=2)`` or ``"2h"``).  If it is
        ``confirmed``, the broker answers when all brokers of the network know of it, so that
        nothing is missed of what is published from then on, wherever that is;
        ``subscription.unreached`` names those that did not say so in time, by their addresses if
        they were never found.
        ``window`` bounds how many documents wait here.

        One client at a time has a durable subscription, unless it is ``shared``: then each document
        is for one of its clients.  With ``ordered_by``, a path to a value such as
        ``/order/@customer``, documents with one value come in order, each after those before it are
        acknowledged or at the same client.  After ``deliveries`` in vain a document is set aside as
        a letter.  These options are kept with the subscription; whoever says others than those
        kept is refused, and None says nothing.

        With a ``scope``, a unit as for :meth:`publish`, only documents come that are published in
        that unit, and nobody outside it hears of the subscription.  A durable one keeps its scope.

        Expressions are read here, and the broker gets their normal forms.  Raises SubscriptionError
        for an expression outside the language.  Reading takes some 10 µs for each, so make patterns
        of very many beforehand, in a thread.

        Returns before the broker has heard of it: documents published from now on may be missed
        until it has.  ``await subscription.ready()`` waits for that, and so does ``async with``;
        they and the iteration raise RefusedError if the broker says no.
        """
        if since is not None and durable is None:
            raise ValueError("since goes with durable; only durable subscriptions keep documents")
        if expressions is None and durable is None:
            raise ValueError("an ephemeral subscription needs an expression")
        options = _options(shared, ordered_by, deliveries, namespaces)
        if options.ListFields() and durable is None:
            raise ValueError(
                "shared, ordered_by and deliveries go with durable; only durable subscriptions "
                "give documents out again"
            )
        _check_since(since)
        if isinstance(since, int) and since < 0:
            raise ValueError(f"sequence numbers begin with 1, so since cannot be {since}")
        if not 0 < window < 2**31:
            raise ValueError(f"a window holds at least one document, not {window}")
        return self._subscriptions.add(
            _by_key(
                expressions,
                NO_BINDINGS.beside(
                    namespaces, variables=variables, relative_to=relative_to, version=version
                ),
            ),
            durable=_name(durable) if durable is not None else "",
            since=since,
            confirmed=confirmed,
            window=window,
            options=options,
            scope=scope,
        )

    async def forget(self, durable: str) -> None:
        """End a durable subscription for good, with all documents that it keeps."""
        await self._subscriptions.forget(_name(durable))

    async def acknowledge(self, durable: str, upto: int) -> None:
        """Acknowledge all up to a sequence number, without being attached; for ``read_queue``."""
        await self._subscriptions.acknowledge(_name(durable), upto)

    async def advertise(
        self, promised: Promised = None, root: str | None = None, *, scope: str = ""
    ) -> Advertised:
        """Advertise what this client publishes; without arguments, that it may be anything.

        ``promised`` is a DTD or an XSD (its path or text; ``root`` names the root element where
        that is not plain), a Schema, or an Advertisement or its text.  A text with ``<`` is a DTD
        or an XSD, one that begins with ``/`` and ends in neither ``.dtd`` nor ``.xsd`` an
        advertisement, every other a path.  With a ``scope``, a unit as for :meth:`publish`, nobody
        outside that unit hears of it.
        """
        return await self._advertisements.add(promised, root, scope)

    def ask(
        self,
        expression: str | Pattern,
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        limit: int = 0,
        since: Moment | None = None,
    ) -> Asked:
        """The stored documents that match, newest first; ``async for`` takes them one by one.

        ``await`` gives a list of them.  There are at most ``limit``, unless that is 0, and only
        those stored ``since`` a time or so long ago.  Bindings are those of :meth:`subscribe`, and
        so is SubscriptionError.
        """
        if not 0 <= limit < 2**32:
            raise ValueError(f"a limit is a number of documents, 0 for all, not {limit}")
        if isinstance(since, int):
            raise TypeError(
                "since is a time (datetime), how long ago (timedelta), or either as a text (2h), "
                "not a number"
            )
        _check_since(since)
        bindings = NO_BINDINGS.beside(
            namespaces, variables=variables, relative_to=relative_to, version=version
        )
        question = messages.AskRequest(
            expression=_as_messages({"": expression}, bindings)[""],
            limit=limit,
            since=0 if since is None else from_when(since),
        )
        return Asked(self._connection, question)

    def read_queue(self, durable: str, first: int, last: int) -> Asked:
        """The documents in the queue of a durable subscription from ``first`` to ``last``.

        Acknowledged or not, as far as they are still kept; it changes nothing.
        """
        question = messages.ReadRequest(durable=_name(durable), first=first, last=last)
        return Asked(self._connection, question)

    async def queue_state(self, durable: str) -> QueueState:
        """Where the queue of a durable subscription stands."""
        answer = await asking.status(self._connection, _name(durable))
        if not answer.HasField("queue"):
            raise RefusedError(f"the broker keeps no subscription named {durable!r}", "unknown")
        return queue_state(answer.queue)

    async def letters(self, durable: str | None = None) -> list[Letter]:
        """The documents that were set aside: of a durable subscription, or all of this client's.

        Whoever administers the broker has all letters.
        """
        return await letters.list_letters(self._connection, "" if durable is None else durable)

    async def read_letter(self, number: int) -> Letter:
        """A letter with its document."""
        return await letters.read_letter(self._connection, number)

    async def replay_letters(
        self, numbers: Iterable[int] = (), *, durable: str | None = None
    ) -> list[int]:
        """Give letters back to their queues: those of these numbers, or all of a ``durable`` one.

        Letters that were in no queue are published anew, under new ids.  Returns the numbers of
        what was replayed, which are letters no more.
        """
        return await letters.replay_letters(self._connection, numbers, durable or "")

    async def drop_letters(
        self, numbers: Iterable[int] = (), *, durable: str | None = None
    ) -> list[int]:
        """Let go of letters: those of these numbers, or all of a ``durable`` subscription."""
        return await letters.drop_letters(self._connection, numbers, durable or "")

    async def status(self) -> Status:
        """What the broker knows of itself and of the overlay."""
        answer = await asking.status(self._connection)
        try:
            return Status(json.loads(answer.json or "{}"))
        except (ValueError, TypeError):
            raise ConnectionFailedError(self.address, "the status is no JSON") from None


def _by_key(expressions: Expressions | None, bindings: Bindings) -> dict[str, messages.Expression]:
    if expressions is None:
        return {}
    if isinstance(expressions, str | Pattern):
        expressions = (expressions,)
    if not isinstance(expressions, Mapping | Sequence):
        raise TypeError(
            "expressions are a str, a Pattern, a sequence of them, or a mapping from keys to them, "
            f"not {type(expressions).__name__}"
        )
    if not expressions:
        raise ValueError("a subscription needs at least one expression")
    if not isinstance(expressions, Mapping):
        expressions = {str(each): each for each in expressions}
    return _as_messages(expressions, bindings)


def _as_messages(
    expressions: Mapping[str, str | Pattern], bindings: Bindings
) -> dict[str, messages.Expression]:
    """The expressions in normal form, which needs no bindings at the broker."""
    patterns = parse_all(expressions, bindings)
    return {key: messages.Expression(xpath=str(each)) for key, each in patterns.items()}


def _options(
    shared: bool | None,
    ordered_by: str | None,
    deliveries: int | None,
    namespaces: Mapping[str, str] | None,
) -> messages.DurableOptions:
    """How documents are to be given out, with what is None left out."""
    if deliveries is not None and not 0 <= deliveries < 2**31:
        raise ValueError(f"deliveries are a number, 0 for without end, not {deliveries}")
    if ordered_by:
        try:
            ordered_by = str(parse_value_path(ordered_by, namespaces))
        except ValueError as error:
            raise ValueError(f"ordered_by: {error}") from None
    return messages.DurableOptions(shared=shared, ordered_by=ordered_by, deliveries=deliveries)


def _check_since(since: object) -> None:
    """Refuse what is neither a sequence nor a time."""
    if not isinstance(since, int | Moment | None) or isinstance(since, bool):
        raise TypeError(
            "since is a sequence number (int), a time (datetime), how long ago (timedelta), or a "
            f"time as a text (2h), not {since!r}"
        )


def _name(durable: str) -> str:
    if not durable:
        raise ValueError("the name of a durable subscription is not empty")
    return durable
