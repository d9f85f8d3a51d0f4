"""``/v1/letters``: documents that were set aside, listed, read, replayed and dropped."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import JSONResponse

from twigcast.broker.http.bodies import body_of, read_model
from twigcast.broker.http.context import KnownCaller, only
from twigcast.broker.http.documents import document_fields
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import LetterBody, LetterChoice, LetterList, LetterNumbers
from twigcast.broker.http.pages_elsewhere import require_mark
from twigcast.broker.store import Letter
from twigcast.times import show_time

router = APIRouter(tags=["letters"])

Number = Annotated[int, Path(description="The number of a letter.", ge=0, le=2**63 - 1)]


@router.get(
    "/v1/letters",
    dependencies=[only("durable", "after", "limit")],
    responses=answers("The letters.", 400, 401, 403, 404, 503, model=LetterList),
)
async def letters(
    caller: KnownCaller,
    durable: Annotated[str, Query(description="Of this durable subscription only.")] = "",
    after: Annotated[
        int, Query(ge=0, le=2**63 - 1, description="Only those with higher numbers.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="The most letters.")] = 100,
) -> JSONResponse:
    """The letters of the caller's durable subscriptions; for administrators all."""
    listed = await caller.broker.letters.listed(caller.principal, durable, after, limit)
    return JSONResponse({"letters": [_facts(each) for each in listed]})


@router.get(
    "/v1/letters/{number}",
    responses=answers("The letter.", 400, 401, 403, 404, 503, model=LetterBody),
)
async def letter(caller: KnownCaller, number: Number) -> JSONResponse:
    """A letter with its document."""
    letter, document = await caller.broker.letters.read(caller.principal, number)
    return JSONResponse({**_facts(letter), "document": document_fields(document)})


@router.post(
    "/v1/letters/replay",
    dependencies=[Depends(require_mark)],
    responses=answers(
        "These are letters no more.", 400, 401, 403, 404, 408, 413, 503, model=LetterNumbers
    ),
    openapi_extra={"requestBody": body_of(LetterChoice, required=True)},
)
async def replay(request: Request, caller: KnownCaller) -> JSONResponse:
    """Give letters back to their queues; those without a queue are published anew."""
    chosen = await read_model(request, LetterChoice)
    return _numbers(
        await caller.broker.letters.replay(caller.principal, chosen.numbers, chosen.durable)
    )


@router.delete(
    "/v1/letters",
    dependencies=[only("durable")],
    responses=answers("These are letters no more.", 400, 401, 403, 404, 503, model=LetterNumbers),
)
async def drop_all(
    caller: KnownCaller,
    durable: Annotated[str, Query(description="Whose letters to drop.", min_length=1)],
) -> JSONResponse:
    """Let go of all letters of a durable subscription."""
    return _numbers(await caller.broker.letters.drop(caller.principal, (), durable))


@router.delete(
    "/v1/letters/{number}",
    responses=answers("It is a letter no more.", 400, 401, 403, 404, 503, model=LetterNumbers),
)
async def drop(caller: KnownCaller, number: Number) -> JSONResponse:
    """Let go of a letter."""
    return _numbers(await caller.broker.letters.drop(caller.principal, (number,)))


def _numbers(numbers: list[int]) -> JSONResponse:
    return JSONResponse({"numbers": numbers})


def _facts(letter: Letter) -> dict[str, Any]:
    return {
        "number": letter.number,
        "id": letter.id,
        "durable": letter.durable or None,
        "sequence": letter.sequence or None,
        "keys": list(letter.keys),
        "home": letter.home or None,
        "reason": letter.reason,
        "at": show_time(letter.at),
        "bytes": letter.size,
    }
