"""A broker's store in PostgreSQL, which several brokers of a group may share."""

from __future__ import annotations

from twigcast.broker.store.postgres.database import PostgresDatabase

__all__ = ["PostgresDatabase"]
