"""``covers``, ``equivalent`` and ``overlaps`` of two patterns.

    p, q ──split──► twigs ──homomorphism──► covered ──────────────────────────────────► True
                                 └────────► not shown ──► exact? ──no────────────────► False
                                                            └─────models──► refuted ─► False
                                                                    │   └─► complete ► True
                                                                    └─────► neither: an error

Invariant: True is always right.  False is right too where p and q are linear, and always with
``exact=True``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from twigcast.covering.deciding import DEFAULT_BUDGET, holds_in_documents
from twigcast.covering.homomorphism import AskedTwig, GivenTwig, fits
from twigcast.covering.overlap import some_twigs_meet
from twigcast.covering.twigs import Given, TwigNode, asked, given, split
from twigcast.language import Pattern, Step, require_pattern


class Prepared:
    """A pattern with its twigs, taken apart once for many comparisons."""

    def __init__(self, pattern: Pattern) -> None:
        require_pattern(pattern)
        self.pattern = pattern
        self.twigs = split(pattern)

    @cached_property
    def asked(self) -> Sequence[Sequence[TwigNode]]:
        """The twigs in the role of what covers."""
        return [asked(twig) for twig in self.twigs]

    @cached_property
    def given(self) -> Sequence[Given]:
        """The twigs in the role of what is covered."""
        return [given(twig) for twig in self.twigs]

    @property
    def possible(self) -> list[Step]:
        """The twigs that some document may hold."""
        return [twig for twig, _ in self._given]

    @cached_property
    def _asked(self) -> Sequence[AskedTwig]:
        return [AskedTwig(nodes) for nodes in self.asked]

    @cached_property
    def _given(self) -> Sequence[tuple[Step, GivenTwig]]:
        """The twigs that some document may hold; nothing is asked of the others."""
        return [
            (twig, GivenTwig(known))
            for twig, known in zip(self.twigs, self.given, strict=True)
            if not known.impossible
        ]

    def covers(self, other: Prepared) -> bool:
        """Whether every document that matches the other pattern is known to match this one."""
        if self.pattern == other.pattern:
            return True
        asked = self._asked
        for _, known in other._given:
            for wanted in asked:
                if fits(wanted, known):
                    break
            else:
                return False
        return True

    def not_shown(self, other: Prepared) -> list[Step]:
        """The twigs of the other pattern that none of this one's is known to cover."""
        if self.pattern == other.pattern:
            return []
        return [
            twig
            for twig, known in other._given
            if not any(fits(wanted, known) for wanted in self._asked)
        ]


def require_budget(budget: object) -> None:
    """Refuse a budget that is not a number of things to try, one or more."""
    if not isinstance(budget, int) or isinstance(budget, bool):
        raise TypeError(f"a budget is an int, not {type(budget).__name__}")
    if budget < 1:
        raise ValueError(f"a budget is 1 or more, not {budget}")


def covers(p: Pattern, q: Pattern, *, exact: bool = False, budget: int = DEFAULT_BUDGET) -> bool:
    """Whether every document that matches ``q`` matches ``p``.

    True is always right, and so is False for linear patterns (names, ``*``, ``/`` and ``//``).  On
    others a covering may be missed, seldom; with ``exact`` none is: what the quick test does not
    show is tried on up to ``budget`` documents made from ``q``.  Raises
    :class:`twigcast.errors.CoveringBudgetError` where those do not decide it.
    """
    require_pattern(p)
    require_pattern(q)
    require_budget(budget)
    first, second = _prepared(p), _prepared(q)
    if not exact:
        return first.covers(second)
    open_twigs = first.not_shown(second)
    if not open_twigs or (p.linear_steps is not None and q.linear_steps is not None):
        return not open_twigs
    return holds_in_documents(p, q, open_twigs, budget)


def equivalent(
    p: Pattern, q: Pattern, *, exact: bool = False, budget: int = DEFAULT_BUDGET
) -> bool:
    """Whether ``p`` and ``q`` match the same documents: each covers the other."""
    return covers(p, q, exact=exact, budget=budget) and covers(q, p, exact=exact, budget=budget)


def overlaps(p: Pattern, q: Pattern) -> bool:
    """Whether some document may match both.

    False is always right.  True is too for patterns of names, ``*``, attributes, ``text()``, ``or``
    and comparisons (``=`` and ``<`` and their kin) of attributes and ``text()``.
    """
    require_pattern(p)
    require_pattern(q)
    return some_twigs_meet(_prepared(p).possible, _prepared(q).possible)


# Callers compare one pattern with many; as many are kept as a few comparisons of unions need.
_prepared = lru_cache(maxsize=1024)(Prepared)
