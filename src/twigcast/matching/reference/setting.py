"""What an expression is evaluated in: a document, a version of XPath, a moment, and a budget.

Setting    the same for the whole evaluation
Focus      ``.``, ``position()``, ``last()`` and the variables; predicates and paths change it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from twigcast.matching.reference.items import Item, Sequence
from twigcast.matching.reference.moments import Moment, days_from_civil
from twigcast.matching.reference.nodes import Node, NodeTree

UNLIMITED: Final = 10**9
"""Work that takes so long that nobody waits for it."""


class BudgetExceededError(Exception):
    """An evaluation takes more work than its budget allows."""


class Budget:
    """How much work is left: about one for each node, item or character that is looked at."""

    def __init__(self, amount: int = UNLIMITED) -> None:
        self.left = amount

    def spend(self, amount: int) -> None:
        """Do so much work, or raise."""
        self.left -= amount
        if self.left < 0:
            raise BudgetExceededError


def now_in_utc() -> Moment:
    """The present, as ``xs:dateTime``."""
    now = datetime.now(UTC)
    seconds = 3600 * now.hour + 60 * now.minute + now.second
    second = seconds + Decimal(now.microsecond) / 1_000_000
    return Moment("xs:dateTime", days_from_civil(now.year, now.month, now.day), second, 0)


@dataclass(frozen=True, slots=True)
class Setting:
    """A document and the rules; ``now`` stays the same during an evaluation."""

    tree: NodeTree
    is_version_2: bool = False
    now: Moment = field(default_factory=now_in_utc)
    budget: Budget = field(default_factory=Budget)

    def charge(self, items: Sequence) -> None:
        """Pay for the string-values of the nodes among the items."""
        self.budget.spend(sum(item.size for item in items if isinstance(item, Node)))


@dataclass(frozen=True, slots=True)
class Focus:
    """The item that an expression looks at, its position among how many, and the variables."""

    item: Item
    position: int = 1
    size: int = 1
    variables: Mapping[str, Sequence] = field(default_factory=dict)

    def at(self, item: Item, position: int, size: int) -> Focus:
        """The focus on another item, with the same variables."""
        return Focus(item, position, size, self.variables)
