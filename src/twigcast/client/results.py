"""Lists and tables that a client gets, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Final

from twigcast.client.events import Document
from twigcast.times import show_time

_SHOWN: Final = 100
"""Rows of a table; what is beyond them is counted."""
_BEGINNING: Final = 80
"""Bytes of a document that a row shows."""


class Documents(list[Document]):
    """Documents that a broker keeps; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        rows = [
            (
                each.id,
                show_time(each.published),
                each.sequence or "",
                ", ".join(each.keys),
                f"{len(each.content):,}",
                each.content[:_BEGINNING].decode(errors="replace"),
            )
            for each in self[:_SHOWN]
        ]
        table = _table(("id", "published", "sequence", "keys", "bytes", "beginning"), rows)
        more = f"<p>and {len(self) - _SHOWN:,} more</p>" if len(self) > _SHOWN else ""
        return f"<p>{len(self):,} documents</p>{table}{more}"


class Status(dict[str, Any]):
    """What a broker knows of itself and of the overlay; a notebook shows it as tables."""

    def _repr_html_(self) -> str:
        plain = [(key, value) for key, value in self.items() if not isinstance(value, dict | list)]
        parts = [_table(("broker", self.get("broker", "")), plain)]
        for key, value in self.items():
            if isinstance(value, dict) and value:
                parts.append(_table((key, ""), value.items()))
            elif isinstance(value, list) and value:
                parts.append(_table(tuple(value[0]), [each.values() for each in value], key))
        return "".join(parts)


def _table(columns: Iterable[str], rows: Iterable[Iterable[object]], caption: str = "") -> str:
    def cells(kind: str, values: Iterable[object]) -> str:
        return "".join(f"<{kind}>{escape(str(value))}</{kind}>" for value in values)

    head = f"<caption>{escape(caption)}</caption><tr>{cells('th', columns)}</tr>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"
