"""The element graph: an edge from each element to every child that it can really have.

"Really" means in a finite valid document.  ``<!ELEMENT a (a)>`` has none, so no ``a`` ever occurs
and an edge to it would promise paths that nobody can publish.  An element is *productive* when it
can be completed, which is the least fixed point of "its content model allows a sequence of
productive children"; the edges lead to the children that occur in such sequences.

A child that is named but nowhere declared counts as an empty leaf: no valid document holds one,
yet documents that claim the DTD do, and a subscription to them must not be turned away.

Cost: the fixed point looks at a model again when one of its children turns out productive.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from twigcast.schema.content import Any, names, useful_children
from twigcast.schema.declarations import ElementDeclaration

Graph = Mapping[str, tuple[str, ...]]


def element_graph(elements: Mapping[str, ElementDeclaration]) -> dict[str, tuple[str, ...]]:
    """The children of each productive element, in the order in which its model names them.

    Undeclared children are nodes without children.
    """
    undeclared: dict[str, tuple[str, ...]] = {
        name: ()
        for declaration in elements.values()
        for name in names(declaration.content)
        if name not in elements
    }
    productive = _productive(elements, undeclared)
    graph = {
        name: possible_children(elements, name, productive)
        for name in elements
        if name in productive
    }
    return graph | undeclared


def possible_children(
    elements: Mapping[str, ElementDeclaration], parent: str, productive: Container[str]
) -> tuple[str, ...]:
    """The productive children that an element can have, in the order in which its model has them.

    For ``ANY``, in order of declaration.
    """
    content = elements[parent].content
    if isinstance(content, Any):
        return tuple(name for name in elements if name in productive)
    useful = useful_children(content, productive) or frozenset()
    return tuple(name for name in names(content) if name in useful)


def _productive(elements: Mapping[str, ElementDeclaration], undeclared: Iterable[str]) -> set[str]:
    """The elements that can be completed, and the undeclared ones."""
    above: dict[str, list[str]] = {}
    for name, declaration in elements.items():
        for child in names(declaration.content):
            above.setdefault(child, []).append(name)
    productive = set(undeclared)
    waiting = list(elements)
    while waiting:
        name = waiting.pop()
        content = elements[name].content
        if name not in productive and useful_children(content, productive) is not None:
            productive.add(name)
            waiting.extend(above.get(name, ()))
    return productive


def reachable(graph: Graph, starts: Iterable[str]) -> frozenset[str]:
    """The nodes on walks from ``starts``, these included."""
    waiting = list(starts)
    reached = set(waiting)
    while waiting:
        for child in graph[waiting.pop()]:
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    return frozenset(reached)


def strong_components(graph: Graph, nodes: Iterable[str]) -> list[tuple[str, ...]]:
    """The strongly connected components that walks from ``nodes`` meet, later ones first.

    Every edge leads within a component or to one earlier in the list (Tarjan's algorithm, with a
    stack of its own since graphs may be deep).
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    closed: set[str] = set()
    components: list[tuple[str, ...]] = []
    for start in nodes:
        if start in order:
            continue
        order[start] = lowest[start] = len(order)
        open_nodes.append(start)
        walk = [(start, iter(graph[start]))]
        while walk:
            node, rest = walk[-1]
            for child in rest:
                if child not in order:
                    order[child] = lowest[child] = len(order)
                    open_nodes.append(child)
                    walk.append((child, iter(graph[child])))
                    break
                if child not in closed:
                    lowest[node] = min(lowest[node], order[child])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    first = open_nodes.index(node)
                    component = tuple(open_nodes[first:])
                    del open_nodes[first:]
                    closed.update(component)
                    components.append(component)
    return components


def root_candidates(elements: Mapping[str, ElementDeclaration]) -> tuple[str, ...]:
    """The declared elements that could be meant as the root: one where the DTD leaves no doubt.

    These are the elements of the components that no other component leads to.  ``ANY`` names
    everything and would hide the root, so it counts only where the named children leave a doubt.
    """
    named = {
        name: tuple(child for child in names(declaration.content) if child in elements)
        for name, declaration in elements.items()
    }
    candidates = _sources(named)
    if len(candidates) > 1:
        everything = tuple(elements)
        full = {
            name: everything if isinstance(elements[name].content, Any) else children
            for name, children in named.items()
        }
        by_any = _sources(full)
        if len(by_any) == 1:
            return by_any
    return candidates


def _sources(graph: Graph) -> tuple[str, ...]:
    """The nodes of components without an edge from elsewhere, in the order of the graph."""
    components = strong_components(graph, graph)
    home = {name: index for index, component in enumerate(components) for name in component}
    entered = {
        home[child]
        for name, children in graph.items()
        for child in children
        if home[child] != home[name]
    }
    return tuple(name for name in graph if home[name] not in entered)
