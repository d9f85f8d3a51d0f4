"""A broker's store in PostgreSQL; one door of a group at a time has it open."""

from __future__ import annotations

from twigcast.broker.store.postgres.database import PostgresDatabase
from twigcast.broker.store.postgres.doors import Doors, Leader

__all__ = ["Doors", "Leader", "PostgresDatabase"]
