"""A broker's store against a model in dictionaries, through whatever order of writes and reads."""

from __future__ import annotations

from typing import Any

import pytest
from broker_store_machine import LongLife, machine_of
from hypothesis import settings


def case_of(database: str) -> Any:
    """The test of one database."""
    case = machine_of(database).TestCase
    case.settings = settings(
        max_examples=max(50, settings().max_examples // 2), stateful_step_count=50
    )
    return case


@pytest.mark.usefixtures("postgres")
class TestAStoreInPostgresDoesWhatTheModelDoes(case_of("postgres")):  # type: ignore[misc]
    """Of fewer cases: each of them makes a database."""

    settings = settings(max_examples=max(6, settings().max_examples // 20), stateful_step_count=30)


test_a_store_in_sqlite_does_what_the_model_does = case_of("sqlite")


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(each, marks=pytest.mark.slow) for each in range(6, 20))]
)
def test_a_long_life_in_sqlite_is_that_of_the_model(seed: int) -> None:
    LongLife("sqlite", seed).run(400)


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        (0, 120),
        (1, 120),
        *(pytest.param(each, 400, marks=pytest.mark.slow) for each in range(2, 20)),
    ],
)
def test_a_long_life_in_postgres_is_that_of_the_model(seed: int, steps: int) -> None:
    LongLife("postgres", seed).run(steps)
