"""What brokers say to each other about documents and homes, between the machine's and the wire's.

Encoding gives serialized link items, ready to be queued.  Decoding trusts nothing: whatever is
missing, too much or outside the language raises :class:`LinkProtocolError`, and the link is cut.

The state of a home may be large.  It is cut into parts, and :class:`HomeParts` puts it together
again: it counts as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from twigcast.broker.debts_codec import Known, read_debts, write_debts
from twigcast.broker.destinations import read_destinations
from twigcast.broker.link_codec import (
    LinkProtocolError,
    decode_name,
    halves,
    require_number,
)
from twigcast.delivery import (
    Addressed,
    Addressee,
    Destination,
    HomeAsk,
    HomeKnown,
    HomeState,
    HomeVersions,
    LinkMessage,
    Parcel,
    Receipt,
    Routed,
    Version,
    broker_of,
)
from twigcast.errors import RefusedError
from twigcast.hierarchy import MOST_LEVELS, NO_NUMBERING, STAMP, Numbering
from twigcast.routing import DocumentId
from twigcast.wire import messages

_MOST_HOPS: Final = 64
_MOST_PARTS: Final = 10_000
_MOST_UNREACHED: Final = 100_000


def encode_message(
    message: LinkMessage, numbering: Callable[[int], Numbering] | None = None
) -> list[bytes]:
    """The items that say something; several where it is large.

    ``numbering`` gives the bits of the members of a unit, by its depth.
    """
    if isinstance(message, Routed):
        numbered = numbering(message.depth) if numbering and message.debts else NO_NUMBERING
        document = _encode_document(message, numbered)
        return [messages.LinkItem(document=document).SerializeToString()]
    if isinstance(message, Addressed):
        return [messages.LinkItem(addressed=_encode_addressed(message)).SerializeToString()]
    if isinstance(message, HomeVersions):
        said = messages.HomeVersions()
        said.depth = message.depth
        for home, version in message.versions.items():
            said.homes.add(home=home, epoch=version.epoch, version=version.version)
        return [messages.LinkItem(home_versions=said).SerializeToString()]
    return _encode_home(message)


def is_document(message: LinkMessage) -> bool:
    """Whether something waits with documents on a link, behind everything else."""
    return isinstance(message, Routed) or (
        isinstance(message, Addressed) and isinstance(message.content, Routed)
    )


# --- documents ------------------------------------------------------------------------------------


def _encode_document(
    message: Routed, numbering: Numbering = NO_NUMBERING
) -> messages.RoutedDocument:
    parcel = message.parcel
    said = messages.RoutedDocument(
        tree=message.tree,
        content=parcel.content,
        published=parcel.published,
        publication=parcel.publication,
        expires=parcel.expires,
        depth=message.depth,
        scope=parcel.scope,
        trace=message.trace,
    )
    said.id.origin, said.id.incarnation, said.id.number = parcel.id
    if message.custody is not None:
        said.custody.origin, said.custody.incarnation, said.custody.number = message.custody
    write_debts(said, message.debts, numbering)
    if parcel.headers:
        said.headers.update(parcel.headers)
    said.to.extend(map(str, parcel.to))
    return said


def decode_document(said: messages.RoutedDocument, known: Known | None = None) -> Routed:
    """A document that has come; ``known`` gives the bits of members that it refers to."""
    identity = _decode_id(decode_name(said.id.origin), said.id.incarnation, said.id.number)
    parcel = Parcel(
        identity,
        said.content,
        said.published,
        said.publication,
        tuple(said.headers.items()) if said.headers else (),
        said.expires,
        scope=said.scope,
        to=_decode_destinations(said.to) if said.to else (),
    )
    debts = read_debts(said, known)
    custody = None
    if said.HasField("custody"):
        owed = said.custody
        custody = _decode_id(decode_name(owed.origin), owed.incarnation, owed.number)
    return Routed(parcel, said.tree, debts, custody, said.depth, _decode_trace(said.trace))


def _decode_trace(said: Collection[bytes]) -> tuple[bytes, ...]:
    if len(said) >= MOST_LEVELS or any(len(each) != STAMP for each in said):
        raise LinkProtocolError(
            f"a trace has up to {MOST_LEVELS - 1} stamps, and each has {STAMP} bytes"
        )
    return tuple(said)


def _decode_destinations(said: Iterable[str]) -> tuple[Destination, ...]:
    try:
        return read_destinations(said)
    except RefusedError as error:
        raise LinkProtocolError(str(error)) from None


def _decode_id(origin: str, incarnation: int, number: int) -> DocumentId:
    require_number(incarnation)
    require_number(number)
    return DocumentId(origin, incarnation, number)


# --- to one broker --------------------------------------------------------------------------------


def _encode_addressed(message: Addressed) -> messages.Addressed:
    said = messages.Addressed(
        to=message.to, sender=message.sender, hops=message.hops, depth=message.depth
    )
    content = message.content
    if isinstance(content, Routed):
        said.document.CopyFrom(_encode_document(content))
    elif isinstance(content, Receipt):
        said.receipt.CopyFrom(_encode_receipt(content, message.to))
    elif isinstance(content, HomeAsk):
        said.home_ask.home, said.home_ask.round = content.home, content.round
        said.home_ask.epoch, said.home_ask.version = content.version
    else:
        said.home_known.home, said.home_known.round = content.home, content.round
        said.home_known.unreached.extend(content.unreached)
    return said


def decode_addressed(said: messages.Addressed) -> Addressed:
    """Something to one broker that has come."""
    to, sender = decode_name(said.to), decode_name(said.sender)
    content = _decode_content(said, to)
    return Addressed(to, sender, content, min(said.hops, _MOST_HOPS), said.depth)


def _decode_content(said: messages.Addressed, to: str) -> Addressee:
    kind = said.WhichOneof("content")
    if kind == "document":
        return decode_document(said.document)
    if kind == "receipt":
        return _decode_receipt(said.receipt, to)
    if kind == "home_ask":
        ask = said.home_ask
        return HomeAsk(decode_home(ask.home), _decode_version(ask.epoch, ask.version), ask.round)
    if kind == "home_known":
        known = said.home_known
        if len(known.unreached) > _MOST_UNREACHED:
            raise LinkProtocolError(f"more than {_MOST_UNREACHED:,} brokers are not reached")
        return HomeKnown(
            decode_home(known.home), known.round, tuple(map(decode_name, known.unreached))
        )
    raise LinkProtocolError("something to one broker has no content that is known here")


def _encode_receipt(receipt: Receipt, custodian: str) -> messages.Receipt:
    said = messages.Receipt(home=receipt.home)
    numbers: dict[tuple[str, int], list[int]] = {}
    for origin, incarnation, number in receipt.stored:
        numbers.setdefault((origin, incarnation), []).append(number)
    for (origin, incarnation), each in numbers.items():
        by_id = "" if origin == custodian else origin
        said.stored.add(incarnation=incarnation, numbers=each, origin=by_id)
    for document, reason in receipt.refused:
        said.refused.add(incarnation=document.incarnation, number=document.number, reason=reason)
    return said


def _decode_receipt(said: messages.Receipt, custodian: str) -> Receipt:
    stored = tuple(
        _decode_id(decode_name(each.origin) if each.origin else custodian, each.incarnation, number)
        for each in said.stored
        for number in each.numbers
    )
    refused = tuple(
        (_decode_id(custodian, each.incarnation, each.number), each.reason) for each in said.refused
    )
    return Receipt(stored, refused, decode_home(said.home) if said.home else "")


def decode_home(home: str) -> str:
    """The name of a home: a broker, or one that stands for a unit or for what is outside."""
    decode_name(broker_of(home))
    return home


# --- homes ----------------------------------------------------------------------------------------


def decode_versions(said: messages.HomeVersions) -> HomeVersions:
    """Which durable interests a neighbour knows."""
    versions = {
        decode_home(each.home): _decode_version(each.epoch, each.version) for each in said.homes
    }
    return HomeVersions(versions, said.depth)


def _decode_version(epoch: int, version: int) -> Version:
    require_number(epoch)
    require_number(version)
    return Version(epoch, version)


def _encode_home(state: HomeState) -> list[bytes]:
    pieces = list(halves(state.forward, state.withdraw)) or [([], [])]
    return [
        messages.LinkItem(
            home_state=messages.HomeState(
                home=state.home,
                epoch=state.version.epoch,
                version=state.version.version,
                base=state.base,
                forward=forward,
                withdraw=withdraw,
                depth=state.depth,
                more=index < len(pieces) - 1,
            )
        ).SerializeToString()
        for index, (forward, withdraw) in enumerate(pieces)
    ]


class HomeParts:
    """Puts the parts of the states of homes together."""

    def __init__(self) -> None:
        self._parts: list[messages.HomeState] = []

    def add(self, part: messages.HomeState) -> HomeState | None:
        """Take a part; the state, if it was the last."""
        version = _decode_version(part.epoch, part.version)
        first = self._parts[0] if self._parts else part
        if _whose(part) != _whose(first):
            raise LinkProtocolError("the parts of the state of a home do not belong together")
        self._parts.append(part)
        if part.more:
            if len(self._parts) >= _MOST_PARTS:
                raise LinkProtocolError(f"the state of a home has more than {_MOST_PARTS:,} parts")
            return None
        parts, self._parts = self._parts, []
        return HomeState(
            decode_home(first.home),
            version,
            first.base,
            tuple(text for each in parts for text in each.forward),
            tuple(text for each in parts for text in each.withdraw),
            first.depth,
        )


def _whose(part: messages.HomeState) -> tuple[str, int, int, int]:
    return part.home, part.epoch, part.version, part.depth
