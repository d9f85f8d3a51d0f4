"""The configuration of a broker: a TOML file, or flags, to one value that makes sense.

    file ──config_reading──► tables ──read_config──► config_sections.BrokerConfig ──► check_safe
                             types, known keys       ranges, what goes together       open doors

Everything that may stand in a file, with its default where it has one::

    name = "rome"                      # derived from listen if absent
    listen = "127.0.0.1:7400"          # port 0: the system chooses
    http = ""                          # "127.0.0.1:7480", say; none if empty
    strategy = "covering"              # as all brokers of the network

    [[links]]
    address = "paris.example:7400"
    cost = 1.0
    server_name = "paris"              # to whom its certificate is made out; the host if absent
    token_file = "paris.token"         # what this broker shows there, the token itself

    [store]
    folder = ""                        # nothing is kept if empty
    keep = "durable"                   # or "all", so that documents can be asked
    sync = "full"                      # or "normal": quicker, but a loss of power costs documents
    retention_age = "7d"
    acknowledged_age = "1h"
    retention_size = "10GB"

    [limits]
    document_bytes = "4MB"
    message_bytes = "4MB"
    clients = 10_000
    subscriptions_per_client = 1_000
    expressions_per_client = 10_000
    expression_length = 4_000
    expression_steps = 200
    queue_memory = "250kB"             # of one ephemeral subscription
    queue_disk = "64MB"
    publications_per_second = 0        # of one client; 0: no limit
    advertisements_per_client = 100
    window = 1_024

    [tls]
    certificate = "rome.pem"           # no TLS if absent
    key = "rome.key"
    ca = "authority.pem"               # who vouches for other brokers, and for clients
    require_client_certificate = true  # false if absent

    [heartbeat]
    interval = 1.0
    suspect_after = 3.0

    [access]
    anonymous = ["subscribe"]          # what clients without credentials may do
    insecure = false                   # true opens a broker to the network to everybody

    [[principals]]
    name = "desk-7"
    token = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    token_file = "desk-7.hashes"       # a hash a line: an old token and a new one, say
    certificate = "desk-7.example"     # the common name

    [[rules]]
    who = "desk-*"
    allow = ["publish", "subscribe", "ask", "advertise", "link", "administer"]
    roots = ["nitf", "Q{urn:x}alert"]  # of what they publish; anything if absent
    durable = ["desk-*"]               # names of durable subscriptions; any if absent
    brokers = ["rome-*"]               # as whom they may link; their own name if absent

    [[rules]]
    who = "agency"
    allow = ["publish"]
    schemas = ["news.dtd", { dtd = "nitf.dtd", root = "nitf" }]

Files are found from where the configuration is.  Durations are numbers of seconds or texts with
``ms``, ``s``, ``m``, ``h``, ``d``, ``w``; sizes are numbers of bytes or texts with ``kB``, ``MB``,
``GB``, ``TB`` (thousands) or ``KiB``, ``MiB``, ``GiB``, ``TiB``.  What rules mean is told in
:mod:`twigcast.broker.access`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from twigcast.broker.addresses import Address
from twigcast.broker.config_reading import ConfigTable, did_you_mean, load_toml, show
from twigcast.broker.config_sections import (
    COUNTS,
    AccessConfig,
    BrokerConfig,
    HeartbeatConfig,
    LimitsConfig,
    LinkConfig,
    Permission,
    PrincipalConfig,
    RuleConfig,
    StoreConfig,
    TlsConfig,
)
from twigcast.documents import ExpandedName
from twigcast.errors import ConfigError, SchemaError
from twigcast.language import NAME
from twigcast.schema import Schema

__all__ = [
    "AccessConfig",
    "BrokerConfig",
    "HeartbeatConfig",
    "LimitsConfig",
    "LinkConfig",
    "Permission",
    "PrincipalConfig",
    "RuleConfig",
    "StoreConfig",
    "TlsConfig",
    "cautions",
    "check_safe",
    "read_config",
]

_Entry = TypeVar("_Entry", LinkConfig, PrincipalConfig, RuleConfig)
_ROOT: Final = re.compile(rf"(?:Q\{{([^{{}}]*)\}})?({NAME})")
_PERMISSIONS: Final = tuple(permission.value for permission in Permission)
_LINK_KEYS: Final = ("address", "cost", "server_name", "token_file")
_PRINCIPAL_KEYS: Final = ("name", "token", "token_file", "certificate")


def _keys(section: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(section))


def read_config(path: str | os.PathLike[str]) -> BrokerConfig:
    """The configuration in a file.

    Raises :class:`~twigcast.errors.ConfigError` with the file, the key, what is wrong there and
    what to write instead.
    """
    path = Path(path)
    try:
        folder = path.parent.absolute()
        return _read(ConfigTable(load_toml(path), _keys(BrokerConfig), folder))
    except ConfigError as error:
        raise ConfigError(error.reason, str(path), error.where) from None


def _read(file: ConfigTable) -> BrokerConfig:
    plain = BrokerConfig()
    return BrokerConfig(
        name=file.text("name"),
        listen=file.text("listen", plain.listen),
        http=file.text("http"),
        strategy=file.text("strategy", plain.strategy),
        links=tuple(_made(_link, entry) for entry in file.entries("links", _LINK_KEYS, "address")),
        store=_store(file.table("store", _keys(StoreConfig))),
        limits=_limits(file.table("limits", _keys(LimitsConfig))),
        tls=_tls(file.table("tls", _keys(TlsConfig))),
        heartbeat=_heartbeat(file.table("heartbeat", _keys(HeartbeatConfig))),
        access=_access(file.table("access", _keys(AccessConfig))),
        principals=tuple(
            _made(_principal, entry)
            for entry in file.entries("principals", _PRINCIPAL_KEYS, "name")
        ),
        rules=tuple(
            _made(_rule, entry) for entry in file.entries("rules", _keys(RuleConfig), "who")
        ),
    )


def _made(make: Callable[[ConfigTable], _Entry], table: ConfigTable) -> _Entry:
    """What an entry of a list says; its own complaints name no place but the key."""
    try:
        return make(table)
    except ConfigError as error:
        if error.where.startswith(table.place):
            raise
        table.refuse(error.where, error.reason)


def _link(table: ConfigTable) -> LinkConfig:
    token = table.content("token_file")
    if token == "" or (
        token and not (token.isascii() and token.isprintable() and " " not in token)
    ):
        table.refuse("token_file", "there is no token in that file; write one, in one line")
    return LinkConfig(
        table.text("address"),
        table.number("cost", 1.0),
        table.text("server_name"),
        token or "",
    )


def _store(table: ConfigTable) -> StoreConfig:
    plain = StoreConfig()
    return StoreConfig(
        folder=table.path("folder"),
        keep=table.text("keep", plain.keep),
        sync=table.text("sync", plain.sync),
        retention_age=table.duration("retention_age", plain.retention_age),
        acknowledged_age=table.duration("acknowledged_age", plain.acknowledged_age),
        retention_size=table.size("retention_size", plain.retention_size),
    )


def _limits(table: ConfigTable) -> LimitsConfig:
    plain = LimitsConfig()
    return LimitsConfig(
        document_bytes=table.size("document_bytes", plain.document_bytes),
        message_bytes=table.size("message_bytes", plain.message_bytes),
        queue_memory=table.size("queue_memory", plain.queue_memory),
        queue_disk=table.size("queue_disk", plain.queue_disk),
        publications_per_second=table.number(
            "publications_per_second", plain.publications_per_second
        ),
        **{name: table.count(name, getattr(plain, name)) for name in COUNTS},
    )


def _tls(table: ConfigTable) -> TlsConfig:
    return TlsConfig(
        certificate=table.path("certificate"),
        key=table.path("key"),
        ca=table.path("ca"),
        require_client_certificate=table.flag("require_client_certificate", False),
    )


def _heartbeat(table: ConfigTable) -> HeartbeatConfig:
    plain = HeartbeatConfig()
    return HeartbeatConfig(
        table.duration("interval", plain.interval),
        table.duration("suspect_after", plain.suspect_after),
    )


def _access(table: ConfigTable) -> AccessConfig:
    said = "anonymous" in table.values
    return AccessConfig(
        _permissions(table, "anonymous") if said else None, table.flag("insecure", False)
    )


def _principal(table: ConfigTable) -> PrincipalConfig:
    hashes = [table.text("token")] if "token" in table.values else []
    listed = table.content("token_file")
    if listed is not None:
        lines = [line.strip() for line in listed.splitlines()]
        found = [line for line in lines if line and not line.startswith("#")]
        if not found:
            table.refuse("token_file", "there is no hash in that file; write one a line")
        hashes += found
    return PrincipalConfig(table.text("name"), tuple(hashes), table.text("certificate"))


def _rule(table: ConfigTable) -> RuleConfig:
    return RuleConfig(
        who=table.text("who"),
        allow=_permissions(table, "allow"),
        roots=frozenset(_root(table, text) for text in table.texts("roots")),
        schemas=_schemas(table),
        durable=table.texts("durable"),
        brokers=table.texts("brokers"),
    )


def _permissions(table: ConfigTable, key: str) -> frozenset[Permission]:
    names = table.texts(key)
    for name in names:
        if name not in _PERMISSIONS:
            table.refuse(
                key, f"there is no permission {name!r}; {did_you_mean(name, _PERMISSIONS)}"
            )
    return frozenset(Permission(name) for name in names)


def _root(table: ConfigTable, text: str) -> ExpandedName:
    found = _ROOT.fullmatch(text)
    if found is None:
        table.refuse("roots", f"{show(text)} is no name of an element; write name or Q{{uri}}name")
    return found[1] or "", found[2]


def _schemas(table: ConfigTable) -> tuple[Schema, ...]:
    values = table.values.get("schemas", [])
    if not isinstance(values, list):
        table.refuse("schemas", f"this is {show(values)}; write a list of DTD files")
    found = []
    for value in values:
        given = {"dtd": value} if isinstance(value, str) else value
        entry = ConfigTable(given, ("dtd", "root"), table.folder, table.where("schemas"))
        path = entry.path("dtd")
        if path is None:
            table.refuse("schemas", 'an entry names no DTD; write as in { dtd = "news.dtd" }')
        root = entry.text("root") or None
        try:
            found.append(Schema.from_dtd(path, root))
        except SchemaError as error:
            said = str(error).removeprefix(f"{path}: ")
            table.refuse("schemas", f"{path}: {said.replace('pass root= ', 'write root = ')}")
    return tuple(found)


def check_safe(config: BrokerConfig) -> None:
    """Refuse a broker that the network can reach and that knows nobody, unless that is wanted."""
    if config.authenticates or config.access.insecure:
        return
    for where, address in (("listen", config.listen_address), ("http", config.http_address)):
        if address is not None and not address.is_loopback:
            raise ConfigError(
                f"{address} can be reached from other machines, and whoever reaches it could do "
                "everything; add [[principals]] or client certificates, listen at 127.0.0.1, or "
                "open it on purpose with --insecure or [access] insecure = true",
                where=where,
            )


def cautions(config: BrokerConfig) -> tuple[str, ...]:
    """What is allowed but should be known to whoever runs the broker; a sentence each."""
    found = []
    addresses = [config.listen_address, config.http_address]
    reachable = [each for each in addresses if each is not None and not each.is_loopback]
    if reachable and not config.authenticates:
        found.append(f"everybody who reaches {reachable[0]} may use this broker")
    elif reachable and config.tls.certificate is None:
        found.append(f"tokens and documents travel to {reachable[0]} unencrypted; set up [tls]")
    if not config.tls.is_used:
        found += [
            f"the link to {link.address} is not encrypted; set up [tls]"
            for link in config.links
            if not Address.parse(link.address).is_loopback
        ]
    return tuple(found)
