"""What goes wrong with a connection, in Twigcast's own errors: nothing of gRPC reaches a caller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import grpc

from twigcast.errors import ConnectionFailedError, NetworkError, RefusedError, TwigcastError
from twigcast.wire import Instead, is_unreachable, messages, short_reason, what_instead

_Code = grpc.StatusCode

_REFUSALS: Final = {
    _Code.UNAUTHENTICATED: "unauthenticated",
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

_NO_BROKER: Final = "no broker answers"
_START_ONE: Final = "is a broker running there? `twigcast broker` starts one"
_INSTEAD: Final = {
    Instead.NO_HOST: "there is no host of that name",
    Instead.NO_LOOKUP: "the name of the host cannot be looked up; is the network there?",
    Instead.OTHER_PORT: "that is no broker's port; an HTTP port perhaps",
    Instead.OTHER_NAME: (
        "something listens there, but its certificate is not made out to that host; call it by a "
        "name or an address that the certificate has"
    ),
    Instead.OTHER_AUTHORITY: (
        "something listens there, but its certificate is not by the authority that is trusted "
        "here; is that the right one (--ca, ca=)?"
    ),
    Instead.NO_TLS: (
        "something listens there, but does not speak TLS; connect without it (no --ca, ca=, tls=)"
    ),
    Instead.HUNG_UP: (
        "something listens there but hung up; does it use TLS (--ca, ca=), or want a "
        "certificate (--certificate and --key, certificate= and key=)?"
    ),
}

_Error = TypeVar("_Error", bound=TwigcastError)


class BrokenStreamError(Exception):
    """The broker says what the protocol does not allow; the connection is given up."""


@contextmanager
def own_cancellation() -> Iterator[None]:
    """Let a task be cancelled, but distinguish that from a call that the other side cancelled.

    gRPC raises CancelledError for either.
    """
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise BrokenStreamError("the connection is lost: the call was cancelled") from None


def translated(
    error: grpc.aio.AioRpcError, address: str, *, is_greeted: bool = True
) -> TwigcastError:
    """What a failed call means to the caller.

    ``is_greeted`` says whether a broker is known to be there: a connection that ends before that
    was none.
    """
    status, details = error.code(), (error.details() or "").strip()
    code = _REFUSALS.get(status)
    for key, value in error.trailing_metadata() or ():
        if key == CODE_KEY:
            code = value if isinstance(value, str) else value.decode("ascii", "replace")
    if code is not None:
        return RefusedError(details or f"the broker at {address} refuses ({status.name})", code)
    if status is _Code.DEADLINE_EXCEEDED:
        return ConnectionFailedError(address, "the broker does not answer in time")
    if status is _Code.UNAVAILABLE and (
        is_unreachable(details) or (not is_greeted and what_instead(details) is Instead.HUNG_UP)
    ):
        return unreachable(address, details)
    return ConnectionFailedError(
        address, f"the connection is lost: {details or status.name.lower().replace('_', ' ')}"
    )


def is_lasting(error: TwigcastError) -> bool:
    """Whether a session that ends so would end so again: a wrong token, a wrong protocol."""
    return isinstance(error, RefusedError) and error.code not in _PASSING


def unreachable(address: str, details: str) -> ConnectionFailedError:
    """No broker answers at an address: what there is instead, and what to look at first."""
    instead = what_instead(details)
    if instead is not None:
        return ConnectionFailedError(address, f"{_NO_BROKER}; {_INSTEAD[instead]}")
    return ConnectionFailedError(address, f"{_NO_BROKER} ({short_reason(details)}); {_START_ONE}")


def none_reachable(addresses: str, problems: Sequence[TwigcastError]) -> ConnectionFailedError:
    """No broker answers at any of several addresses; what is to be said of several is said once."""
    by_advice: dict[str, list[str]] = {}
    for problem in problems:
        if isinstance(problem, ConnectionFailedError):
            what, _, advice = problem.reason.partition("; ")
            detail = what.removeprefix(_NO_BROKER).strip()
            said = f"{problem.address} {detail}".rstrip()
        else:
            said, advice = str(problem), ""
        by_advice.setdefault(advice, []).append(said)
    parts = [
        ", ".join(said) + (f": {advice}" if advice else "") for advice, said in by_advice.items()
    ]
    return ConnectionFailedError(addresses, f"{_NO_BROKER}: {'; '.join(parts)}")


def refused(problem: messages.Problem) -> RefusedError:
    """The error of a problem that the broker reports."""
    return RefusedError(problem.reason or f"the broker refuses: {problem.code}", problem.code)


def closed(what: str) -> NetworkError:
    """The error of using what has been closed."""
    return NetworkError(f"the {what} is closed; make a new one")


def fresh(error: _Error) -> _Error:
    """An error equal to one that is kept, so that each raising has a traceback of its own."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
