"""The beginnings of the path that a pattern asks for.

    //Stock[Price > 15]/Note     /*  //Stock  //Stock/Price

Each matches whatever the pattern matches, and each the more, the shorter it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.language import normal
from twigcast.language.nodes import CHILD, ELEMENT, Condition, NodeTest, Step
from twigcast.language.pattern import Pattern


def beginnings(pattern: Pattern) -> tuple[Pattern, ...]:
    """Patterns without values that cover a pattern, the widest first, which is ``/*``.

    A pattern with several alternatives has no other.
    """
    steps: tuple[Step, ...] = ()
    if len(pattern.alternatives) == 1:
        steps = tuple(_path(pattern.alternatives[0]))
    patterns = [Pattern((normal.branch(CHILD, NodeTest(ELEMENT, None, None), None, ()),))]
    for length in range(1, len(steps) + 1):
        inner: tuple[Condition, ...] = ()
        for step in reversed(steps[:length]):
            inner = (normal.branch(step.axis, step.test, None, inner),)
        patterns.append(Pattern(inner))
    return tuple(dict.fromkeys(patterns))


def _path(condition: Condition) -> Iterator[Step]:
    """Elements one below the other, all of which must be there."""
    step: Condition | None = condition
    while isinstance(step, Step) and step.test.kind is ELEMENT:
        yield step
        step = next((each for each in step.conditions if isinstance(each, Step)), None)
