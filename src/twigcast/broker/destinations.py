"""Whom a document is addressed to, as publishers and brokers write it: ``north/oslo/b3:inbox``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from twigcast.broker.link_codec import LinkProtocolError, decode_name
from twigcast.delivery import Destination
from twigcast.errors import RefusedError

MOST_DESTINATIONS: Final = 256
_LONGEST: Final = 1024
"""Characters of the name of a durable subscription."""


def read_destinations(texts: Iterable[str]) -> tuple[Destination, ...]:
    """A destination list, each destination once; raises RefusedError."""
    to = tuple(dict.fromkeys(map(_read, texts)))
    if len(to) > MOST_DESTINATIONS:
        raise RefusedError(
            f"the document is addressed to {len(to):,} durable subscriptions, more than the "
            f"{MOST_DESTINATIONS} that a broker takes: publish it several times",
            "invalid",
        )
    return to


def _read(text: str) -> Destination:
    broker, _, durable = text.partition(":")
    try:
        decode_name(broker)
    except LinkProtocolError as error:
        raise _refusal(text, str(error)) from None
    if not durable or len(durable) > _LONGEST or not durable.isprintable():
        raise _refusal(text, "the name of a durable subscription follows the colon")
    return Destination(broker, durable)


def _refusal(text: str, reason: str) -> RefusedError:
    return RefusedError(
        f"a document cannot be addressed to {text[:200]!r}: {reason}; write the full name of a "
        "broker, a colon and the name of a durable subscription there, as in "
        "north/oslo/b3:inbox",
        "invalid",
    )
