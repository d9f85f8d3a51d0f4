"""The HTTP port of a broker, beside gRPC: publish, subscribe, ask, look and administer with curl.

    connection ──uvicorn──► FastAPI ──identify──► endpoint ──► client session or broker

The port runs in the event loop of the broker.  Requests call the same client sessions
(:mod:`~twigcast.broker.client_session`) as gRPC does, so the same access rules, limits and queues
hold, and nothing is held in memory beyond them.  What each endpoint takes and gives is in its
OpenAPI document.
"""

from __future__ import annotations

from twigcast.broker.http.api import HttpServer

__all__ = ["HttpServer"]
