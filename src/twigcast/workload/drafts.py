"""Drawing the shape of a pattern as part of a document that a DTD allows.

A walk goes down from the root; at each element the next one is chosen among its possible children
by a Zipf distribution.  Which child has which rank is shuffled for each element by the seed, so
that popular tags are not those that the DTD happens to name first.  The walk ends at an element
without children or at the height.

* ``*``: the tag is not written; the walk goes on below the element that it stands for.
* ``//``: the edge is a descendant edge, and the walk may take further hops before the element that
  is written, each with a chance of one half while the height allows.  The hops in between count
  for the height, so no pattern needs documents deeper than that.
* Branches: a node has a second child with the chance asked for, a third with that chance again,
  and so on.  They are different elements that the content model allows side by side.

::

    walk      news ─ story ─ story-body ─ table ─ table-body ─ row ─ cell
               │       │         │          │      (a hop)      │      │
    pattern  /news  /story      /*       /table               //row  /cell

So every pattern has a witness: the walks it was drawn from, completed to a valid document.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise

from twigcast.language import Axis, Condition, Kind, NodeTest, branch, node_test
from twigcast.workload.chance import Draw, shuffled, zipf_bounds
from twigcast.workload.elements import UsableElements

_FURTHER_HOP = 0.5
_BRANCH_TRIES = 8
_WILDCARD = node_test(Kind.ELEMENT)


class Site:
    """An element that walks come to; ``below`` are its possible children by their ranks."""

    __slots__ = ("_toward", "below", "bounds", "element", "levels", "test", "text")

    def __init__(self, element: str, test: NodeTest, levels: int) -> None:
        self.element = element
        self.test = test
        self.text = f"/{test.text}"
        self.levels = levels
        self.below: tuple[Site, ...] = ()
        self.bounds: list[float] = []
        self._toward: dict[int, tuple[tuple[Site, ...], list[float]]] = {}

    def hop(self, draw: Draw, levels: int) -> Site:
        """A child by its rank, among those from which a walk can take that many levels."""
        if levels <= 1:
            return self.below[bisect_right(self.bounds, draw())]
        known = self._toward.get(levels)
        if known is None:
            known = self._toward[levels] = self._choose(levels)
        below, bounds = known
        return below[bisect_right(bounds, draw())]

    def _choose(self, levels: int) -> tuple[tuple[Site, ...], list[float]]:
        shares = [upper - lower for lower, upper in pairwise((0.0, *self.bounds, 1.0))]
        kept = [rank for rank, site in enumerate(self.below) if site.levels >= levels]
        if not kept:
            return self.below, self.bounds
        bounds = list(accumulate(shares[rank] for rank in kept))
        return tuple(self.below[rank] for rank in kept), [b / bounds[-1] for b in bounds[:-1]]


class Draft:
    """A node of a pattern that is being drawn, and the site of the witness it stands for."""

    __slots__ = ("axis", "branches", "is_named", "predicate", "site")

    def __init__(self, axis: Axis, is_named: bool, site: Site) -> None:
        self.axis = axis
        self.is_named = is_named
        self.site = site
        self.branches: list[Draft] = []
        self.predicate: Condition | None = None

    def nodes(self) -> Iterator[Draft]:
        """This node and all below it, parents first."""
        waiting = [self]
        while waiting:
            draft = waiting.pop()
            yield draft
            waiting.extend(reversed(draft.branches))

    def spelling(self) -> str:
        """A text that only equivalent drafts share.

        It is made more quickly than the normal form, and is either no expression at all or one
        that means what the draft means.
        """
        parts: list[str] = []
        draft = self
        while True:
            if draft.axis is Axis.DESCENDANT:
                parts.append("/")
            parts.append(draft.site.text if draft.is_named else "/*")
            if draft.predicate is not None:
                parts.append(f"[{draft.predicate.text}]")
            branches = draft.branches
            if len(branches) != 1:
                parts.extend(f"({below.spelling()})" for below in branches)
                return "".join(parts)
            draft = branches[0]

    def build(self) -> Condition:
        """The pattern's branch from this node on, in normal form."""
        conditions = [below.build() for below in self.branches]
        if self.predicate is not None:
            conditions.append(self.predicate)
        test = self.site.test if self.is_named else _WILDCARD
        return branch(self.axis, test, None, conditions)


class Walker:
    """Draws drafts with given chances of ``*``, ``//`` and branches."""

    def __init__(
        self,
        elements: UsableElements,
        tests: Mapping[str, NodeTest],
        ranks: Draw,
        *,
        wildcard: float,
        descendant: float,
        branching: float,
        skew: float,
        height: int,
    ) -> None:
        self._elements = elements
        self._wildcard = wildcard
        self._descendant = descendant
        self._branching = branching
        tallest = elements.tallest(height)
        sites = {name: Site(name, tests[name], tallest[name]) for name in elements.children}
        bounds: dict[int, list[float]] = {0: []}
        for name, children in elements.children.items():
            width = len(children)
            if width not in bounds:
                bounds[width] = zipf_bounds(width, skew)
            sites[name].bounds = bounds[width]
            sites[name].below = shuffled(ranks, [sites[child] for child in children])
        self._root = sites[elements.root]

    def draw(self, draw: Draw, height: int, goal: int = 0) -> Draft:
        """A draft of at most ``height`` levels, and of ``goal`` levels where the DTD allows."""
        # The first hop leads from the document node to the root.
        return self._draw_branch(draw, self._root, 1, height, goal)

    def _draw_branch(self, draw: Draw, site: Site, level: int, height: int, goal: int) -> Draft:
        """The branch whose first hop leads to ``site`` at ``level``."""
        wildcard, descendant, branching = self._wildcard, self._descendant, self._branching
        result: list[Draft] = []
        siblings = result
        while True:
            axis = Axis.CHILD
            if descendant and draw() < descendant:
                axis = Axis.DESCENDANT
                while level < height and site.below and draw() < _FURTHER_HOP:
                    site = site.hop(draw, goal - level)
                    level += 1
            draft = Draft(axis, not wildcard or draw() >= wildcard, site)
            siblings.append(draft)
            if level >= height or not site.below:
                return result[0]
            siblings = draft.branches
            child = site.hop(draw, goal - level)
            level += 1
            if branching and draw() < branching:
                for other in self._others(draw, site, child):
                    siblings.append(self._draw_branch(draw, other, level, height, 0))
            site = child

    def _others(self, draw: Draw, site: Site, child: Site) -> list[Site]:
        """Further children that ``site`` can have beside ``child``."""
        chosen = [child]
        while True:
            for _ in range(_BRANCH_TRIES):
                other = site.hop(draw, 0)
                if other not in chosen and self._elements.together(
                    site.element, frozenset(one.element for one in (*chosen, other))
                ):
                    chosen.append(other)
                    break
            else:
                return chosen[1:]
            if draw() >= self._branching:
                return chosen[1:]
