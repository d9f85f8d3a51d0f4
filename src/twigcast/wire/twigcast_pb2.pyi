from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClientFrame(_message.Message):
    __slots__ = ("hello", "publish", "subscribe", "unsubscribe", "advertise", "unadvertise", "acknowledge", "consumed", "give_back", "acknowledged")
    hello: Hello
    publish: Publish
    subscribe: Subscribe
    unsubscribe: Unsubscribe
    advertise: Advertise
    unadvertise: Unadvertise
    acknowledge: Acknowledge
    consumed: Consumed
    give_back: GiveBack
    acknowledged: Acknowledged
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., publish: _Optional[_Union[Publish, _Mapping]] = ..., subscribe: _Optional[_Union[Subscribe, _Mapping]] = ..., unsubscribe: _Optional[_Union[Unsubscribe, _Mapping]] = ..., advertise: _Optional[_Union[Advertise, _Mapping]] = ..., unadvertise: _Optional[_Union[Unadvertise, _Mapping]] = ..., acknowledge: _Optional[_Union[Acknowledge, _Mapping]] = ..., consumed: _Optional[_Union[Consumed, _Mapping]] = ..., give_back: _Optional[_Union[GiveBack, _Mapping]] = ..., acknowledged: _Optional[_Union[Acknowledged, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "client")
    protocol: int
    client: str
    def __init__(self, protocol: _Optional[int] = ..., client: _Optional[str] = ...) -> None: ...

class Publish(_message.Message):
    __slots__ = ("request", "publications")
    request: int
    publications: _containers.RepeatedCompositeFieldContainer[Publication]
    def __init__(self, request: _Optional[int] = ..., publications: _Optional[_Iterable[_Union[Publication, _Mapping]]] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("content", "id", "again", "headers", "expires", "to", "scope")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    content: bytes
    id: str
    again: bool
    headers: _containers.ScalarMap[str, str]
    expires: int
    to: _containers.RepeatedScalarFieldContainer[str]
    scope: str
    def __init__(self, content: _Optional[bytes] = ..., id: _Optional[str] = ..., again: _Optional[bool] = ..., headers: _Optional[_Mapping[str, str]] = ..., expires: _Optional[int] = ..., to: _Optional[_Iterable[str]] = ..., scope: _Optional[str] = ...) -> None: ...

class Subscribe(_message.Message):
    __slots__ = ("request", "subscription", "expressions", "durable", "window", "since_sequence", "since_time", "confirmed", "options", "scope")
    class ExpressionsEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: Expression
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...
    request: int
    subscription: int
    expressions: _containers.MessageMap[str, Expression]
    durable: str
    window: int
    since_sequence: int
    since_time: int
    confirmed: bool
    options: DurableOptions
    scope: str
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[int] = ..., expressions: _Optional[_Mapping[str, Expression]] = ..., durable: _Optional[str] = ..., window: _Optional[int] = ..., since_sequence: _Optional[int] = ..., since_time: _Optional[int] = ..., confirmed: _Optional[bool] = ..., options: _Optional[_Union[DurableOptions, _Mapping]] = ..., scope: _Optional[str] = ...) -> None: ...

class DurableOptions(_message.Message):
    __slots__ = ("shared", "ordered_by", "deliveries")
    shared: bool
    ordered_by: str
    deliveries: int
    def __init__(self, shared: _Optional[bool] = ..., ordered_by: _Optional[str] = ..., deliveries: _Optional[int] = ...) -> None: ...

class Expression(_message.Message):
    __slots__ = ("xpath", "namespaces", "variables", "relative_to", "version")
    class NamespacesEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class VariablesEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    xpath: str
    namespaces: _containers.ScalarMap[str, str]
    variables: _containers.ScalarMap[str, str]
    relative_to: str
    version: str
    def __init__(self, xpath: _Optional[str] = ..., namespaces: _Optional[_Mapping[str, str]] = ..., variables: _Optional[_Mapping[str, str]] = ..., relative_to: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class Unsubscribe(_message.Message):
    __slots__ = ("request", "subscription", "forget", "durable")
    request: int
    subscription: int
    forget: bool
    durable: str
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[int] = ..., forget: _Optional[bool] = ..., durable: _Optional[str] = ...) -> None: ...

class Advertise(_message.Message):
    __slots__ = ("request", "advertisement", "anything", "dtd", "path", "schema", "scope")
    request: int
    advertisement: str
    anything: bool
    dtd: Dtd
    path: str
    schema: str
    scope: str
    def __init__(self, request: _Optional[int] = ..., advertisement: _Optional[str] = ..., anything: _Optional[bool] = ..., dtd: _Optional[_Union[Dtd, _Mapping]] = ..., path: _Optional[str] = ..., schema: _Optional[str] = ..., scope: _Optional[str] = ...) -> None: ...

class Dtd(_message.Message):
    __slots__ = ("text", "root")
    text: str
    root: str
    def __init__(self, text: _Optional[str] = ..., root: _Optional[str] = ...) -> None: ...

class Unadvertise(_message.Message):
    __slots__ = ("request", "advertisement")
    request: int
    advertisement: str
    def __init__(self, request: _Optional[int] = ..., advertisement: _Optional[str] = ...) -> None: ...

class Acknowledge(_message.Message):
    __slots__ = ("request", "subscription", "durable", "upto", "sequences")
    request: int
    subscription: int
    durable: str
    upto: int
    sequences: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[int] = ..., durable: _Optional[str] = ..., upto: _Optional[int] = ..., sequences: _Optional[_Iterable[int]] = ...) -> None: ...

class Acknowledged(_message.Message):
    __slots__ = ("entries",)
    entries: _containers.RepeatedCompositeFieldContainer[Acknowledge]
    def __init__(self, entries: _Optional[_Iterable[_Union[Acknowledge, _Mapping]]] = ...) -> None: ...

class GiveBack(_message.Message):
    __slots__ = ("subscription", "sequences", "delay")
    subscription: int
    sequences: _containers.RepeatedScalarFieldContainer[int]
    delay: int
    def __init__(self, subscription: _Optional[int] = ..., sequences: _Optional[_Iterable[int]] = ..., delay: _Optional[int] = ...) -> None: ...

class Consumed(_message.Message):
    __slots__ = ("subscriptions", "counts")
    subscriptions: _containers.RepeatedScalarFieldContainer[int]
    counts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, subscriptions: _Optional[_Iterable[int]] = ..., counts: _Optional[_Iterable[int]] = ...) -> None: ...

class BrokerFrame(_message.Message):
    __slots__ = ("welcome", "answer", "documents", "ended")
    welcome: Welcome
    answer: Answer
    documents: Documents
    ended: Ended
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ..., documents: _Optional[_Union[Documents, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("broker", "protocol", "version", "document_bytes", "message_bytes")
    broker: str
    protocol: int
    version: str
    document_bytes: int
    message_bytes: int
    def __init__(self, broker: _Optional[str] = ..., protocol: _Optional[int] = ..., version: _Optional[str] = ..., document_bytes: _Optional[int] = ..., message_bytes: _Optional[int] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("request", "problems", "ids", "queue", "unreached", "options", "window", "scope")
    request: int
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    ids: _containers.RepeatedScalarFieldContainer[str]
    queue: QueueState
    unreached: _containers.RepeatedScalarFieldContainer[str]
    options: DurableOptions
    window: int
    scope: str
    def __init__(self, request: _Optional[int] = ..., problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ..., ids: _Optional[_Iterable[str]] = ..., queue: _Optional[_Union[QueueState, _Mapping]] = ..., unreached: _Optional[_Iterable[str]] = ..., options: _Optional[_Union[DurableOptions, _Mapping]] = ..., window: _Optional[int] = ..., scope: _Optional[str] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("index", "code", "reason")
    index: int
    code: str
    reason: str
    def __init__(self, index: _Optional[int] = ..., code: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class QueueState(_message.Message):
    __slots__ = ("last", "acknowledged", "first")
    last: int
    acknowledged: int
    first: int
    def __init__(self, last: _Optional[int] = ..., acknowledged: _Optional[int] = ..., first: _Optional[int] = ...) -> None: ...

class Documents(_message.Message):
    __slots__ = ("documents", "keys", "missed")
    documents: _containers.RepeatedCompositeFieldContainer[Shared]
    keys: _containers.RepeatedCompositeFieldContainer[Keys]
    missed: _containers.RepeatedCompositeFieldContainer[Missed]
    def __init__(self, documents: _Optional[_Iterable[_Union[Shared, _Mapping]]] = ..., keys: _Optional[_Iterable[_Union[Keys, _Mapping]]] = ..., missed: _Optional[_Iterable[_Union[Missed, _Mapping]]] = ...) -> None: ...

class Shared(_message.Message):
    __slots__ = ("document", "subscriptions", "keys", "sequences", "attempts")
    document: Delivery
    subscriptions: _containers.RepeatedScalarFieldContainer[int]
    keys: _containers.RepeatedScalarFieldContainer[int]
    sequences: _containers.RepeatedScalarFieldContainer[int]
    attempts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, document: _Optional[_Union[Delivery, _Mapping]] = ..., subscriptions: _Optional[_Iterable[int]] = ..., keys: _Optional[_Iterable[int]] = ..., sequences: _Optional[_Iterable[int]] = ..., attempts: _Optional[_Iterable[int]] = ...) -> None: ...

class Keys(_message.Message):
    __slots__ = ("keys",)
    keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, keys: _Optional[_Iterable[str]] = ...) -> None: ...

class Missed(_message.Message):
    __slots__ = ("subscription", "count")
    subscription: int
    count: int
    def __init__(self, subscription: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Deliveries(_message.Message):
    __slots__ = ("deliveries",)
    deliveries: _containers.RepeatedCompositeFieldContainer[Delivery]
    def __init__(self, deliveries: _Optional[_Iterable[_Union[Delivery, _Mapping]]] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("id", "content", "keys", "sequence", "published", "headers", "attempts", "expires")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    id: str
    content: bytes
    keys: _containers.RepeatedScalarFieldContainer[str]
    sequence: int
    published: int
    headers: _containers.ScalarMap[str, str]
    attempts: int
    expires: int
    def __init__(self, id: _Optional[str] = ..., content: _Optional[bytes] = ..., keys: _Optional[_Iterable[str]] = ..., sequence: _Optional[int] = ..., published: _Optional[int] = ..., headers: _Optional[_Mapping[str, str]] = ..., attempts: _Optional[int] = ..., expires: _Optional[int] = ...) -> None: ...

class Ended(_message.Message):
    __slots__ = ("subscription", "problem")
    subscription: int
    problem: Problem
    def __init__(self, subscription: _Optional[int] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("expression", "limit", "since", "count")
    expression: Expression
    limit: int
    since: int
    count: bool
    def __init__(self, expression: _Optional[_Union[Expression, _Mapping]] = ..., limit: _Optional[int] = ..., since: _Optional[int] = ..., count: _Optional[bool] = ...) -> None: ...

class AskAnswer(_message.Message):
    __slots__ = ("documents", "examined", "matched")
    documents: _containers.RepeatedCompositeFieldContainer[Delivery]
    examined: int
    matched: int
    def __init__(self, documents: _Optional[_Iterable[_Union[Delivery, _Mapping]]] = ..., examined: _Optional[int] = ..., matched: _Optional[int] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("durable", "first", "last")
    durable: str
    first: int
    last: int
    def __init__(self, durable: _Optional[str] = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class LettersRequest(_message.Message):
    __slots__ = ("durable", "after", "limit")
    durable: str
    after: int
    limit: int
    def __init__(self, durable: _Optional[str] = ..., after: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class Letter(_message.Message):
    __slots__ = ("number", "id", "durable", "sequence", "keys", "home", "reason", "at", "size")
    number: int
    id: str
    durable: str
    sequence: int
    keys: _containers.RepeatedScalarFieldContainer[str]
    home: str
    reason: str
    at: int
    size: int
    def __init__(self, number: _Optional[int] = ..., id: _Optional[str] = ..., durable: _Optional[str] = ..., sequence: _Optional[int] = ..., keys: _Optional[_Iterable[str]] = ..., home: _Optional[str] = ..., reason: _Optional[str] = ..., at: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class LettersAnswer(_message.Message):
    __slots__ = ("letters",)
    letters: _containers.RepeatedCompositeFieldContainer[Letter]
    def __init__(self, letters: _Optional[_Iterable[_Union[Letter, _Mapping]]] = ...) -> None: ...

class ReadLetterRequest(_message.Message):
    __slots__ = ("number",)
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class LetterAnswer(_message.Message):
    __slots__ = ("letter", "document")
    letter: Letter
    document: Delivery
    def __init__(self, letter: _Optional[_Union[Letter, _Mapping]] = ..., document: _Optional[_Union[Delivery, _Mapping]] = ...) -> None: ...

class LetterNumbers(_message.Message):
    __slots__ = ("numbers", "durable")
    numbers: _containers.RepeatedScalarFieldContainer[int]
    durable: str
    def __init__(self, numbers: _Optional[_Iterable[int]] = ..., durable: _Optional[str] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ("durable",)
    durable: str
    def __init__(self, durable: _Optional[str] = ...) -> None: ...

class StatusAnswer(_message.Message):
    __slots__ = ("json", "queue")
    json: str
    queue: QueueState
    def __init__(self, json: _Optional[str] = ..., queue: _Optional[_Union[QueueState, _Mapping]] = ...) -> None: ...

class LinkFrame(_message.Message):
    __slots__ = ("sequence", "checksum", "body")
    sequence: int
    checksum: int
    body: bytes
    def __init__(self, sequence: _Optional[int] = ..., checksum: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class LinkBody(_message.Message):
    __slots__ = ("items",)
    items: _containers.RepeatedCompositeFieldContainer[LinkItem]
    def __init__(self, items: _Optional[_Iterable[_Union[LinkItem, _Mapping]]] = ...) -> None: ...

class LinkItem(_message.Message):
    __slots__ = ("hello", "heartbeat", "update", "document", "home_versions", "home_state", "addressed", "refused")
    hello: LinkHello
    heartbeat: Heartbeat
    update: Update
    document: RoutedDocument
    home_versions: HomeVersions
    home_state: HomeState
    addressed: Addressed
    refused: str
    def __init__(self, hello: _Optional[_Union[LinkHello, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., update: _Optional[_Union[Update, _Mapping]] = ..., document: _Optional[_Union[RoutedDocument, _Mapping]] = ..., home_versions: _Optional[_Union[HomeVersions, _Mapping]] = ..., home_state: _Optional[_Union[HomeState, _Mapping]] = ..., addressed: _Optional[_Union[Addressed, _Mapping]] = ..., refused: _Optional[str] = ...) -> None: ...

class LinkHello(_message.Message):
    __slots__ = ("protocol", "broker", "incarnation", "cost", "strategy", "nonce", "answered", "message_bytes", "gateway")
    protocol: int
    broker: str
    incarnation: int
    cost: float
    strategy: str
    nonce: bytes
    answered: bytes
    message_bytes: int
    gateway: str
    def __init__(self, protocol: _Optional[int] = ..., broker: _Optional[str] = ..., incarnation: _Optional[int] = ..., cost: _Optional[float] = ..., strategy: _Optional[str] = ..., nonce: _Optional[bytes] = ..., answered: _Optional[bytes] = ..., message_bytes: _Optional[int] = ..., gateway: _Optional[str] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Update(_message.Message):
    __slots__ = ("states", "advertise", "unadvertise", "serve", "changes", "depth", "known", "goes_on")
    states: _containers.RepeatedCompositeFieldContainer[LinkState]
    advertise: _containers.RepeatedCompositeFieldContainer[AdvertisementOf]
    unadvertise: _containers.RepeatedCompositeFieldContainer[AdvertisementKey]
    serve: _containers.RepeatedCompositeFieldContainer[Serve]
    changes: _containers.RepeatedCompositeFieldContainer[ChannelChange]
    depth: int
    known: Mark
    goes_on: Mark
    def __init__(self, states: _Optional[_Iterable[_Union[LinkState, _Mapping]]] = ..., advertise: _Optional[_Iterable[_Union[AdvertisementOf, _Mapping]]] = ..., unadvertise: _Optional[_Iterable[_Union[AdvertisementKey, _Mapping]]] = ..., serve: _Optional[_Iterable[_Union[Serve, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[ChannelChange, _Mapping]]] = ..., depth: _Optional[int] = ..., known: _Optional[_Union[Mark, _Mapping]] = ..., goes_on: _Optional[_Union[Mark, _Mapping]] = ...) -> None: ...

class Mark(_message.Message):
    __slots__ = ("entries", "digest")
    entries: int
    digest: bytes
    def __init__(self, entries: _Optional[int] = ..., digest: _Optional[bytes] = ...) -> None: ...

class LinkState(_message.Message):
    __slots__ = ("broker", "incarnation", "version", "links", "leaves", "members", "bits", "address")
    broker: str
    incarnation: int
    version: int
    links: _containers.RepeatedCompositeFieldContainer[Neighbour]
    leaves: _containers.RepeatedScalarFieldContainer[str]
    members: _containers.RepeatedScalarFieldContainer[str]
    bits: _containers.RepeatedScalarFieldContainer[int]
    address: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, broker: _Optional[str] = ..., incarnation: _Optional[int] = ..., version: _Optional[int] = ..., links: _Optional[_Iterable[_Union[Neighbour, _Mapping]]] = ..., leaves: _Optional[_Iterable[str]] = ..., members: _Optional[_Iterable[str]] = ..., bits: _Optional[_Iterable[int]] = ..., address: _Optional[_Iterable[int]] = ...) -> None: ...

class Neighbour(_message.Message):
    __slots__ = ("broker", "cost")
    broker: str
    cost: float
    def __init__(self, broker: _Optional[str] = ..., cost: _Optional[float] = ...) -> None: ...

class AdvertisementKey(_message.Message):
    __slots__ = ("origin", "client", "id", "scope")
    origin: str
    client: str
    id: str
    scope: int
    def __init__(self, origin: _Optional[str] = ..., client: _Optional[str] = ..., id: _Optional[str] = ..., scope: _Optional[int] = ...) -> None: ...

class AdvertisementOf(_message.Message):
    __slots__ = ("key", "anything", "dtd", "path", "schema")
    key: AdvertisementKey
    anything: bool
    dtd: Dtd
    path: str
    schema: str
    def __init__(self, key: _Optional[_Union[AdvertisementKey, _Mapping]] = ..., anything: _Optional[bool] = ..., dtd: _Optional[_Union[Dtd, _Mapping]] = ..., path: _Optional[str] = ..., schema: _Optional[str] = ...) -> None: ...

class Serve(_message.Message):
    __slots__ = ("channel", "trees", "scope")
    channel: int
    trees: _containers.RepeatedScalarFieldContainer[str]
    scope: int
    def __init__(self, channel: _Optional[int] = ..., trees: _Optional[_Iterable[str]] = ..., scope: _Optional[int] = ...) -> None: ...

class ChannelChange(_message.Message):
    __slots__ = ("channel", "forward", "withdraw")
    channel: int
    forward: _containers.RepeatedScalarFieldContainer[str]
    withdraw: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel: _Optional[int] = ..., forward: _Optional[_Iterable[str]] = ..., withdraw: _Optional[_Iterable[str]] = ...) -> None: ...

class DocumentId(_message.Message):
    __slots__ = ("origin", "incarnation", "number")
    origin: str
    incarnation: int
    number: int
    def __init__(self, origin: _Optional[str] = ..., incarnation: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class RoutedDocument(_message.Message):
    __slots__ = ("id", "tree", "content", "destinations", "members", "published", "publication", "headers", "expires", "custody", "depth", "to", "scope", "trace")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    id: DocumentId
    tree: str
    content: bytes
    destinations: _containers.RepeatedCompositeFieldContainer[Destination]
    members: Destinations
    published: int
    publication: str
    headers: _containers.ScalarMap[str, str]
    expires: int
    custody: DocumentId
    depth: int
    to: _containers.RepeatedScalarFieldContainer[str]
    scope: int
    trace: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, id: _Optional[_Union[DocumentId, _Mapping]] = ..., tree: _Optional[str] = ..., content: _Optional[bytes] = ..., destinations: _Optional[_Iterable[_Union[Destination, _Mapping]]] = ..., members: _Optional[_Union[Destinations, _Mapping]] = ..., published: _Optional[int] = ..., publication: _Optional[str] = ..., headers: _Optional[_Mapping[str, str]] = ..., expires: _Optional[int] = ..., custody: _Optional[_Union[DocumentId, _Mapping]] = ..., depth: _Optional[int] = ..., to: _Optional[_Iterable[str]] = ..., scope: _Optional[int] = ..., trace: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Destinations(_message.Message):
    __slots__ = ("book", "members", "behind")
    book: bytes
    members: bytes
    behind: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, book: _Optional[bytes] = ..., members: _Optional[bytes] = ..., behind: _Optional[_Iterable[int]] = ...) -> None: ...

class Destination(_message.Message):
    __slots__ = ("home", "settled")
    home: str
    settled: int
    def __init__(self, home: _Optional[str] = ..., settled: _Optional[int] = ...) -> None: ...

class HomeVersions(_message.Message):
    __slots__ = ("homes", "depth")
    homes: _containers.RepeatedCompositeFieldContainer[HomeVersion]
    depth: int
    def __init__(self, homes: _Optional[_Iterable[_Union[HomeVersion, _Mapping]]] = ..., depth: _Optional[int] = ...) -> None: ...

class HomeVersion(_message.Message):
    __slots__ = ("home", "epoch", "version")
    home: str
    epoch: int
    version: int
    def __init__(self, home: _Optional[str] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class HomeState(_message.Message):
    __slots__ = ("home", "epoch", "version", "base", "forward", "withdraw", "more", "depth")
    home: str
    epoch: int
    version: int
    base: int
    forward: _containers.RepeatedScalarFieldContainer[str]
    withdraw: _containers.RepeatedScalarFieldContainer[str]
    more: bool
    depth: int
    def __init__(self, home: _Optional[str] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ..., base: _Optional[int] = ..., forward: _Optional[_Iterable[str]] = ..., withdraw: _Optional[_Iterable[str]] = ..., more: _Optional[bool] = ..., depth: _Optional[int] = ...) -> None: ...

class Addressed(_message.Message):
    __slots__ = ("to", "sender", "hops", "document", "receipt", "home_ask", "home_known", "depth")
    to: str
    sender: str
    hops: int
    document: RoutedDocument
    receipt: Receipt
    home_ask: HomeAsk
    home_known: HomeKnown
    depth: int
    def __init__(self, to: _Optional[str] = ..., sender: _Optional[str] = ..., hops: _Optional[int] = ..., document: _Optional[_Union[RoutedDocument, _Mapping]] = ..., receipt: _Optional[_Union[Receipt, _Mapping]] = ..., home_ask: _Optional[_Union[HomeAsk, _Mapping]] = ..., home_known: _Optional[_Union[HomeKnown, _Mapping]] = ..., depth: _Optional[int] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("stored", "refused", "home")
    stored: _containers.RepeatedCompositeFieldContainer[DocumentNumbers]
    refused: _containers.RepeatedCompositeFieldContainer[RefusedDocument]
    home: str
    def __init__(self, stored: _Optional[_Iterable[_Union[DocumentNumbers, _Mapping]]] = ..., refused: _Optional[_Iterable[_Union[RefusedDocument, _Mapping]]] = ..., home: _Optional[str] = ...) -> None: ...

class DocumentNumbers(_message.Message):
    __slots__ = ("incarnation", "numbers", "origin")
    incarnation: int
    numbers: _containers.RepeatedScalarFieldContainer[int]
    origin: str
    def __init__(self, incarnation: _Optional[int] = ..., numbers: _Optional[_Iterable[int]] = ..., origin: _Optional[str] = ...) -> None: ...

class RefusedDocument(_message.Message):
    __slots__ = ("incarnation", "number", "reason")
    incarnation: int
    number: int
    reason: str
    def __init__(self, incarnation: _Optional[int] = ..., number: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class HomeAsk(_message.Message):
    __slots__ = ("epoch", "version", "round", "home")
    epoch: int
    version: int
    round: int
    home: str
    def __init__(self, epoch: _Optional[int] = ..., version: _Optional[int] = ..., round: _Optional[int] = ..., home: _Optional[str] = ...) -> None: ...

class HomeKnown(_message.Message):
    __slots__ = ("round", "home", "unreached")
    round: int
    home: str
    unreached: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, round: _Optional[int] = ..., home: _Optional[str] = ..., unreached: _Optional[_Iterable[str]] = ...) -> None: ...
