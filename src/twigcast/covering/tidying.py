"""A twig said more plainly, so that a comparison node by node finds what it implies.

The meaning stays; these are facts about documents that the language does not know::

    a[@x>1][@x<9]    ──►  a/@x[.>1][.<9]         an element has one attribute of a name
    a/b[1]           ──►  a/b                    where there is a b there is a first one
    a/b[3]           ──►  a/b[position()>=3]     where there is a fourth there is a third
    text()[.!=""]    ──►  text()                 no text node is empty
    /a[1]            ──►  /a                     the root has no siblings
    /a and /*[b]     ──►  /a[b]                  there is one root
    /a and //b       ──►  /a//b                  what is not the root is below it

What can never hold, like ``/a[2]``, ``a[b/c][not(b)]`` or ``/a and /b``, is recognized here as
well.

Cost: linear in the twig; comparing the conditions of one node where a ``not()`` is among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from twigcast.covering.conditions import contradict, is_one_attribute
from twigcast.language import (
    Axis,
    Condition,
    Kind,
    Negation,
    NodeTest,
    Position,
    Step,
    ValueTest,
    node_test,
)

_EMPTY = ""


def tidy(twig: tuple[Condition, ...]) -> tuple[Condition, ...] | None:
    """The conditions at the document node in their plainer form; None where they never hold."""
    if len(twig) == 1 and isinstance(twig[0], Step):
        branch = _tidy_top(twig[0])
        return None if branch is None else (branch,)
    root: Step | None = None
    others: list[Condition] = []
    for condition in twig:
        if not isinstance(condition, Step):
            others.append(condition)
            continue
        branch = _tidy_top(condition)
        if branch is None:
            return None
        if branch.axis is Axis.DESCENDANT:
            others.append(branch)
            continue
        root = branch if root is None else _one_root(root, branch)
        if root is None:
            return None
    if root is None:
        return _unless_contradicted(others)
    known = _unless_contradicted((root, *others))
    if known is None:
        return None
    below = [each for each in others if isinstance(each, Step) and _is_below(each, root)]
    if not below:
        return known
    conditions = dict.fromkeys((*root.conditions, *below))
    tidied = _tidy(Step(Axis.CHILD, root.test, None, tuple(conditions)))
    return None if tidied is None else (tidied, *(each for each in others if each not in below))


def _tidy_top(branch: Step) -> Step | None:
    """A branch from the document node, which has neither attributes nor text."""
    if branch.axis is Axis.DESCENDANT:
        return _tidy(branch)
    position = branch.position
    if branch.test.kind is not Kind.ELEMENT or not (position is None or position.accepts(1)):
        return None
    return _tidy(
        branch if position is None else Step(branch.axis, branch.test, None, branch.conditions)
    )


def _one_root(first: Step, second: Step) -> Step | None:
    """Two roots as one."""
    one, other = first.test, second.test
    if not one.overlaps(other):
        return None
    test = node_test(
        Kind.ELEMENT,
        other.namespace if one.namespace is None else one.namespace,
        other.local if one.local is None else one.local,
    )
    conditions = dict.fromkeys((*first.conditions, *second.conditions))
    return _tidy(Step(Axis.CHILD, test, None, tuple(conditions)))


def _is_below(branch: Step, root: Step) -> bool:
    """Whether what the branch finds anywhere in the document is not the root itself."""
    return branch.test.kind is not Kind.ELEMENT or not branch.test.overlaps(root.test)


def _unless_contradicted(conditions: Sequence[Condition]) -> tuple[Condition, ...] | None:
    has_negation = any(isinstance(condition, Negation) for condition in conditions)
    return None if has_negation and contradict(conditions) else tuple(conditions)


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
        kept.append(condition)
    return _unless_contradicted(kept)


def _joined(first: Condition, second: Step) -> Step:
    assert isinstance(first, Step)
    together = dict.fromkeys((*first.conditions, *second.conditions))
    return Step(first.axis, first.test, None, tuple(together))
