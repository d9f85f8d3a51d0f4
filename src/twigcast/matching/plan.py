"""How the engine goes about a pattern: the paths to watch for, and what they must have in common.

    /a/b[c > 5][d/e]/f   ──►   branches   /a/b/c with . > 5  ┐
                                          /a/b/d/e           ├ below the same  /a/b
                                          /a/b/f             ┘

A pattern is a set of :class:`Unit`; a document matches it when it matches one of them.  The
alternatives of a union are units, and so are those of an ``or``, as long as there are few.  A unit
is a set of trees: a branch either ends at a node that must pass a predicate (perhaps an empty one),
or is a point from which branches go on, all of them below the same node.

What is denied by ``not`` becomes *denials*: a probe for each case in which the denied condition
could hold somewhere in the document.  While none of them holds, nothing is denied.

What cannot be said so (positions, the first node of a path, residuals, an ``or`` with too many
combinations) is left out, which makes the unit a necessary condition: it ``needs_check``.  The
engine asks the pattern's program of a document that fulfils such a unit, or that holds a denial.

The kernel makes the same unit of a plain tree by itself (``index/tree_plan.hpp``).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Negation,
    Pattern,
    Residual,
    Step,
    ValueTest,
    may_fail,
)
from twigcast.matching.expression_program import encode
from twigcast.matching.program import comparison_of

_LEAF: Final = re.compile(r"/(?:text\(\)|@(?:Q\{[^{}]*\})?[^/{}]*)$")
_MOST_COMBINATIONS: Final = 16
_MOST_BRANCHES: Final = 10_000  # of a unit, and denials: as in index/records.hpp


class Branch(NamedTuple):
    """A path from the document node, in canonical text.

    ``predicate`` is what a node at its end must pass; None marks a point where branches part.
    ``above`` is the number, within the unit, of the point that the branch hangs on.
    """

    path: bytes
    predicate: bytes | None
    above: int | None = None


class Unit(NamedTuple):
    """Branches that must hold together, each before the one that it hangs on, and denials."""

    needs_check: bool
    branches: tuple[Branch, ...]
    denials: tuple[Branch, ...] = ()

    @property
    def is_path(self) -> bool:
        """Whether this is one path and nothing else."""
        return (
            not self.needs_check
            and not self.denials
            and len(self.branches) == 1
            and self.branches[0].predicate == b""
        )


class _Demand(NamedTuple):
    """What is asked at one node: of its value, below it; what is denied, and what was left out."""

    tests: tuple[ValueTest, ...] = ()
    below: tuple[_Twig, ...] = ()
    denials: tuple[Branch, ...] = ()
    needs_check: bool = False


class _Twig(NamedTuple):
    """A step of one combination, with all alternatives chosen."""

    path: str
    demand: _Demand


_NOTHING: Final = _Demand()
_LEFT_OUT: Final = _Demand(needs_check=True)
_ALWAYS: Final = Both(())
_ROOT: Final = _Twig("/*", _NOTHING)
"""Every document has a root; it stands for a unit that asks for nothing."""


def make_units(pattern: Pattern) -> tuple[Unit, ...]:
    """The units of a pattern; none for one that matches nothing."""
    return tuple(
        _unit(demand)
        for alternative in pattern.alternatives
        for demand in _demands(alternative, "")
    )


def _twigs(step: Step, above: str) -> list[_Twig]:
    """The combinations of a step below the path ``above``."""
    path = above + _spelling(step)
    below = step.only_branch
    while below is not None and step.position is None:  # most steps have no other condition
        step, path = below, path + _spelling(below)
        below = step.only_branch
    demands = _all_of(step.conditions, path)
    if step.position is not None:
        demands = [_joined(_LEFT_OUT, demand) for demand in demands]
    return [_Twig(path, demand) for demand in demands]


def _spelling(step: Step) -> str:
    return ("/" if step.axis is Axis.CHILD else "//") + step.test.text


def _all_of(conditions: Iterable[Condition], path: str) -> list[_Demand]:
    combinations = [_NOTHING]
    for condition in conditions:
        demands = _demands(condition, path)
        if len(combinations) * len(demands) > _MOST_COMBINATIONS:
            demands = [_LEFT_OUT]
        combinations = [_joined(first, second) for first in combinations for second in demands]
    return combinations


def _joined(first: _Demand, second: _Demand) -> _Demand:
    if first is _NOTHING:
        return second
    return _Demand(
        first.tests + second.tests,
        first.below + second.below,
        first.denials + second.denials,
        first.needs_check or second.needs_check,
    )


class _Demands(Fold[[str], list[_Demand]]):
    """All cases in which a condition can hold at the end of a path."""

    def step(self, step: Step, path: str) -> list[_Demand]:
        if _LEAF.search(path):
            return []  # nothing lies below an attribute or a text node
        return [_Demand(below=(twig,)) for twig in _twigs(step, path)]

    def value_test(self, test: ValueTest, path: str) -> list[_Demand]:
        return [_Demand(tests=(test,))]

    def first_node(self, condition: FirstNode, path: str) -> list[_Demand]:
        # The first node passes, so some node does.
        return [_joined(_LEFT_OUT, demand) for demand in self.visit(condition.as_branch(), path)]

    def either(self, condition: Either, path: str) -> list[_Demand]:
        return [demand for member in condition.members for demand in self.visit(member, path)]

    def both(self, condition: Both, path: str) -> list[_Demand]:
        return _all_of(condition.members, path)

    def negation(self, condition: Negation, path: str) -> list[_Demand]:
        denied = _certain(condition.condition)
        cases = self.visit(denied.implied if isinstance(denied, Residual) else denied, path)
        denials = [_denial(demand, path) for demand in cases]
        if len(denials) > _MOST_COMBINATIONS or None in denials:
            return [_LEFT_OUT]
        return [_Demand(denials=tuple(denial for denial in denials if denial is not None))]

    def residual(self, condition: Residual, path: str) -> list[_Demand]:
        demands = self.visit(condition.implied, path)
        if len(demands) > _MOST_COMBINATIONS:
            return [_LEFT_OUT]
        return [_joined(_LEFT_OUT, demand) for demand in demands]


_demands: Final = _Demands().visit


def _certain(condition: Condition) -> Condition:
    """What holds wherever the condition holds, or has no value because an expression has none."""
    if not may_fail(condition):
        return condition
    match condition:
        case Step(axis=axis, test=test, position=position, conditions=conditions):
            kept = (each for each in map(_certain, conditions) if each != _ALWAYS)
            return Step(axis, test, position, tuple(kept))
        case Both(members=members):
            return Both(tuple(each for each in map(_certain, members) if each != _ALWAYS))
        case Either(members=members):
            certain = tuple(map(_certain, members))
            return _ALWAYS if _ALWAYS in certain else Either(certain)
        case _:
            return _ALWAYS


def _denial(demand: _Demand, path: str) -> Branch | None:
    """A probe that holds wherever the demand is met at that path; None where there is none."""
    if demand.tests:
        return Branch(encode(path), _predicate(demand.tests))
    leaves: list[_Twig] = []
    waiting = list(demand.below)
    while waiting:
        twig = waiting.pop()
        waiting.extend(twig.demand.below)
        if twig.demand.tests or not twig.demand.below:
            leaves.append(twig)
    if not leaves:
        return None
    # A value is rarer than a path, and a long path is rarer than a short one.
    rarest = max(leaves, key=lambda twig: (bool(twig.demand.tests), len(twig.path)))
    return Branch(encode(rarest.path), _predicate(rarest.demand.tests))


def _unit(demand: _Demand) -> Unit:
    branches: list[Branch] = []
    for twig in demand.below or (_ROOT,):
        _add_branches(twig, branches)
    needs_check, found = _left_out(demand)
    denials = tuple(dict.fromkeys(found))
    if max(len(branches), len(denials)) > _MOST_BRANCHES:
        return Unit(True, (branches[0]._replace(above=None),))
    return Unit(needs_check, tuple(branches), denials)


def _left_out(demand: _Demand) -> tuple[bool, list[Branch]]:
    """Whether something of a demand and all below it needs a check, and the denials."""
    needs_check, denials = demand.needs_check, list(demand.denials)
    for twig in demand.below:
        checked, denied = _left_out(twig.demand)
        needs_check |= checked
        denials += denied
    return needs_check, [] if needs_check else denials


def _add_branches(twig: _Twig, branches: list[Branch]) -> int:
    """Add what the twig asks for; the number of the branch that stands for it."""
    demand = twig.demand
    if not demand.below:
        branches.append(Branch(encode(twig.path), _predicate(demand.tests)))
        return len(branches) - 1
    if len(demand.below) == 1 and not demand.tests:
        return _add_branches(demand.below[0], branches)
    parts = [_add_branches(below, branches) for below in demand.below]
    if demand.tests:
        parts.append(len(branches))
        branches.append(Branch(encode(twig.path), _predicate(demand.tests)))
    number = len(branches)
    branches.append(Branch(encode(twig.path), None))
    for part in parts:
        branches[part] = branches[part]._replace(above=number)
    return number


def _predicate(tests: tuple[ValueTest, ...]) -> bytes:
    """The comparisons in the kernel's form, in one order."""
    if not tests:
        return b""
    return b"".join(map(_comparison, sorted(set(tests), key=lambda test: test.text)))


def _comparison(test: ValueTest) -> bytes:
    comparison, operand = comparison_of(test)
    if isinstance(operand, float):
        return struct.pack("=Bd", comparison, operand)
    return struct.pack("=BI", comparison, len(operand)) + operand
