"""Pattern trees taken apart: the one list of the kinds of conditions.

    walk      every condition of a tree, each before those within it
    parts     the conditions right below one
    Fold      a function of a tree, with a method for each kind of condition
    Question  a fold to yes or no
    Rewrite   a fold to another tree, in normal form

A new kind of condition gets an entry in ``_KINDS`` and a method in :class:`Fold`.  A fold without
that method cannot be made any more, and mypy names its class.  A condition without an entry raises
TypeError wherever a tree is taken apart.

Code that asks for one kind only (``isinstance(condition, Step)``) needs no fold: what it does with
all other kinds must then be right for kinds that are not known yet.

Cost: a look-up for each condition beside the work itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, NoReturn, ParamSpec, TypeVar

from twigcast.language import normal
from twigcast.language.nodes import (
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    Residual,
    Step,
    ValueTest,
)

P = ParamSpec("P")
T = TypeVar("T")

_KINDS: Final[dict[type[Condition], str]] = {
    Step: "step",
    ValueTest: "value_test",
    FirstNode: "first_node",
    Either: "either",
    Both: "both",
    Negation: "negation",
    Residual: "residual",
}
"""The kinds of conditions, and the method of a fold for each."""


class Fold(ABC, Generic[P, T]):
    """A function of a condition, and of what else the caller hands down."""

    def visit(self, condition: Condition, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the condition comes to."""
        method = _KINDS.get(type(condition))
        if method is None:
            _refuse(condition)
        result: T = getattr(self, method)(condition, *args, **kwargs)
        return result

    @abstractmethod
    def step(self, step: Step, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def value_test(self, test: ValueTest, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def first_node(self, condition: FirstNode, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def either(self, condition: Either, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def both(self, condition: Both, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def negation(self, condition: Negation, /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @abstractmethod
    def residual(self, condition: Residual, /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class Question(Fold[P, bool]):
    """A fold with yes or no for an answer, in which ``or`` and ``and`` mean just that."""

    def either(self, condition: Either, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        return any(self.visit(member, *args, **kwargs) for member in condition.members)

    def both(self, condition: Both, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        return all(self.visit(member, *args, **kwargs) for member in condition.members)


class _Parts(Fold[[], tuple[Condition, ...]]):
    def step(self, step: Step) -> tuple[Condition, ...]:
        return step.conditions

    def value_test(self, test: ValueTest) -> tuple[Condition, ...]:
        return ()

    def first_node(self, condition: FirstNode) -> tuple[Condition, ...]:
        return condition.path

    def either(self, condition: Either) -> tuple[Condition, ...]:
        return condition.members

    def both(self, condition: Both) -> tuple[Condition, ...]:
        return condition.members

    def negation(self, condition: Negation) -> tuple[Condition, ...]:
        return (condition.condition,)

    def residual(self, condition: Residual) -> tuple[Condition, ...]:
        return ()


parts: Final[Callable[[Condition], tuple[Condition, ...]]] = _Parts().visit


def walk(*conditions: Condition) -> Iterator[Condition]:
    """The conditions and all within them, each before its own parts.

    The path of a FirstNode is walked, its test is not: that test is no condition of a node by
    itself.
    """
    return walk_within(conditions, lambda condition: True)


def walk_within(
    conditions: Iterable[Condition], enters: Callable[[Condition], bool]
) -> Iterator[Condition]:
    """The same, but only of conditions that ``enters`` accepts are the parts looked at."""
    waiting = list(conditions)
    while waiting:
        condition = waiting.pop()
        yield condition
        if enters(condition):
            waiting.extend(parts(condition))


class Rewrite(Fold[P, Condition]):
    """A fold that builds a tree in normal form; as it stands, the same tree again.

    A subclass says what becomes of the kinds that it changes.
    """

    def step(self, step: Step, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        conditions = [self.visit(condition, *args, **kwargs) for condition in step.conditions]
        return normal.branch(step.axis, step.test, step.position, conditions)

    def value_test(self, test: ValueTest, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        return test

    def first_node(self, condition: FirstNode, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        path: list[Step] = []
        for step in condition.path:
            changed = self.step(step, *args, **kwargs)
            if not isinstance(changed, Step):
                return changed  # where a step finds nothing, there is no first node either
            path.append(changed)
        return normal.first_node(path, condition.test.operator, str(condition.test.operand))

    def either(self, condition: Either, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        return normal.either(self.visit(member, *args, **kwargs) for member in condition.members)

    def both(self, condition: Both, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        return normal.both(self.visit(member, *args, **kwargs) for member in condition.members)

    def negation(self, condition: Negation, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        return normal.negation(self.visit(condition.condition, *args, **kwargs))

    def residual(self, condition: Residual, /, *args: P.args, **kwargs: P.kwargs) -> Condition:
        return condition


def _refuse(condition: Any) -> NoReturn:
    raise TypeError(f"{type(condition).__name__} is no kind of condition that visiting.py knows")
