"""Opening a store in PostgreSQL: what is refused, with which remedy, and what a backup changes."""

from __future__ import annotations

import pytest
from broker_stores import document, durable
from postgres_server import PASSWORD, PostgresServer, free_port

from twigcast.broker.store import open_store
from twigcast.broker.store.postgres import PostgresDatabase, connection, schema
from twigcast.broker.store.postgres.address import location_of
from twigcast.delivery.writes import Acknowledge, Kept
from twigcast.errors import StoreError


def refusal(url: str, broker: str = "home") -> str:
    with pytest.raises(StoreError) as caught:
        open_store(url=url, broker=broker)
    told = str(caught.value)
    assert PASSWORD not in told
    assert "%20" not in told
    return told


def test_a_wrong_password(postgres: PostgresServer) -> None:
    told = refusal(postgres.url(password="wrong"))
    assert "password authentication failed" in told
    assert "put the user's password into the file that passfile in the address" in told


def test_an_unknown_database(postgres: PostgresServer) -> None:
    told = refusal(postgres.url("nowhere"))
    assert 'database "nowhere" does not exist; make the database' in told


def test_nobody_listens() -> None:
    told = refusal(f"postgresql://ann:secret@127.0.0.1:{free_port()}/news")
    assert told.startswith("postgresql://ann@127.0.0.1:")
    assert "see that PostgreSQL runs and listens there" in told
    assert "secret" not in told


@pytest.mark.parametrize("url", ["postgresql://ann:secret@[::1/x", "postgresql://a?secret=1"])
def test_no_address(url: str) -> None:
    told = refusal(url)
    assert "write it as in postgresql://user@host:5432/database" in told
    assert "secret" not in told


def test_a_server_that_is_too_old(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OLDEST", 990000)
    told = refusal(postgres_url)
    assert "and a store needs 99 or newer: upgrade the server" in told


def test_a_user_who_may_not_make_tables(postgres: PostgresServer) -> None:
    name = postgres.new_database()
    postgres.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
    told = refusal(postgres.url(name, "plain", "plain"))
    assert "permission denied for database" in told
    assert "let the broker's user own the database" in told


def test_a_user_who_owns_the_database_suffices(postgres: PostgresServer) -> None:
    name = postgres.new_database()
    postgres.execute("CREATE ROLE owner LOGIN PASSWORD 'owner'")
    postgres.execute(f"ALTER DATABASE {name} OWNER TO owner")
    store = PostgresDatabase(postgres.url(name, "owner", "owner"), broker="home", sync="full")
    assert store.write([durable("news"), document(1, "news")]) == [None, Kept((1,))]
    store.close()


def test_the_store_of_another_broker(postgres_url: str) -> None:
    PostgresDatabase(postgres_url, broker="rome", sync="full").close()
    told = refusal(postgres_url)
    assert "it belongs to the broker 'rome', and this is 'home': give each broker" in told


def test_a_newer_layout(postgres: PostgresServer, postgres_url: str) -> None:
    PostgresDatabase(postgres_url, broker="home", sync="full").close()
    name = postgres_url.rpartition("/")[2]
    postgres.execute("UPDATE twigcast.facts SET value = '99' WHERE name = 'layout'", name)
    told = refusal(postgres_url)
    assert "it was written by a newer Twigcast (its layout is 99, this one knows 2)" in told


def test_a_schema_of_something_else(postgres: PostgresServer, postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres.execute("CREATE SCHEMA twigcast CREATE TABLE things (id int)", name)
    assert "its schema twigcast belongs to something else" in refusal(postgres_url)


def test_an_older_layout_is_brought_to_the_newest(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    store.write([durable("news"), document(1, "news")])
    store.close()
    more = "ALTER TABLE durables ADD colour text NOT NULL DEFAULT 'red'"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    for _ in range(2):
        store = PostgresDatabase(postgres_url, broker="home", sync="full")
        assert [each.last for each in store.state.durables] == [1]
        store.close()
    monkeypatch.undo()
    assert "its layout is 3, this one knows 2" in refusal(postgres_url)


def test_queues_leap_after_a_backup_was_restored(
    postgres: PostgresServer, postgres_url: str
) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    store.write([durable("empty"), durable("news"), durable("sport")])
    store.write([document(1, "news", "sport"), document(2, "news")])
    store.write([Acknowledge("sport", 1, (), 0)])
    store.close()
    name, copy = postgres_url.rpartition("/")[2], "restored"
    postgres.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
    # A copy made by pg_dump has tables of its own, which a database made from another has not.
    postgres.execute("UPDATE twigcast.facts SET value = 'x' WHERE name = 'place'", copy)
    store = PostgresDatabase(postgres.url(copy), broker="home", sync="full")
    leap = 1_000_000
    assert [
        (each.name, each.last, each.acknowledged, each.gap) for each in store.state.durables
    ] == [
        ("empty", leap, leap, (0, leap)),
        ("news", leap + 2, 0, (2, leap + 2)),
        ("sport", leap + 1, leap + 1, (1, leap + 1)),
    ]
    assert store.write([document(3, "news", "sport")]) == [Kept((leap + 3, leap + 2))]
    store.write([Acknowledge("news", 2, (), 0)])
    store.close()
    store = PostgresDatabase(postgres.url(copy), broker="home", sync="full")
    assert [each.acknowledged for each in store.state.durables] == [leap, leap + 2, leap + 1]
    store.close()


def test_queues_leap_when_the_server_went_down_with_commits_at_risk(
    postgres: PostgresServer, postgres_url: str
) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    store.write([durable("news")])
    store.close()
    store = PostgresDatabase(postgres_url, broker="home", sync="normal")
    store.write([document(1, "news")])
    postgres.kill()
    postgres.start()
    store._session._connection.close()  # the broker was killed, too
    store = PostgresDatabase(postgres_url, broker="home", sync="normal")
    [news] = store.state.durables
    assert news.last >= 1_000_000
    store.close()
    postgres.stop()
    postgres.start()
    store = PostgresDatabase(postgres_url, broker="home", sync="normal")
    assert store.state.durables == (news,), "nothing was at risk"
    store.close()


def test_a_location_has_no_secrets() -> None:
    url = "postgresql://ann:se%40cret@db.example:5433/news?passfile=/etc/x&sslmode=require"
    assert location_of(url) == "postgresql://ann@db.example:5433/news"


def test_a_backup_is_the_business_of_postgresql(postgres_url: str) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync="full")
    reader = store.reader()
    with pytest.raises(StoreError, match="use pg_dump"):
        reader.backup(None)  # type: ignore[arg-type]
    reader.close()
    store.close()


@pytest.mark.parametrize(("sync", "commits"), [("full", "on"), ("normal", "off")])
def test_whether_commits_wait_for_the_disk(postgres_url: str, sync: str, commits: str) -> None:
    store = PostgresDatabase(postgres_url, broker="home", sync=sync)  # type: ignore[arg-type]
    shown = store._session.run(
        lambda connection: connection.execute("SHOW synchronous_commit").fetchall()
    )
    assert shown == [(commits,)]
    store.close()
