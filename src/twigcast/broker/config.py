"""The configuration of a broker: a dataclass for each section of its TOML file.

    file ──twigcast.tables──► BrokerConfig ──────────────► safety.check_safe
           types, known keys  ranges, what goes together   open doors

Sections are made by :func:`read_config` or from flags, and check themselves, whoever made them.  A
mistake is a :class:`~twigcast.errors.ConfigError` with the key.  Durations are in seconds, sizes in
bytes.  ``docs/configuration.md`` shows every key; what rules mean is in
:mod:`twigcast.broker.access`.

Annotations say what stands in a file.  Links and principals are written in another form, since
their tokens stand in files: ``_LinkEntry`` and ``_PrincipalEntry``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from pathlib import Path
from typing import Annotated, Final, cast

from twigcast.broker.addresses import Address, is_host
from twigcast.broker.config_checks import (
    read_address,
    refuse,
    require_above_zero,
    require_distinct,
    require_one_of,
)
from twigcast.broker.link_config import NAME, LinkConfig, read_link, read_text, require_path
from twigcast.broker.store_config import StoreConfig
from twigcast.broker.tokens import PREFIX, hash_token, is_hashed
from twigcast.documents import ExpandedName
from twigcast.errors import ConfigError, SchemaError
from twigcast.hierarchy import MOST_LEVELS, units_around
from twigcast.language import NAME as ELEMENT
from twigcast.matching import READERS, ReaderName
from twigcast.routing import Strategy
from twigcast.schema import Schema
from twigcast.tables import Duration, Size, Text, read_file, show

_ROOT: Final = re.compile(rf"(?:Q\{{([^{{}}]*)\}})?({ELEMENT})")
_MOST_COUNT: Final = 2**31 - 1
_MOST_MESSAGE: Final = 2_000_000_000  # gRPC counts the bytes of a message in 31 bits

ANONYMOUS: Final = "anonymous"
"""The name of clients without credentials."""


class Permission(Enum):
    """What a client may be allowed to do."""

    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"
    ASK = "ask"
    ADVERTISE = "advertise"
    LINK = "link"
    ADMINISTER = "administer"


EVERYTHING: Final = frozenset(Permission)


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """The most of each thing; ``publications_per_second`` is for each client, 0 for no limit."""

    document_bytes: Size = 4_000_000
    message_bytes: Size = 4_000_000
    clients: int = 10_000
    subscriptions_per_client: int = 1_000
    expressions_per_client: int = 10_000
    expression_length: int = 4_000
    expression_steps: int = 200
    queue_memory: Size = 250_000
    queue_disk: Size = 64_000_000
    queues_memory: Size = 64_000_000
    queues_disk: Size = 1_000_000_000
    publications_per_second: float = 0.0
    advertisements_per_client: int = 100
    window: int = 1_024

    @property
    def queue_bytes(self) -> int:
        """What one queue may hold, wherever."""
        return self.queue_memory + self.queue_disk

    def __post_init__(self) -> None:
        for name in COUNTS:
            value: int = getattr(self, name)
            if not 1 <= value <= _MOST_COUNT:
                refuse(f"limits.{name}", f"{value} is out of range; write 1 to {_MOST_COUNT:,}")
        for name in ("document_bytes", "message_bytes", "queue_memory", "queues_memory"):
            require_above_zero(f"limits.{name}", getattr(self, name))
        if self.message_bytes > _MOST_MESSAGE:
            refuse("limits.message_bytes", "no message can be as large; write 2GB or less")
        if self.document_bytes > self.message_bytes:
            refuse(
                "limits.document_bytes",
                f"a document of {self.document_bytes:,} bytes does not fit into a message of "
                f"{self.message_bytes:,}; raise message_bytes, or lower this",
            )
        for name, most in (("expression_length", 20_000), ("expression_steps", 500)):
            if getattr(self, name) > most:
                refuse(f"limits.{name}", f"links carry no more; write {most:,} or less")
        for name in ("queue_disk", "queues_disk"):
            if getattr(self, name) < 0:
                refuse(f"limits.{name}", "a size is not below 0; write 0 or more")
        if not 0 <= self.publications_per_second < inf:
            refuse("limits.publications_per_second", "write a number, or 0 for no limit")


COUNTS: Final = (
    "clients",
    "subscriptions_per_client",
    "expressions_per_client",
    "expression_length",
    "expression_steps",
    "advertisements_per_client",
    "window",
)
"""The limits that are neither sizes nor rates."""


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """Files in PEM form: the broker's certificate, its key, and the authority that it trusts.

    The authority signs the certificates of other brokers and, where clients must show one, theirs.
    """

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    require_client_certificate: bool = False

    def __post_init__(self) -> None:
        if self.certificate is not None and self.key is None:
            refuse("tls.key", "a certificate is of no use without its key; name the key's file")
        if self.key is not None and self.certificate is None:
            refuse("tls.certificate", "a key is of no use without its certificate; name its file")
        if self.require_client_certificate:
            if self.ca is None:
                refuse("tls.ca", "client certificates need an authority; name its certificate")
            if self.certificate is None:
                refuse("tls.certificate", "client certificates need TLS; name a certificate")

    @property
    def is_used(self) -> bool:
        """Whether links are encrypted; clients' connections are where there is a certificate."""
        return self.certificate is not None or self.ca is not None


@dataclass(frozen=True, slots=True)
class HeartbeatConfig:
    """How often a silent link says that it lives, and after what silence it is taken for dead."""

    interval: Duration = 1.0
    suspect_after: Duration = 3.0

    def __post_init__(self) -> None:
        require_above_zero("heartbeat.interval", self.interval)
        if not self.interval < self.suspect_after < inf:
            refuse(
                "heartbeat.suspect_after",
                f"{self.suspect_after:g} seconds leave no time for a heartbeat each "
                f"{self.interval:g}; write more, three times the interval say",
            )


@dataclass(frozen=True, slots=True)
class AccessConfig:
    """What clients without credentials may do (None: everything where nobody has any)."""

    anonymous: frozenset[Permission] | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class PrincipalConfig:
    """Somebody known, by the hashes of tokens, by the common name of a certificate, or by both."""

    name: str
    tokens: tuple[str, ...] = ()
    certificate: str = ""

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable() or len(self.name) > 200:
            refuse("name", "this is no name; write a text of printable characters")
        if self.name == ANONYMOUS:
            refuse("name", f"{ANONYMOUS!r} are those without credentials; choose another name")
        for hashed in self.tokens:
            if hashed.startswith(PREFIX):
                refuse(
                    "token",
                    "this is a token itself, which only its owner should have; write "
                    f'"{hash_token(hashed)}" instead',
                )
            if not is_hashed(hashed):
                refuse("token", 'this is no hash of a token; write "sha256:" and 64 hex digits')
        if not self.tokens and not self.certificate:
            refuse("", "nobody can show to be this; add token, token_file or certificate")


def _read_hashes(path: Path | None) -> tuple[str, ...]:
    lines = [] if path is None else [line.strip() for line in read_text(path).splitlines()]
    hashes = tuple(line for line in lines if line and not line.startswith("#"))
    if path and not hashes:
        raise ConfigError("there is no hash in that file; write one a line")
    return hashes


@dataclass(frozen=True, slots=True)
class _PrincipalEntry:
    name: str
    token: str | None = None
    token_file: Annotated[tuple[str, ...], _read_hashes] = ()
    certificate: str = ""


def _principal(entry: _PrincipalEntry) -> PrincipalConfig:
    own = () if entry.token is None else (entry.token,)
    return PrincipalConfig(entry.name, own + entry.token_file, entry.certificate)


def _parse_root(text: str) -> ExpandedName:
    name = _ROOT.fullmatch(text)
    if name is None:
        raise ConfigError(f"{show(text)} is no name of an element; write name or Q{{uri}}name")
    return name[1] or "", name[2]


@dataclass(frozen=True, slots=True)
class _SchemaEntry:
    dtd: Path | None = None
    xsd: Path | None = None
    root: str = ""

    def __post_init__(self) -> None:
        if (self.dtd is None) == (self.xsd is None):
            raise ConfigError('a schema is either a dtd or an xsd; write as in dtd = "news.dtd"')


def _read_schema(entry: Path | _SchemaEntry) -> Schema:
    root = None
    if isinstance(entry, Path):
        path = entry
    else:
        path = entry.dtd or entry.xsd or Path()
        root = entry.root or None
    try:
        if isinstance(entry, Path):
            return Schema.of(path)
        return Schema.from_xsd(path, root) if entry.xsd else Schema.from_dtd(path, root)
    except SchemaError as error:
        reason = str(error).removeprefix(f"{path}: ").replace("pass root= ", "write root = ")
        raise ConfigError(f"{path}: {reason}") from None


@dataclass(frozen=True, slots=True)
class RuleConfig:
    """What principals whose names fit ``who`` may do, and with which things.

    ``roots`` or ``schemas`` narrow what they may publish, ``to`` whom they may address documents
    to, ``durable`` the names of the durable subscriptions that they may use; ``brokers`` widens
    which brokers they may link as.
    """

    who: str
    allow: frozenset[Permission]
    roots: frozenset[Annotated[ExpandedName, _parse_root]] = frozenset()
    schemas: tuple[Annotated[Schema, _read_schema], ...] = ()
    to: tuple[Text, ...] = ()
    durable: tuple[Text, ...] = ()
    brokers: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if not self.who:
            refuse("who", 'this is for nobody; write a name, or a pattern as in "desk-*"')
        if not self.allow:
            refuse("allow", 'this allows nothing; write as in ["publish", "subscribe"]')
        if self.roots and self.schemas:
            refuse("roots", "a schema has its root; keep one of roots and schemas, or two rules")
        for key, values, permission in (
            ("roots", self.roots, Permission.PUBLISH),
            ("schemas", self.schemas, Permission.PUBLISH),
            ("to", self.to, Permission.PUBLISH),
            ("durable", self.durable, Permission.SUBSCRIBE),
            ("brokers", self.brokers, Permission.LINK),
        ):
            if values and permission not in self.allow:
                refuse(key, f"this needs {permission.value!r}; add it to allow, or leave this out")


def _reader(name: str) -> ReaderName:
    return cast("ReaderName", name)  # the configuration checks it


def _gateway(value: object) -> bool | str:
    if isinstance(value, bool | str):
        return value
    raise ConfigError(
        f"this is {show(value)}; write true, or the outermost unit that it stands for, as in "
        '"north"'
    )


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The whole configuration of one broker.

    ``unit`` is the path of the unit that it is in.  It stands for that unit in the unit around, if
    ``gateway`` is true, or for all its units up to the one that ``gateway`` names.  What a gateway
    says its units want, and hears from outside, are ``most_patterns`` at most; 0 is no limit.
    """

    name: str = ""
    unit: str = ""
    gateway: Annotated[bool | str, _gateway] = False
    most_patterns: int = 0
    listen: str = "127.0.0.1:7400"
    http: str = ""
    http_hosts: tuple[str, ...] = ()
    strategy: str = "covering"
    reader: Annotated[ReaderName, _reader] = "checked"
    links: tuple[Annotated[LinkConfig, read_link], ...] = ()
    store: StoreConfig = field(default_factory=StoreConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    tls: TlsConfig = field(default_factory=TlsConfig)
    heartbeat: HeartbeatConfig = field(default_factory=HeartbeatConfig)
    access: AccessConfig = field(default_factory=AccessConfig)
    principals: tuple[Annotated[PrincipalConfig, _principal], ...] = ()
    rules: tuple[RuleConfig, ...] = ()

    def __post_init__(self) -> None:
        unit, slash, name = self.name.rpartition("/")
        if slash:
            refuse("name", f"this is a path; write name = {name!r} and unit = {unit!r}")
        if self.name and not NAME.fullmatch(self.name):
            refuse(
                "name",
                f"{self.name!r} is no name for a broker; write up to 100 letters, digits, "
                "dots, hyphens and underscores",
            )
        self._check_unit()
        listen = self.listen_address
        if self.http_address == listen and listen.port:
            refuse("http", f"{listen} is where the broker listens; choose another port")
        for host in self.http_hosts:
            if not is_host(host):
                refuse("http_hosts", f"{host!r} is no name of a host; write as in rome.example")
        try:
            Strategy.named(self.strategy)
        except ValueError as error:
            refuse("strategy", str(error))
        require_one_of("reader", self.reader, READERS)
        self._check_door()
        self._check_links()
        self._check_principals()

    def _check_unit(self) -> None:
        if self.unit:
            require_path("unit", self.unit, MOST_LEVELS - 1)
        if self.most_patterns < 0:
            refuse("most_patterns", f"{self.most_patterns} is out of range; write 0 or more")
        if not self.gateway:
            if self.most_patterns:
                refuse(
                    "most_patterns", "this is for gateways; say gateway = true, or leave this out"
                )
            return
        if not self.unit:
            refuse(
                "gateway",
                "this broker is in no unit, so it can stand for none; write its unit, as in "
                'unit = "north", or leave this out',
            )
        units = units_around(f"{self.unit}/x")[:-1]
        if self.gateway is not True and self.gateway not in units:
            refuse(
                "gateway",
                f"this broker is not in the unit {self.gateway!r}; write true, or one of: "
                f"{', '.join(units)}",
            )
        if not self.store.is_used:
            refuse(
                "gateway",
                "a gateway takes documents over on its disk, and this broker has no store; name "
                "one in [store], or with --store",
            )

    def _check_door(self) -> None:
        if not self.store.door:
            return
        if not self.name:
            refuse("name", "the doors of a group have a name in common; write it")
        for key, address in (("listen", self.listen_address), ("http", self.http_address)):
            if address is not None and not address.port:
                refuse(key, "other doors of the group must know the port; write one above 0")

    def _check_links(self) -> None:
        addresses = [each for link in self.links for each in link.addresses]
        require_distinct("links", "address", map(str, addresses))
        if self.listen_address in addresses:
            refuse("links", f"{self.listen} is this broker's own address; remove that link")
        for link in self.links:
            if link.server_name and not self.tls.is_used:
                refuse(
                    "links",
                    f"server_name of {link.address} is for TLS, which is not set up; name tls.ca, "
                    "or leave it out",
                )

    def _check_principals(self) -> None:
        principals = self.principals
        require_distinct("principals", "name", (each.name for each in principals))
        require_distinct(
            "principals", "token", (hashed for each in principals for hashed in each.tokens)
        )
        certificates = [each.certificate for each in principals if each.certificate]
        require_distinct("principals", "certificate", certificates)
        if certificates and not self.tls.require_client_certificate:
            refuse(
                "principals",
                f"the certificate {certificates[0]!r} is never asked for; set "
                "tls.require_client_certificate = true",
            )
        if self.rules and not self.authenticates:
            refuse(
                "rules",
                "rules are for principals, and there are none; add [[principals]], or say in "
                "access.anonymous what everybody may do",
            )

    @property
    def listen_address(self) -> Address:
        """``listen``, parsed."""
        return read_address("listen", self.listen)

    @property
    def http_address(self) -> Address | None:
        """``http``, parsed; None where there is no such port."""
        return read_address("http", self.http) if self.http else None

    @property
    def authenticates(self) -> bool:
        """Whether anybody can be known here."""
        return bool(self.principals) or self.tls.require_client_certificate

    @property
    def gateway_of(self) -> str | None:
        """The outermost unit that the broker is a gateway of; None if it is none."""
        return (self.unit if self.gateway is True else self.gateway) or None

    def name_at(self, port: int | None = None) -> str:
        """The broker's full name: its unit, and its own, derived from where it listens if absent.

        ``port`` is the one that the system has chosen, where ``listen`` leaves that to it.
        """
        name = self.name or self.listen_address.name(port)
        return f"{self.unit}/{name}" if self.unit else name


def read_config(path: str | os.PathLike[str]) -> BrokerConfig:
    """The configuration in a file.

    Raises :class:`~twigcast.errors.ConfigError` with the file, the key, what is wrong there and
    what to write instead.
    """
    return read_file(path, BrokerConfig)
