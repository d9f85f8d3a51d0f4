"""The notation of advertisements: its parts, their spelling, and reading them.

    row  = ( "/" name | "(" row { "|" row } ")" "+" ) …
    name = "*" | local | "*:" local | "Q{" uri "}" local | "Q{" uri "}*"

White space may stand between the words.  A text from elsewhere is bounded before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from twigcast.errors import AdvertisementError
from twigcast.language import NAME, Kind, NodeTest, node_test

LONGEST = 100_000
"""The most characters in an advertisement."""

MOST_NAMES = 5_000
"""The most names in an advertisement, counted in its text."""

DEEPEST = 50
"""How far groups may be nested."""

_SPACE = re.compile(r"[ \t\r\n]*")
_LABEL = re.compile(
    rf"""(?P<anywhere>\*:(?=[^ /|()+]))?  # any namespace, where a name follows
         (?:Q\{{(?P<namespace>[^{{}}]*)\}})?
         (?P<local>{NAME}|\*)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Group:
    """Parts of which one, then perhaps another and so on, occurs: ``(/a|/b/c)+``."""

    alternatives: tuple[tuple[Part, ...], ...]

    def __str__(self) -> str:
        return f"({'|'.join(map(parts_text, self.alternatives))})+"


Part = NodeTest | Group


def parts_text(parts: Iterable[Part]) -> str:
    """The spelling of names and groups in a row."""
    return "".join(str(part) if isinstance(part, Group) else f"/{part.text}" for part in parts)


def parse_parts(text: str) -> tuple[Part, ...]:
    """The names and groups that ``text`` spells; raises AdvertisementError."""
    if len(text) > LONGEST:
        raise AdvertisementError(
            f"longer than {LONGEST} characters, the most in an advertisement", text, LONGEST
        )
    return _Reader(text).read()


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._names = 0

    def read(self) -> tuple[Part, ...]:
        parts = self._read_row(0)
        if self._position < len(self._text):
            raise self._error(f"unexpected {self._next()!r}: a part starts with '/' or '('")
        return parts

    def _read_row(self, depth: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        while True:
            if self._take("/"):
                parts.append(self._read_name())
            elif self._next() == "(":
                parts.append(self._read_group(depth + 1))
            elif parts:
                return tuple(parts)
            else:
                raise self._error("a part is missing here: '/' and a name, or a group")

    def _read_group(self, depth: int) -> Group:
        if depth > DEEPEST:
            raise self._error(f"groups are nested more than {DEEPEST} deep")
        self._take("(")
        alternatives = [self._read_row(depth)]
        while self._take("|"):
            alternatives.append(self._read_row(depth))
        if not self._take(")"):
            raise self._error("this group is not closed: ')' is missing")
        if not self._take("+"):
            raise self._error("'+' must follow a group")
        return Group(tuple(alternatives))

    def _read_name(self) -> NodeTest:
        self._skip_space()
        match = _LABEL.match(self._text, self._position)
        if match is None:
            raise self._error("a name or '*' must follow '/'")
        anywhere, namespace, local = match.group("anywhere", "namespace", "local")
        if anywhere and (namespace is not None or local == "*"):
            raise self._error("only a local name can follow '*:'")
        if self._names == MOST_NAMES:
            raise self._error(f"more than {MOST_NAMES} names, the most in an advertisement")
        self._names += 1
        self._position = match.end()
        if self._next() == ":":
            raise self._error(
                "prefixes are not bound in advertisements: write Q{uri}name or *:name"
            )
        if namespace is None and not anywhere and local != "*":
            namespace = ""
        return node_test(Kind.ELEMENT, namespace, None if local == "*" else local)

    def _next(self) -> str:
        self._skip_space()
        return self._text[self._position : self._position + 1]

    def _take(self, character: str) -> bool:
        if self._next() != character:
            return False
        self._position += 1
        return True

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._position)
        assert match is not None
        self._position = match.end()

    def _error(self, reason: str) -> AdvertisementError:
        return AdvertisementError(reason, self._text, self._position)
