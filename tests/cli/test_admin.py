"""``twigcast admin``, as an operator calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from broker_stores import SqliteStores, fill, with_store
from typer.testing import CliRunner

from twigcast.cli import app
from twigcast.errors import ConfigError, StoreError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store of 12 documents."""
    with_store(SqliteStores(tmp_path / "store"), lambda user: fill(user, 12))
    return tmp_path / "store"


def test_a_moved_store_is_summarised(folder: Path, tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    result = CliRunner().invoke(app, ["admin", "move-store", str(folder), first])
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "12 documents, 0.0 MB 1 durable subscriptions with their queues 12 entries" in told
    assert "The store of home is in" in told
    result = CliRunner().invoke(app, ["admin", "move-store", first, second, "--json"])
    told = json.loads(result.stdout)
    tables = told.pop("tables")
    assert told.pop("seconds") > 0
    assert told == {
        "broker": "home",
        "from": first,
        "to": second,
        "documents": 12,
        "bytes": 120,
        "queues": 1,
        "entries": 12,
        "owed": 0,
        "letters": 0,
    }
    assert tables["contents"]["rows"] == 12
    assert len(tables["contents"]["digest"]) == 32


def test_what_cannot_be_moved_is_said(folder: Path) -> None:
    result = CliRunner().invoke(app, ["admin", "move-store", str(folder), str(folder)])
    assert isinstance(result.exception, StoreError)
    assert "name two" in str(result.exception)


@pytest.mark.parametrize("address", ["mysql://db/x", "postgresql://ann:secret@db/x"])
def test_an_address_is_checked_and_not_shown(folder: Path, address: str) -> None:
    result = CliRunner().invoke(app, ["admin", "move-store", str(folder), address])
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception).startswith("TO: ")
    assert "secret" not in str(result.exception)
