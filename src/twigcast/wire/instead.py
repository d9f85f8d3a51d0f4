"""What there is where no broker answers, by words of gRPC's; each end has its own words for it."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Instead(Enum):
    """What there is instead of a broker; the value is what gRPC's text has then."""

    NO_HOST = ("domain name not found", "name or service not known", "nodename nor")
    NO_LOOKUP = ("errors resolving", "resolution", "lookup")
    OTHER_PORT = ("settings frame", "http1.x")
    OTHER_NAME = ("hostname verification",)
    OTHER_AUTHORITY = ("certificate_verify_failed",)
    NO_TLS = ("wrong_version_number",)
    HUNG_UP = ("socket closed", "connection reset", "broken pipe", "handshak", "ssl")


_FAILED: Final = ("failed to connect", *Instead.NO_LOOKUP.value)


def what_instead(details: str) -> Instead | None:
    """What there is instead of a broker; None where nothing answers."""
    return next((each for each in Instead if _has(details, each.value)), None)


def is_unreachable(details: str) -> bool:
    """Whether gRPC speaks of a connection that never was; a lost one has other words."""
    return _has(details, _FAILED)


def short_reason(details: str) -> str:
    """Why nothing answers, without the address, which the caller knows."""
    return details.rpartition("to remote host: ")[2]


def _has(details: str, words: tuple[str, ...]) -> bool:
    return any(each in details.lower() for each in words)
