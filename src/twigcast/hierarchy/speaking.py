"""Who may speak for whom on a link: what a neighbour can say of the units that both ends share.

    what a neighbour says, and at which depth ──► Speaker ──► an objection, or none

A gateway speaks for its own unit, and nobody outside a unit speaks of its inside.  So what is said
of the overlay of a unit names the brokers directly in it, the gateways of the units right below it,
and leaves: a unit right below, named after one of its gateways, and, for one of its own gateways,
all that is outside.  Of the neighbour itself the link says which units it stands for.

Every objection is to what a broker that keeps to the rules never says, also while links change and
units part.  That is more than can be said of some things that are not as they should be: a document
that was published inside a unit may come to it from outside, if the unit has parted.  The gateway
looks at these (:class:`~twigcast.hierarchy.gateway.Gateway`).

Within one overlay brokers are trusted: each passes on what the others say of their links, without
a signature.

Cost: some comparisons of texts for each name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twigcast.hierarchy.units import (
    depth_of,
    is_kept_for_units,
    is_within,
    named,
    own_name,
    parse_leaf,
    unit_at,
    unit_of,
)
from twigcast.routing import (
    OUTER,
    SHARED_TREE,
    DocumentId,
    LinkState,
    Towards,
    Update,
    is_outer,
    tree_from,
)


class Speaker:
    """A neighbour, by what it may say on its link.

    ``units`` are those in whose overlays it takes part, ``shared`` those in which both ends do.
    """

    def __init__(
        self, name: str, units: Iterable[str], shared: Iterable[str], towards: Towards
    ) -> None:
        self._name = name
        self._depths = {depth_of(unit) for unit in units}
        self._shared = {depth_of(unit): unit for unit in shared}
        self._towards = towards

    @property
    def depths(self) -> tuple[int, ...]:
        """How deep the units lie that both ends take part in."""
        return tuple(self._shared)

    def objection(self, update: Update) -> str:
        """Why a neighbour cannot say this; empty if it can."""
        if update.depth not in self._shared:
            return self._strange_depth(update.depth)
        unit = self._shared[update.depth]
        said = self._to_states(update.states, unit)
        names = [key.origin for key, _ in update.advertise]
        names += [key.origin for key in update.unadvertise]
        said += [f"{each!r} advertises in {named(unit)}" for each in _no_origins(names, unit)]
        scopes = [each.scope for each in update.serve]
        scopes += [key.scope for key, _ in update.advertise]
        scopes += [key.scope for key in update.unadvertise]
        if scope := next(self._wrong_scopes(scopes, update.depth), None):
            said.append(scope)
        trees = frozenset[str]().union(*(each.trees for each in update.serve))
        said += [f"{each!r} is a tree of {named(unit)}" for each in self._no_trees(trees, unit)]
        return f"says that {said[0]}" if said else ""

    def objection_to_document(
        self, document: DocumentId, tree: str, depth: int, scope: int = 0
    ) -> str:
        """Why a document cannot come from the neighbour along a tree; empty if it can."""
        if depth not in self._shared:
            return self._strange_depth(depth)
        unit = self._shared[depth]
        for wrong in self._wrong_scopes((scope,), depth):
            return f"sends a document and says that {wrong}"
        for each in self._no_trees((tree,), unit):
            return f"sends a document along {each!r}, which is no tree of {named(unit)}"
        if not _may_come(document.origin, tree, unit):
            return (
                f"sends a document of {document.origin!r} along the tree {tree!r} of "
                f"{named(unit)}, which others take"
            )
        return ""

    def objection_to_brokers(self, names: Iterable[str], depth: int) -> str:
        """Why the neighbour cannot name brokers in an overlay; empty if it can."""
        if depth not in self._shared:
            return self._strange_depth(depth)
        unit = self._shared[depth]
        for each in _no_brokers(names, unit):
            return f"names {each!r}, which is no broker of {named(unit)}"
        return ""

    def objection_to_homes(self, homes: Iterable[str], depth: int) -> str:
        """Why the neighbour cannot name homes in an overlay; empty if it can."""
        if depth not in self._shared:
            return self._strange_depth(depth)
        unit = self._shared[depth]
        for each in homes:
            if not _is_home(each, unit):
                return f"names {each!r}, which is no home of {named(unit)}"
        return ""

    def objection_to_scopes(self, scopes: Iterable[int], depth: int) -> str:
        """Why the neighbour cannot name units in an overlay as scopes; empty if it can."""
        if depth not in self._shared:
            return self._strange_depth(depth)
        wrong = next(self._wrong_scopes(scopes, depth), "")
        return f"says that {wrong}" if wrong else ""

    def _wrong_scopes(self, scopes: Iterable[int], depth: int) -> Iterator[str]:
        """What is said of scopes that do not reach as far as the overlay in which it is said."""
        for scope in scopes:
            if not 0 <= scope <= depth:
                yield f"it is kept within a unit of depth {scope} in {named(self._shared[depth])}"

    def _strange_depth(self, depth: int) -> str:
        shared = ", ".join(map(named, self._shared.values()))
        return f"speaks of a unit of depth {depth}, and the link is one of {shared} only"

    def _to_states(self, states: Iterable[LinkState], unit: str) -> list[str]:
        said = []
        for state in states:
            names = [state.broker, *(name for name, _ in state.links)]
            said += [f"{each!r} is in {named(unit)}" for each in _no_brokers(names, unit)]
            said += [
                f"{each!r} is in {named(unit)}" for each, _ in state.book if unit_of(each) != unit
            ]
            if state.address and len(state.address) != depth_of(unit):
                said.append(f"{state.address} is the address of {named(unit)}")
            if not self._may_have(state, unit):
                said.append(f"{state.broker!r} stands for {', '.join(map(repr, state.leaves))}")
        return said

    def _may_have(self, state: LinkState, unit: str) -> bool:
        """Whether a broker may claim its leaves in a unit."""
        depth = depth_of(unit)
        outer = [leaf for leaf in state.leaves if is_outer(leaf)]
        inner = [leaf for leaf in state.leaves if not is_outer(leaf)]
        if any(leaf != OUTER + state.broker for leaf in outer) or (outer and not unit):
            return False
        below = unit_at(state.broker, depth + 1)
        has_below = below != state.broker
        if len(inner) > has_below or not all(_is_leaf_of(leaf, below) for leaf in inner):
            return False
        if state.broker != self._name:
            return True
        return (not outer or depth - 1 in self._depths) and (not inner or depth + 1 in self._depths)

    def _no_trees(self, trees: Iterable[str], unit: str) -> Iterator[str]:
        if self._towards is not Towards.EVERYONE:
            return _no_origins(trees, unit)
        shared = {SHARED_TREE}
        if unit:
            shared.add(tree_from(OUTER, self._towards))
        return (tree for tree in trees if tree not in shared)


def _no_brokers(names: Iterable[str], unit: str) -> Iterator[str]:
    """Those that cannot take part in the overlay of a unit."""
    return (name for name in names if is_kept_for_units(name) or not is_within(name, unit))


def _no_origins(names: Iterable[str], unit: str) -> Iterator[str]:
    """Those at which nothing begins in the overlay of a unit: no brokers in it, and no leaves."""
    return (name for name in names if not _is_origin(name, unit))


def _is_origin(name: str, unit: str) -> bool:
    if is_outer(name):
        return bool(unit) and is_within(name.removeprefix(OUTER), unit)
    leaf = parse_leaf(name)
    if leaf is not None:
        return unit_of(leaf[0]) == unit
    return bool(own_name(name)) and unit_of(name) == unit


def _is_home(name: str, unit: str) -> bool:
    """Whether a home is in the overlay of a unit: a broker's, or a standing one of a gateway."""
    if is_outer(name):
        return bool(unit) and _is_leaf_of(name.removeprefix(OUTER), unit)
    return _is_origin(name, unit)


def _is_leaf_of(leaf: str, unit: str) -> bool:
    parsed = parse_leaf(leaf)
    return parsed is not None and parsed[0] == unit


def _may_come(origin: str, tree: str, unit: str) -> bool:
    """Whether a document of a broker may take a tree in the overlay of a unit.

    From outside anything may come, since a unit may have parted.
    """
    if is_outer(tree):
        return True
    if tree == SHARED_TREE:
        return is_within(origin, unit)
    leaf = parse_leaf(tree)
    return origin == tree if leaf is None else is_within(origin, leaf[0])
