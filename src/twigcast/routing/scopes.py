"""Scopes: units that a document, a subscription or an advertisement is kept within.

A broker's name is a path of units: ``north/oslo/b3`` is in ``north/oslo``, which is in ``north``.
People name the unit itself, or count from the innermost one.  Inside, a scope is the depth of that
unit around the broker, where 0 is the whole network, which keeps nothing back::

    north/oslo/b3     "cluster", "north/oslo"  ──► 2
                      "super-cluster", "north" ──► 1
                      ""                       ──► 0
"""

from __future__ import annotations

from typing import Final

from twigcast.errors import NetworkError

SCOPES: Final = ("cluster", "super-cluster", "super-super-cluster")
"""The units around a broker, the innermost first."""


def depth_of_scope(broker: str, scope: str) -> int:
    """How deep the unit lies that a scope names at a broker; 0 if it names none.

    Raises NetworkError for a unit that the broker is not in.
    """
    if not scope:
        return 0
    depth = broker.count("/")
    if not depth:
        raise NetworkError(
            f"the broker {broker!r} is in no unit, so the scope {scope!r} stands for nothing; "
            "leave the scope out"
        )
    units = {"/".join(broker.split("/")[:each]): each for each in range(depth, 0, -1)}
    depths = units | dict(zip(SCOPES, units.values(), strict=False))
    if scope.endswith("/") and scope.rstrip("/") in depths:
        raise NetworkError(f"the scope {scope!r} ends with a slash; leave the slash out")
    if scope not in depths:
        raise NetworkError(
            f"the broker {broker!r} is in no unit {scope!r}; choose a scope among: "
            f"{', '.join([*SCOPES[:depth], *units])}"
        )
    return depths[scope]


def require_scope(broker: str, scope: int, depth: int) -> None:
    """Raise NetworkError unless a broker in a unit of a depth is in one as deep as the scope."""
    if not 0 <= scope <= depth:
        raise NetworkError(
            f"the broker {broker!r} takes part in a unit of depth {depth}, and the scope is one of "
            f"depth {scope}; choose a unit that the broker is in"
        )


def shared_depth(one: str, other: str) -> int:
    """How deep the innermost unit lies that two brokers are in."""
    ours, theirs = one.split("/")[:-1], other.split("/")[:-1]
    depth = 0
    for unit, their_unit in zip(ours, theirs, strict=False):
        if unit != their_unit:
            break
        depth += 1
    return depth
