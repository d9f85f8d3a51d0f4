"""What the HTTP port refuses: a status, and ``{"code": ..., "reason": ...}`` as JSON.

The codes are those of the wire (``Problem`` in ``twigcast.proto``); each has one status, except
that a document which cannot be stored is 507, and what else a broker cannot do now is 503.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from twigcast.broker.log_handler import one_line
from twigcast.broker.session_errors import code_of
from twigcast.errors import TwigcastError

_log = logging.getLogger(__name__)

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
    "full": 507,
}
NOT_STORED: Final = 507

Code = Annotated[str, Field(json_schema_extra={"enum": [*STATUSES]})]
"""One of the codes, as the description of an answer has it."""


class Problem(BaseModel):
    """Why something was refused."""

    model_config = ConfigDict(extra="forbid")

    code: Code = Field(description="For programs.")
    reason: str = Field(description="For people: what is wrong, where, and the remedy.")


def answers(
    description: str, *refusals: int, status: int = 200, **said: Any
) -> dict[int | str, dict[str, Any]]:
    """How an endpoint answers, for its description: when all is well, and its refusals.

    ``said`` has the ``model`` of the answer, or its ``content``.
    """
    return {
        status: {"description": description, **said},
        **{
            each: {"model": Problem, "description": HTTPStatus(each).phrase}
            for each in sorted(refusals)
        },
    }


def problem_response(code: str, reason: str, status: int | None = None) -> JSONResponse:
    """A refusal; its status is that of the code, unless another one is given."""
    status = status or STATUSES.get(code, 400)
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
    request.app.state.api.broker.metrics.refused(code)
    _log.info(
        "%s %s from %s is refused: %s",
        request.method,
        one_line(request.url.path),
        request.client.host if request.client else "somewhere",
        one_line(str(error)),
    )
    return problem_response(code, str(error))


async def on_bad_parameters(request: Request, error: Exception) -> JSONResponse:
    """Answer where a parameter is missing, or is not what it should be."""
    assert isinstance(error, RequestValidationError)
    request.app.state.api.broker.metrics.refused("invalid")
    return problem_response("invalid", explain(error.errors()))


async def on_no_endpoint(request: Request, error: Exception) -> JSONResponse:
    """Answer where there is no such path, or it does not take this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        reason = f"there is no {request.url.path!r} here; GET / lists what there is"
        return problem_response("unknown", reason)
    reason = f"{request.method} is not for {request.url.path!r}; GET / lists what there is"
    response = problem_response("invalid", reason, error.status_code)
    response.headers.update(error.headers or {})
    return response


def explain(errors: Any) -> str:
    """The errors of pydantic, in a line."""
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in errors
    )
