"""What must be true in the tables of a store in PostgreSQL, asked of the tables themselves."""

from __future__ import annotations

from typing import Final

from postgres_server import PostgresServer

_WAITING: Final = """
SELECT queue.durable, queue.sequence, queue.document
FROM twigcast.queue JOIN twigcast.durables ON number = durable
LEFT JOIN twigcast.beyond USING (durable, sequence)
LEFT JOIN twigcast.revived USING (durable, sequence)
WHERE queue.sequence > acknowledged AND beyond.sequence IS NULL OR revived.sequence IS NOT NULL
"""
_BROKEN: Final = {
    "needed": f"""
        SELECT number, needed FROM twigcast.documents LEFT JOIN (
            SELECT document, count(*) FROM (
                SELECT document FROM ({_WAITING}) AS waiting
                UNION ALL SELECT document FROM twigcast.owed
                UNION ALL SELECT document FROM twigcast.letters) AS needing
            GROUP BY document) AS needing ON document = number
        WHERE needed <> coalesce(count, 0)""",
    "freed": """
        SELECT number, needed FROM twigcast.documents
        FULL JOIN twigcast.freed ON document = number
        WHERE number IS NULL OR (needed = 0) <> (document IS NOT NULL)""",
    "waiting": f"""
        SELECT name, waiting FROM twigcast.durables LEFT JOIN (
            SELECT durable, count(*) FROM ({_WAITING}) AS waiting GROUP BY durable) AS counted
            ON durable = number
        WHERE waiting <> coalesce(count, 0)""",
    "contents": """
        SELECT number, document FROM twigcast.documents
        FULL JOIN twigcast.contents ON document = number
        WHERE number IS NULL OR document IS NULL OR length(content) <> size""",
    "entries": """
        SELECT * FROM twigcast.queue LEFT JOIN twigcast.documents ON number = document
        WHERE number IS NULL OR position(
            int4send(durable) || int8send(sequence) IN documents.entries) = 0""",
    "twice": """
        SELECT durable, document FROM twigcast.queue
        GROUP BY durable, document HAVING count(*) > 1""",
    "debts": """
        SELECT home, waiting FROM twigcast.debts WHERE waiting <>
            (SELECT count(*) FROM twigcast.owed WHERE debt = number)
            AND home IS NOT NULL""",
    "accounts": """
        SELECT * FROM twigcast.accounts FULL JOIN
            (SELECT publisher, count(*) AS documents, sum(size) AS bytes
             FROM twigcast.documents GROUP BY publisher) AS counted USING (publisher)
        WHERE (coalesce(accounts.documents, 0), coalesce(accounts.bytes, 0))
            <> (coalesce(counted.documents, 0), coalesce(counted.bytes, 0))""",
    "acknowledged": """
        SELECT name FROM twigcast.durables WHERE EXISTS (SELECT FROM twigcast.beyond
            WHERE durable = number AND (sequence <= acknowledged OR sequence > last))
        OR acknowledged > last OR acknowledged <> coalesce((
            SELECT sequence - 1 FROM twigcast.queue WHERE durable = number
            AND sequence > acknowledged ORDER BY sequence LIMIT 1), last)""",
    "attempts": f"""
        SELECT durable, sequence FROM twigcast.attempts
        LEFT JOIN ({_WAITING}) AS waiting USING (durable, sequence) WHERE document IS NULL""",
}


def audit_postgres(server: PostgresServer, database: str) -> None:
    """Compare what is counted with what there is."""
    if not server.execute("SELECT to_regclass('twigcast.facts')", database)[0][0]:
        return  # it was never opened
    for name, statement in _BROKEN.items():
        assert server.execute(statement, database) == [], name
