"""The covering order of a set of patterns, kept as a tree with super pointers.

After Li, Hou and Jacobsen, section 4.1.  Each pattern is a node; it covers the whole subtree below
it.  A pattern may be covered by several that do not cover each other, and a tree gives it one
parent, so the others point to it::

            (root)
           ╱      ╲
        //a        //b           a solid edge: parent and child
        ╱  ╲          ╲          a dashed one: a super pointer
     /a    //a/c       //b/c
       ╲               ╱
      /a//b/c ◄┄┄┄┄┄┄┄┘

Invariants.  Tree edges and super pointers together are acyclic, and one pattern leads down to
another exactly where it covers it.  No edge repeats a longer path, so right below
a node are the largest patterns that it covers, and right below the root are the maximal ones.
Patterns that cover each other follow one below the other, the earlier above.

The paper's three cases are one rule here: the new pattern goes below the smallest ones that cover
it and above the largest that it covers, and the edges between those two are taken away.  Where the
first are none it is a new child of the root; where the second are none it is a leaf.  A removed
pattern leaves an edge from each one right above it to each one right below it, unless there is
another path; that needs no comparison.

The test of covering has to be transitive for all this.  On paths it is exact, so it is; on trees a
sound test may know that p covers q and q covers r and miss that p covers r.  Such a relation
may be reported through q, or missed; what is reported is always true, and the tree stays sound.

Cost: what covers a pattern is sought among the children of what covers it; what it covers is
sought below the smallest ones that cover it, and most subtrees are ruled out by
:mod:`twigcast.covering.outlines`.  In the worst case all nodes are compared, and an order in which
everything covers half of everything has as many edges as pairs.  Memory: some kilobytes a pattern.
Not for several threads at once while one of them adds or removes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Unpack

from twigcast.covering.outlines import Outline
from twigcast.covering.pairwise import Prepared
from twigcast.covering.subscribers import SubscriptionSet
from twigcast.language import BindingKeywords, Pattern, as_pattern, parse, require_pattern

if TYPE_CHECKING:
    from twigcast.drawing import Diagram

_LINES = 100
_LONGEST = 60
_DEEPEST = 20
_NAMED = 3
_NOTHING = Prepared(parse("//Q{urn:twigcast:no-document-has-this}nothing"))


class _Node:
    """A pattern, the keys that share it, and its edges; sets are dictionaries, to keep the order.

    ``mentioned`` and ``levels`` sum up the outlines of the node and all that it leads to.
    """

    __slots__ = (
        "children",
        "keys",
        "levels",
        "mentioned",
        "outline",
        "parent",
        "pointed_by",
        "points_to",
        "prepared",
    )

    def __init__(self, prepared: Prepared, outline: Outline) -> None:
        self.prepared = prepared
        self.outline = outline
        self.keys: dict[str, None] = {}
        self.parent: _Node | None = None
        self.children: dict[_Node, None] = {}
        self.points_to: dict[_Node, None] = {}
        self.pointed_by: dict[_Node, None] = {}
        self.mentioned = outline.mentions
        self.levels = outline.levels

    @property
    def pattern(self) -> Pattern:
        return self.prepared.pattern

    def below(self) -> Iterator[_Node]:
        return chain(self.children, self.points_to)

    def above(self) -> Iterator[_Node]:
        if self.parent is not None:
            yield self.parent
        yield from self.pointed_by

    def point_to(self, other: _Node) -> None:
        self.points_to[other] = None
        other.pointed_by[self] = None

    def point_no_more_to(self, other: _Node) -> None:
        del self.points_to[other]
        del other.pointed_by[self]


class SubscriptionTree(SubscriptionSet):
    """Subscriptions under keys, arranged by which pattern covers which.

    ``covers`` is the test of covering to use, any sound one.  ``comparisons`` counts how often it
    was called.
    """

    def __init__(self, covers: Callable[[Prepared, Prepared], bool] = Prepared.covers) -> None:
        super().__init__()
        self.comparisons = 0
        self._test = covers
        self._top: dict[_Node, None] = {}
        self._node_of: dict[Pattern, _Node] = {}

    # --- the set ---------------------------------------------------------------------------

    def add(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Add a subscription under a key of its own, with bindings as for :func:`twigcast.parse`.

        Raises :class:`~twigcast.errors.DuplicateKeyError` if the key is taken, and
        :class:`~twigcast.errors.SubscriptionError` for an expression outside the language.
        """
        pattern = as_pattern(subscription, namespaces, **bindings)
        if self._subscribers.add(key, pattern):
            with self._subscribers.undone_on_error(key):
                node = self._make(pattern)
                node.keys = self._subscribers.keys_of(pattern)
                self._insert(node)
            self._node_of[pattern] = node

    def remove(self, key: str) -> None:
        """End a subscription; raises :class:`~twigcast.errors.UnknownKeyError` if there is none."""
        pattern, is_gone = self._subscribers.remove(key)
        if is_gone:
            self._take_out(self._node_of.pop(pattern))

    # --- questions -------------------------------------------------------------------------

    def covering(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> list[str]:
        """The keys of all subscriptions that cover a pattern, itself included if it is there."""
        return _keys(
            self._all_covering(self._make(as_pattern(subscription, namespaces, **bindings)))
        )

    def covered_by(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> list[str]:
        """The keys of all subscriptions that a pattern covers, itself included if it is there."""
        asked = self._make(as_pattern(subscription, namespaces, **bindings))
        start = next(iter(_lowest(self._all_covering(asked))), None)
        covered: dict[_Node, None] = {}
        highest = self._highest_covered(asked, start)
        # Of patterns that cover each other, each has but the one before it right above.
        while start is not None and self._covers(asked, start):
            covered[start] = None
            start = start.parent
        waiting = deque(highest)
        while waiting:
            node = waiting.popleft()
            if node not in covered:
                covered[node] = None
                waiting.extend(node.below())
        return _keys(covered)

    def maximal(self) -> list[str]:
        """The keys right under the root; of patterns that cover each other, the earliest's."""
        return _keys(self._top)

    def children(self, pattern: Pattern) -> list[Pattern]:
        """The patterns right below one, in the tree."""
        return [node.pattern for node in self._find(pattern).children]

    def parent(self, pattern: Pattern) -> Pattern | None:
        """The pattern right above one, in the tree; None right under the root."""
        above = self._find(pattern).parent
        return None if above is None else above.pattern

    def super_pointers(self, pattern: Pattern) -> list[Pattern]:
        """The patterns outside its subtree that one covers, without those that follow."""
        return [node.pattern for node in self._find(pattern).points_to]

    def walk(self) -> Iterator[tuple[int, Pattern, tuple[str, ...]]]:
        """The depth, the pattern and the keys of each node, parents first."""
        for depth, node in self._walk():
            yield depth, node.pattern, tuple(node.keys)

    # --- pictures --------------------------------------------------------------------------

    def to_dot(self) -> str:
        """A description for Graphviz."""
        from twigcast.drawing import to_dot  # loaded by those who want a picture only

        return to_dot(self._diagram())

    def to_svg(self, limit: int = 300) -> str:
        """A picture of the tree, of no more nodes than ``limit``."""
        from twigcast.drawing import to_svg

        return to_svg(self._diagram(), limit)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        ending = "" if len(self) == 1 else "s"
        return (
            f"<SubscriptionTree: {len(self):,} subscription{ending}, "
            f"{len(self._node_of):,} distinct, {len(self._top):,} maximal>"
        )

    def __str__(self) -> str:
        """The first hundred lines of the tree, one for each pattern."""
        lines = [_line(depth, node) for depth, node in islice(self._walk(), _LINES)]
        left = len(self._node_of) - len(lines)
        if left:
            lines.append(f"… and {left:,} more")
        return "\n".join(lines) or "(empty)"

    def _diagram(self) -> Diagram:
        from twigcast.drawing import Diagram, DiagramNode

        numbers = {node: number for number, (_, node) in enumerate(self._walk())}
        return Diagram(
            nodes=[
                DiagramNode(number, str(node.pattern), f"{len(node.keys):,}")
                for node, number in numbers.items()
            ],
            edges=[(numbers[node], numbers[child]) for node in numbers for child in node.children],
            shortcuts=[
                (numbers[node], numbers[other]) for node in numbers for other in node.points_to
            ],
            caption="pattern and number of subscriptions; solid: covers, dashed: covers, too",
        )

    def _walk(self) -> Iterator[tuple[int, _Node]]:
        waiting = [(0, node) for node in reversed(self._top)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting.extend((depth + 1, child) for child in reversed(node.children))

    def _find(self, pattern: Pattern) -> _Node:
        require_pattern(pattern)
        node = self._node_of.get(pattern)
        if node is None:
            raise KeyError(f"the pattern {pattern} is not in the tree; nobody subscribes to it")
        return node

    # --- search ----------------------------------------------------------------------------

    def _make(self, pattern: Pattern) -> _Node:
        """A node without edges."""
        prepared = Prepared(pattern)
        impossible = False
        if pattern.linear_steps is None:
            # Only what no document matches is covered by a name that no other pattern has.
            self.comparisons += 1
            impossible = self._test(_NOTHING, prepared)
        return _Node(prepared, Outline(prepared, impossible=impossible))

    def _covers(self, one: _Node, other: _Node) -> bool:
        if not one.outline.may_cover(other.outline):
            return False
        self.comparisons += 1
        return self._test(one.prepared, other.prepared)

    def _all_covering(self, node: _Node) -> dict[_Node, None]:
        """All nodes that cover a pattern: their parents do, too."""
        covering: dict[_Node, None] = {}
        waiting = deque([self._top])
        while waiting:
            for each in waiting.popleft():
                if self._covers(each, node):
                    covering[each] = None
                    waiting.append(each.children)
        return covering

    def _highest_covered(self, node: _Node, start: _Node | None) -> list[_Node]:
        """The largest of the patterns below ``start`` that a pattern covers."""
        covered: dict[_Node, None] = {}
        seen: set[_Node] = set()
        waiting = deque([iter(self._top) if start is None else start.below()])
        outline, needs = node.outline, node.outline.needs
        while waiting:
            for each in waiting.popleft():
                # The sums include the node itself.
                if needs & ~each.mentioned or each in seen:
                    continue
                seen.add(each)
                if self._covers(node, each):
                    covered[each] = None
                elif not outline.contradicts(each.outline, each.levels):
                    waiting.append(each.below())
        return [each for each in covered if _ancestors(each.above()).isdisjoint(covered)]

    # --- change ----------------------------------------------------------------------------

    def _insert(self, node: _Node) -> None:
        lowest = _lowest(self._all_covering(node))
        start = min(lowest, key=lambda each: len(each.children) + len(each.points_to), default=None)
        above = _ancestors(lowest)
        # What is above is not below, too, even where a test that is not transitive says so.
        highest = [each for each in self._highest_covered(node, start) if each not in above]
        self._attach(node, lowest[0] if lowest else None)
        for each in lowest[1:]:
            each.point_to(node)
        for each in highest:
            for pointing in [other for other in each.pointed_by if other in above]:
                pointing.point_no_more_to(each)
            if each.parent is None or each.parent in above:
                del self._siblings(each)[each]
                self._attach(each, node)
            else:
                node.point_to(each)
        self._widen(node)

    def _take_out(self, node: _Node) -> None:
        above = list(node.above())
        below = list(node.below())
        del self._siblings(node)[node]
        for each in list(node.pointed_by):
            each.point_no_more_to(node)
        for each in list(node.points_to):
            node.point_no_more_to(each)
        for each in below:
            is_child = each.parent is node
            others = list(each.pointed_by) if is_child else list(each.above())
            reached = _ancestors(others)
            missing = [other for other in above if other not in reached]
            if is_child:
                if missing:
                    self._attach(each, missing.pop(0))
                elif others:
                    others[0].point_no_more_to(each)
                    self._attach(each, others[0])
                else:
                    self._attach(each, None)
            for other in missing:
                other.point_to(each)
        self._narrow(above)

    def _siblings(self, node: _Node) -> dict[_Node, None]:
        return self._top if node.parent is None else node.parent.children

    def _attach(self, node: _Node, parent: _Node | None) -> None:
        node.parent = parent
        self._siblings(node)[node] = None

    def _widen(self, node: _Node) -> None:
        """Add what a new node mentions to the sums above it; its own come from below."""
        for each in node.below():
            node.mentioned |= each.mentioned
            node.levels = min(node.levels, each.levels)
        waiting = deque(node.above())
        while waiting:
            each = waiting.popleft()
            if node.mentioned & ~each.mentioned or node.levels < each.levels:
                each.mentioned |= node.mentioned
                each.levels = min(each.levels, node.levels)
                waiting.extend(each.above())

    def _narrow(self, changed: Iterable[_Node]) -> None:
        """Compute the sums of nodes that lost something below them, and of those above."""
        waiting = deque(changed)
        while waiting:
            node = waiting.popleft()
            mentioned, levels = node.outline.mentions, node.outline.levels
            for each in node.below():
                mentioned |= each.mentioned
                levels = min(levels, each.levels)
            if (mentioned, levels) != (node.mentioned, node.levels):
                node.mentioned, node.levels = mentioned, levels
                waiting.extend(node.above())


def _ancestors(nodes: Iterable[_Node]) -> set[_Node]:
    """The nodes and all from which an edge leads to them."""
    ancestors = set(nodes)
    waiting = list(ancestors)
    while waiting:
        for each in waiting.pop().above():
            if each not in ancestors:
                ancestors.add(each)
                waiting.append(each)
    return ancestors


def _lowest(nodes: dict[_Node, None]) -> list[_Node]:
    """Those of the nodes that cover a pattern below which there is no other one."""
    inner = {above for node in nodes for above in node.above()}
    return [node for node in nodes if node not in inner]


def _keys(nodes: Iterable[_Node]) -> list[str]:
    return [key for node in nodes for key in node.keys]


def _line(depth: int, node: _Node) -> str:
    from twigcast.drawing import shorten

    line = f"{'  ' * min(depth, _DEEPEST)}{shorten(str(node.pattern), _LONGEST)}"
    line += f"  ({_some(list(node.keys))})"
    if node.points_to:
        line += f"  also covers {_some([str(each.pattern) for each in node.points_to])}"
    return line


def _some(texts: Sequence[str]) -> str:
    """The first few of some texts, and how many more there are."""
    from twigcast.drawing import shorten

    named = ", ".join(shorten(each, _LONGEST) for each in texts[:_NAMED])
    more = len(texts) - _NAMED
    return f"{named} and {more:,} more" if more > 0 else named
