"""A log that is flooded stays readable: a kind of message comes some times a second at most."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from twigcast.broker.log_handler import LimitedHandler

WINDOW = "twigcast.broker.log_handler.WINDOW"


@pytest.fixture
def written() -> Iterator[tuple[logging.Logger, LimitedHandler, io.StringIO]]:
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("twigcast.test_log_handler")
    logger.propagate = False
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, handler, stream
    logger.removeHandler(handler)
    handler.close()


def test_what_is_withheld_is_counted(
    written: tuple[logging.Logger, LimitedHandler, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WINDOW, 600.0)
    logger, handler, stream = written
    for number in range(1000):
        logger.warning("wrong token from %s", f"10.0.0.{number}")
        logger.error("Task-%d failed\nwith a long story", number)
        logger.error(f"socket {number} is broken")
    logger.info("another")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10 + 20 + 10 + 1
    assert lines[0] == "WARNING twigcast.test_log_handler: wrong token from 10.0.0.0"
    assert lines[-1].endswith("another")
    handler.close()
    assert stream.getvalue().splitlines()[len(lines) :] == [
        "WARNING twigcast.test_log_handler: wrong token from 10.0.0.999 … and 989 more like it",
        "ERROR twigcast.test_log_handler: Task-999 failed … and 989 more like it",
        "ERROR twigcast.test_log_handler: socket 999 is broken … and 989 more like it",
    ]


def test_the_count_comes_by_itself_and_the_next_second_begins_anew(
    written: tuple[logging.Logger, LimitedHandler, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WINDOW, 0.2)
    logger, handler, stream = written
    for _ in range(50):
        logger.warning("again")
    assert handler.reporting is not None
    handler.reporting.join(30)
    text = stream.getvalue()
    assert "more like it" in text
    logger.warning("again")
    assert stream.getvalue().removeprefix(text) == "WARNING twigcast.test_log_handler: again\n"


def test_many_kinds_take_bounded_memory(
    written: tuple[logging.Logger, LimitedHandler, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WINDOW, 600.0)
    logger, handler, stream = written
    for first in range(60):
        for second in range(60):
            logger.warning("x" * first + "-" + "y" * second)
    assert 1000 < len(stream.getvalue().splitlines()) < 1100
    handler.close()
    assert "more like it" in stream.getvalue()
