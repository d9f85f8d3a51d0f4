"""What must hold in the file of a broker's store, counted anew from its rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from twigcast.broker.store.sqlite import tables
from twigcast.broker.store.sqlite.disk import FILE

WAITS = """
    (queue.sequence > places.acknowledged AND NOT EXISTS (SELECT 1 FROM beyond
         WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
     OR EXISTS (SELECT 1 FROM revived
         WHERE revived.durable = queue.durable AND revived.sequence = queue.sequence))
"""
PLACED = """
    (SELECT number AS position, number AS document FROM documents
     UNION ALL SELECT position, document FROM again)
"""
NEVER_TRUE = {
    "a document without content": """
        SELECT id, size FROM documents LEFT JOIN contents ON contents.document = documents.number
        WHERE content IS NULL OR length(content) != size""",
    "content without a document": """
        SELECT document FROM contents WHERE document NOT IN (SELECT number FROM documents)""",
    "something of a document that is not kept": " UNION ALL ".join(
        f"SELECT document FROM {table} WHERE document NOT IN (SELECT number FROM documents)"
        for table in ("again", "released", "owed", "letters", "destinations")
    ),
    "an entry without a document": f"""
        SELECT * FROM queue WHERE position NOT IN (SELECT position FROM {PLACED})""",
    "a document is in a queue twice": f"""
        SELECT document, durable FROM queue JOIN {PLACED} AS placed USING (position)
        GROUP BY document, durable HAVING count(*) > 1""",
    "sequences do not grow with positions": """
        SELECT * FROM (SELECT sequence, lag(sequence) OVER
            (PARTITION BY durable ORDER BY position) AS before FROM queue)
        WHERE sequence <= before""",
    "a run is missing, or begins too late": """
        SELECT * FROM queue LEFT JOIN runs
        ON runs.durable = queue.durable AND runs.segment = queue.position >> {bits}
        WHERE runs.position IS NULL OR runs.position > queue.position
        OR runs.sequence > queue.sequence""",
    "a position is given twice": """
        SELECT * FROM documents JOIN again ON again.position = documents.number""",
    "a position is not counted": f"""
        SELECT * FROM {PLACED} WHERE position >
            (SELECT value FROM facts WHERE name = 'position')""",
    "a queue is miscounted": f"""
        SELECT number, places.last - places.acknowledged
            - (SELECT count(*) FROM beyond WHERE beyond.durable = number)
            + (SELECT count(*) FROM revived WHERE revived.durable = number)
            - (SELECT coalesce(sum(max(0, upto - max(after, places.acknowledged))), 0)
               FROM gaps WHERE gaps.durable = number) AS waiting
        FROM durables JOIN places ON durable = number
        WHERE waiting != (SELECT count(*) FROM queue WHERE queue.durable = number AND {WAITS})""",
    "acknowledged stands too low, or marks are out of place": """
        SELECT beyond.durable FROM beyond JOIN places USING (durable)
        WHERE beyond.sequence <= places.acknowledged + 1 OR beyond.sequence > places.last
        UNION ALL SELECT revived.durable FROM revived JOIN places USING (durable)
        WHERE revived.sequence > places.acknowledged
        UNION ALL SELECT gaps.durable FROM gaps JOIN places USING (durable)
        WHERE places.acknowledged BETWEEN gaps.after AND gaps.upto - 1""",
    "something of a durable subscription that was dropped": " UNION ALL ".join(
        f"SELECT durable FROM {table} WHERE durable NOT IN (SELECT number FROM durables)"
        for table in ("places", "beyond", "revived", "attempts", "gaps", "expressions")
    ),
    "attempts of what does not wait": """
        SELECT * FROM attempts JOIN places USING (durable) WHERE
            attempts.sequence > places.last
            OR attempts.sequence > places.acknowledged AND EXISTS (SELECT 1 FROM beyond WHERE
                beyond.durable = places.durable AND beyond.sequence = attempts.sequence)
            OR attempts.sequence <= places.acknowledged AND NOT EXISTS (SELECT 1 FROM revived WHERE
                revived.durable = places.durable AND revived.sequence = attempts.sequence)""",
    "a home is miscounted": """
        SELECT home FROM debtors WHERE waiting !=
            (SELECT count(*) FROM owed WHERE owed.debtor = debtors.number)""",
    "a document that is needed is released": f"""
        SELECT document FROM released WHERE document IN
            (SELECT document FROM queue JOIN {PLACED} AS placed USING (position)
             JOIN places ON places.durable = queue.durable WHERE {WAITS})
        OR document IN (SELECT document FROM letters)
        OR document IN (SELECT document FROM owed JOIN debtors ON number = debtor)""",
    "the totals are wrong": """
        SELECT * FROM facts WHERE
            (name = 'documents' AND value != (SELECT count(*) FROM documents))
         OR (name = 'bytes' AND value != (SELECT coalesce(sum(size), 0) FROM documents))""",
    "publishers are miscounted": """
        SELECT publisher, sum(size) AS bytes FROM documents WHERE publisher != ''
        GROUP BY publisher HAVING bytes > 0
        EXCEPT SELECT name, bytes FROM publishers
        UNION ALL SELECT name, bytes FROM publishers WHERE name NOT IN
            (SELECT publisher FROM documents) OR bytes <= 0""",
    "what is settled was received": """
        SELECT * FROM received LEFT JOIN lines ON lines.number = received.line
        WHERE lines.number IS NULL OR received.number < lines.settled""",
}


def audit(folder: Path) -> None:
    """Check every invariant of the store in a folder, open or not."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for what, query in NEVER_TRUE.items():
            rows = connection.execute(query.replace("{bits}", str(tables.SEGMENT_BITS))).fetchall()
            assert rows == [], what
