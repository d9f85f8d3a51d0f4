"""A twig said more plainly, so that a comparison node by node finds what it implies.

The meaning stays; these are facts about documents that the language does not know::

    a[@x>1][@x<9]    ──►  a/@x[.>1][.<9]         an element has one attribute of a name
    a/b[1]           ──►  a/b                    where there is a b there is a first one
    a/b[3]           ──►  a/b[position()>=3]     where there is a fourth there is a third
    /a[1]            ──►  /a                     the root has no siblings
    text()[.!=""]    ──►  text()                 no text node is empty

What can never hold, like ``/a[2]`` or ``a[b/c][not(b)]``, is recognized here as well.

Cost: linear in the twig; comparing the conditions of one node where a ``not()`` is among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from twigcast.covering.values import contradict
from twigcast.language import Axis, Condition, Kind, Negation, NodeTest, Position, Step, ValueTest

_EMPTY = ""


def tidy(twig: Step) -> Step | None:
    """The twig, below the document node, in its plainer form; None where it never matches."""
    position = twig.position
    if position is not None and twig.axis is Axis.CHILD:
        if not position.accepts(1):
            return None
        twig = Step(twig.axis, twig.test, None, twig.conditions)
    return _tidy(twig)


def _tidy(step: Step) -> Step | None:
    conditions = step.conditions
    if not conditions:
        return _bare(step)
    if len(conditions) == 1 and isinstance(conditions[0], Step):
        below = _tidy(conditions[0])
        if below is conditions[0]:
            return step
        return None if below is None else Step(step.axis, step.test, step.position, (below,))
    kept = _tidy_all(conditions, step.test.kind)
    if kept is None:
        return None
    changed = len(kept) != len(conditions) or any(
        new is not old for new, old in zip(kept, conditions, strict=True)
    )
    tidied = Step(step.axis, step.test, step.position, kept) if changed else step
    return tidied if kept else _bare(tidied)


def _bare(step: Step) -> Step:
    """A step that nothing else is asked of: a count of siblings is all that its position says."""
    position = step.position
    if position is None:
        return step
    if position.operator in ("=", ">=") and position.value > 1:
        if position.operator == ">=":
            return step
        return Step(step.axis, step.test, Position(">=", position.value))
    return Step(step.axis, step.test)


def _tidy_all(conditions: Sequence[Condition], kind: Kind) -> tuple[Condition, ...] | None:
    kept: list[Condition] = []
    indexes: dict[NodeTest, int] = {}
    has_negation = False
    for condition in conditions:
        if isinstance(condition, Step):
            below = _tidy(condition)
            if below is None:
                return None
            if is_one_attribute(below):
                index = indexes.setdefault(below.test, len(kept))
                if index < len(kept):
                    kept[index] = _joined(kept[index], below)
                    continue
            kept.append(below)
            continue
        if kind is Kind.TEXT and isinstance(condition, ValueTest) and condition.operand == _EMPTY:
            if condition.operator == "=":
                return None
            continue
        has_negation = has_negation or isinstance(condition, Negation)
        kept.append(condition)
    return None if has_negation and contradict(kept) else tuple(kept)


def is_one_attribute(step: Step) -> bool:
    """Whether an element has at most one such node, and the step stands for it."""
    test = step.test
    return (
        test.kind is Kind.ATTRIBUTE
        and step.axis is Axis.CHILD
        and step.position is None
        and test.namespace is not None
        and test.local is not None
    )


def _joined(first: Condition, second: Step) -> Step:
    assert isinstance(first, Step)
    together = dict.fromkeys((*first.conditions, *second.conditions))
    return Step(first.axis, first.test, None, tuple(together))
