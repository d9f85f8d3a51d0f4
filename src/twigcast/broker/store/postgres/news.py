"""What the brokers of a group hear of each other's writes, when those are committed.

News are notifications of PostgreSQL's, sent within the transactions that they tell of.  A broker
does not hear of its own writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from twigcast.broker.store.postgres.connection import Connection
from twigcast.delivery import (
    Acknowledge,
    DropDurable,
    PutDurable,
    Replayed,
    Result,
    SetAside,
    Write,
)

CHANNEL: Final = "twigcast"


class Grown(NamedTuple):
    """A queue has entries up to a sequence."""

    durable: str
    last: int


class Acknowledged(NamedTuple):
    """Entries of a queue were acknowledged, set aside or given back."""

    durable: str


class DurableChanged(NamedTuple):
    """A durable subscription was put or dropped."""

    durable: str


class MaybeMissed(NamedTuple):
    """The connection was lost and is there again: news of the meantime did not come."""


News: TypeAlias = Grown | Acknowledged | DurableChanged | MaybeMissed

_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Grown, Acknowledged, DurableChanged)
}
_NOTIFY: Final = f"SELECT pg_notify('{CHANNEL}', told) FROM unnest(%s::text[]) AS told"


def send_news(
    connection: Connection,
    token: str,
    writes: Sequence[Write],
    results: Sequence[Result],
    grown: Mapping[str, int],
) -> None:
    """Tell other brokers what a transaction changes."""
    news: dict[News, None] = {}
    for write, result in zip(writes, results, strict=True):
        if isinstance(write, Acknowledge | SetAside):
            news[Acknowledged(write.durable)] = None
        elif isinstance(write, PutDurable | DropDurable):
            news[DurableChanged(write.name)] = None
        elif isinstance(result, Replayed):
            news.update(dict.fromkeys(Acknowledged(name) for name, _ in result.entries))
    news.update(dict.fromkeys(Grown(name, last) for name, last in grown.items()))
    if news:
        told = [json.dumps([token, type(each).__name__, *each]) for each in news]
        connection.execute(_NOTIFY.encode(), (told,))


def parse_news(token: str, payload: bytes) -> News | None:
    """What a notification tells; None if it tells of one's own writes."""
    teller, kind, *fields = json.loads(payload)
    news: News | None = None if teller == token else _KINDS[kind](*fields)
    return news
