"""What the HTTP port refuses: a status, and ``{"code": ..., "reason": ...}`` as JSON.

The codes are those of the wire (``Problem`` in ``twigcast.proto``); each has one status, except
that a document which cannot be stored is 507, and what else a broker cannot do now is 503.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, Literal

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from twigcast.broker import client_session
from twigcast.errors import TwigcastError

Code = Literal[
    "bad-expression",
    "invalid",
    "malformed",
    "not-allowed",
    "quota",
    "taken",
    "timeout",
    "too-large",
    "unauthenticated",
    "unavailable",
    "unknown",
]

STATUSES: Final[Mapping[str, int]] = {
    "bad-expression": 400,
    "invalid": 400,
    "malformed": 400,
    "unauthenticated": 401,
    "not-allowed": 403,
    "unknown": 404,
    "timeout": 408,
    "taken": 409,
    "too-large": 413,
    "quota": 429,
    "unavailable": 503,
}
NOT_STORED: Final = 507


class Problem(BaseModel):
    """Why something was refused."""

    model_config = ConfigDict(extra="forbid")

    code: Code = Field(description="For programs.")
    reason: str = Field(description="For people: what is wrong, where, and the remedy.")


class HttpError(TwigcastError):
    """A refusal with its status, where that is not the usual one, or was counted already."""

    def __init__(
        self, reason: str, code: str, status: int | None = None, *, is_counted: bool = False
    ) -> None:
        self.reason = reason
        self.code = code
        self.status = STATUSES.get(code, 400) if status is None else status
        self.is_counted = is_counted
        super().__init__(reason, code)

    def __str__(self) -> str:
        return self.reason


def code_of(error: TwigcastError) -> str:
    """The code of an error, as the wire names it."""
    return error.code if isinstance(error, HttpError) else client_session.code_of(error)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the description of an endpoint says of the refusals that it has."""
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase}
        for status in sorted(statuses)
    }


def problem_response(status: int, code: str, reason: str) -> JSONResponse:
    """A refusal."""
    headers = {"Cache-Control": "no-store"}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        headers["Connection"] = "close"  # what is left of the body is not read
    return JSONResponse({"code": code, "reason": reason}, status, headers)


async def on_refusal(request: Request, error: Exception) -> JSONResponse:
    """Answer with an error that was raised on purpose."""
    assert isinstance(error, TwigcastError)
    code = code_of(error)
    status = error.status if isinstance(error, HttpError) else STATUSES.get(code, 400)
    if not (isinstance(error, HttpError) and error.is_counted):
        request.app.state.api.broker.metrics.refused(code)
    return problem_response(status, code, str(error))


async def on_bad_parameters(request: Request, error: Exception) -> JSONResponse:
    """Answer where a parameter is missing, or is not what it should be."""
    assert isinstance(error, RequestValidationError)
    request.app.state.api.broker.metrics.refused("invalid")
    return problem_response(400, "invalid", explain(error.errors()))


async def on_no_endpoint(request: Request, error: Exception) -> JSONResponse:
    """Answer where there is no such path, or it does not take this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        reason = f"there is no {request.url.path!r} here; GET / lists what there is"
        return problem_response(404, "unknown", reason)
    reason = f"{request.method} is not for {request.url.path!r}; GET / lists what there is"
    response = problem_response(error.status_code, "invalid", reason)
    response.headers.update(error.headers or {})
    return response


def explain(errors: Any) -> str:
    """The errors of pydantic, in a line."""
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in errors
    )
