"""A pattern split into twigs: conjunctions of conditions at the document node, without ``or``.

    /a[b or c]//d and not(//e)   ──►   /a[b]//d , not(//e)
                                       /a[c]//d , not(//e)

A document matches a pattern exactly where all conditions of one of its twigs hold.

Cost: linear in the pattern, but for ``or``, which multiplies.  Where more than ``MOST_TWIGS`` twigs
would come out, the largest disjunctions stay in them as conditions (:func:`has_choice`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

from twigcast.covering.tidying import tidy
from twigcast.language import (
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
    walk_within,
)

MOST_TWIGS = 64
_BEYOND_NAMES = re.compile(r" or | and |[@()\"'<>=]|\[\d")
"""What the text of a pattern holds if there is anything but branches of elements in it."""
_CHOICE = re.compile(r" or | and ")
"""What the text of a pattern holds if there is something to split within an alternative."""

Twig: TypeAlias = tuple[Condition, ...]
"""The conditions at the document node that must all hold."""


def split(pattern: Pattern, most: int = MOST_TWIGS) -> tuple[Twig, ...]:
    """The twigs of a pattern; none for one that never matches."""
    alternatives = pattern.alternatives
    if _BEYOND_NAMES.search(str(pattern)) is None:
        return tuple((alternative,) for alternative in alternatives)
    if _CHOICE.search(str(pattern)) is None:
        tidied = map(tidy, zip(alternatives))
        return tuple(twig for twig in tidied if twig is not None)
    share = max(1, most // max(1, len(alternatives)))
    twigs = (tidy(each) for one in alternatives for each in _split_condition(one, share))
    return tuple(twig for twig in twigs if twig is not None)


def choices(conditions: Sequence[Condition]) -> Iterator[Either]:
    """The disjunctions that were left in a twig, or in the conditions of a node of it."""
    conjunction = walk_within(conditions, lambda each: isinstance(each, Step))
    return (each for each in conjunction if isinstance(each, Either))


def has_choice(twig: Twig) -> bool:
    """Whether a disjunction was left in the twig."""
    return any(True for _ in choices(twig))


_Choices: TypeAlias = list[tuple[Condition, ...]]


def _split_all(conditions: tuple[Condition, ...], most: int) -> _Choices:
    """The conjunction with each choice of members of the disjunctions in it."""
    parts = [_split_condition(condition, most) for condition in conditions]
    count = 1
    # The smallest disjunctions first, so that as many as possible are split.
    for index in sorted(range(len(parts)), key=lambda index: len(parts[index])):
        if count * len(parts[index]) > most:
            parts[index] = [(conditions[index],)]
        count *= len(parts[index])
    if count == 1 and all(
        len(one) == 1 and one[0] is condition
        for (one,), condition in zip(parts, conditions, strict=True)
    ):
        return [conditions]
    return [tuple(c for part in chosen for c in part) for chosen in product(*parts)]


class _Split(Fold[[int], _Choices]):
    """The choices that a condition leaves, each a conjunction; at most so many."""

    def step(self, step: Step, most: int) -> _Choices:
        if not step.conditions:
            return [(step,)]
        return [
            (step,)
            if chosen is step.conditions
            else (Step(step.axis, step.test, step.position, chosen),)
            for chosen in _split_all(step.conditions, most)
        ]

    def value_test(self, test: ValueTest, most: int) -> _Choices:
        return [(test,)]

    def first_node(self, condition: FirstNode, most: int) -> _Choices:
        return [(condition,)]

    def either(self, condition: Either, most: int) -> _Choices:
        split = [choice for member in condition.members for choice in self.visit(member, most)]
        return split if len(split) <= most else [(condition,)]

    def both(self, condition: Both, most: int) -> _Choices:
        return _split_all(condition.members, most)

    def negation(self, condition: Negation, most: int) -> _Choices:
        return [(condition,)]

    def residual(self, condition: Residual, most: int) -> _Choices:
        return [(condition,)]


_split_condition: Final = _Split().visit
