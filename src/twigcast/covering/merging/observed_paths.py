"""Paths that were seen in documents, each with how often, and how many of them patterns match.

Every set of paths is an integer, one bit a path.  ``_at[depth][name]`` is the set of paths with
that name at that depth, so a linear pattern meets all paths at once: after each of its steps there
is, for every depth, the set of paths on which the step may stand there.  Frequencies are kept in
binary, one set of paths for each power of two, so that the weight of a set is a few counts of bits.

Cost: a pattern takes steps × depth operations on such integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from twigcast.language import Axis, NodeTest, Step
from twigcast.schema import PathName

Path = TypeVar("Path", bound=tuple[PathName, ...])
"""A path of names, each a str or a pair of namespace and local name."""


class ObservedPaths:
    """A bag of root-to-leaf paths."""

    def __init__(self, weights: Mapping[Path, int]) -> None:
        self._at: list[dict[tuple[str, str], int]] = []
        self._powers: list[int] = []
        if not isinstance(weights, Mapping):
            raise TypeError(
                "weights are a mapping from paths to how often each was seen, not "
                f"{type(weights).__name__}"
            )
        for index, (path, weight) in enumerate(weights.items()):
            _check(path, weight)
            bit = 1 << index
            for power in range(weight.bit_length()):
                if power == len(self._powers):
                    self._powers.append(0)
                if weight >> power & 1:
                    self._powers[power] |= bit
            for depth, name in enumerate(path):
                if depth == len(self._at):
                    self._at.append({})
                expanded = ("", name) if isinstance(name, str) else (name[0], name[1])
                self._at[depth][expanded] = self._at[depth].get(expanded, 0) | bit

        self._count = len(weights)

    def __len__(self) -> int:
        """The number of distinct paths."""
        return self._count

    def weight(self, paths: int) -> int:
        """How often the paths of a set were seen, all together."""
        return sum(
            (paths & having).bit_count() << power for power, having in enumerate(self._powers)
        )

    def matched_by_any(self, patterns: Iterable[Sequence[Step]]) -> int:
        """The set of paths that one of several linear patterns, or more, select a node on."""
        result = 0
        for steps in patterns:
            result |= self.matched(steps)
        return result

    def matched(self, steps: Sequence[Step]) -> int:
        """The set of paths on which a linear pattern selects a node."""
        # `before[depth]` are the paths whose first `depth` names the steps so far lead through.
        everything = -1
        before = [everything] + [0] * len(self._at)
        for step in steps:
            after = [0]
            reached = 0
            for depth in range(len(self._at)):
                if step.axis is Axis.CHILD:
                    reached = before[depth]
                else:
                    reached |= before[depth]
                after.append(reached & self._named(depth, step.test) if reached else 0)
            before = after
        result = 0
        for paths in before:
            result |= paths
        return result

    def _named(self, depth: int, test: NodeTest) -> int:
        names = self._at[depth]
        if test.local is not None and test.namespace is not None:
            return names.get((test.namespace, test.local), 0)
        result = 0
        for (namespace, local), paths in names.items():
            if test.accepts(namespace, local):
                result |= paths
        return result


def _check(path: object, weight: object) -> None:
    """Refuse what would be counted as something else, such as a str as a path of letters."""
    if not isinstance(path, tuple) or not all(map(_is_name, path)):
        raise TypeError(
            f"a path is a tuple of names, each a str or a pair (namespace, local name): {path!r}"
        )
    if not isinstance(weight, int) or isinstance(weight, bool):
        kind = type(weight).__name__
        raise TypeError(f"how often a path was seen is an int, not {kind}: {path!r}")
    if weight < 0:
        raise ValueError(f"how often a path was seen is not {weight}: {path!r}")


def _is_name(name: object) -> bool:
    if isinstance(name, tuple):
        return len(name) == 2 and all(isinstance(part, str) for part in name)
    return isinstance(name, str)
