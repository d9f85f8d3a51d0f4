"""Regular expressions of XPath, matched straight from their definition.

    text ──_Reader──► tree ──Matching.ends──► where a match from a position can end

The ends come in the order in which a backtracking matcher would try them, so the first is *the*
match: greedy or reluctant as it is written.  What follows a part depends on where the part ends and
on nothing else, as there are no back-references; so of several ends at one position only the first
is kept.  That makes the cost |tree| × |text|² at most for each position, whatever the expression.

Recursion goes along the expression only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from twigcast.matching.reference.character_classes import Accepts
from twigcast.matching.reference.items import DynamicError


@dataclass(frozen=True, eq=False, slots=True)
class Character:
    """One character that is accepted."""

    accepts: Accepts


@dataclass(frozen=True, eq=False, slots=True)
class Anchor:
    """``^`` or ``$``; with ``each_line``, of every line."""

    is_start: bool
    each_line: bool


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """One of several parts, the first preferred."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Repeat:
    """A part several times; ``most`` is None for any number."""

    part: Part
    least: int
    most: int | None
    is_reluctant: bool


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """A part whose text can be referred to by its number."""

    number: int
    part: Part


_STEP: Final = 4
"""What is spent for a step of a match, which takes longer than looking at a node."""

Part: TypeAlias = Character | Anchor | Row | Choice | Repeat | Group
Captures: TypeAlias = dict[int, tuple[int, int]]
End: TypeAlias = tuple[int, Captures]
"""Where a match ends, and where the groups within it begin and end."""


@dataclass(frozen=True, slots=True)
class Match:
    """A part of a text that matches, and its groups."""

    start: int
    end: int
    captures: Captures


class Matching:
    """A regular expression on one text; ``spend`` is called with the work that is done."""

    def __init__(self, tree: Part, text: str, spend: Callable[[int], None]) -> None:
        self._tree = tree
        self._text = text
        self._spend = spend
        self._known: dict[tuple[Part, int], list[End]] = {}

    def search(self, start: int = 0) -> Match | None:
        """The first match at or behind a position."""
        for position in range(start, len(self._text) + 1):
            ends = self._ends(self._tree, position)
            if ends:
                return Match(position, *ends[0])
        return None

    def matches(self) -> Iterator[Match]:
        """All matches, none within another; none is empty."""
        match = self.search()
        while match is not None and match.end > match.start:
            yield match
            match = self.search(match.end)

    def _ends(self, part: Part, start: int) -> list[End]:
        known = self._known.get((part, start))
        if known is None:
            known = self._known[part, start] = _first_of_each(self._find_ends(part, start))
            self._spend(_STEP * (1 + len(known)))
        return known

    def _find_ends(self, part: Part, start: int) -> Iterator[End]:
        match part:
            case Character(accepts):
                if start < len(self._text) and accepts(self._text[start]):
                    yield start + 1, {}
            case Anchor():
                if self._is_at(part, start):
                    yield start, {}
            case Row(parts):
                yield from self._ends_of_row(parts, start)
            case Choice(parts):
                for each in parts:
                    yield from self._ends(each, start)
            case Group(number, inner):
                for end, captures in self._ends(inner, start):
                    yield end, {**captures, number: (start, end)}
            case Repeat():
                yield from self._ends_of_repeat(part, start)

    def _is_at(self, anchor: Anchor, position: int) -> bool:
        text = self._text
        if anchor.is_start:
            after_line = anchor.each_line and text[position - 1 : position] == "\n"
            return position == 0 or (after_line and position < len(text))
        return position == len(text) or (anchor.each_line and text[position] == "\n")

    def _ends_of_row(self, parts: tuple[Part, ...], start: int) -> list[End]:
        ends: list[End] = [(start, {})]
        for part in parts:
            ends = _first_of_each(
                (end, {**before, **within})
                for position, before in ends
                for end, within in self._ends(part, position)
            )
        return ends

    def _ends_of_repeat(self, repeat: Repeat, start: int) -> Iterator[End]:
        """Depth first through (how often, position); each of these is entered once.

        How often does not matter any more when it is often enough and there is no upper bound.
        """
        entered = {(0, start)}
        if repeat.is_reluctant and repeat.least == 0:
            yield start, {}
        path: list[tuple[int, int, Captures, Iterator[End]]] = [
            (0, start, {}, self._ends_once_more(repeat, 0, start))
        ]
        while path:
            count, position, captures, following = path[-1]
            step = next(following, None)
            self._spend(_STEP)
            if step is None:
                path.pop()
                if not repeat.is_reluctant and count >= repeat.least:
                    yield position, captures
                continue
            end, within = step
            more = count + 1 if repeat.most is not None else min(count + 1, repeat.least)
            if (more, end) in entered:
                continue
            entered.add((more, end))
            merged = {**captures, **within}
            if repeat.is_reluctant and more >= repeat.least:
                yield end, merged
            path.append((more, end, merged, self._ends_once_more(repeat, more, end)))

    def _ends_once_more(self, repeat: Repeat, count: int, position: int) -> Iterator[End]:
        if repeat.most is not None and count >= repeat.most:
            return iter(())
        return iter(self._ends(repeat.part, position))


def _first_of_each(ends: Iterator[End]) -> list[End]:
    first: dict[int, Captures] = {}
    for end, captures in ends:
        first.setdefault(end, captures)
    return list(first.items())


def replace_all(matching: Matching, text: str, replacement: str, groups: int) -> str:
    """The text with each match replaced; ``$1`` is the text of a group."""
    pieces: list[str] = []
    position = 0
    for match in matching.matches():
        pieces.append(text[position : match.start])
        pieces.append(_expand(replacement, text, match, groups))
        position = match.end
    return "".join([*pieces, text[position:]])


def _expand(replacement: str, text: str, match: Match, groups: int) -> str:
    pieces: list[str] = []
    position = 0
    while position < len(replacement):
        character = replacement[position]
        following = replacement[position + 1 : position + 2]
        if character == "\\":
            if following not in ("\\", "$") or not following:
                raise DynamicError("in a replacement, \\ stands only before \\ and $")
            pieces.append(following)
            position += 2
        elif character == "$":
            if not (following.isascii() and following.isdigit()):
                raise DynamicError("in a replacement, $ stands only before a digit")
            number, position = _group_number(replacement, position + 1, groups)
            start, end = match.captures.get(number, (0, 0))
            if number == 0:
                start, end = match.start, match.end
            pieces.append(text[start:end])
        else:
            pieces.append(character)
            position += 1
    return "".join(pieces)


def _group_number(replacement: str, position: int, groups: int) -> tuple[int, int]:
    """As many digits as there can be groups, one at least."""
    number = int(replacement[position])
    position += 1
    while position < len(replacement) and replacement[position] in "0123456789":
        longer = 10 * number + int(replacement[position])
        if longer > groups:
            break
        number, position = longer, position + 1
    return number, position
