"""What a Matcher answers, and what it must answer: each pattern asked by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from lxml import etree
from oracle import xpath_matches

from twigcast import Matcher
from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Source
from twigcast.language import Pattern, parse
from twigcast.matching import CompactDocument, compile_pattern

_compiled = lru_cache(maxsize=4_096)(compile_pattern)


def fill(matcher: Matcher, patterns: Mapping[str, str | Pattern]) -> Matcher:
    """The matcher, with all of the subscriptions added."""
    for key, pattern in patterns.items():
        matcher.add(key, pattern)
    return matcher


def parse_all(
    expressions: Iterable[str], namespaces: Mapping[str, str] | None = None
) -> dict[str, Pattern]:
    """The expressions as patterns, under the keys ``0``, ``1``, ``2`` and so on."""
    return {
        str(number): parse(expression, namespaces) for number, expression in enumerate(expressions)
    }


def as_set(keys: Sequence[str]) -> set[str]:
    """The keys of an answer, where each may stand once only."""
    found = set(keys)
    assert len(found) == len(keys), "a key stands twice"
    return found


def answer(matcher: Matcher, document: Source) -> set[str]:
    return as_set(matcher.match(document))


def one_by_one(
    patterns: Mapping[str, Pattern], document: Source, limits: DocumentLimits = DEFAULT_LIMITS
) -> set[str]:
    """The keys whose patterns, each evaluated by itself, are in the document."""
    compact = CompactDocument(document, limits)
    return {key for key, pattern in patterns.items() if compact.matches(_compiled(pattern))}


def by_libxml2(patterns: Mapping[str, Pattern], tree: etree._ElementTree) -> set[str]:
    return {key for key, pattern in patterns.items() if xpath_matches(tree, *pattern.to_xpath())}
