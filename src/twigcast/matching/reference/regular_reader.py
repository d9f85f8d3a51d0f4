"""Reading a regular expression of XPath: XML Schema's, with anchors and reluctant quantifiers.

    expression ::= branch ("|" branch)*        branch ::= (atom quantifier?)*
    atom ::= character | class | "(" expression ")" | "(?:" expression ")" | "^" | "$" | "."
    quantifier ::= ("?" | "*" | "+" | "{n}" | "{n,}" | "{n,m}") "?"?

What XPath does not allow, and back-references, are a :class:`DynamicError`.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from twigcast.matching.reference.character_classes import (
    ESCAPED_CHARACTERS,
    ESCAPED_CLASSES,
    Accepts,
    any_character,
    any_of,
    category,
    exactly,
    negated,
    not_a_line_end,
    within,
    without,
)
from twigcast.matching.reference.items import DynamicError
from twigcast.matching.reference.regular import Anchor, Character, Choice, Group, Part, Repeat, Row

_QUANTITY: Final = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_MOST_REPEATED: Final = 1_000_000


def read_regular(text: str, flags: str = "") -> tuple[Part, int]:
    """The tree of a regular expression, and how many groups it has."""
    if set(flags) - set("smixq"):
        raise DynamicError(f'"{flags}" are no flags of a regular expression')
    if "q" in flags:
        ignores_case = "i" in flags
        parts = (Character(exactly(each, ignores_case=ignores_case)) for each in text)
        return Row(tuple(parts)), 0
    reader = _Reader(_without_space(text) if "x" in flags else text, flags)
    return reader.read(), reader.groups


def _without_space(text: str) -> str:
    """The expression without white space outside of classes in brackets."""
    kept: list[str] = []
    depth = 0
    is_escaped = False
    for character in text:
        if depth or is_escaped or character not in " \t\n\r":
            kept.append(character)
        if not is_escaped:
            depth += (character == "[") - (character == "]")
        is_escaped = character == "\\" and not is_escaped
    return "".join(kept)


class _Reader:
    def __init__(self, text: str, flags: str) -> None:
        self._text = text
        self._position = 0
        self._ignores_case = "i" in flags
        self._each_line = "m" in flags
        self._dot: Accepts = any_character if "s" in flags else not_a_line_end
        self.groups = 0

    def read(self) -> Part:
        tree = self._expression()
        if self._position < len(self._text):
            self._refuse()
        return tree

    def _refuse(self) -> NoReturn:
        raise DynamicError(
            f'"{self._text}" is no regular expression: see its character {self._position + 1}'
        )

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._position)

    def _take(self, text: str) -> bool:
        if not self._peek(text):
            return False
        self._position += len(text)
        return True

    def _next(self) -> str:
        if self._position >= len(self._text):
            self._refuse()
        self._position += 1
        return self._text[self._position - 1]

    def _expression(self) -> Part:
        branches = [self._branch()]
        while self._take("|"):
            branches.append(self._branch())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _branch(self) -> Part:
        parts: list[Part] = []
        while self._position < len(self._text) and not self._peek("|") and not self._peek(")"):
            parts.append(self._quantified(self._atom()))
        return Row(tuple(parts))

    def _quantified(self, atom: Part) -> Part:
        bounds: tuple[int, int | None]
        if self._take("?"):
            bounds = (0, 1)
        elif self._take("*"):
            bounds = (0, None)
        elif self._take("+"):
            bounds = (1, None)
        elif self._peek("{"):
            bounds = self._quantity()
        else:
            return atom
        if isinstance(atom, Anchor):
            self._refuse()
        return Repeat(atom, *bounds, is_reluctant=self._take("?"))

    def _quantity(self) -> tuple[int, int | None]:
        match = _QUANTITY.match(self._text, self._position)
        if match is None:
            self._refuse()
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        if (most is not None and most < least) or max(least, most or 0) > _MOST_REPEATED:
            self._refuse()
        self._position = match.end()
        return least, most

    def _atom(self) -> Part:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return Character(self._bracket())
        if character == ".":
            return Character(self._dot)
        if character in "^$":
            return Anchor(character == "^", self._each_line)
        if character == "\\":
            return Character(self._escape())
        if character in "?*+{}])":
            self._position -= 1
            self._refuse()
        return Character(exactly(character, ignores_case=self._ignores_case))

    def _group(self) -> Part:
        if self._take("?:"):
            inner = self._expression()
        else:
            self.groups += 1
            number = self.groups
            inner = Group(number, self._expression())
        if not self._take(")"):
            self._refuse()
        return inner

    def _escape(self) -> Accepts:
        """What stands behind a backslash."""
        character = self._next()
        if character in "pP":
            start, end = self._position, self._text.find("}", self._position)
            if not self._peek("{") or end < 0:
                self._refuse()
            self._position = end + 1
            accepts = category(self._text[start + 1 : end])
            return negated(accepts) if character == "P" else accepts
        if character in ESCAPED_CLASSES:
            return ESCAPED_CLASSES[character]
        if character in ESCAPED_CHARACTERS:
            return exactly(ESCAPED_CHARACTERS[character], ignores_case=self._ignores_case)
        if not (character.isascii() and character.isdigit()):
            self._refuse()
        raise DynamicError("back-references in regular expressions are not supported")

    def _bracket(self) -> Accepts:
        """What stands behind ``[``, up to ``]``."""
        is_negated = self._take("^")
        classes: list[Accepts] = []
        subtracted: Accepts | None = None
        while not self._take("]"):
            if classes and self._take("-["):
                subtracted = self._bracket()
                if not self._take("]"):
                    self._refuse()
                break
            classes.append(self._bracket_member(is_first=not classes))
        if not classes:
            self._refuse()
        accepts = any_of(classes)
        accepts = negated(accepts) if is_negated else accepts
        return accepts if subtracted is None else without(accepts, subtracted)

    def _bracket_member(self, *, is_first: bool) -> Accepts:
        if self._peek("\\"):
            following = self._text[self._position + 1 : self._position + 2]
            if following not in ESCAPED_CHARACTERS:
                self._position += 1
                return self._escape()
        elif self._peek("-") and not (is_first or self._peek("-]")):
            self._refuse()
        first = self._bracket_character()
        if self._peek("-") and not self._peek("-]") and not self._peek("-["):
            self._position += 1
            last = self._bracket_character()
            if last < first:
                self._refuse()
            return within(first, last, ignores_case=self._ignores_case)
        return exactly(first, ignores_case=self._ignores_case)

    def _bracket_character(self) -> str:
        character = self._next()
        if character == "\\":
            escaped = ESCAPED_CHARACTERS.get(self._next())
            if escaped is None:
                self._refuse()
            return escaped
        if character in "[]":
            self._refuse()
        return character
