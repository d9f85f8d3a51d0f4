"""Mistakes that are made on purpose, to see that whoever looks for mistakes finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from twigcast.covering import Change
from twigcast.language import Pattern
from twigcast.routing.aggregates import Covered
from twigcast.routing.recent import RecentDocuments


class Mistake(NamedTuple):
    """A method, and what is done instead."""

    owner: type
    name: str
    wrong: Callable[..., Any]

    def make(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(self.owner, self.name, self.wrong)

    def __str__(self) -> str:
        return self.wrong.__name__


_ORIGINALS: dict[tuple[type, str], Callable[..., Any]] = {}


def instead_of(owner: type, name: str) -> Callable[[Callable[..., Any]], Mistake]:
    """Make a mistake of a function, which may still call the ``original``."""
    _ORIGINALS.setdefault((owner, name), getattr(owner, name))
    return lambda wrong: Mistake(owner, name, wrong)


def original(owner: type, name: str) -> Callable[..., Any]:
    """The method as it is when no mistake is made."""
    return _ORIGINALS[owner, name]


@instead_of(Covered, "remove")
def forget_what_was_covered(self: Covered, pattern: Pattern, is_last: bool) -> Change:
    change = original(Covered, "remove")(self, pattern, is_last)
    return Change((), change.withdraw)


@instead_of(RecentDocuments, "add")
def remember_nothing(self: RecentDocuments, document: object, tree: str = "") -> bool:
    return True
