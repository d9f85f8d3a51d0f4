"""Whether two twigs can be in one document.

A document has one root element; all else can be there more than once.  So two twigs exclude
each other only where both start at the root::

    /a/b  and  /a/c      one root a with both children
    /a    and  //b       a b below a
    /a    and  /b        no document
    /a[@x=1]/b  and  /a[@x=2]     no document: the root has one @x

So the conditions of both are put together and looked at as one twig: the names of the root must
agree, comparisons of its value and of each of its attributes must not contradict each other, and
nothing that one asks for may be denied (``not()``) by the other.

Exact where the twigs hold names, ``*``, attributes, ``text()`` and comparisons of attributes and
``text()``: what is asked below the root goes into branches of its own.  Elsewhere (values of
elements, which hold those of the elements in them, positions, ``not()``, ``contains``) True means
that no contradiction shows.

Cost: that of tidying, for each pair of twigs.
"""

from __future__ import annotations

from collections.abc import Iterable

from twigcast.covering.splitting import Twig
from twigcast.covering.tidying import tidy
from twigcast.covering.twigs import given


def some_twigs_meet(first: Iterable[Twig], second: Iterable[Twig]) -> bool:
    """Whether a twig of the first and one of the second can be in one document.

    Each of them must be possible by itself.
    """
    others = list(second)
    return any(_meet(twig, other) for twig in first for other in others)


def _meet(first: Twig, second: Twig) -> bool:
    together = tidy(tuple(dict.fromkeys((*first, *second))))
    return together is not None and not given(together).impossible
