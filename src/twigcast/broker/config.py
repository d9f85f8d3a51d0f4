"""The configuration of a broker: a TOML file, or flags, to one value that makes sense.

    file ──twigcast.tables──► config_sections.BrokerConfig ──► check_safe
           types, known keys  ranges, what goes together       open doors

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

Files are relative to the configuration file.  Durations are numbers of seconds or texts with
``ms``, ``s``, ``m``, ``h``, ``d``, ``w``; sizes are numbers of bytes or texts with ``kB``, ``MB``,
``GB``, ``TB`` (thousands) or ``KiB``, ``MiB``, ``GiB``, ``TiB``.  What rules mean is in
:mod:`twigcast.broker.access`.
"""

from __future__ import annotations

import os

from twigcast.broker.addresses import Address
from twigcast.broker.config_sections import (
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
from twigcast.errors import ConfigError
from twigcast.tables import read_file

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


def read_config(path: str | os.PathLike[str]) -> BrokerConfig:
    """The configuration in a file.

    Raises :class:`~twigcast.errors.ConfigError` with the file, the key, what is wrong there and
    what to write instead.
    """
    return read_file(path, BrokerConfig)


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
    sentences = []
    addresses = [config.listen_address, config.http_address]
    reachable = [each for each in addresses if each is not None and not each.is_loopback]
    if reachable and not config.authenticates:
        sentences.append(f"everybody who reaches {reachable[0]} may use this broker")
    elif reachable and config.tls.certificate is None:
        sentences.append(f"tokens and documents travel to {reachable[0]} unencrypted; set up [tls]")
    if not config.tls.is_used:
        sentences += [
            f"the link to {link.address} is not encrypted; set up [tls]"
            for link in config.links
            if not Address.parse(link.address).is_loopback
        ]
    return tuple(sentences)
