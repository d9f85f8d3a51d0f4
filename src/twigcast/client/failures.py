"""What goes wrong on the way, in Twigcast's own errors: nothing of gRPC reaches a caller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import grpc

from twigcast.errors import ConnectionFailedError, NetworkError, RefusedError, TwigcastError
from twigcast.wire import messages

_Code = grpc.StatusCode

_REFUSALS: Final = {
    _Code.UNAUTHENTICATED: "not-allowed",
    _Code.PERMISSION_DENIED: "not-allowed",
    _Code.INVALID_ARGUMENT: "invalid",
    _Code.OUT_OF_RANGE: "invalid",
    _Code.FAILED_PRECONDITION: "invalid",
    _Code.UNIMPLEMENTED: "invalid",
    _Code.NOT_FOUND: "unknown",
    _Code.ALREADY_EXISTS: "taken",
    _Code.RESOURCE_EXHAUSTED: "quota",
}
"""Statuses by which a broker says no; under the others the connection is what failed."""

_PASSING: Final = frozenset({"quota", "unavailable"})
"""Codes of refusals that may be otherwise in a while."""

CODE_KEY: Final = "twigcast-code"
"""Trailing metadata in which a broker may say which of the wire's codes a refusal has."""

_Error = TypeVar("_Error", bound=TwigcastError)


class BrokenStreamError(Exception):
    """The broker says what the protocol does not allow; the connection is given up."""


@contextmanager
def own_cancellation() -> Iterator[None]:
    """Let a task be cancelled, but tell it from a call that the other side cancelled.

    gRPC raises CancelledError for either.
    """
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise BrokenStreamError("the connection is lost: the call was cancelled") from None


def translated(error: grpc.aio.AioRpcError, address: str) -> TwigcastError:
    """What a failed call means to the caller."""
    status, details = error.code(), (error.details() or "").strip()
    code = _REFUSALS.get(status)
    for key, value in error.trailing_metadata() or ():
        if key == CODE_KEY:
            code = value if isinstance(value, str) else value.decode("ascii", "replace")
    if code is not None:
        return RefusedError(details or f"the broker at {address} refuses ({status.name})", code)
    if status is _Code.DEADLINE_EXCEEDED:
        return ConnectionFailedError(address, "the broker does not answer in time")
    if status is _Code.UNAVAILABLE and _is_unreachable(details):
        return unreachable(address, details)
    return ConnectionFailedError(
        address, f"the connection is lost: {details or status.name.lower().replace('_', ' ')}"
    )


def is_lasting(error: TwigcastError) -> bool:
    """Whether a session that ends so would end so again: a wrong token, a wrong protocol."""
    return isinstance(error, RefusedError) and error.code not in _PASSING


def unreachable(address: str, details: str) -> ConnectionFailedError:
    """Nothing answers at an address; what to look at first."""
    if "handshak" in details.lower() or "ssl" in details.lower():
        remedy = "does the broker use TLS, and did the authority given as ca sign its certificate?"
    else:
        remedy = "is a broker running there? `twigcast broker` starts one"
        details = details.rpartition("to remote host: ")[2]
    return ConnectionFailedError(address, f"no broker answers ({details}); {remedy}")


def refused(problem: messages.Problem) -> RefusedError:
    """The error of a problem that the broker found."""
    return RefusedError(problem.reason or f"the broker refuses: {problem.code}", problem.code)


def closed(what: str) -> NetworkError:
    """The error of using what has been closed."""
    return NetworkError(f"the {what} is closed; make a new one")


def fresh(error: _Error) -> _Error:
    """An error equal to one that is kept, so that each raising has a traceback of its own."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy


def _is_unreachable(details: str) -> bool:
    """Whether gRPC speaks of a connection that never was; a lost one is told in other words."""
    return "failed to connect" in details.lower() or "resolution" in details.lower()
