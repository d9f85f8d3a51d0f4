"""What must hold in the file of a broker's store, counted anew from its rows."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from twigcast.broker.store.retention import Retention
from twigcast.broker.store.store import FILE, Store

Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds after which a store is taken to hang."""
UNACKNOWLEDGED = """
    queue.sequence > durables.acknowledged AND NOT EXISTS (
        SELECT 1 FROM acknowledged_beyond AS beyond
        WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
"""
NEVER_TRUE = {
    "needed is miscounted": f"""
        SELECT documents.id FROM documents WHERE needed !=
            (SELECT count(*) FROM queue JOIN durables ON durables.number = queue.durable
             WHERE queue.document = documents.number AND {UNACKNOWLEDGED})
          + (SELECT count(*) FROM owed WHERE owed.document = documents.number)""",
    "released and needed": "SELECT id FROM documents WHERE (needed = 0) != (released NOTNULL)",
    "a document without content": """
        SELECT id, size FROM documents LEFT JOIN contents ON contents.document = documents.number
        WHERE content IS NULL OR length(content) != size""",
    "content without a document": """
        SELECT document FROM contents WHERE document NOT IN (SELECT number FROM documents)""",
    "an entry without a document": """
        SELECT * FROM queue WHERE document NOT IN (SELECT number FROM documents)""",
    "an entry without a queue": """
        SELECT * FROM queue WHERE durable NOT IN (SELECT number FROM durables)""",
    "a debt without a document": """
        SELECT * FROM owed WHERE document NOT IN (SELECT number FROM documents)
        OR debt NOT IN (SELECT number FROM debts)""",
    "a queue is miscounted": f"""
        SELECT name FROM durables WHERE name IS NOT NULL AND waiting !=
            (SELECT count(*) FROM queue WHERE durable = durables.number AND {UNACKNOWLEDGED})""",
    "a debt is miscounted": """
        SELECT home FROM debts WHERE home IS NOT NULL AND waiting !=
            (SELECT count(*) FROM owed WHERE debt = debts.number)""",
    "the totals are wrong": """
        SELECT * FROM facts WHERE
            (name = 'documents' AND value != (SELECT count(*) FROM documents))
         OR (name = 'bytes' AND value != (SELECT coalesce(sum(size), 0) FROM documents))""",
    "acknowledged beyond what is kept": """
        SELECT * FROM acknowledged_beyond AS beyond WHERE NOT EXISTS (SELECT 1 FROM queue
        WHERE queue.durable = beyond.durable AND queue.sequence = beyond.sequence)""",
}


def audit(folder: Path) -> None:
    """Check every invariant of the store in a folder, open or not."""
    connection = sqlite3.connect(folder / FILE)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for what, query in NEVER_TRUE.items():
            assert connection.execute(query).fetchall() == [], what
    finally:
        connection.close()


def with_store(
    folder: Path,
    use: Callable[[Store], Awaitable[Result]],
    retention: Retention | None = None,
    broker: str = "home",
) -> Result:
    """Open the store of a folder, use it in an event loop, close it and check it."""

    async def run() -> Result:
        store = Store.open(folder, broker=broker, retention=retention or Retention())
        try:
            store.start(asyncio.get_running_loop())
            return await asyncio.wait_for(use(store), PATIENCE)
        finally:
            await store.close()

    result = asyncio.run(run())
    audit(folder)
    return result
