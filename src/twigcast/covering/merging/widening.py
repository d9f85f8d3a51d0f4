"""Widening: a linear pattern without the first steps that the paths imply.

In a schema in which a ``uid`` stands nowhere but in the header of an entry, these match the same
paths, and the last one covers most::

    /proteins/entry/header/uid      //header/uid      //uid

Patterns that are as wide as they can be cover more of each other, and many that are spelled
differently become equal.  A widened pattern is a perfect merger of one: it covers the pattern that
it stands for, and its degree is 0.

Cost: as many counts as the pattern has steps, most of which are remembered by the counter.
"""

from __future__ import annotations

from twigcast.covering.merging.counting import PathCounter
from twigcast.covering.merging.rules import spelled
from twigcast.errors import CountingBudgetError
from twigcast.language import Axis, Pattern, restore_pattern

_MOST_STATES = 120


def widened(pattern: Pattern, counter: PathCounter) -> Pattern:
    """The pattern with as few of its last steps as match the same of the paths that are counted.

    A pattern that is not linear, or takes too much counting, is left as it is.
    """
    steps = pattern.linear_steps or ()
    tests = [step.test.text for step in steps]
    edges = sum(1 << at for at, step in enumerate(steps) if step.axis is Axis.DESCENDANT)
    for first in reversed(range(len(steps))):
        wide = restore_pattern(spelled(tests[first:], edges >> first | 1))
        try:
            if not counter.degree(wide, (pattern,), budget=_MOST_STATES):
                return wide
        except CountingBudgetError:
            continue
    return pattern
