"""Addresses: ``host:port``, with an IPv6 host in brackets."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

_ADDRESS: Final = re.compile(r"(?:\[([^][]*)\]|([^][:]*)):([0-9]{1,5})", re.ASCII)
_HOST: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?")
_NUMBERS: Final = re.compile(r"[0-9.]+")
_MOST: Final = 65_535


class Address(NamedTuple):
    """Where something listens; port 0 lets the system choose one."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> Address:
        """The address that a text names; ValueError with the remedy where it names none."""
        parts = _ADDRESS.fullmatch(text)
        if parts is None or int(parts[3]) > _MOST:
            raise ValueError(f"{text!r} is no address; {_remedy(text)}")
        bracketed, plain, port = parts.groups()
        host: str = plain if bracketed is None else bracketed
        if bracketed is not None:
            try:
                IPv6Address(bracketed)
            except ValueError:
                raise ValueError(
                    f"{text!r} has no IPv6 address in its brackets; write one, as in [::1]:7400"
                ) from None
        elif not is_host(host):
            raise ValueError(f"{text!r} is no address; {_remedy(text)}")
        return Address(host, int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on the same machine come here; in doubt, no."""
        if self.host.lower().rstrip(".") == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_everywhere(self) -> bool:
        """Whether this stands for all addresses of the machine."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return False

    def name(self, port: int | None = None) -> str:
        """A name for what listens here, at ``port`` where the system has chosen that.

        ``0.0.0.0`` is the same everywhere, so there the name of the machine stands for it.
        """
        host = socket.gethostname() if self.is_everywhere else self.host
        return re.sub(r"[^\w.-]", "_", f"{host}-{self.port if port is None else port}")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def is_host(host: str) -> bool:
    """Whether a text is an IPv4 address, or can be the name of a machine."""
    if _NUMBERS.fullmatch(host):  # what looks like an IPv4 address must be one
        try:
            ip_address(host)
        except ValueError:
            return False
        return True
    return len(host) <= 253 and _HOST.fullmatch(host) is not None


def _remedy(text: str) -> str:
    if text.startswith(("unix:", "/", ".")):
        return "sockets in the file system are not served; write host:port"
    if text.startswith(("http://", "https://", "grpc://", "dns:")):
        return "leave out what stands before the host; write host:port"
    if text.count(":") > 1 and "[" not in text:
        return "write an IPv6 address in brackets, as in [::1]:7400"
    if text.startswith(("*:", ":")):
        return f"for all addresses of the machine write 0.0.0.0{text.removeprefix('*')}"
    return "write host:port, as in 127.0.0.1:7400"
