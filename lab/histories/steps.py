"""Histories of a network that can be written down and run again.

A :class:`History` is an overlay, a strategy and what happens, step by step, all in plain text, so
that ``repr`` gives Python that makes it again::

    History(brokers=("a", "b"), links=(("a", "b", 1.0),), strategy="covering", steps=(
        Attach("x", "a"), Attach("y", "b"), Subscribe("y", (("s", "//p"),)), Settle(),
        Publish("x", "<p/>"), Settle(),
    ))

:func:`~lab.histories.run_history` lets it happen and judges the outcome.  A step
that makes no sense where it stands is passed over.  So a history stays one whichever steps are left
out, and few of them show what goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from twigcast.language import Pattern, parse
from twigcast.routing import ANYTHING, LinkTraits, Overlay, Promise
from twigcast.schema import Advertisement, Schema


@dataclass(frozen=True, slots=True)
class Attach:
    """A client comes to a broker."""

    client: str
    broker: str


@dataclass(frozen=True, slots=True)
class Detach:
    """A client goes."""

    client: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Subscriptions with one message: ids and expressions.

    A scope, here and below, is the depth of the unit that something is kept within; where the
    broker is in no such unit, it is anywhere.
    """

    client: str
    subscriptions: tuple[tuple[str, str], ...]
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Subscriptions end, with one message."""

    client: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advertise:
    """A promise: ``anything``, the name of a schema of the history, or a path (``/a(/b)+/c``)."""

    client: str
    id: str
    promise: str
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """A promise ends."""

    client: str
    id: str


@dataclass(frozen=True, slots=True)
class Publish:
    """A document, and the promises that it keeps; where it is not said, it keeps none."""

    client: str
    content: str
    promises: tuple[str, ...] = ()
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A link is cut."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Heal:
    """A link is whole again."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A broker loses everything."""

    broker: str


@dataclass(frozen=True, slots=True)
class Restart:
    """A broker begins anew."""

    broker: str


@dataclass(frozen=True, slots=True)
class Arrive:
    """So many messages arrive."""

    count: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Everything arrives, and is judged."""


Step: TypeAlias = (
    Attach
    | Detach
    | Subscribe
    | Unsubscribe
    | Advertise
    | Unadvertise
    | Publish
    | Cut
    | Heal
    | Crash
    | Restart
    | Arrive
    | Settle
)


@dataclass(frozen=True)
class History:
    """What happens in which network."""

    brokers: tuple[str, ...]
    links: tuple[tuple[str, str, float], ...]
    """Two brokers and a cost."""
    strategy: str
    steps: tuple[Step, ...]
    schemas: tuple[tuple[str, str], ...] = ()
    """Names, and document type definitions."""
    is_late: bool = False
    """Whether each end of a link learns at a time of its own that it is down or up again."""
    in_slices: bool = False
    """Whether brokers do in slices what takes long; their links are late, too."""
    gateways: tuple[tuple[str, str], ...] = ()
    """Brokers, and the outermost unit that each is a gateway of."""
    most_patterns: int | None = None
    """How many patterns a unit tells the one around it at most."""

    def overlay(self) -> Overlay:
        """The brokers and links."""
        traits = {(one, other): LinkTraits(cost=cost) for one, other, cost in self.links}
        return Overlay(self.brokers, traits, dict(self.gateways))

    def promise(self, text: str) -> Promise:
        """What the text of a promise stands for."""
        if text == "anything":
            return ANYTHING
        definition = dict(self.schemas).get(text)
        return Advertisement.parse(text) if definition is None else _schema(definition)


@lru_cache(maxsize=256)
def _schema(definition: str) -> Schema:
    return Schema.from_dtd(definition)


@lru_cache(maxsize=2**12)
def pattern_of(expression: str) -> Pattern:
    """The pattern of an expression, parsed once."""
    return parse(expression)
