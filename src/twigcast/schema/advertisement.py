"""Advertisements: promises of the paths that a publisher's documents have.

The notation is that of Li, Hou and Jacobsen (section 3.1): ``/a/*/c`` is a root-to-leaf path,
``( … )+`` a part that occurs one or more times.  Ours goes one step further::

    /a/b/c                          non-recursive
    /a(/b/c)+/d                     simple: one repeated part
    /a(/b)+/c(/d/e)+                series: several, one after the other
    /a(/b(/c)+/d)+/e                embedded: one inside another
    /a(/b|/c/d)+/e                  embedded too: a repeated choice

Without the choice some schemas have no finite list of advertisements: three elements that may
all contain each other give every word over three letters, and no finite set of parts that repeat
as a whole writes those.

Names are spelled as in subscriptions: ``a`` is in no namespace, ``*:a`` in any, ``Q{uri}a`` in
that one, ``*`` is every name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from twigcast.language import NodeTest, Pattern, require_pattern
from twigcast.schema.automaton import PathAutomaton, PathName, bits
from twigcast.schema.notation import Group, Part, parse_parts, parts_text
from twigcast.schema.overlap import path_overlaps


class Advertisement:
    """A set of root-to-leaf paths, written as one expression.

    Immutable and hashable; equal when spelled the same.  Every part takes at least one name, so
    the shortest path is as long as the expression without its repetitions.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = tuple(parts)
        if not self._parts:
            raise ValueError("an advertisement needs at least one name")
        self._text = parts_text(self._parts)

    @staticmethod
    def parse(text: str) -> Advertisement:
        """The advertisement that ``text`` spells; AdvertisementError says what is wrong, where."""
        if not isinstance(text, str):
            raise TypeError(f"an advertisement is spelled in a str, not {type(text).__name__}")
        return Advertisement(parse_parts(text))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The names and groups, in order."""
        return self._parts

    @property
    def kind(self) -> str:
        """``non-recursive``, ``simple``, ``series`` or ``embedded``, as drawn above."""
        groups = [part for part in self._parts if isinstance(part, Group)]
        if not groups:
            return "non-recursive"
        if any(map(_is_nested, groups)):
            return "embedded"
        return "simple" if len(groups) == 1 else "series"

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether a document may match ``pattern`` along one of these paths.

        Exact for linear expressions: True when the expression selects a node on some path.  A tree
        pattern is matched along several paths of a document, promised by several advertisements,
        so here True means that at least one of its branches, from the root to the last element on
        it, can lie along one of these paths.  So of the advertisements that promise a document, one
        overlaps whenever the document matches.  What stands at the
        end of a branch (attributes, text, values) and ``not()`` are taken to be possible;
        :meth:`twigcast.schema.Schema.overlaps` looks at all branches at once and is sharper.
        """
        require_pattern(pattern)
        return path_overlaps(self.automaton, pattern)

    def matches_path(self, path: Sequence[PathName]) -> bool:
        """Whether a root-to-leaf path is promised.

        A str is a name in no namespace, a pair a namespace and a local name.
        """
        return self.automaton.matches_path(path)

    @cached_property
    def automaton(self) -> PathAutomaton:
        """The paths as an automaton with one position for each name in the text."""
        return _build_automaton(self._parts)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Advertisement.parse({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Advertisement) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Callable[[str], Advertisement], tuple[str]]:
        return Advertisement.parse, (self._text,)


def _is_nested(group: Group) -> bool:
    return len(group.alternatives) > 1 or any(
        isinstance(part, Group) for part in group.alternatives[0]
    )


def _build_automaton(parts: Sequence[Part]) -> PathAutomaton:
    """Glushkov's construction; no part is empty, which leaves little of it."""
    labels: list[NodeTest] = []
    follow: list[int] = []

    def connect(before: int, after: int) -> None:
        for index in bits(before):
            follow[index] |= after

    def add_row(row: Sequence[Part]) -> tuple[int, int]:
        first, last = add_part(row[0])
        for part in row[1:]:
            begin, end = add_part(part)
            connect(last, begin)
            last = end
        return first, last

    def add_part(part: Part) -> tuple[int, int]:
        if isinstance(part, Group):
            ends = [add_row(row) for row in part.alternatives]
            first = last = 0
            for begin, end in ends:
                first |= begin
                last |= end
            connect(last, first)
            return first, last
        labels.append(part)
        follow.append(0)
        position = 1 << (len(labels) - 1)
        return position, position

    first, last = add_row(parts)
    return PathAutomaton(labels, first, follow, last)
