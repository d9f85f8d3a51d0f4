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
from twigcast.covering.splitting import Twig, split
from twigcast.language import Pattern, require_pattern


class Prepared:
    """A pattern with its twigs, taken apart once for many comparisons."""

    def __init__(self, pattern: Pattern) -> None:
        require_pattern(pattern)
        self.pattern = pattern
        self.twigs = split(pattern)

    @property
    def possible(self) -> list[Twig]:
        """The twigs that some document may hold."""
        return [known.twig for known in self._given]

    @cached_property
    def _asked(self) -> Sequence[AskedTwig]:
        return [AskedTwig(twig) for twig in self.twigs]

    @cached_property
    def _whole(self) -> Sequence[AskedTwig]:
        """The alternatives with their disjunctions, for twigs in which some were left."""
        return [AskedTwig(twig) for twig in split(self.pattern, most=1)]

    @cached_property
    def _given(self) -> Sequence[GivenTwig]:
        """The twigs that some document may hold; nothing is asked of the others."""
        return [known for known in map(GivenTwig, self.twigs) if not known.given.impossible]

    def covers(self, other: Prepared) -> bool:
        """Whether every document that matches the other pattern is known to match this one."""
        return self.pattern == other.pattern or all(map(self._fits, other._given))

    def not_shown(self, other: Prepared) -> list[Twig]:
        """The twigs of the other pattern that none of this one's is known to cover."""
        if self.pattern == other.pattern:
            return []
        return [known.twig for known in other._given if not self._fits(known)]

    def _fits(self, known: GivenTwig) -> bool:
        for wanted in self._asked:
            if fits(wanted, known):
                return True
        return known.given.has_choice and any(fits(wanted, known) for wanted in self._whole)


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
