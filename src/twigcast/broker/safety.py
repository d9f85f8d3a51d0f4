"""Whether a broker may be started as configured, and what whoever starts it should know."""

from __future__ import annotations

import stat
from pathlib import Path

from twigcast.broker.config import BrokerConfig
from twigcast.errors import ConfigError


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
            if not all(each.is_loopback for each in link.addresses)
        ]
    folder = config.store.folder
    if folder is not None and _others_enter(folder):
        sentences.append(f"other users can look into the store's folder; chmod 700 {folder}")
    return tuple(sentences)


def _others_enter(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False  # whoever opens the store says what is wrong
