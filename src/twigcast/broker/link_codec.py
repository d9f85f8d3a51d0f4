"""What brokers say to each other, between routing's messages and the wire's.

Encoding gives serialized link items, ready to be queued.  Decoding trusts nothing: whatever is
missing, too much or outside the language raises :class:`LinkProtocolError`, and the link is cut.

A large update is cut into several, all that is forwarded before what is withdrawn, so that nobody
is held up for long by one of them.  What brokers say about documents is in
:mod:`~twigcast.broker.delivery_codec`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from google.protobuf.message import DecodeError

from twigcast.covering import Change
from twigcast.delivery import read_want
from twigcast.errors import AdvertisementError, SchemaError, SubscriptionError, TwigcastError
from twigcast.hierarchy import MOST_LEVELS, MOST_MEMBERS, parse_leaf
from twigcast.language import Pattern, read_normal_form
from twigcast.routing import (
    ANYTHING,
    OUTER,
    AdvertisementKey,
    Anything,
    LinkState,
    Mark,
    Promise,
    Serve,
    Update,
    is_outer,
)
from twigcast.schema import Advertisement, Schema
from twigcast.wire import messages, raw

PART: Final = 50
PART_BYTES: Final = 64 * 1024
"""How many expressions or the like one update has, and how many bytes of them, more or less."""
_PART: Final = r"[\w.-]{1,100}"
_NAME: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_HIGHEST: Final = 2**60
_DIGEST: Final = 64
"""The most bytes of a digest that anybody could need."""


class LinkProtocolError(TwigcastError):
    """A neighbour says what no broker that keeps to the rules would say."""


# --- frames ---------------------------------------------------------------------------------------


def encode_frame(sequence: int, items: Iterable[bytes]) -> bytes:
    """A frame with these serialized items."""
    body = raw.fields(1, items)
    frame = messages.LinkFrame(sequence=sequence, checksum=zlib.crc32(body), body=body)
    return frame.SerializeToString()


def decode_frame(data: bytes, expected: int) -> list[messages.LinkItem]:
    """The items of a frame, which must be the one that comes next."""
    try:
        frame = messages.LinkFrame.FromString(data)
        if frame.sequence != expected:
            raise LinkProtocolError(
                f"frame {frame.sequence} came where frame {expected} should have: "
                "something was replayed, dropped or forged in between"
            )
        if zlib.crc32(frame.body) != frame.checksum:
            raise LinkProtocolError(f"the checksum of frame {expected} does not hold")
        return list(messages.LinkBody.FromString(frame.body).items)
    except DecodeError as error:
        raise LinkProtocolError(f"frame {expected} cannot be read: {error}") from None


# --- updates --------------------------------------------------------------------------------------


def encode_update(update: Update) -> list[bytes]:
    """The items of an update, or of several that together say the same."""
    parts = [messages.Update(depth=update.depth)]
    room = PART

    def part(size: int) -> messages.Update:
        nonlocal room
        if room <= 0:
            parts.append(messages.Update(depth=update.depth))
            room = PART
        room -= size
        return parts[-1]

    for state in update.states:
        links = [messages.Neighbour(broker=name, cost=cost) for name, cost in state.links]
        part(1 + len(links) + len(state.leaves) + len(state.book)).states.add(
            broker=state.broker,
            incarnation=state.incarnation,
            version=state.version,
            links=links,
            leaves=state.leaves,
            members=[member for member, _ in state.book],
            bits=[bit for _, bit in state.book],
            address=state.address,
        )
    for key in update.unadvertise:
        part(1).unadvertise.append(_encode_key(key))
    for key, promise in update.advertise:
        part(100).advertise.append(_encode_advertisement(key, promise))
    if update.known is not None:
        parts[0].known.CopyFrom(_encode_mark(update.known))
    if update.goes_on is not None:  # behind the advertisements, before what goes on
        parts[-1].goes_on.CopyFrom(_encode_mark(update.goes_on))
    for number, trees, scope in update.serve:
        part(1 + len(trees)).serve.add(channel=number, trees=sorted(trees), scope=scope)
    for number, change in update.changes:
        for forward, withdraw in halves(map(str, change.forward), map(str, change.withdraw)):
            part(PART).changes.add(channel=number, forward=forward, withdraw=withdraw)
    return [messages.LinkItem(update=each).SerializeToString() for each in parts]


def halves(
    forward: Iterable[str], withdraw: Iterable[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """A change in pieces of bounded size, all that is forwarded before what is withdrawn."""
    for piece in _pieces(forward):
        yield piece, []
    for piece in _pieces(withdraw):
        yield [], piece


def _pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for text in texts:
        piece.append(text)
        size += len(text)
        if len(piece) >= PART or size >= PART_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def decode_update(said: messages.Update) -> Update:
    """The update that a neighbour sends."""
    return Update(
        tuple(map(_decode_state, said.states)),
        tuple(map(_decode_advertisement, said.advertise)),
        tuple(map(_decode_key, said.unadvertise)),
        tuple(Serve(serve.channel, frozenset(serve.trees), serve.scope) for serve in said.serve),
        tuple(
            (
                change.channel,
                Change(
                    tuple(map(decode_pattern, change.forward)),
                    tuple(map(decode_pattern, change.withdraw)),
                ),
            )
            for change in said.changes
        ),
        said.depth,
        known=_decode_mark(said.known) if said.HasField("known") else None,
        goes_on=_decode_mark(said.goes_on) if said.HasField("goes_on") else None,
    )


def decode_pattern(text: str) -> Pattern:
    """A pattern from its canonical text."""
    return _decode(text, read_normal_form)


def decode_want(text: str) -> Pattern:
    """The pattern of what a home wants."""
    return _decode(text, read_want)


def _decode(text: str, read: Callable[[str], Pattern]) -> Pattern:
    try:
        return read(text)
    except SubscriptionError as error:
        raise LinkProtocolError(f"an expression of a neighbour's cannot be read: {error}") from None


def require_number(number: int) -> None:
    """Refuse what leaves no room to count on from it."""
    if number > _HIGHEST:
        raise LinkProtocolError(f"{number} is no number that a broker counts to")


def decode_name(name: str) -> str:
    """The name of a broker, which must be one: a path of units, and its own."""
    if not _NAME.fullmatch(name) or name.count("/") >= MOST_LEVELS:
        raise LinkProtocolError(
            f"the name of a broker is a path of up to {MOST_LEVELS} names, each of up to 100 "
            "letters, digits, dots, hyphens and underscores"
        )
    return name


def decode_origin(name: str) -> str:
    """The name of a broker or of a leaf."""
    leaf = parse_leaf(name)
    if is_outer(name):
        decode_name(name.removeprefix(OUTER))
    elif leaf is None:
        decode_name(name)
    else:
        decode_name(leaf[1])
    return name


def _decode_state(state: messages.LinkState) -> LinkState:
    require_number(state.incarnation)
    require_number(state.version)
    links = tuple(sorted((decode_name(each.broker), each.cost) for each in state.links))
    if any(not 0 < cost < float("inf") for _, cost in links):
        raise LinkProtocolError(f"the cost of a link of {state.broker!r} is not above 0")
    leaves = tuple(sorted(map(decode_origin, state.leaves)))
    if len({*state.bits}) != len(state.members) or len(state.bits) != len(state.members):
        raise LinkProtocolError(f"the members of {state.broker!r} have not one bit each")
    if any(bit >= MOST_MEMBERS for bit in (*state.bits, *state.address)):
        raise LinkProtocolError(f"a bit is from 0 to {MOST_MEMBERS - 1}")
    book = tuple(sorted(zip(map(decode_name, state.members), state.bits, strict=True)))
    said = (state.incarnation, state.version, links, leaves, book, tuple(state.address))
    return LinkState(decode_name(state.broker), *said)


def _encode_mark(mark: Mark) -> messages.Mark:
    return messages.Mark(entries=mark.entries, digest=mark.digest)


def _decode_mark(said: messages.Mark) -> Mark:
    require_number(said.entries)
    if len(said.digest) > _DIGEST:
        raise LinkProtocolError(f"the digest of a mark has up to {_DIGEST} bytes")
    return Mark(said.entries, said.digest)


def _encode_key(key: AdvertisementKey) -> messages.AdvertisementKey:
    return messages.AdvertisementKey(
        origin=key.origin, client=key.client, id=key.id, scope=key.scope
    )


def _decode_key(key: messages.AdvertisementKey) -> AdvertisementKey:
    return AdvertisementKey(decode_origin(key.origin), key.client, key.id, key.scope)


def _encode_advertisement(key: AdvertisementKey, promise: Promise) -> messages.AdvertisementOf:
    said = messages.AdvertisementOf(key=_encode_key(key))
    if isinstance(promise, Anything):
        said.anything = True
    elif isinstance(promise, Schema):
        if promise.is_dtd:
            said.dtd.text = promise.to_dtd()
            said.dtd.root = promise.root
        else:
            said.schema = promise.to_json()
    else:
        said.path = str(promise)
    return said


def _decode_advertisement(said: messages.AdvertisementOf) -> tuple[AdvertisementKey, Promise]:
    try:
        return _decode_key(said.key), decode_promise(said)
    except (SchemaError, AdvertisementError) as error:
        raise LinkProtocolError(f"an advertisement cannot be read: {error}") from None


def decode_promise(said: messages.AdvertisementOf | messages.Advertise) -> Promise:
    """What is promised.  Raises SchemaError or AdvertisementError for what cannot be read."""
    kind = said.WhichOneof("promise")
    if kind == "dtd":
        if "<!" not in said.dtd.text:
            raise SchemaError("a DTD travels as its text, which has declarations in it")
        if "<!ENTITY" in said.dtd.text:
            # One that is external would have this broker read files, or ask other machines.
            raise SchemaError("a DTD travels with its entities expanded: Schema.to_dtd does that")
        return Schema.from_dtd(said.dtd.text, said.dtd.root or None)
    if kind == "schema":
        return Schema.from_json(said.schema)
    if kind == "path":
        return Advertisement.parse(said.path)
    return ANYTHING
