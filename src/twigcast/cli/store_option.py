"""Where the store of a broker is, as commands take it: a folder, or an address of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def store_location(text: str) -> dict[str, Any]:
    """The fields of a configuration's store that say where it is."""
    return {"url": text, "folder": None} if "://" in text else {"folder": Path(text), "url": ""}
