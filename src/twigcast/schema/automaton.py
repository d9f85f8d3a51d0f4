"""Languages of label paths: one small automaton for schemas and advertisements alike.

Both are position automata (Glushkov's): a state is entered by one label only, so the label stands
at the state and an edge needs none.  For a schema a position is an element, for an advertisement
it is an occurrence of a name in its text::

    /a(/b|/c)+/d            first = {a}, last = {d}
                            ┌──┐
                     ┌───► b ◄─┘◄┐ ──┐
              ──► a ─┤           │   ├─► d ──►
                     └───► c ◄─┐◄┘ ──┘
                            └──┘

Sets of positions are Python integers, one bit a position, so a step of a subscription is a few
word-wide operations (Li, Hou and Jacobsen use Knuth, Morris and Pratt's failure table here, which
jumps over matches when both sides hold ``*``; this does not).

Invariant: every position lies on some walk from ``first`` to ``last``.  So a walk that has come
anywhere can be completed, and a linear subscription, which selects a node *on* a path, overlaps
as soon as its last step finds a position: ``L(s)·Σ* ∩ L(a) ≠ ∅``.  Names come from an unbounded
alphabet, and each position chooses its own, so ``*`` against ``*`` meets always.

Cost: linear steps × positions at the worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from twigcast.language import Axis, Kind, NodeTest, Step

PathName = str | tuple[str, str]
"""A name on a path: a str is in no namespace, a pair is (namespace, local name)."""


class PathAutomaton:
    """A set of label paths.

    ``labels`` holds what each position accepts, ``follow`` the set of positions after each,
    ``first`` and ``last`` the sets where paths begin and end.
    """

    def __init__(
        self, labels: Sequence[NodeTest], first: int, follow: Sequence[int], last: int
    ) -> None:
        self.labels = tuple(labels)
        self.first = first
        self.follow = tuple(follow)
        self.last = last
        positions: dict[NodeTest, int] = {}
        for index, label in enumerate(self.labels):
            positions[label] = positions.get(label, 0) | 1 << index
        self._by_local: dict[str | None, list[tuple[str | None, int]]] = {}
        for label, mask in positions.items():
            self._by_local.setdefault(label.local, []).append((label.namespace, mask))

    @staticmethod
    def joined(automata: Iterable[PathAutomaton]) -> PathAutomaton:
        """The paths of all of them; one that several have is there as often."""
        labels: list[NodeTest] = []
        follow: list[int] = []
        first = last = 0
        for each in automata:
            shift = len(labels)
            labels += each.labels
            follow += [positions << shift for positions in each.follow]
            first |= each.first << shift
            last |= each.last << shift
        return PathAutomaton(labels, first, follow, last)

    @property
    def everywhere(self) -> int:
        """The set of all positions."""
        return (1 << len(self.labels)) - 1

    def positions(self, namespace: str | None, local: str | None) -> int:
        """The positions whose label and this name (None: any) have a name in common."""
        if local is None:
            candidates = [entry for entries in self._by_local.values() for entry in entries]
        else:
            candidates = [*self._by_local.get(local, ()), *self._by_local.get(None, ())]
        result = 0
        for own, mask in candidates:
            if namespace is None or own is None or own == namespace:
                result |= mask
        return result

    def below(self, positions: int) -> int:
        """The positions one step further on."""
        return _step(self.follow, positions)

    def far_below(self, positions: int) -> int:
        """The positions one step or more further on."""
        return _closure(self.follow, positions)

    def above(self, positions: int) -> int:
        """The positions one step back."""
        return _step(self._precede, positions)

    def far_above(self, positions: int) -> int:
        """The positions one step or more back."""
        return _closure(self._precede, positions)

    def advance(self, positions: int | None, step: Step) -> int:
        """Where an element step leads from ``positions``; from None, the document node."""
        if step.axis is Axis.CHILD:
            reached = self.first if positions is None else self.below(positions)
        else:
            reached = self.everywhere if positions is None else self.far_below(positions)
        return reached & self.positions(step.test.namespace, step.test.local)

    def overlaps_linear(self, steps: Sequence[Step]) -> bool:
        """Whether a linear subscription selects a node on some path of this language; exact."""
        positions: int | None = None
        for step in steps:
            if step.test.kind is not Kind.ELEMENT:
                raise ValueError(f"not a linear expression: it holds {step.test.text}")
            positions = self.advance(positions, step)
            if not positions:
                return False
        return True

    def matches_path(self, path: Sequence[PathName]) -> bool:
        """Whether that path, from the root to a leaf, is in the language."""
        positions = 0
        for depth, name in enumerate(path):
            namespace, local = ("", name) if isinstance(name, str) else name
            reached = self.below(positions) if depth else self.first
            positions = reached & self.positions(namespace, local)
            if not positions:
                return False
        return bool(positions & self.last)

    @cached_property
    def _precede(self) -> tuple[int, ...]:
        precede = [0] * len(self.labels)
        for index, following in enumerate(self.follow):
            for other in bits(following):
                precede[other] |= 1 << index
        return tuple(precede)

    def __str__(self) -> str:
        """One line a position: ``>`` where paths begin, ``.`` where they end."""
        lines = []
        for index, label in enumerate(self.labels):
            marks = (">" if self.first >> index & 1 else " ") + (
                "." if self.last >> index & 1 else " "
            )
            after = " ".join(str(other) for other in bits(self.follow[index]))
            lines.append(f"{marks} {index} {label.text} -> {after}".rstrip())
        return "\n".join(lines)


def bits(mask: int) -> Iterator[int]:
    """The indices of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _step(edges: Sequence[int], positions: int) -> int:
    reached = 0
    for index in bits(positions):
        reached |= edges[index]
    return reached


def _closure(edges: Sequence[int], start: int) -> int:
    result = 0
    frontier = start
    while frontier:
        reached = _step(edges, frontier)
        frontier = reached & ~result
        result |= reached
    return result
