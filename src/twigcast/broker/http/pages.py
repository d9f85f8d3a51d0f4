"""The description of the HTTP port: for programs, as an OpenAPI document, and a page for people.

Neither says anything of the broker, so both are open; the page loads nothing from elsewhere.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from twigcast.broker.http.errors import Problem
from twigcast.broker.http.models import (
    Acknowledgement,
    BackupRequest,
    Counted,
    DeliveredDocument,
    DocumentBody,
    LetterChoice,
    Missed,
    PublishedBatch,
    Pulled,
    Refusal,
    Unreached,
)

OPEN: Final = frozenset({"/health", "/ready"})
"""The paths that need no credentials."""

_NAMED: Final[tuple[type[BaseModel], ...]] = (
    Acknowledgement,
    BackupRequest,
    Counted,
    DeliveredDocument,
    DocumentBody,
    LetterChoice,
    Missed,
    Problem,
    PublishedBatch,
    Pulled,
    Refusal,
    Unreached,
)
"""What descriptions refer to by name, and FastAPI does not find by itself."""

_METHODS: Final = ("get", "put", "post", "delete")

_EXAMPLES: Final = {
    ("get", "/health"): "curl URL/health",
    ("get", "/ready"): "curl URL/ready",
    ("post", "/v1/publish"): "curl -X POST --data-binary @document.xml URL/v1/publish",
    ("get", "/v1/subscribe"): (
        "curl -N -G URL/v1/subscribe --data-urlencode 'xpath=//Stock[Price>15]'"
    ),
    ("get", "/v1/ask"): "curl -G URL/v1/ask --data-urlencode 'xpath=//Stock' -d limit=10",
    ("put", "/v1/subscriptions/{name}"): (
        "curl -X PUT -G URL/v1/subscriptions/desk --data-urlencode 'xpath=//Stock[Price>15]'"
    ),
    ("post", "/v1/subscriptions/{name}/pull"): (
        "curl -X POST -H 'Twigcast-Request: 1' 'URL/v1/subscriptions/desk/pull?limit=10&wait=20s'"
    ),
    ("post", "/v1/subscriptions/{name}/ack"): (
        """curl -H 'Twigcast-Request: 1' -d '{"upto": 7}' URL/v1/subscriptions/desk/ack"""
    ),
    ("post", "/v1/subscriptions/{name}/nack"): (
        "curl -H 'Twigcast-Request: 1' URL/v1/subscriptions/desk/nack "
        """-d '{"sequences": [8], "delay": "5s"}'"""
    ),
    ("delete", "/v1/subscriptions/{name}"): "curl -X DELETE URL/v1/subscriptions/desk",
    ("get", "/v1/letters/{number}"): "curl URL/v1/letters/3",
    ("post", "/v1/letters/replay"): (
        """curl -H 'Twigcast-Request: 1' -d '{"numbers": [3]}' URL/v1/letters/replay"""
    ),
    ("delete", "/v1/letters"): "curl -X DELETE 'URL/v1/letters?durable=desk'",
    ("delete", "/v1/letters/{number}"): "curl -X DELETE URL/v1/letters/3",
    ("delete", "/v1/homes/{name}"): "curl -X DELETE URL/v1/homes/paris",
    ("post", "/v1/backup"): "curl -X POST -H 'Twigcast-Request: 1' URL/v1/backup",
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document."""
    document = get_openapi(
        title="Twigcast broker",
        version="1",
        summary="XML documents, delivered to whoever's XPath they match.",
        routes=app.routes,
    )
    _, definitions = models_json_schema(
        [(model, "validation") for model in _NAMED],
        ref_template="#/components/schemas/{model}",
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name, schema in definitions["$defs"].items():
        schemas.setdefault(name, schema)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    # A wrong parameter is answered as all refusals are, with 400.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                item[method]["responses"].pop("422", None)
                if path not in OPEN:
                    item[method]["security"] = [{"token": []}, {}]
    return document


def index_page(document: dict[str, Any]) -> str:
    """The page for people."""
    rows = []
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                example = _EXAMPLES.get((method, path), f"curl URL{path}")
                rows.append(
                    f"<dt><code>{method.upper()} {escape(path)}</code></dt>"
                    f"<dd>{escape(item[method].get('description', ''))}"
                    f"<pre>{escape(example)}</pre></dd>"
                )
    return _PAGE.replace("ROWS", "\n".join(rows))


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Twigcast broker</title>
<style>
body { font-family: sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }
pre { background: #eee; padding: 0.5em; overflow-x: auto; }
dt { margin-top: 1.5em; font-weight: bold; }
</style>
</head>
<body>
<h1>Twigcast broker</h1>
<p>Programs find all of this in <a href="openapi.json">openapi.json</a>. Where the broker wants to
know who calls, add <code>-H "Authorization: Bearer $TOKEN"</code>; only <code>/health</code> and
<code>/ready</code> are for everybody. <code>URL</code> is the address of this page.</p>
<dl>
ROWS
</dl>
</body>
</html>
"""
