"""Tests of a file run in one process: pytest-xdist must know their group."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="module")
def costly() -> int:
    return os.getpid()


def test_a_module_fixture_makes_a_group(costly: int, request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("pytest-xdist distributes nothing in this run")
    assert request.node.nodeid.endswith("@tests/project/test_groups.py")
