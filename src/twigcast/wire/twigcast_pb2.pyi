from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClientFrame(_message.Message):
    __slots__ = ("hello", "publish", "subscribe", "unsubscribe", "advertise", "unadvertise", "acknowledge", "consumed")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    UNSUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
    ADVERTISE_FIELD_NUMBER: _ClassVar[int]
    UNADVERTISE_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    CONSUMED_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    publish: Publish
    subscribe: Subscribe
    unsubscribe: Unsubscribe
    advertise: Advertise
    unadvertise: Unadvertise
    acknowledge: Acknowledge
    consumed: Consumed
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., publish: _Optional[_Union[Publish, _Mapping]] = ..., subscribe: _Optional[_Union[Subscribe, _Mapping]] = ..., unsubscribe: _Optional[_Union[Unsubscribe, _Mapping]] = ..., advertise: _Optional[_Union[Advertise, _Mapping]] = ..., unadvertise: _Optional[_Union[Unadvertise, _Mapping]] = ..., acknowledge: _Optional[_Union[Acknowledge, _Mapping]] = ..., consumed: _Optional[_Union[Consumed, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "client")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    client: str
    def __init__(self, protocol: _Optional[int] = ..., client: _Optional[str] = ...) -> None: ...

class Publish(_message.Message):
    __slots__ = ("request", "publications")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    PUBLICATIONS_FIELD_NUMBER: _ClassVar[int]
    request: int
    publications: _containers.RepeatedCompositeFieldContainer[Publication]
    def __init__(self, request: _Optional[int] = ..., publications: _Optional[_Iterable[_Union[Publication, _Mapping]]] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("content", "id", "again")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    id: str
    again: bool
    def __init__(self, content: _Optional[bytes] = ..., id: _Optional[str] = ..., again: _Optional[bool] = ...) -> None: ...

class Subscribe(_message.Message):
    __slots__ = ("request", "subscription", "expressions", "durable", "window", "since_sequence", "since_time")
    class ExpressionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Expression
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Expression, _Mapping]] = ...) -> None: ...
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    SINCE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    request: int
    subscription: str
    expressions: _containers.MessageMap[str, Expression]
    durable: str
    window: int
    since_sequence: int
    since_time: int
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[str] = ..., expressions: _Optional[_Mapping[str, Expression]] = ..., durable: _Optional[str] = ..., window: _Optional[int] = ..., since_sequence: _Optional[int] = ..., since_time: _Optional[int] = ...) -> None: ...

class Expression(_message.Message):
    __slots__ = ("xpath", "namespaces")
    class NamespacesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    XPATH_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    xpath: str
    namespaces: _containers.ScalarMap[str, str]
    def __init__(self, xpath: _Optional[str] = ..., namespaces: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Unsubscribe(_message.Message):
    __slots__ = ("request", "subscription", "forget", "durable")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    request: int
    subscription: str
    forget: bool
    durable: str
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[str] = ..., forget: _Optional[bool] = ..., durable: _Optional[str] = ...) -> None: ...

class Advertise(_message.Message):
    __slots__ = ("request", "advertisement", "anything", "dtd", "path")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ADVERTISEMENT_FIELD_NUMBER: _ClassVar[int]
    ANYTHING_FIELD_NUMBER: _ClassVar[int]
    DTD_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    request: int
    advertisement: str
    anything: bool
    dtd: Dtd
    path: str
    def __init__(self, request: _Optional[int] = ..., advertisement: _Optional[str] = ..., anything: _Optional[bool] = ..., dtd: _Optional[_Union[Dtd, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class Dtd(_message.Message):
    __slots__ = ("text", "root")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    text: str
    root: str
    def __init__(self, text: _Optional[str] = ..., root: _Optional[str] = ...) -> None: ...

class Unadvertise(_message.Message):
    __slots__ = ("request", "advertisement")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ADVERTISEMENT_FIELD_NUMBER: _ClassVar[int]
    request: int
    advertisement: str
    def __init__(self, request: _Optional[int] = ..., advertisement: _Optional[str] = ...) -> None: ...

class Acknowledge(_message.Message):
    __slots__ = ("request", "subscription", "durable", "upto", "sequences")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    request: int
    subscription: str
    durable: str
    upto: int
    sequences: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, request: _Optional[int] = ..., subscription: _Optional[str] = ..., durable: _Optional[str] = ..., upto: _Optional[int] = ..., sequences: _Optional[_Iterable[int]] = ...) -> None: ...

class Consumed(_message.Message):
    __slots__ = ("subscription", "count")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    subscription: str
    count: int
    def __init__(self, subscription: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class BrokerFrame(_message.Message):
    __slots__ = ("welcome", "answer", "deliveries", "ended")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    answer: Answer
    deliveries: Deliveries
    ended: Ended
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ..., deliveries: _Optional[_Union[Deliveries, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("broker", "protocol", "version", "document_bytes", "message_bytes")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    broker: str
    protocol: int
    version: str
    document_bytes: int
    message_bytes: int
    def __init__(self, broker: _Optional[str] = ..., protocol: _Optional[int] = ..., version: _Optional[str] = ..., document_bytes: _Optional[int] = ..., message_bytes: _Optional[int] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("request", "problems", "ids", "queue")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    request: int
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    ids: _containers.RepeatedScalarFieldContainer[str]
    queue: QueueState
    def __init__(self, request: _Optional[int] = ..., problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ..., ids: _Optional[_Iterable[str]] = ..., queue: _Optional[_Union[QueueState, _Mapping]] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("index", "code", "reason")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    index: int
    code: str
    reason: str
    def __init__(self, index: _Optional[int] = ..., code: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class QueueState(_message.Message):
    __slots__ = ("last", "acknowledged", "first")
    LAST_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    last: int
    acknowledged: int
    first: int
    def __init__(self, last: _Optional[int] = ..., acknowledged: _Optional[int] = ..., first: _Optional[int] = ...) -> None: ...

class Deliveries(_message.Message):
    __slots__ = ("subscription", "deliveries", "missed")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    subscription: str
    deliveries: _containers.RepeatedCompositeFieldContainer[Delivery]
    missed: int
    def __init__(self, subscription: _Optional[str] = ..., deliveries: _Optional[_Iterable[_Union[Delivery, _Mapping]]] = ..., missed: _Optional[int] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("id", "content", "keys", "sequence", "published")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: bytes
    keys: _containers.RepeatedScalarFieldContainer[str]
    sequence: int
    published: int
    def __init__(self, id: _Optional[str] = ..., content: _Optional[bytes] = ..., keys: _Optional[_Iterable[str]] = ..., sequence: _Optional[int] = ..., published: _Optional[int] = ...) -> None: ...

class Ended(_message.Message):
    __slots__ = ("subscription", "problem")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    subscription: str
    problem: Problem
    def __init__(self, subscription: _Optional[str] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("expression", "limit", "since")
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    expression: Expression
    limit: int
    since: int
    def __init__(self, expression: _Optional[_Union[Expression, _Mapping]] = ..., limit: _Optional[int] = ..., since: _Optional[int] = ...) -> None: ...

class AskAnswer(_message.Message):
    __slots__ = ("documents", "examined")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    EXAMINED_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[Delivery]
    examined: int
    def __init__(self, documents: _Optional[_Iterable[_Union[Delivery, _Mapping]]] = ..., examined: _Optional[int] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("durable", "first", "last")
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    durable: str
    first: int
    last: int
    def __init__(self, durable: _Optional[str] = ..., first: _Optional[int] = ..., last: _Optional[int] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ("durable",)
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    durable: str
    def __init__(self, durable: _Optional[str] = ...) -> None: ...

class StatusAnswer(_message.Message):
    __slots__ = ("json", "queue")
    JSON_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    json: str
    queue: QueueState
    def __init__(self, json: _Optional[str] = ..., queue: _Optional[_Union[QueueState, _Mapping]] = ...) -> None: ...

class LinkFrame(_message.Message):
    __slots__ = ("sequence", "checksum", "body")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    checksum: int
    body: bytes
    def __init__(self, sequence: _Optional[int] = ..., checksum: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class LinkBody(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[LinkItem]
    def __init__(self, items: _Optional[_Iterable[_Union[LinkItem, _Mapping]]] = ...) -> None: ...

class LinkItem(_message.Message):
    __slots__ = ("hello", "heartbeat", "update", "document", "home_versions", "home_state", "addressed", "refused")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    HOME_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    HOME_STATE_FIELD_NUMBER: _ClassVar[int]
    ADDRESSED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
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
    __slots__ = ("protocol", "broker", "incarnation", "cost", "strategy", "nonce", "answered", "message_bytes")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    BROKER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    broker: str
    incarnation: int
    cost: float
    strategy: str
    nonce: bytes
    answered: bytes
    message_bytes: int
    def __init__(self, protocol: _Optional[int] = ..., broker: _Optional[str] = ..., incarnation: _Optional[int] = ..., cost: _Optional[float] = ..., strategy: _Optional[str] = ..., nonce: _Optional[bytes] = ..., answered: _Optional[bytes] = ..., message_bytes: _Optional[int] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Update(_message.Message):
    __slots__ = ("states", "advertise", "unadvertise", "serve", "changes")
    STATES_FIELD_NUMBER: _ClassVar[int]
    ADVERTISE_FIELD_NUMBER: _ClassVar[int]
    UNADVERTISE_FIELD_NUMBER: _ClassVar[int]
    SERVE_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[LinkState]
    advertise: _containers.RepeatedCompositeFieldContainer[AdvertisementOf]
    unadvertise: _containers.RepeatedCompositeFieldContainer[AdvertisementKey]
    serve: _containers.RepeatedCompositeFieldContainer[Serve]
    changes: _containers.RepeatedCompositeFieldContainer[ChannelChange]
    def __init__(self, states: _Optional[_Iterable[_Union[LinkState, _Mapping]]] = ..., advertise: _Optional[_Iterable[_Union[AdvertisementOf, _Mapping]]] = ..., unadvertise: _Optional[_Iterable[_Union[AdvertisementKey, _Mapping]]] = ..., serve: _Optional[_Iterable[_Union[Serve, _Mapping]]] = ..., changes: _Optional[_Iterable[_Union[ChannelChange, _Mapping]]] = ...) -> None: ...

class LinkState(_message.Message):
    __slots__ = ("broker", "incarnation", "version", "links")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    broker: str
    incarnation: int
    version: int
    links: _containers.RepeatedCompositeFieldContainer[Neighbour]
    def __init__(self, broker: _Optional[str] = ..., incarnation: _Optional[int] = ..., version: _Optional[int] = ..., links: _Optional[_Iterable[_Union[Neighbour, _Mapping]]] = ...) -> None: ...

class Neighbour(_message.Message):
    __slots__ = ("broker", "cost")
    BROKER_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    broker: str
    cost: float
    def __init__(self, broker: _Optional[str] = ..., cost: _Optional[float] = ...) -> None: ...

class AdvertisementKey(_message.Message):
    __slots__ = ("origin", "client", "id")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    origin: str
    client: str
    id: str
    def __init__(self, origin: _Optional[str] = ..., client: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class AdvertisementOf(_message.Message):
    __slots__ = ("key", "anything", "dtd", "path")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ANYTHING_FIELD_NUMBER: _ClassVar[int]
    DTD_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    key: AdvertisementKey
    anything: bool
    dtd: Dtd
    path: str
    def __init__(self, key: _Optional[_Union[AdvertisementKey, _Mapping]] = ..., anything: _Optional[bool] = ..., dtd: _Optional[_Union[Dtd, _Mapping]] = ..., path: _Optional[str] = ...) -> None: ...

class Serve(_message.Message):
    __slots__ = ("channel", "trees")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TREES_FIELD_NUMBER: _ClassVar[int]
    channel: int
    trees: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel: _Optional[int] = ..., trees: _Optional[_Iterable[str]] = ...) -> None: ...

class ChannelChange(_message.Message):
    __slots__ = ("channel", "forward", "withdraw")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_FIELD_NUMBER: _ClassVar[int]
    channel: int
    forward: _containers.RepeatedScalarFieldContainer[str]
    withdraw: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel: _Optional[int] = ..., forward: _Optional[_Iterable[str]] = ..., withdraw: _Optional[_Iterable[str]] = ...) -> None: ...

class DocumentId(_message.Message):
    __slots__ = ("origin", "incarnation", "number")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    origin: str
    incarnation: int
    number: int
    def __init__(self, origin: _Optional[str] = ..., incarnation: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class RoutedDocument(_message.Message):
    __slots__ = ("id", "tree", "content", "destinations", "epoch", "published")
    ID_FIELD_NUMBER: _ClassVar[int]
    TREE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    id: DocumentId
    tree: str
    content: bytes
    destinations: _containers.RepeatedCompositeFieldContainer[Destination]
    epoch: str
    published: int
    def __init__(self, id: _Optional[_Union[DocumentId, _Mapping]] = ..., tree: _Optional[str] = ..., content: _Optional[bytes] = ..., destinations: _Optional[_Iterable[_Union[Destination, _Mapping]]] = ..., epoch: _Optional[str] = ..., published: _Optional[int] = ...) -> None: ...

class Destination(_message.Message):
    __slots__ = ("home", "number", "settled")
    HOME_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    home: str
    number: int
    settled: int
    def __init__(self, home: _Optional[str] = ..., number: _Optional[int] = ..., settled: _Optional[int] = ...) -> None: ...

class HomeVersions(_message.Message):
    __slots__ = ("homes",)
    HOMES_FIELD_NUMBER: _ClassVar[int]
    homes: _containers.RepeatedCompositeFieldContainer[HomeVersion]
    def __init__(self, homes: _Optional[_Iterable[_Union[HomeVersion, _Mapping]]] = ...) -> None: ...

class HomeVersion(_message.Message):
    __slots__ = ("home", "epoch", "version")
    HOME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    home: str
    epoch: str
    version: int
    def __init__(self, home: _Optional[str] = ..., epoch: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class HomeState(_message.Message):
    __slots__ = ("home", "epoch", "version", "base", "forward", "withdraw", "more")
    HOME_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    home: str
    epoch: str
    version: int
    base: int
    forward: _containers.RepeatedScalarFieldContainer[str]
    withdraw: _containers.RepeatedScalarFieldContainer[str]
    more: bool
    def __init__(self, home: _Optional[str] = ..., epoch: _Optional[str] = ..., version: _Optional[int] = ..., base: _Optional[int] = ..., forward: _Optional[_Iterable[str]] = ..., withdraw: _Optional[_Iterable[str]] = ..., more: _Optional[bool] = ...) -> None: ...

class Addressed(_message.Message):
    __slots__ = ("to", "sender", "hops", "document", "receipt")
    TO_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    to: str
    sender: str
    hops: int
    document: RoutedDocument
    receipt: Receipt
    def __init__(self, to: _Optional[str] = ..., sender: _Optional[str] = ..., hops: _Optional[int] = ..., document: _Optional[_Union[RoutedDocument, _Mapping]] = ..., receipt: _Optional[_Union[Receipt, _Mapping]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("epoch", "upto", "numbers")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    upto: int
    numbers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, epoch: _Optional[str] = ..., upto: _Optional[int] = ..., numbers: _Optional[_Iterable[int]] = ...) -> None: ...
