"""The entries of a configuration about neighbours, and the names of brokers and units."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Annotated, Final

from twigcast.broker.addresses import Address
from twigcast.broker.config_checks import read_address, refuse
from twigcast.errors import ConfigError
from twigcast.hierarchy import MOST_LEVELS

NAME: Final = re.compile(r"[\w.-]{1,100}")
"""What a broker is called in its unit, or a unit in the one around it."""


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """A neighbour to call.

    The doors of a group are one neighbour with several addresses: ``a:7400,b:7400``.
    ``server_name`` is what its certificate is made out to, where that is not the host of the
    address; ``token`` is what this broker shows there.  Where ``broker`` is given, nobody else is
    linked who answers there.
    """

    address: str
    cost: float = 1.0
    server_name: str = ""
    token: str = field(default="", repr=False)
    broker: str = ""

    def __post_init__(self) -> None:
        if any(each.port == 0 for each in self.addresses):
            refuse("address", "port 0 is no port to call; write that at which the other listens")
        if not 0 < self.cost < inf:
            refuse("cost", f"{self.cost} is no cost; write a number above 0")
        if self.broker:
            require_path("broker", self.broker, MOST_LEVELS)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where the neighbour may be."""
        return tuple(read_address("address", each.strip()) for each in self.address.split(","))


def read_text(path: Path) -> str:
    """The text of a file that a key names."""
    try:
        return path.read_text("utf-8-sig").strip()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}; write the path of a file") from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"{path}: this is not UTF-8 text; write the path of another file"
        ) from None


def _read_token(path: Path | None) -> str:
    token = "" if path is None else read_text(path)
    if path and not (token and token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError("there is no token in that file; write one, in one line")
    return token


@dataclass(frozen=True, slots=True)
class _LinkEntry:
    address: str
    cost: float = 1.0
    server_name: str = ""
    token_file: Annotated[str, _read_token] = field(default="", repr=False)
    broker: str = ""


def read_link(entry: _LinkEntry) -> LinkConfig:
    """The neighbour that an entry names."""
    token = entry.token_file
    return LinkConfig(entry.address, entry.cost, entry.server_name, token, entry.broker)


def require_path(where: str, path: str, most: int) -> None:
    """Refuse what is no path of so many names at most."""
    if path.endswith("/"):
        refuse(where, f"{path!r} ends with a slash; leave the slash out")
    names = path.split("/")
    for name in names:
        if not name:
            refuse(
                where, f"{path!r} has an empty name; write names with / between, as in north/oslo"
            )
        if name.startswith(("^", "@")):
            refuse(
                where,
                f"{name!r}: names do not begin with ^ or @, which mark what stands for units; "
                "choose another name",
            )
        if not NAME.fullmatch(name):
            refuse(
                where,
                f"{name!r} is no name for a broker or a unit; write up to 100 letters, digits, "
                "dots, hyphens and underscores",
            )
    if len(names) > most:
        refuse(
            where,
            f"{path!r} has {len(names)} names, and the most are {most}; leave out some of them",
        )
