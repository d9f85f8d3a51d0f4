"""What the commands that speak with a live broker share: how they reach it, and from when on."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from twigcast.cli.console import note, warn
from twigcast.errors import NetworkError
from twigcast.times import FORMS, SPANS, read_span, read_time, to_datetime

if TYPE_CHECKING:
    from twigcast.client import Client, SyncClient

DEFAULT_ADDRESS: Final = "127.0.0.1:7400"
_ADDRESS_HELP: Final = "Where the broker listens; several with commas between are tried in turn."

BROKER = Annotated[
    str, typer.Option(metavar="HOST:PORT", envvar="TWIGCAST_BROKER", help=_ADDRESS_HELP)
]
TOKEN = Annotated[
    str | None,
    typer.Option(
        envvar="TWIGCAST_TOKEN",
        help="Who you are, to a broker that asks.  Others on this machine see what stands in a "
        "command; what stands in the environment they do not.",
    ),
]
CA = Annotated[
    Path | None,
    typer.Option(help="The authority that signed the broker's certificate (PEM); encrypts."),
]
CERTIFICATE = Annotated[
    Path | None, typer.Option(help="Your own certificate (PEM), for a broker that asks for one.")
]
KEY = Annotated[Path | None, typer.Option(help="The key of your certificate (PEM).")]


def require_scope(scope: str | None) -> str | None:
    """Refuse a scope that is empty, as of a variable without a value: it would mean everywhere."""
    if scope == "":
        raise typer.BadParameter("this is empty; name a unit, or leave --scope out")
    return scope


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a broker is reached, as the options say."""

    address: str
    token: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise typer.BadParameter("--certificate and --key go together; give both, or neither")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise typer.BadParameter("a token consists of printable ASCII characters")

    def connect(self) -> Client:
        """A client for programs with an event loop; not connected yet."""
        client: Client = load_client().connect(**asdict(self))
        return client

    def connect_sync(self, timeout: float = 10.0) -> SyncClient:
        """A client that is connected."""
        client: SyncClient = load_client().connect_sync(**asdict(self), timeout=timeout)
        return client


def load_client() -> ModuleType:
    """The client, which takes a while to load and needs what is not always installed."""
    with requiring("client"):
        from twigcast import client
    return client


@contextmanager
def requiring(extra: str) -> Iterator[None]:
    """Import what an extra installs; a missing package is an error with the remedy.

    gRPC would write messages of its own to standard error; ours say the same in fewer words.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        yield
    except ImportError as error:
        # Our own packages raise errors of their own for what they lack.
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        if not isinstance(missing, ModuleNotFoundError) or _is_ours(missing):
            raise
        raise NetworkError(
            f"{missing.name} is not installed; pip install 'twigcast[{extra}]'"
        ) from None


def _is_ours(missing: ModuleNotFoundError) -> bool:
    return (missing.name or "").partition(".")[0] == "twigcast"


def parse_since(text: str, besides: str = "") -> datetime:
    """A moment of the past: a time of ISO 8601, UTC unless it names a zone, or how long ago.

    ``besides`` names what the option takes, too, for the error.
    """
    try:
        return to_datetime(read_time(text))
    except ValueError:
        raise typer.BadParameter(
            f"--since takes {besides}{FORMS}, or how long ago as {SPANS}, not {text!r}"
        ) from None


def parse_expiry(text: str) -> datetime | timedelta:
    """A moment to come, as :func:`parse_since` reads one, or how long each document has."""
    try:
        return read_span(text) or to_datetime(read_time(text))
    except ValueError:
        raise typer.BadParameter(
            f"--expires takes {FORMS}, or how long from now as {SPANS}, not {text!r}"
        ) from None


@contextmanager
def reporting_connection() -> Iterator[None]:
    """Report on standard error when the connection is lost, and when it is there again."""
    log, handler = logging.getLogger("twigcast.client"), _Reporter()
    former = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(former[0])
        log.propagate = former[1]


class _Reporter(logging.Handler):
    """Shows log records as notes and warnings of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        (warn if record.levelno >= logging.WARNING else note)(record.getMessage())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM interrupts as Ctrl-C does, so that what was begun is tidied up."""
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _interrupt(_: int) -> None:
    raise KeyboardInterrupt


@contextmanager
def noting_signals(most: int = 1, end: Callable[[int], None] = _interrupt) -> Iterator[list[int]]:
    """Signals that ask for an end are noted in a list, so that nothing is left half done.

    A signal after ``most`` of them ends at once, by ``end``.
    """
    came: list[int] = []

    def take(number: int, _: FrameType | None) -> None:
        came.append(number)
        if len(came) > most:
            end(number)

    former = {one: signal.signal(one, take) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)
