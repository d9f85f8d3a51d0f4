"""The section of a configuration about the store."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twigcast.broker.addresses import is_host
from twigcast.broker.config_checks import refuse, require_above_zero, require_one_of
from twigcast.tables import Duration, Size

_PASSWORD: Final = re.compile(r"//[^?@]*:[^?]*@|[?&]password=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Where documents are kept, which, and for how long; without a folder and url, none are.

    ``folder`` is for SQLite, ``url`` for PostgreSQL.
    ``keep`` is ``durable`` for those that durable subscriptions want, or ``all`` for all that are
    published here too, so that they can be asked.  With ``sync`` ``full`` an acknowledged document
    survives a loss of power, with ``normal`` only the end of the process.

    Documents are kept up to ``retention_size``, those of one publisher up to ``publisher_size``,
    and up to ``queue_documents`` wait for one durable subscription; 0 is no limit.  At a limit
    publishers are refused, or held back, as ``full`` says: ``refuse`` or ``hold``.

    With ``unrouted`` a document that is published here and that nobody wants is kept as a letter.

    ``door`` makes the broker one of the doors of a group, which have a name and a database in
    common: it is the host at which the other doors find this one.
    """

    folder: Path | None = None
    url: str = field(default="", repr=False)
    door: str = ""
    keep: str = "durable"
    sync: str = "full"
    retention_age: Duration = 7 * 86_400.0
    acknowledged_age: Duration = 3_600.0
    retention_size: Size = 10_000_000_000
    publisher_size: Size = 5_000_000_000
    queue_documents: int = 0
    full: str = "refuse"
    unrouted: bool = False

    def __post_init__(self) -> None:
        self._check_url()
        require_one_of("store.keep", self.keep, ("durable", "all"))
        require_one_of("store.full", self.full, ("refuse", "hold"))
        for name in ("publisher_size", "queue_documents"):
            if getattr(self, name) < 0:
                refuse(f"store.{name}", "a limit is not below 0; write 0 for none")
        require_one_of("store.sync", self.sync, ("full", "normal"))
        require_above_zero("store.retention_age", self.retention_age)
        require_above_zero("store.retention_size", self.retention_size)
        if self.acknowledged_age < 0:
            refuse("store.acknowledged_age", "an age is not below 0; write 0 or more")

    @property
    def is_used(self) -> bool:
        """Whether anything is kept."""
        return self.folder is not None or bool(self.url)

    @property
    def is_held_back(self) -> bool:
        """Whether publishers wait while there is no room, instead of being refused."""
        return self.full == "hold"

    def _check_url(self) -> None:  # no message shows it, for there may be a password in it
        if self.url and self.folder is not None:
            refuse("store.url", "a store is in a folder or at an address; keep one of both")
        if self.url and not self.url.startswith(("postgresql://", "postgres://")):
            refuse("store.url", 'write it as in "postgresql://user@host:5432/database"')
        if self.door and not self.url:
            refuse("store.door", "the doors of a group share a database; name it with url")
        if self.door and not is_host(self.door):
            refuse("store.door", f"{self.door!r} is no host; write a name or an IPv4 address")
        if _PASSWORD.search(self.url):
            remedy = "write it into a file that only the broker may read, and name that file with"
            refuse("store.url", f"no password belongs here; {remedy} ?passfile= or PGPASSFILE")
