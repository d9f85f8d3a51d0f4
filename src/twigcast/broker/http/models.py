"""The JSON that the HTTP port takes and gives, as its OpenAPI document describes it.

What is taken is checked by these; what is given is described by them, exactly (a test compares).
Times are ISO 8601 in UTC, as in ``2026-01-31T14:30:00.000Z``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from twigcast.broker.http.errors import Code
from twigcast.matching import ReaderName

Time = Annotated[str, Field(pattern=r"^\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
Count = Annotated[int, Field(ge=0)]
Sequence = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


# --- taken ----------------------------------------------------------------------------------------


class PublishedDocument(_Exact):
    """A document to publish, and what is said beside it."""

    content: str
    encoding: Literal["utf-8", "base64"] = Field(
        default="utf-8", description="How content gives the bytes of the document."
    )
    id: str = Field(
        default="",
        description="An id of the publisher's, so that publishing the document twice does no harm; "
        "empty for none.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Carried to subscribers as they are."
    )
    expires: str | None = Field(
        default=None,
        description="From when on nobody wants it: ISO 8601, or how long from now, as in `2h`.",
    )
    to: list[str] = Field(
        default_factory=list,
        description="Durable subscriptions that it is addressed to, as `north/oslo/b3:inbox`; if "
        "there are any, nobody else gets it.",
    )
    scope: str = Field(
        default="",
        description="The unit that it does not leave: one that the broker is in, or `cluster`, "
        "`super-cluster` or `super-super-cluster`, to count from the innermost one; empty for "
        "none.",
    )


class PublishedBatch(_Exact):
    """Documents to publish, in order."""

    documents: list[str | PublishedDocument] = Field(min_length=1, max_length=10_000)


class Acknowledgement(_Exact):
    """Documents of a durable subscription that need not come again."""

    upto: Sequence = Field(default=0, description="All up to and with this sequence number,")
    sequences: list[Sequence] = Field(
        default_factory=list, max_length=100_000, description="and these besides."
    )


class Refusal(_Exact):
    """Documents of a durable subscription that could not be used."""

    sequences: list[Sequence] = Field(min_length=1, max_length=100_000)
    delay: str = Field(
        default="0s", description="After how long they may come again, as in `5s`; `7d` at most."
    )


class LetterChoice(_Exact):
    """Letters: some by their numbers, or all of a durable subscription."""

    numbers: list[Sequence] = Field(default_factory=list, max_length=10_000)
    durable: str = ""


class BackupRequest(_Exact):
    """Where a copy of the store goes."""

    path: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$",
        description="The name of a new file in the folder backups of the store; made up if absent.",
    )


# --- given ----------------------------------------------------------------------------------------


class Health(_Exact):
    """The process lives."""

    status: Literal["ok"]


class Readiness(_Exact):
    """Whether the broker serves, and what is still missing."""

    ready: bool
    reasons: list[str]


class PublicationProblem(_Exact):
    """A document that was refused."""

    index: Count = Field(description="Which of the documents, from 0.")
    code: Code
    reason: str


class Publications(_Exact):
    """What became of documents that were published."""

    ids: list[str | None] = Field(description="The event id of each; null where it was refused.")
    problems: list[PublicationProblem]


class DocumentBody(_Exact):
    """A document."""

    id: str = Field(description="The event id.")
    published: Time = Field(description="When the first broker had it.")
    expires: Time | None = Field(description="From when on nobody wants it; null for never.")
    headers: dict[str, str] = Field(description="What its publisher says beside it.")
    content: str
    encoding: Literal["utf-8", "base64"] = Field(
        description="How content gives the bytes of the document; base64 where they are no UTF-8."
    )


class DeliveredDocument(DocumentBody):
    """The data of an event ``document``."""

    keys: list[str] = Field(description="The expressions that it matches.")
    sequence: Sequence | None = Field(
        description="Its number in the queue of a durable subscription, from 1; null otherwise."
    )
    attempts: Count = Field(
        description="How often a durable subscription gave it out before in vain."
    )


class Pulled(_Exact):
    """Documents of a durable subscription."""

    documents: list[DeliveredDocument]
    missed: Count = Field(
        description="How many retention took since the last answer that nobody had acknowledged."
    )


class Missed(_Exact):
    """The data of an event ``missed``: documents dropped before the next."""

    missed: Count


class Unreached(_Exact):
    """The data of an event ``unreached``: brokers that may not know of a subscription yet."""

    brokers: list[str]


class QueueState(_Exact):
    """Where the queue of a durable subscription stands."""

    first: Count = Field(description="The first that is kept; last + 1 if none is.")
    last: Count
    acknowledged: Count = Field(description="All up to here are acknowledged.")


class KeptSubscription(QueueState):
    """A durable subscription that is kept now."""

    unreached: list[str] = Field(
        description="The brokers that may not know of it yet; what is published there may be "
        "missed."
    )


class GivenBack(_Exact):
    """What was given back."""

    sequences: list[Sequence] = Field(
        description="Those that were given out and not acknowledged; nobody has the others."
    )


class LetterFacts(_Exact):
    """A document that was set aside."""

    number: Count
    id: str = Field(description="The event id.")
    durable: str | None = Field(description="The durable subscription in whose queue it was.")
    sequence: Sequence | None = Field(description="Its number in that queue.")
    keys: list[str] = Field(description="The expressions that it matches there.")
    home: str | None = Field(description="The broker to which it was owed.")
    reason: str
    at: Time = Field(description="When it was set aside.")
    bytes: Count


class LetterList(_Exact):
    """Letters, in the order of their numbers."""

    letters: list[LetterFacts]


class LetterNumbers(_Exact):
    """Letters that are letters no more."""

    numbers: list[Count]


class LetterBody(LetterFacts):
    """A letter with its document."""

    document: DocumentBody


class Counted(_Exact):
    """How many documents match."""

    matched: Count
    examined: Count = Field(description="How many were looked at.")


class DurableQueue(QueueState):
    """A durable subscription."""

    name: str
    owner: str
    expressions: dict[str, str]
    waiting: Count = Field(description="How many are not acknowledged.")
    missed: Count = Field(description="How many retention took that were not acknowledged.")
    attached: bool = Field(description="Whether a client takes from it now.")
    shared: bool = Field(description="Whether several clients share its documents.")
    ordered_by: str | None = Field(
        description="The path to the value by which shared documents stay in order, if any."
    )
    deliveries: Count | None = Field(
        description="How often a document is given out before it becomes a letter; null for "
        "without end."
    )
    scope: str | None = Field(
        description="The unit in which documents are published that it gets; null for the whole "
        "network."
    )


class ClientQueue(_Exact):
    """A subscription of a connected client."""

    name: str
    durable: str | None = Field(description="The durable subscription it takes from.")
    waiting: Count
    credit: Count = Field(description="How many documents the client is ready for.")


class Client(_Exact):
    """A connected client."""

    session: str
    principal: str
    client: str = Field(description="What the client calls itself.")
    connected_seconds: float
    subscriptions: list[ClientQueue]


class Subscriptions(_Exact):
    """Durable subscriptions and, for administrators, connected clients."""

    durable: list[DurableQueue]
    clients: list[Client] | None = Field(description="null for whoever does not administer.")


class LinkFigures(_Exact):
    """A link that is up."""

    broker: str
    unit: str = Field(
        description="The innermost unit that both brokers are in; empty for the whole network."
    )
    address: str
    called: Literal["here", "neighbour"] = Field(description="Which side has called.")
    cost: float
    up_seconds: float
    documents_sent: Count
    documents_received: Count
    bytes_sent: Count
    bytes_received: Count
    waiting: Count
    dropped: Count


class Links(_Exact):
    """The neighbours of this broker."""

    up: list[LinkFigures]
    problems: dict[str, str] = Field(description="By address, why there is no link with it.")


class DocumentCounts(_Exact):
    """Documents since the broker started."""

    in_: Count = Field(alias="in")
    matched: Count
    filtered: Count
    repeated: Count
    out: Count
    forwarded: Count
    resent: Count
    expired: Count = Field(description="How many went no further, since their time was over.")


class TableSizes(_Exact):
    """The routing tables, before and after covering."""

    subscriptions: Count
    patterns: Count
    sent: Count
    advertisements: Count
    durable_patterns: Count


class UnitPart(_Exact):
    """A unit, or a part of one that has parted, as the brokers around it see it."""

    gateways: list[str]
    acting: dict[str, str] = Field(
        description="By unit beside it, the gateway by which documents leave for there."
    )


class CrossingCounts(_Exact):
    """Documents that crossed the border of a unit here, since the broker started."""

    out: Count
    into: Count
    in_vain: Count = Field(description="Of those that came in, how many nobody inside wanted.")
    turned_away: Count = Field(
        description="How many came from outside and had been inside; they were not let in."
    )


class Level(_Exact):
    """A unit in which this broker takes part."""

    unit: str = Field(description="Empty for the whole network.")
    bits: dict[str, Count] = Field(
        description="By member of this unit, its bit, from 0 to 31; empty in a flat network."
    )
    topology: dict[str, dict[str, float]] = Field(
        description="By broker, its neighbours in this unit and what the links to them cost."
    )
    gateways: list[str] = Field(description="Those of this unit that can be reached.")
    units: dict[str, list[UnitPart]] = Field(
        description="By unit right below this one, its parts; one if it has not parted."
    )
    crossings: CrossingCounts | None = Field(
        description="null where this broker is no gateway of the unit."
    )


class Topology(_Exact):
    """The brokers that this one knows."""

    broker: str = Field(description="This one.")
    links: dict[str, dict[str, float]] = Field(
        description="By broker, its neighbours and what the links to them cost."
    )
    levels: list[Level] = Field(
        description="The same for each unit in which this broker takes part, the innermost first."
    )


class Status(_Exact):
    """A broker at a glance."""

    broker: str
    bits: str | None = Field(
        description="Its address in the network of units: its bits, the outermost unit first, as "
        "`0.2.5`; null in a flat network, and while they are not known."
    )
    gateway: str | None = Field(
        description="The outermost unit that the broker is a gateway of; null if it is none."
    )
    most_patterns: Count = Field(
        description="How many patterns a gateway sends outside, and hears from there, at most; 0 "
        "for no limit."
    )
    version: str
    uptime_seconds: float
    incarnation: Count
    strategy: str
    reader: ReaderName = Field(description="What reads documents.")
    documents: DocumentCounts
    tables: TableSizes
    clients: Count
    durable: list[DurableQueue]
    owed: dict[str, Count] = Field(description="By home, the documents it has not confirmed.")
    letters: Count | None = Field(
        description="Documents that were set aside; null if the store does not answer."
    )
    door: str | None = Field(
        description="The address of the door that leads the group; null where there is no group."
    )
    standing_by: list[str] | None = Field(
        description="The other doors of the group, by their addresses; null if the store does not "
        "answer."
    )
    homes: dict[str, Count] = Field(description="By home, the patterns that it wants.")
    links: list[LinkFigures]
    problems: dict[str, str] = Field(
        description="What is not as it should be, by what it is about: the address or name of a "
        "neighbour, `store`, `publishers`, `destinations`."
    )
    topology: dict[str, dict[str, float]]
    levels: list[Level] = Field(
        description="What is known of each unit in which it takes part, the innermost first."
    )


class ForgottenHome(_Exact):
    """A home to which nothing is owed any more."""

    dropped: Count = Field(description="How many documents it was owed.")


class Backup(_Exact):
    """A copy of the store that is there now."""

    path: str
    bytes: Count
