"""One broker to say something to, and ways to look at what it answers.

The broker is ``b`` in the chain ``a - b - c``, with two clients; it knows the overlay.
"""

from __future__ import annotations

import twigcast
from twigcast.covering import Change
from twigcast.routing import (
    STRATEGIES,
    AdvertisementKey,
    LinkKind,
    LinkState,
    LinkUp,
    Message,
    Refused,
    Router,
    Send,
    Strategy,
    Subscribe,
    Update,
)

WIDE, NARROW, OTHER = map(twigcast.parse, ("/a/*", "/a/b", "/a/c"))
SCHEMA = twigcast.Schema.from_dtd("<!ELEMENT a (b|c)*><!ELEMENT b EMPTY><!ELEMENT c EMPTY>")
APART = twigcast.Schema.from_dtd("<!ELEMENT z EMPTY>")
AT_A = AdvertisementKey("a", "feed", "p")
TOWARDS_ALL = ("flooding", "covering")
TOWARDS_PRODUCERS = tuple(name for name in STRATEGIES if name not in TOWARDS_ALL)
STATES = (
    LinkState("a", 0, 1, (("b", 1.0),)),
    LinkState("c", 0, 1, (("b", 1.0),)),
)


def broker(strategy: str | Strategy = "advertisements-covering") -> Router:
    named = Strategy.named(strategy) if isinstance(strategy, str) else strategy
    router = Router("b", named)
    for neighbour in "ac":
        router.handle(LinkUp(LinkKind.BROKER), neighbour)
    for client in ("one", "two"):
        router.handle(LinkUp(LinkKind.CLIENT), client)
    router.learn(STATES)
    router.flush()
    return router


def said(router: Router, message: Message, link: str) -> list[Send]:
    """What a router answers, and then what it has gathered."""
    return router.handle(message, link) + router.flush()


def told(*sends: Send) -> dict[str, Update]:
    """Updates by neighbour; nothing else may have been sent."""
    found = {}
    for link, message in sends:
        assert isinstance(message, Update)
        assert link not in found, "one update to a neighbour for a message"
        found[link] = message
    return found


def changes(sends: list[Send]) -> dict[str, Change]:
    """What neighbours are told on their only channels; nothing else may be told."""
    found = {}
    for link, update in told(*sends).items():
        ((_, change),) = update.changes
        assert update == Update(changes=update.changes)
        found[link] = change
    return found


def refusals(sends: list[Send]) -> list[str]:
    """The reasons, where nothing but refusals was sent."""
    reasons = []
    for _, message in sends:
        assert isinstance(message, Refused)
        reasons.append(message.reason)
    return reasons


def subscribe(**wanted: twigcast.Pattern) -> Subscribe:
    return Subscribe(wanted)
