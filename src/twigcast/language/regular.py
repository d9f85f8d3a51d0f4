r"""Regular expressions of XPath, compiled to what the kernel simulates.

    "a(b|c)*"  ──reader──► tree ──► steps         0 set a     1 save 2    2 split 3 5 …

The flavour is XPath's: that of XML Schema with anchors, groups and reluctant quantifiers; classes
may subtract (``[a-z-[aeiou]]``), ``\p{Lu}`` and ``\p{IsGreek}`` name categories and blocks.  The
flags are ``s`` (a dot is any character), ``m`` (anchors at lines), ``i`` (any case), ``x`` (blanks
do not count) and ``q`` (nothing is special).  Back-references are refused: with them no
simulation is linear.

The steps, of three numbers each, are a machine without a stack: the kernel follows all its threads
side by side, in time linear in the text (``program/regular.hpp``).  Repetitions with counts are
written out, so their size is bounded.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from twigcast.language.character_sets import (
    LINE_ENDS,
    CharacterSet,
    complement,
    escape_set,
    in_any_case,
    property_set,
    united,
    without,
)

MOST_STEPS: Final = 20_000
_MOST_COUNT: Final = 10_000
_DEEPEST: Final = 100

SET, SPLIT, JUMP, SAVE, TEXT_START, TEXT_END, LINE_START, LINE_END, MATCH = range(9)
"""The kinds of steps; the numbers are those of ``program/regular.hpp``."""


class Repeat(NamedTuple):
    """A part so many times; ``most`` is None where there is no end."""

    part: Tree
    least: int
    most: int | None
    is_greedy: bool


class Group(NamedTuple):
    """A part whose text is captured under a number."""

    part: Tree
    number: int


class Anchor(NamedTuple):
    """A place: one of the kinds of steps."""

    kind: int


class Row(NamedTuple):
    """Parts one behind the other."""

    parts: tuple[Tree, ...]


class Choice(NamedTuple):
    """One of several parts, the first that leads to a match."""

    parts: tuple[Tree, ...]


class One(NamedTuple):
    """A character of a set."""

    characters: CharacterSet


Tree: TypeAlias = Repeat | Group | Anchor | Row | Choice | One


@lru_cache(maxsize=1_024)
def compile_regular(pattern: str, flags: str = "") -> bytes:
    """The machine for a regular expression; ValueError(reason, offset) where it is none."""
    for at, flag in enumerate(flags):
        if flag not in "smixq":
            raise ValueError(f"{flag!r} is no flag of a regular expression", at)
    reader = _Reader(pattern, flags)
    tree = reader.read()
    writer = _Writer()
    writer.add_step(SAVE, 0)
    writer.add(tree)
    writer.add_step(SAVE, 1)
    writer.add_step(MATCH)
    return writer.written(reader.groups, is_literal="q" in flags)


class _Reader:
    """One reading of a regular expression."""

    def __init__(self, text: str, flags: str) -> None:
        self.text = text
        self.flags = flags
        self.at = 0
        self.groups = 0
        self._depth = 0

    def error(self, reason: str, at: int | None = None) -> ValueError:
        return ValueError(reason, self.at if at is None else at)

    def read(self) -> Tree:
        if "q" in self.flags:
            return Row(tuple(self._character(each) for each in self.text))
        tree = self._choice()
        if self.at < len(self.text):
            raise self.error(f"{self.text[self.at]!r} closes nothing")
        return tree

    def _peek(self) -> str:
        if "x" in self.flags:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def _take(self, wanted: str) -> bool:
        if self._peek() != wanted:
            return False
        self.at += 1
        return True

    def _character(self, character: str) -> Tree:
        return One(self._cased(((ord(character), ord(character)),)))

    def _cased(self, characters: CharacterSet) -> CharacterSet:
        return in_any_case(characters) if "i" in self.flags else characters

    def _choice(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error("the regular expression is nested too deep")
        rows = [self._row()]
        while self._take("|"):
            rows.append(self._row())
        self._depth -= 1
        return rows[0] if len(rows) == 1 else Choice(tuple(rows))

    def _row(self) -> Tree:
        parts: list[Tree] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _quantified(self, part: Tree) -> Tree:
        least: int
        most: int | None
        begin = self.at
        if self._take("?"):
            least, most = 0, 1
        elif self._take("*"):
            least, most = 0, None
        elif self._take("+"):
            least, most = 1, None
        elif self._take("{"):
            least, most = self._counts(begin)
        else:
            return part
        is_greedy = not self._take("?")
        if self._peek() in ("?", "*", "+", "{") and self._peek():
            raise self.error("a quantifier behind a quantifier")
        return Repeat(part, least, most, is_greedy)

    def _counts(self, begin: int) -> tuple[int, int | None]:
        end = self.text.find("}", begin)
        counts = self.text[begin + 1 : end] if end >= 0 else ""
        first, comma, second = counts.partition(",")
        if not first.isdecimal() or not first.isascii() or (second and not second.isdecimal()):
            raise self.error("{ begins a count such as {2,3}; write \\{ for the character", begin)
        least = int(first)
        most = (int(second) if second else None) if comma else least
        if max(least, most or 0) > _MOST_COUNT:
            raise self.error(f"a count is at most {_MOST_COUNT:,}", begin)
        if most is not None and most < least:
            raise self.error("a count with its numbers the wrong way round", begin)
        self.at = end + 1
        return least, most

    def _atom(self) -> Tree:
        begin = self.at
        character = self._peek()
        begin = self.at
        self.at += 1
        match character:
            case "(":
                return self._group(begin)
            case "[":
                return One(self._class(begin))
            case "\\":
                return One(self._escape(begin))
            case ".":
                return One(complement(() if "s" in self.flags else LINE_ENDS))
            case "^":
                return Anchor(LINE_START if "m" in self.flags else TEXT_START)
            case "$":
                return Anchor(LINE_END if "m" in self.flags else TEXT_END)
            case "?" | "*" | "+":
                raise self.error(f"{character} repeats nothing", begin)
            case "{":
                raise self.error(f"write \\{character} for the character {character}", begin)
        return self._character(character)

    def _group(self, begin: int) -> Tree:
        if self.text.startswith("?:", self.at):
            self.at += 2
            part = self._choice()
        else:
            if self._peek() == "?":
                raise self.error("(? begins no group but (?: in XPath", begin)
            self.groups += 1
            number = self.groups
            part = Group(self._choice(), number)
        if not self._take(")"):
            raise self.error("( is never closed", begin)
        return part

    def _escape(self, begin: int) -> CharacterSet:
        if self.at >= len(self.text):
            raise self.error("\\ stands at the end", begin)
        letter = self.text[self.at]
        self.at += 1
        if letter in "nrt":
            code = ord({"n": "\n", "r": "\r", "t": "\t"}[letter])
            return ((code, code),)
        if letter in "pP":
            return self._property(begin, is_negated=letter == "P")
        if letter in "sSiIcCdDwW":
            return escape_set(letter) or ()
        if letter in "123456789":
            raise self.error("back-references are not supported", begin)
        if letter.isascii() and not letter.isalnum():
            # XPath knows an escape for some of these only; real rules escape others, too.
            return self._cased(((ord(letter), ord(letter)),))
        raise self.error(f"\\{letter} means nothing in XPath", begin)

    def _property(self, begin: int, *, is_negated: bool) -> CharacterSet:
        end = self.text.find("}", self.at)
        name = self.text[self.at + 1 : end]
        known = property_set(name) if end >= 0 and self.text[self.at] == "{" else None
        if known is None:
            raise self.error("a category or block of characters that is not known", begin)
        self.at = end + 1
        return complement(known) if is_negated else known

    def _class(self, begin: int) -> CharacterSet:
        text = self.text
        is_negated = text.startswith("^", self.at)
        self.at += is_negated
        ranges: list[tuple[int, int]] = []
        is_first = True
        while True:
            if self.at >= len(text):
                raise self.error("[ is never closed", begin)
            if text[self.at] == "]" and not is_first:
                break
            if text.startswith("-[", self.at) and not is_first:
                break
            ranges.extend(self._class_part())
            is_first = False
        characters = united(ranges)
        if is_negated:
            characters = complement(characters)
        if text[self.at] == "-":
            inner = self.at + 1
            self.at += 2
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self.error("the regular expression is nested too deep")
            characters = without(characters, self._class(inner))
            self._depth -= 1
            if not text.startswith("]", self.at):
                raise self.error("nothing may follow what a class subtracts")
        self.at += 1
        return characters

    def _class_part(self) -> CharacterSet:
        """A character, a range or an escape within a class."""
        text, begin = self.text, self.at
        first = self._class_character()
        if len(first) != 1 or first[0][0] != first[0][1]:
            return first
        code = first[0][0]
        is_range = (
            text.startswith("-", self.at)
            and text[self.at + 1 : self.at + 2] not in ("", "]", "[")
            and text[begin] != "-"
        )
        if not is_range:
            return self._cased(((code, code),))
        self.at += 1
        last = self._class_character()
        if len(last) != 1 or last[0][0] != last[0][1] or last[0][0] < code:
            raise self.error("a range of characters that is none", begin)
        return self._cased(((code, last[0][0]),))

    def _class_character(self) -> CharacterSet:
        begin, character = self.at, self.text[self.at]
        self.at += 1
        if character == "\\":
            flags, self.flags = self.flags, ""  # the case is seen to when the range is known
            escaped = self._escape(begin)
            self.flags = flags
            return escaped
        if character in "[]":
            raise self.error(f"write \\{character} for the character {character}", begin)
        return ((ord(character), ord(character)),)


class _Writer:
    """Writes the steps of a tree."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self.ranges: list[tuple[int, int]] = []
        self._sets: dict[CharacterSet, int] = {}

    def add_step(self, kind: int, first: int = 0, second: int = 0) -> int:
        if len(self.steps) >= MOST_STEPS:
            raise ValueError(
                "the regular expression is too large once its counts are written out", 0
            )
        self.steps.append((kind, first, second))
        return len(self.steps) - 1

    def add(self, tree: Tree) -> None:
        match tree:
            case One(characters=characters):
                begin = self._sets.setdefault(characters, len(self.ranges))
                if begin == len(self.ranges):
                    self.ranges.extend(characters)
                self.add_step(SET, begin, len(characters))
            case Anchor(kind=kind):
                self.add_step(kind)
            case Row(parts=parts):
                for part in parts:
                    self.add(part)
            case Group(part=part, number=number):
                self.add_step(SAVE, 2 * number)
                self.add(part)
                self.add_step(SAVE, 2 * number + 1)
            case Choice(parts=parts):
                self._add_choice(parts)
            case Repeat():
                self._add_repeat(tree)

    def _add_choice(self, parts: tuple[Tree, ...]) -> None:
        ends: list[int] = []
        for part in parts[:-1]:
            split = self.add_step(SPLIT)
            self.add(part)
            ends.append(self.add_step(JUMP))
            self.steps[split] = (SPLIT, split + 1, len(self.steps))
        self.add(parts[-1])
        for end in ends:
            self.steps[end] = (JUMP, len(self.steps), 0)

    def _add_repeat(self, repeat: Repeat) -> None:
        part, least, most, is_greedy = repeat
        for _ in range(least):
            self.add(part)
        if most is None:
            split = self.add_step(SPLIT)
            self.add(part)
            self.add_step(JUMP, split)
            self._lead(split, split + 1, len(self.steps), is_greedy)
            return
        splits: list[int] = []
        for _ in range(most - least):
            splits.append(self.add_step(SPLIT))
            self.add(part)
        for split in splits:
            self._lead(split, split + 1, len(self.steps), is_greedy)

    def _lead(self, split: int, inside: int, behind: int, is_greedy: bool) -> None:
        first, second = (inside, behind) if is_greedy else (behind, inside)
        self.steps[split] = (SPLIT, first, second)

    def written(self, groups: int, *, is_literal: bool) -> bytes:
        numbers = [len(self.steps), len(self.ranges), groups, int(is_literal)]
        numbers += (number for step in self.steps for number in step)
        numbers += (number for each in self.ranges for number in each)
        return struct.pack(f"<{len(numbers)}I", *numbers)
