"""Configuration files of brokers for tests: their sections, and how values are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twigcast.broker.config import (
    AccessConfig,
    HeartbeatConfig,
    LimitsConfig,
    TlsConfig,
)
from twigcast.broker.store_config import StoreConfig
from twigcast.broker.tokens import hash_token

NEWS = "<!ELEMENT news (item*)><!ELEMENT item (#PCDATA)>"
HASH = hash_token("twc_one")
SECTIONS: dict[str, type[Any]] = {
    "store": StoreConfig,
    "limits": LimitsConfig,
    "tls": TlsConfig,
    "heartbeat": HeartbeatConfig,
    "access": AccessConfig,
}
LISTS = {
    "links": ("address", "cost", "server_name", "token_file", "broker"),
    "principals": ("name", "token", "token_file", "certificate"),
    "rules": ("who", "allow", "roots", "schemas", "to", "durable", "brokers"),
}


def written(value: object) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{written(key)} = {written(each)}" for key, each in value.items())
        return f"{{{inside}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(each) for each in value)}]"
    return repr(value)


def written_file(values: Mapping[str, object]) -> str:
    """A file with these keys."""
    return "\n".join(f"{key} = {written(value)}" for key, value in values.items())
