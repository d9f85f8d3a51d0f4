"""What the HTTP port reports of a broker: health, readiness, figures, tables and links."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Final

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from twigcast.broker import status as report
from twigcast.broker.access import Permission
from twigcast.broker.http.context import Api, Caller, KnownCaller
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import Health, Links, Readiness, Status, Subscriptions, Topology
from twigcast.broker.subscriptions import Attachment
from twigcast.errors import StoreError

router = APIRouter(tags=["status"])

_log = logging.getLogger(__name__)

_STORE_PATIENCE: Final = 5.0


@router.head("/health", include_in_schema=False)
@router.get("/health", responses=answers("It lives.", 403, model=Health))
async def health() -> JSONResponse:
    """Whether the broker lives: it answers."""
    return JSONResponse({"status": "ok"})


@router.get(
    "/ready",
    responses={
        **answers("It serves.", 403, model=Readiness),
        503: {"model": Readiness, "description": "It does not, for these reasons."},
    },
)
async def ready(request: Request) -> JSONResponse:
    """Whether the broker serves: its store answers, and every configured link was called."""
    api: Api = request.app.state.api
    uncalled = [f"the link to {each} was not called yet" for each in api.broker.links.uncalled]
    reasons = [*uncalled, *await _store_problems(api)]
    if api.stopping.is_set():
        reasons.append("the broker stops")
    return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)


async def _store_problems(api: Api) -> list[str]:
    store = api.broker.store
    if store is None:
        return []
    try:
        async with asyncio.timeout(_STORE_PATIENCE):
            await store.figures()
    except TimeoutError:
        return ["the store does not answer"]
    except StoreError as error:
        # Anybody may ask; paths and causes are for whoever runs the broker.
        _log.error("not ready: %s", error)
        return ["the store cannot be read"]
    return ["the store cannot be written"] if store.full else []


@router.get(
    "/metrics",
    response_class=Response,
    responses=answers(
        "Figures for Prometheus.",
        *(401, 403),
        content={"text/plain": {"schema": {"type": "string"}}},
    ),
)
async def metrics(caller: KnownCaller) -> Response:
    """Figures for Prometheus; durable subscriptions by name for administrators, else added up."""
    caller.require_known()
    gauges = caller.api.gauges
    await gauges.look_at_store()
    figures = gauges.look(names_durables=caller.may(Permission.ADMINISTER))
    return Response(caller.broker.metrics.text(figures), media_type=CONTENT_TYPE_LATEST)


@router.get("/v1/status", responses=answers("The broker.", 401, 403, model=Status))
async def status(caller: KnownCaller) -> JSONResponse:
    """The broker at a glance."""
    caller.require_known()
    return JSONResponse(await report.status(caller.api.sessions, caller.principal))


@router.get("/v1/topology", responses=answers("The brokers.", 401, 403, model=Topology))
async def topology(caller: KnownCaller) -> JSONResponse:
    """The brokers that this one knows, and the links between them."""
    caller.require_known()
    broker = caller.broker
    known = {"links": report.topology(broker), "levels": report.levels(broker)}
    return JSONResponse({"broker": broker.name, **known})


@router.get("/v1/links", responses=answers("The links.", 401, 403, model=Links))
async def links(caller: KnownCaller) -> JSONResponse:
    """The links to neighbours."""
    caller.require_known()
    broker = caller.broker
    problems = broker.links.problems | broker.links.refused_lately()
    return JSONResponse({"up": report.links(broker), "problems": problems})


@router.get(
    "/v1/subscriptions",
    responses=answers("The subscriptions.", 401, 403, model=Subscriptions),
)
async def subscriptions(caller: KnownCaller) -> JSONResponse:
    """The caller's durable subscriptions; for administrators all, and the connected clients."""
    caller.require(Permission.SUBSCRIBE)
    clients = _clients(caller) if caller.may(Permission.ADMINISTER) else None
    durable = report.durable_queues(caller.broker, caller.principal)
    return JSONResponse({"durable": durable, "clients": clients})


def _clients(caller: Caller) -> list[dict[str, Any]]:
    return [
        {
            "session": session.link,
            "principal": session.principal.name,
            "client": session.client,
            "connected_seconds": round(time.time() - session.since, 3),
            "subscriptions": [
                {
                    "name": str(each.number),
                    "durable": each.durable.name if isinstance(each, Attachment) else None,
                    "waiting": (
                        each.durable.queue if isinstance(each, Attachment) else each
                    ).waiting,
                    "credit": each.credit,
                }
                for each in session.subscriptions()
            ],
        }
        for session in caller.api.sessions
    ]
