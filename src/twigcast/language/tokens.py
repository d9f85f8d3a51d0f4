"""The words of an expression: XPath 1.0's tokens, and ``Q{uri}`` before a name."""

from __future__ import annotations

import re
from typing import NamedTuple

from twigcast.errors import SubscriptionError

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NAME = f"[{_START}][{_START}\\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*"
"""An XML name without a colon (NCName), as a regular expression."""

_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\r\n]+)
  | (?P<braced>Q\{{[^{{}}]*\}})
  | (?P<name>{NAME})
  | (?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
  | (?P<string>"[^"]*"|'[^']*')
  | (?P<symbol>//|\.\.|::|!=|<=|>=|[/.:@\[\](),|=<>$*+\-])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word, its kind (a symbol's kind is the symbol itself) and where it starts."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``, closed by one of kind ``end``; white space is left out."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise SubscriptionError(_complaint(text[position]), text, position)
        kind = match.lastgroup or ""
        if kind != "space":
            word = match.group()
            tokens.append(Token(word if kind == "symbol" else kind, word, position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


class TokenReader:
    """The tokens of an expression, one at a time, with errors that point at one.

    ``token`` is the present one; ``at`` is its number in ``tokens``.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.token = self.tokens[0]

    def ahead(self) -> Token:
        """The token behind the present one."""
        return self.token if self.token.kind == "end" else self.tokens[self.at + 1]

    def next(self) -> Token:
        """Go on to the next token; the one left behind."""
        token = self.token
        if token.kind != "end":
            self.at += 1
            self.token = self.tokens[self.at]
        return token

    def take(self, *kinds: str) -> Token | None:
        """The present token, left behind, if it is of one of these kinds."""
        return self.next() if self.token.kind in kinds else None

    def expect(self, kind: str, what: str) -> Token:
        """The present token, left behind; an error if it is not of this kind."""
        if self.token.kind != kind:
            raise self.error(f"{what} was expected here", self.token)
        return self.next()

    def error(self, reason: str, token: Token) -> SubscriptionError:
        """The error to raise for what is wrong at a token."""
        return SubscriptionError(reason, self.text, token.position)


def _complaint(character: str) -> str:
    if character in "\"'":
        return "this string literal is not closed"
    return f"the character {character!r} has no place in an expression"
