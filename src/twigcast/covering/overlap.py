"""Whether two twigs can be in one document.

A document has one root element; all else can be there more than once.  So two twigs exclude
each other only where both start at the root::

    /a/b  and  /a/c      one root a with both children
    /a    and  //b       a b below a
    /a    and  /b        no document
    /a[@x=1]/b  and  /a[@x=2]     no document: the root has one @x

Then what both ask of the root is put together, and looked at as one twig: names must agree,
comparisons of the root's value and of each of its attributes must not contradict each other, and
nothing that one asks for may be denied (``not()``) by the other.

Exact where the twigs hold names, ``*``, attributes, ``text()`` and comparisons of attributes and
``text()``: what is asked below the root goes into branches of its own.  Elsewhere (values of
elements, which hold those of the elements in them, positions, ``not()``, ``contains``) True means
that no contradiction shows.

Cost: linear in what is asked of the root, for each pair of twigs.
"""

from __future__ import annotations

from collections.abc import Iterable

from twigcast.covering.tidying import tidy
from twigcast.covering.twigs import given
from twigcast.language import Axis, Step


def some_twigs_meet(first: Iterable[Step], second: Iterable[Step]) -> bool:
    """Whether a twig of the first and one of the second can be in one document.

    Each of them must be possible by itself.
    """
    others = list(second)
    return any(_meet(twig, other) for twig in first for other in others)


def _meet(first: Step, second: Step) -> bool:
    if first.axis is not Axis.CHILD or second.axis is not Axis.CHILD:
        return True
    if not first.test.overlaps(second.test):
        return False
    conditions = dict.fromkeys((*first.conditions, *second.conditions))
    together = tidy(Step(Axis.CHILD, first.test, None, tuple(conditions)))
    return together is not None and not given(together).impossible
