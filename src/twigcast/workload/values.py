"""The values of elements and attributes: how documents write them, how subscriptions test them.

Each element that holds text, and each attribute, has a :class:`Domain`.  It follows from the schema
and the names alone, never from a seed, so that documents and subscriptions that were generated far
from each other still speak of the same values:

=============== ========================================= =================================
domain          where                                     tests that it offers
=============== ========================================= =================================
:class:`Range`  telling names (``price``, ``level``), and numbers: ``= != < <= > >=``
                a share of the others
:class:`Dates`  telling names (``date``, ``issued``)      strings: ``= != starts-with``
:class:`Terms`  most other short values                   ``= != starts-with contains``
:class:`Prose`  mixed content, and some other text        ``contains``
:class:`Listed` attributes with an enumeration, and       ``= !=``; all if its members are
                simple types of an XSD                    numbers
=============== ========================================= =================================

Invariant: a test that a domain makes is passed by some value that the domain writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from twigcast.language import Condition, to_number, value_test
from twigcast.schema import Attribute, ElementDeclaration, SimpleType, Text
from twigcast.workload.chance import (
    Draw,
    below,
    between,
    digest,
    fraction,
    zipf_bounds,
    zipf_rank,
)
from twigcast.workload.typed_values import FREE, Unique, typed_texts
from twigcast.workload.vocabulary import Vocabulary

NUMERIC = ("<", "<=", ">", ">=")
STRINGS = ("contains", "starts-with")
EQUAL = ("=", "!=")

_PROSE_SHARE = 0.3
_WORD_IN_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_DATE_NAMES = frozenset(
    "created date day expires issued moment released revised since time until updated".split()
)
_NUMBER_NAMES = frozenset(
    "age amount count duration fee height index length level max min number page pages part parts "
    "percent population price quantity rank rate residues rows score size span total value volume "
    "weight width year".split()
)
_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Domain(Protocol):
    """The values of one element or attribute."""

    operators: tuple[str, ...]
    """The comparisons that :meth:`test` can make."""

    mean_length: float
    """The expected number of characters of a value."""

    def write(self, draw: Draw) -> str:
        """A value as it stands in a document, not yet escaped."""

    def test(self, draw: Draw, operator: str) -> Condition:
        """A comparison with that operator, for a value drawn as :meth:`write` draws."""


class Range:
    """Whole numbers, each as likely."""

    operators: tuple[str, ...] = (*EQUAL, *NUMERIC)

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self._high = high
        self.mean_length = (len(str(low)) + len(str(high))) / 2

    def write(self, draw: Draw) -> str:
        return str(between(draw, self._low, self._high))

    def test(self, draw: Draw, operator: str) -> Condition:
        # The bound that no value could pass is left out.
        low = self._low + (operator == "<")
        high = self._high - (operator == ">")
        return value_test(operator, float(between(draw, low, high)))


class Listed:
    """The members of an enumeration, each as likely."""

    mean_length: float

    def __init__(self, choices: Sequence[str]) -> None:
        self._choices = tuple(choices)
        self._numbers = sorted({to_number(choice) for choice in choices})
        self.mean_length = sum(map(len, choices)) / len(choices)
        if len(set(choices)) == 1:
            self.operators: tuple[str, ...] = ("=",)
        elif all(number == number for number in self._numbers) and len(self._numbers) > 1:
            self.operators = (*EQUAL, *NUMERIC)
        else:
            self.operators = EQUAL

    def write(self, draw: Draw) -> str:
        return self._choices[below(draw, len(self._choices))]

    def test(self, draw: Draw, operator: str) -> Condition:
        if operator in NUMERIC:
            numbers = self._numbers[1:] if operator == "<" else self._numbers
            numbers = numbers[:-1] if operator == ">" else numbers
            return value_test(operator, numbers[below(draw, len(numbers))])
        return value_test(operator, self.write(draw))


class Dates:
    """Days of a leap year as ISO 8601 writes them, each month and day as likely."""

    operators: tuple[str, ...] = ("=", "!=", "starts-with")
    mean_length = 10.0

    def write(self, draw: Draw) -> str:
        month = below(draw, 12)
        return f"2024-{month + 1:02}-{between(draw, 1, _MONTH_LENGTHS[month]):02}"

    def test(self, draw: Draw, operator: str) -> Condition:
        date = self.write(draw)
        return value_test(operator, date[:7] if operator == "starts-with" else date)


class Terms:
    """One word, by the vocabulary's Zipf distribution over its words from ``first`` on."""

    def __init__(self, words: Sequence[str], bounds: list[float], first: int) -> None:
        self.mean_length = sum(map(len, words)) / len(words)
        self.operators: tuple[str, ...] = (*EQUAL, *STRINGS) if len(words) > 1 else ("=", *STRINGS)
        self._words = words
        self._bounds = bounds
        self._first = first % len(words)

    def write(self, draw: Draw) -> str:
        return self._words[(self._first + zipf_rank(draw, self._bounds)) % len(self._words)]

    def test(self, draw: Draw, operator: str) -> Condition:
        word = self.write(draw)
        return value_test(operator, word[:3] if operator == "starts-with" else word)


class Prose:
    """Several words."""

    operators: tuple[str, ...] = ("contains",)

    def __init__(self, terms: Terms, shortest: int, longest: int) -> None:
        self._terms = terms
        self._shortest = shortest
        self._longest = longest
        self.mean_length = (terms.mean_length + 1) * (shortest + longest) / 2

    def words(self, draw: Draw) -> list[str]:
        """The words of one text."""
        count = between(draw, self._shortest, self._longest)
        return [self._terms.write(draw) for _ in range(count)]

    def write(self, draw: Draw) -> str:
        return " ".join(self.words(draw))

    def test(self, draw: Draw, operator: str) -> Condition:
        return value_test(operator, self._terms.write(draw))


def _is_free(simple: SimpleType) -> bool:
    """Whether every word is valid."""
    return simple.kind in FREE and simple == SimpleType(
        simple.kind, preserves_space=simple.preserves_space, may_be_empty=simple.may_be_empty
    )


class Domains:
    """The domains of a schema's elements and attributes under one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokens = vocabulary.tokens
        self._bounds = zipf_bounds(len(vocabulary.words), vocabulary.skew)
        self._token_bounds = zipf_bounds(len(self._tokens), vocabulary.skew)

    def text(self, declaration: ElementDeclaration) -> Domain:
        """What an element writes that holds characters only."""
        vocabulary = self._vocabulary
        element, label = declaration.name, declaration.label
        name = element if label is None or label.local is None else label.local
        content = declaration.content
        simple = content.simple if isinstance(content, Text) else None
        if simple is not None and not _is_free(simple):
            return self._typed(simple)
        short = self._short(element, name, vocabulary.words, self._bounds)
        if isinstance(short, Terms) and fraction(f"prose {element}") < _PROSE_SHARE:
            return self.prose(element)
        return short

    def _typed(self, simple: SimpleType) -> Domain:
        """The texts of a simple type."""
        if simple.kind == "ID":
            return Unique()
        return Listed(typed_texts(simple, self._tokens))

    def prose(self, element: str) -> Prose:
        """What stands between the children of an element of mixed content."""
        vocabulary = self._vocabulary
        terms = Terms(vocabulary.words, self._bounds, digest(element))
        return Prose(terms, vocabulary.shortest, vocabulary.longest)

    def attribute(self, element: str, attribute: Attribute) -> Domain | None:
        """What an attribute says; None for identifiers, references, entities and fixed values."""
        if attribute.default == "fixed":
            return None
        if attribute.choices:
            return Listed(attribute.choices)
        if attribute.kind not in ("cdata", "nmtoken", "nmtokens"):
            return None
        if attribute.simple is not None and not _is_free(attribute.simple):
            return self._typed(attribute.simple)
        owner = f"{element}/@{attribute.name}"
        name = attribute.name if attribute.label is None else attribute.label.local or ""
        return self._short(owner, name, self._tokens, self._token_bounds)

    def _short(self, owner: str, name: str, words: tuple[str, ...], bounds: list[float]) -> Domain:
        """The domain of a value that is one number, date or word."""
        vocabulary = self._vocabulary
        parts = {part.lower() for part in _WORD_IN_NAME.findall(name)}
        if not parts.isdisjoint(_DATE_NAMES):
            return Dates()
        chance = 0.0 if not parts.isdisjoint(_NUMBER_NAMES) else fraction(f"number {owner}")
        if chance < vocabulary.numbers:
            return Range(vocabulary.lowest, vocabulary.highest)
        return Terms(words, bounds, digest(owner))
