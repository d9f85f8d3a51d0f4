"""Where a connection comes from: whom to count it for.

An IPv4 address counts for itself.  Of IPv6 whoever has one address has 2**64 of them, so the
network of 64 bits counts.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote


def peer_of(host: str) -> str:
    """Whom to count an address for; what is no address counts for itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


def grpc_peer(text: str) -> str:
    """Whom to count a peer for, from what gRPC calls it: ``ipv4:10.0.0.1:5``."""
    kind, _, address = unquote(text).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return text
    return peer_of(address.rpartition(":")[0].strip("[]"))
