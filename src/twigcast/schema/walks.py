"""The walks through one strongly connected component, as expressions with ``+`` groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from twigcast.language import NodeTest
from twigcast.schema.notation import Group, Part

Row = tuple[Part, ...]
Edges = Mapping[str, tuple[str, ...]]
Label = Callable[[str], NodeTest]

MOST_ROWS = 16
"""Exact expressions are given up when they are more than this: they multiply along a path."""

MOST_NAMES = 200
"""Exact expressions are given up when they hold more names than this."""


class Walks(NamedTuple):
    """Rows that together spell the walks; if not ``exact``, they spell others as well."""

    rows: tuple[Row, ...]
    exact: bool


def walks(edges: Edges, entry: str, end: str, label: Label, tries_exact: bool = True) -> Walks:
    """The walks from ``entry`` to ``end``, both named in them.  All edges lie in the component."""
    if all(len(children) == len(edges) for children in edges.values()) and len(edges) > 1:
        return Walks(_as_if_complete(edges, entry, end, label), True)
    rows = _eliminate(edges, entry, end, label) if tries_exact else None
    if rows is not None:
        return Walks(rows, True)
    return Walks(_as_if_complete(edges, entry, end, label), False)


def _as_if_complete(edges: Edges, entry: str, end: str, label: Label) -> tuple[Row, ...]:
    """As if every element contained every other: all words between the two ends."""
    rows: list[Row] = []
    if entry == end:
        rows.append((label(entry),))
    if end in edges[entry]:
        rows.append((label(entry), label(end)))
    anything = Group(tuple((label(name),) for name in edges))
    rows.append((label(entry), anything, label(end)))
    return tuple(rows)


_START = ""


def _eliminate(edges: Edges, entry: str, end: str, label: Label) -> tuple[Row, ...] | None:
    """The exact expressions, by Kleene's elimination; None where they grow too large.

    ``rows_between[one][other]`` holds the rows that lead from one element to another through
    eliminated ones only, without the name of the first.  Removing an element joins the rows into it
    and out of it, with its loops repeated in between or left out.
    """
    rows_between: dict[str, dict[str, tuple[Row, ...]]] = {
        name: {child: ((label(child),),) for child in children} for name, children in edges.items()
    }
    rows_between[_START] = {entry: ((label(entry),),)}
    remaining = [name for name in edges if name != end]
    while remaining:
        name = min(remaining, key=lambda each: _degree(rows_between, each))
        remaining.remove(name)
        outward = rows_between.pop(name)
        loops = outward.pop(name, ())
        for towards in rows_between.values():
            inward = towards.pop(name, ())
            if not inward:
                continue
            reached = _repeated(inward, loops)
            for other, onward in outward.items():
                joined = tuple(before + after for before in reached for after in onward)
                towards[other] = tuple(dict.fromkeys(towards.get(other, ()) + joined))
                if _is_large(towards[other]):
                    return None
    rows = _repeated(rows_between[_START].get(end, ()), rows_between[end].get(end, ()))
    return None if _is_large(rows) else rows


def _repeated(rows: tuple[Row, ...], loops: tuple[Row, ...]) -> tuple[Row, ...]:
    """Each row alone and with loops after it; ``x`` with the one loop ``x`` is ``(x)+``."""
    if not loops:
        return rows
    group = Group(loops)
    result: list[Row] = []
    for row in rows:
        if len(loops) == 1 and row[-len(loops[0]) :] == loops[0]:
            result.append((*row[: -len(loops[0])], group))
        else:
            result += [row, (*row, group)]
    return tuple(result)


def _degree(rows_between: Mapping[str, Mapping[str, tuple[Row, ...]]], name: str) -> int:
    outward = sum(len(rows) for other, rows in rows_between[name].items() if other != name)
    inward = sum(len(each.get(name, ())) for other, each in rows_between.items() if other != name)
    return outward * inward


def _is_large(rows: tuple[Row, ...]) -> bool:
    return len(rows) > MOST_ROWS or sum(map(_size, rows)) > MOST_NAMES


def _size(row: Row) -> int:
    return sum(sum(map(_size, part.alternatives)) if isinstance(part, Group) else 1 for part in row)
