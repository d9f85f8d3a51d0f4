"""What the twigs of a pattern ask, gathered from all their corners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from twigcast.covering.splitting import Twig
from twigcast.language import (
    Axis,
    Condition,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Residual,
    Step,
    ValueTest,
    walk,
    walk_within,
)


class Survey:
    """The twigs with what they compare, deny and name; ``or`` and ``not()`` are looked into."""

    def __init__(self, twigs: Sequence[Twig]) -> None:
        self.twigs = twigs
        self.conditions = list(walk(*(each for twig in reversed(twigs) for each in reversed(twig))))
        self.steps = [c for c in self.conditions if isinstance(c, Step)]

    @cached_property
    def compared(self) -> list[tuple[NodeTest, tuple[ValueTest, ...]]]:
        """The node tests whose nodes are compared, and with what."""
        compared = [(step.test, tests_at(step)) for step in self.steps]
        compared += [
            (condition.path[-1].test, (condition.test,))
            for condition in self.conditions
            if isinstance(condition, FirstNode)
        ]
        return [(test, tests) for test, tests in compared if tests]

    def tests_of(self, kind: Kind, name: tuple[str, str]) -> list[ValueTest]:
        """The comparisons that may be made of a node of that kind and name."""
        return [
            each
            for test, tests in self.compared
            if test.kind is kind and (kind is Kind.TEXT or test.accepts(*name))
            for each in tests
        ]

    @cached_property
    def asks_for_text(self) -> bool:
        """Whether ``text()`` is among the steps."""
        return any(step.test.kind is Kind.TEXT for step in self.steps)

    @cached_property
    def denied(self) -> list[Step]:
        """The branches that must not be there."""
        return [
            condition.condition
            for condition in self.conditions
            if isinstance(condition, Negation) and isinstance(condition.condition, Step)
        ]

    @cached_property
    def longest_run(self) -> int:
        """How many ``*`` follow one another at most, each a child of the one before."""
        runs: dict[int, int] = {}
        for step in reversed(self.steps):  # below comes before above
            runs[id(step)] = 0
            if step.test.is_wildcard:
                runs[id(step)] = 1 + max(
                    (runs[id(below)] for below in _branches(step) if below.axis is Axis.CHILD),
                    default=0,
                )
        return max(runs.values(), default=0)

    @cached_property
    def doubt(self) -> str | None:
        """What makes the documents of a pattern more than those that hold its branches."""
        for condition in self.conditions:
            if isinstance(condition, Step) and condition.position is not None:
                return "a position"
            if isinstance(condition, Residual):
                return f"the expression {condition.text}"
            if isinstance(condition, FirstNode):
                return f"{condition.spelled('').split('(')[0]}() of the first node of a path"
            if isinstance(condition, ValueTest) and condition.is_function:
                return f"{condition.operator}()"
            if isinstance(condition, Negation) and not isinstance(condition.condition, ValueTest):
                return "not()"
        if any(len(twig) > 1 for twig in self.twigs):
            return "a conjunction of paths from the root"
        return None


def tests_at(step: Step) -> tuple[ValueTest, ...]:
    """The comparisons of the step's own node, in ``or`` and ``not()`` too."""
    return tuple(each for each in _at_node(step) if isinstance(each, ValueTest))


def _branches(step: Step) -> Iterator[Step]:
    """The steps right below a step, in ``or`` and ``not()`` too."""
    return (each for each in _at_node(step) if isinstance(each, Step))


def _at_node(step: Step) -> Iterator[Condition]:
    """The conditions at the step's own node: what is below another node stays out."""
    return walk_within(step.conditions, lambda each: not isinstance(each, (Step, FirstNode)))
