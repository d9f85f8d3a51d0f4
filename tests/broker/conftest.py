"""What the tests of brokers share: a place for a store in each database that there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_stores import DATABASES, Stores


@pytest.fixture(params=sorted(DATABASES))
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """A place for a store, in each database."""
    return DATABASES[request.param](tmp_path / "store")
