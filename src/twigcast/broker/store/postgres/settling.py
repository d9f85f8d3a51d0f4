"""What is needed no more: acknowledgements, confirmations and attempts, of all queues together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from twigcast.broker.store.postgres.connection import Connection
from twigcast.broker.store.postgres.lookup import Known
from twigcast.delivery import Acknowledge, Confirm, NoteAttempts

WAITS: Final = """(
    queue.sequence > durables.acknowledged AND NOT EXISTS (SELECT FROM beyond
        WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
    OR EXISTS (SELECT FROM revived
        WHERE revived.durable = queue.durable AND revived.sequence = queue.sequence)
)"""
"""Whether an entry of a queue waits."""

RELEASED: Final = """
released AS (
    UPDATE documents SET needed = needed - gone.count
    FROM (SELECT document, count(*)::int4 FROM done GROUP BY document) AS gone
    WHERE documents.number = gone.document RETURNING documents.number, needed
),
freed AS (INSERT INTO freed (document) SELECT number FROM released WHERE needed = 0)
"""
"""A part of a statement: documents of ``done`` lose a reference for each time they are in it."""

TAKEN: Final = """
revived_no_more AS (DELETE FROM revived USING done
    WHERE revived.durable = done.durable AND revived.sequence = done.sequence),
tried_no_more AS (DELETE FROM attempts USING done
    WHERE attempts.durable = done.durable AND attempts.sequence = done.sequence)
"""
"""A part of a statement: nothing is remembered of the entries of ``done``, which wait no more."""

_ACKNOWLEDGE: Final = f"""
WITH upto AS (
    SELECT number, acknowledged, greatest(acknowledged, least(upto.upto, last)) AS upto
    FROM unnest(%b::int4[], %b::int8[]) AS upto (durable, upto)
    JOIN durables ON number = upto.durable
),
single AS (SELECT * FROM unnest(%b::int4[], %b::int8[]) AS single (durable, sequence)),
done AS (
    SELECT queue.durable, queue.sequence, queue.document
    FROM upto JOIN queue ON queue.durable = upto.number
        AND queue.sequence > upto.acknowledged AND queue.sequence <= upto.upto
    WHERE NOT EXISTS (SELECT FROM beyond
        WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
    UNION
    SELECT queue.durable, queue.sequence, queue.document
    FROM single JOIN queue USING (durable, sequence)
    JOIN durables ON durables.number = queue.durable
    WHERE {WAITS}
),
{TAKEN},
{RELEASED},
passed AS (INSERT INTO beyond SELECT done.durable, done.sequence
    FROM done JOIN upto ON upto.number = done.durable WHERE done.sequence > upto.upto)
UPDATE durables SET acknowledged = upto.upto, waiting = waiting - coalesce(gone.count, 0)
FROM upto LEFT JOIN (SELECT durable, count(*) FROM done GROUP BY durable) AS gone
    ON gone.durable = upto.number
WHERE durables.number = upto.number
"""
_SETTLE: Final = """
UPDATE durables SET acknowledged = coalesce((
    SELECT queue.sequence - 1 FROM queue
    WHERE queue.durable = durables.number AND queue.sequence > durables.acknowledged
        AND NOT EXISTS (SELECT FROM beyond
            WHERE beyond.durable = queue.durable AND beyond.sequence = queue.sequence)
    ORDER BY queue.sequence LIMIT 1
), last)
WHERE number = ANY(%s)
"""
_FORGET_BEYOND: Final = """
DELETE FROM beyond USING durables
WHERE durables.number = ANY(%s) AND beyond.durable = durables.number
    AND beyond.sequence <= durables.acknowledged
"""
_CONFIRM: Final = f"""
WITH asked AS (SELECT * FROM unnest(%b::text[], %b::text[]) AS asked (home, id)),
done AS (
    DELETE FROM owed USING asked JOIN documents USING (id) JOIN debts USING (home)
    WHERE owed.debt = debts.number AND owed.document = documents.number
    RETURNING owed.debt, owed.document
),
{RELEASED}
UPDATE debts SET waiting = waiting - gone.count
FROM (SELECT debt, count(*) FROM done GROUP BY debt) AS gone WHERE debts.number = gone.debt
"""
_ATTEMPTS: Final = f"""
INSERT INTO attempts
SELECT queue.durable, queue.sequence, tried.count
FROM unnest(%b::int4[], %b::int8[], %b::int8[]) AS tried (durable, sequence, count)
JOIN queue USING (durable, sequence) JOIN durables ON durables.number = queue.durable
WHERE {WAITS}
ON CONFLICT (durable, sequence) DO UPDATE SET count = excluded.count
"""


class Settling:
    """Entries and debts that a transaction settles.

    What is gathered here is done before what :class:`Keeping` has gathered.  That makes no
    difference: whoever adds a write here asks ``is_early`` or ``is_owing`` before.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._begin()

    def _begin(self) -> None:
        self._upto: dict[int, int] = {}
        self._single: dict[tuple[int, int], None] = {}
        self._confirmed: dict[tuple[str, str], None] = {}
        self._attempts: dict[tuple[int, int], int] = {}

    def is_early(self, durable: str, sequences: Iterable[int]) -> bool:
        """Whether sequences are named that are not in the database yet."""
        queue = self._known.queues.get(durable)
        return queue is not None and any(each > queue.stored for each in sequences)

    def acknowledge(self, write: Acknowledge) -> None:
        """Take entries as delivered."""
        queue = self._known.queues.get(write.durable)
        if queue is not None:
            number = queue.number
            self._upto[number] = max(self._upto.get(number, 0), min(write.upto, queue.stored))
            singles = ((number, each) for each in write.sequences if each <= queue.stored)
            self._single.update(dict.fromkeys(singles))

    def confirm(self, write: Confirm) -> None:
        """Owe documents to a home no more."""
        for each in write.ids:
            id_ = str(each)
            self._confirmed[write.home, id_] = None
            document = self._known.documents.get(id_)
            if document is not None:
                document.homes.discard(write.home)

    def note_attempts(self, write: NoteAttempts) -> None:
        """Remember how often entries were given out in vain."""
        queue = self._known.queues.get(write.durable)
        if queue is not None:
            for sequence, count in write.attempts.items():
                if sequence <= queue.stored:
                    self._attempts[queue.number, sequence] = count

    def flush(self, connection: Connection) -> None:
        """Write what was gathered, without waiting for the answers."""
        if self._attempts:
            rows = [(*entry, count) for entry, count in self._attempts.items()]
            connection.execute(_ATTEMPTS, _columns(rows, 3))
        if self._upto:
            values = [*_columns([*self._upto.items()], 2), *_columns([*self._single], 2)]
            connection.execute(_ACKNOWLEDGE, values)
            settle(connection, [*self._upto])
        if self._confirmed:
            connection.execute(_CONFIRM, _columns([*self._confirmed], 2))
        self._begin()


def settle(connection: Connection, durables: list[int]) -> None:
    """Move ``acknowledged`` of queues to just before the first entry above it that waits."""
    connection.execute(_SETTLE, (durables,))
    connection.execute(_FORGET_BEYOND, (durables,))


def _columns(rows: Sequence[tuple[int | str, ...]], count: int) -> list[list[int | str]]:
    return [[row[each] for row in rows] for each in range(count)]
