"""What a neighbour cannot say on its link, among what brokers say of documents and homes.

Who may speak for whom is decided by :class:`twigcast.hierarchy.Speaker`; here is which names stand
where in a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from twigcast.broker.link_codec import LinkProtocolError
from twigcast.broker.link_connection import LinkConnection
from twigcast.delivery import (
    Addressed,
    HomeState,
    HomeVersions,
    LinkMessage,
    Receipt,
    Routed,
    is_published_as_another,
    stands_for,
)
from twigcast.hierarchy import Speaker
from twigcast.routing import Update

_Said = TypeVar("_Said", bound=LinkMessage | Update)


def permitted(message: _Said, link: LinkConnection) -> _Said:
    """What a neighbour says; raises LinkProtocolError for what it cannot say."""
    if objection := objection_to(message, link.speaker):
        raise LinkProtocolError(f"{link.name!r} {objection}")
    return message


def objection_to(message: LinkMessage | Update, speaker: Speaker) -> str:
    """Why a neighbour cannot say this; empty if it can."""
    return next(filter(None, _objections(message, speaker)), "")


def _objections(message: LinkMessage | Update, speaker: Speaker) -> Iterator[str]:
    depth = message.depth
    if isinstance(message, Update):
        yield speaker.objection(message)
    elif isinstance(message, Routed):
        yield speaker.objection_to_document(message.parcel.id, message.tree, depth)
        yield from _to_debts(message, speaker)
    elif isinstance(message, HomeVersions):
        yield speaker.objection_to_homes(message.versions, depth)
    elif isinstance(message, HomeState):
        yield speaker.objection_to_homes((message.home,), depth)
    else:
        yield speaker.objection_to_brokers((message.to, message.sender), depth)
        yield from _to_content(message, speaker)


def _to_debts(message: Routed, speaker: Speaker) -> Iterator[str]:
    yield speaker.objection_to_homes((home for home, _ in message.debts), message.depth)
    if is_published_as_another(message.parcel):
        yield f"sends {message.parcel.id} as the publication of another document"
    for each in message.parcel.to:
        if not any(stands_for(home, each.broker) for home, _ in message.debts):
            yield f"sends a document to {str(each)!r} that is owed to nobody who leads there"
    if message.custody is not None:
        yield speaker.objection_to_brokers((message.custody.origin,), message.depth)


def _to_content(message: Addressed, speaker: Speaker) -> Iterator[str]:
    content = message.content
    if isinstance(content, Routed):
        custody = content.custody or content.parcel.id
        if content.depth != message.depth or custody.origin != message.sender:
            yield f"sends a document for {message.sender!r} that {custody.origin!r} answers for"
        yield from _to_debts(content, speaker)
    else:
        homes = (content.home,) if content.home or not isinstance(content, Receipt) else ()
        yield speaker.objection_to_homes(homes, message.depth)
