"""The HTTP port of a broker, beside gRPC: publish, subscribe, ask, look and administer with curl.

    connection ──uvicorn──► FastAPI ──identify──► endpoint ──► session or broker

It runs in the event loop of the broker and is a guest there: whatever goes through it is subject
to the same access rules, limits and queues as what comes over gRPC (:mod:`~twigcast.broker.
http.sessions`), and nothing of it is held in memory beyond them.  What each endpoint takes and
gives is in its OpenAPI document.
"""

from __future__ import annotations

from twigcast.broker.http.api import HttpServer

__all__ = ["HttpServer"]
