"""The words of an expression: XPath's tokens, and ``Q{uri}`` before a name."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import accumulate
from typing import Final

from twigcast.errors import SubscriptionError

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NAME = f"[{_START}][{_START}\\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*"
"""An XML name without a colon (NCName), as a regular expression."""

_WORD = re.compile(
    rf"""
    Q\{{[^{{}}]*\}}
  | {NAME}
  | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]*)?
  | //|\.\.|::|!=|<<|>>|<=|>=|\|\||:=
  | [/.:@\[\](),|=<>$*+\-!?]
  | "(?:[^"]|"")*"|'(?:[^']|'')*'
  | [ \t\r\n]+
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"""("[^"]*"|'[^']*'|Q\{[^{}]*\})|\(:|:\)""")

_SYMBOLS = {
    symbol: symbol
    for symbol in "// .. :: != << >> <= >= || := / . : @ [ ] ( ) , | = < > $ * + - ! ?".split()
}
_KINDS = {
    **dict.fromkeys(".0123456789", "number"),
    **dict.fromkeys("\"'", "string"),
    **dict.fromkeys(" \t\r\n", "space"),
}
"""The kind of a word that is no symbol by its first character; every other word is a name."""


_REMEDIES: Final = {
    "\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb`": "write ' or \"",
    "\u00a0\u2003\u2009\u202f\u200b\u200c\u200d\ufeff": "write a blank, or leave it out",
    "&": "write and; < and > stand as they are",
    "\u2013\u2014\u2212": "write -",
    "\u2260": "write !=",
    "\u2264": "write <=",
    "\u2265": "write >=",
}
"""Characters that editors and other languages put in, and what to write instead."""


class TokenReader:
    """The tokens of an expression, one at a time, with errors that point at one.

    A token is known by its number.  ``words`` are their texts and ``kinds`` their kinds: ``name``,
    ``braced`` (``Q{uri}``), ``number``, ``string``, for a symbol the symbol itself, and ``end``
    for the last one, which is empty.  White space and comments are left out.  ``at`` is the number
    of the present token and ``kind`` its kind.

    Cost: linear, and little of it in Python, since one call splits the text.  Where the tokens
    start is worked out when somebody asks.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        words = _WORD.findall(_without_comments(text) if "(:" in text else text)
        if len("".join(words)) != len(text):
            raise _stray_character(text)
        kinds = [_SYMBOLS.get(word) or _KINDS.get(word[0], "name") for word in words]
        if "Q{" in text:
            for at, word in enumerate(words):
                if word.startswith("Q{"):
                    kinds[at] = "braced"
        self._parts = words
        if "space" in kinds:
            words = [word for word, kind in zip(words, kinds, strict=True) if kind != "space"]
            kinds = [kind for kind in kinds if kind != "space"]
        self.words: list[str] = [*words, ""]
        self.kinds: list[str] = [*kinds, "end"]
        self.at = 0
        self.kind = self.kinds[0]

    @cached_property
    def starts(self) -> list[int]:
        """Where each token starts in the text."""
        starts = accumulate(map(len, self._parts), initial=0)
        parts = (*self._parts, "")
        return [
            start
            for start, part in zip(starts, parts, strict=True)
            if _KINDS.get(part[:1]) != "space"
        ]

    @property
    def word(self) -> str:
        """The text of the present token."""
        return self.words[self.at]

    def ahead(self) -> str:
        """The kind of the token behind the present one, which is not the last."""
        return self.kinds[self.at + 1]

    def joined(self, at: int) -> bool:
        """Whether nothing stands between that token and the next."""
        return self.starts[at] + len(self.words[at]) == self.starts[at + 1]

    def next(self) -> str:
        """Go on to the next token from one that is not the last; the word left behind."""
        at = self.at
        self.at = at + 1
        self.kind = self.kinds[at + 1]
        return self.words[at]

    def take(self, *kinds: str) -> str:
        """The present word, left behind, if it is of one of these kinds; or an empty text."""
        return self.next() if self.kind in kinds else ""

    def expect(self, kind: str, what: str) -> str:
        """The present word, left behind; an error if it is not of this kind."""
        if self.kind != kind:
            raise self.error(f"{what} was expected here", self.at)
        return self.next()

    def error(self, reason: str, at: int) -> SubscriptionError:
        """The error to raise for what is wrong at a token."""
        return SubscriptionError(reason, self.text, self.starts[at])


def _without_comments(text: str) -> str:
    """The text with blanks in place of comments, ``(: … :)``, which may be nested."""
    characters = list(text)
    opened: list[int] = []
    for match in _COMMENT.finditer(text):
        if match[0] == "(:":
            opened.append(match.start())
        elif match[0] == ":)" and opened:
            start = opened.pop()
            characters[start : match.end()] = " " * (match.end() - start)
    if opened:
        raise SubscriptionError("this comment is not closed; :) is missing", text, opened[0])
    return "".join(characters)


def _stray_character(text: str) -> SubscriptionError:
    """The error for the first character that no word starts with."""
    position = 0
    while (match := _WORD.match(text, position)) is not None:
        position = match.end()
    character = text[position]
    if character in "\"'":
        return SubscriptionError("this string literal is not closed", text, position)
    reason = f"the character {character!r} does not belong into an expression"
    remedy = next((remedy for some, remedy in _REMEDIES.items() if character in some), "")
    if remedy:
        reason += f"; {remedy}"
    return SubscriptionError(reason, text, position)
