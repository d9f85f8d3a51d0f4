"""Many random subscriptions at once are answered as libxml2 answers each of them.

The same expressions meet the same documents with room in the cache, with none, and with so little
that it overflows within a document; whatever is kept from document to document must not show.
"""

from __future__ import annotations

import tempfile
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from matcher_answers import answer, as_set, fill, one_by_one, parse_all
from oracle import anchored, parse_tree, to_xpath_1, xpath_matches
from strategies import NAMESPACES, documents, expressions, linear_expressions

from twigcast import DuplicateKeyError, Matcher, UnknownKeyError
from twigcast.documents import read_document
from twigcast.language import Pattern, parse
from twigcast.matching import reference_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twigcast.matching import BatchMatches

CACHES = {"roomy": 256 * 2**20, "none": 0, "tiny": 2_000}

EXAMPLES = settings().max_examples
"""What the profile says; a set of expressions takes as long to draw as many a whole example."""


def as_libxml2_answers(expressions: Sequence[str], document: str) -> set[str]:
    """The keys of the expressions as written, so that parser and normal form are judged too."""
    tree = parse_tree(document)
    return {
        str(number)
        for number, expression in enumerate(expressions)
        if xpath_matches(tree, anchored(to_xpath_1(expression, NAMESPACES)), NAMESPACES)
    }


@settings(max_examples=max(EXAMPLES // 4, 1))
@given(
    st.lists(expressions(), min_size=1, max_size=30),
    st.lists(documents(), min_size=1, max_size=4),
)
def test_sets_of_subscriptions_on_documents_in_a_row(
    expressions: list[str], documents: list[str]
) -> None:
    patterns = parse_all(expressions, NAMESPACES)
    matchers = [fill(Matcher(cache_bytes=cache_bytes), patterns) for cache_bytes in CACHES.values()]
    for document in [*documents, documents[0]]:
        expected = as_libxml2_answers(expressions, document)
        read = read_document(document)
        assert {key for key, one in patterns.items() if reference_matches(one, read)} == expected
        for matcher, name in zip(matchers, CACHES, strict=True):
            assert answer(matcher, document) == expected, name


@settings(max_examples=max(EXAMPLES // 4, 1))
@given(
    st.lists(linear_expressions(), min_size=1, max_size=30),
    st.lists(documents(depth=5), min_size=1, max_size=3),
)
def test_sets_of_linear_subscriptions(expressions: list[str], documents: list[str]) -> None:
    patterns = parse_all(expressions)
    expected = [as_libxml2_answers(expressions, document) for document in documents]
    for name, cache_bytes in CACHES.items():
        matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
        assert matcher.stats().patterns == len(set(patterns.values()))
        for _ in range(2):
            assert [answer(matcher, document) for document in documents] == expected, name


@settings(max_examples=max(EXAMPLES // 10, 1))
@given(
    st.lists(expressions(), min_size=1, max_size=12),
    st.lists(documents() | st.sampled_from(("<a>", "", "<a/><b/>")), max_size=6),
    st.sampled_from(sorted(CACHES.values())),
)
def test_a_batch_answers_as_one_document_after_the_other(
    expressions: list[str], documents: list[str], cache_bytes: int
) -> None:
    patterns = parse_all(expressions, NAMESPACES)
    batch = fill(Matcher(cache_bytes=cache_bytes), patterns).match_batch(documents)
    assert len(batch) == len(documents)
    for number, document in enumerate(documents):
        if document in ("<a>", "", "<a/><b/>"):
            assert number in batch.errors
            assert batch[number] == []
        else:
            assert number not in batch.errors
            assert as_set(batch[number]) == as_libxml2_answers(expressions, document)


@settings(max_examples=max(EXAMPLES // 6, 1))
@given(st.data(), st.sampled_from(sorted(CACHES.values())))
def test_what_was_removed_leaves_no_trace(data: st.DataObject, cache_bytes: int) -> None:
    """Removing half of a set leaves what adding the other half alone would have made."""
    drawn = data.draw(st.lists(expressions(), min_size=2, max_size=14))
    document = data.draw(documents())
    patterns = parse_all(drawn, NAMESPACES)
    gone = data.draw(st.sets(st.sampled_from(sorted(patterns)), min_size=1))
    matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
    assert answer(matcher, document) == as_libxml2_answers(drawn, document)
    for key in sorted(gone):
        matcher.remove(key)
    kept = {key: pattern for key, pattern in patterns.items() if key not in gone}
    assert answer(matcher, document) == as_libxml2_answers(drawn, document) - gone
    alone = fill(Matcher(), kept)
    assert matcher.stats().patterns == alone.stats().patterns
    assert matcher.stats().subscriptions == len(kept)
    fill(matcher, {key: patterns[key] for key in sorted(gone, reverse=True)})
    assert answer(matcher, document) == as_libxml2_answers(drawn, document)


# --- a life of updates --------------------------------------------------------------------------

FEW_KEYS = st.sampled_from(["", "a", "b", "c", "\0", "é"])

# Those that nearly every document matches show at once what is missing or too much, and being few
# they are often subscribed to twice.
SUBSCRIPTIONS = st.one_of(
    st.sampled_from(("/*", "//a", "//*:b", "//*[not(q)]", "//@*", "//text() | //c", "//*[.!='q']")),
    expressions(),
)


class MatcherLife(RuleBasedStateMachine):
    """A matcher beside a dict of patterns, each of which is asked by itself.

    The same few documents are matched after every step, alone and as a batch, which is read some
    steps later only: it must have the answer of its moment.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model: dict[str, Pattern] = {}
        self.removed: dict[str, Pattern] = {}
        self.held: list[tuple[BatchMatches, list[set[str]]]] = []

    def teardown(self) -> None:
        while self.held:
            self.read_oldest()
        self.folder.cleanup()
        super().teardown()

    @initialize(
        cache_bytes=st.sampled_from(sorted(CACHES.values())),
        fixed=st.lists(documents(depth=3), min_size=1, max_size=3),
    )
    def start(self, cache_bytes: int, fixed: list[str]) -> None:
        self.cache_bytes = cache_bytes
        self.fixed = fixed
        self.matcher = Matcher(cache_bytes=cache_bytes)

    @rule(key=FEW_KEYS, expression=SUBSCRIPTIONS)
    def add(self, key: str, expression: str) -> None:
        if key in self.model:
            with pytest.raises(DuplicateKeyError):
                self.matcher.add(key, expression, NAMESPACES)
        else:
            self.matcher.add(key, expression, NAMESPACES)
            self.model[key] = parse(expression, NAMESPACES)

    @rule(key=FEW_KEYS)
    def remove(self, key: str) -> None:
        if key in self.model:
            self.matcher.remove(key)
            self.removed[key] = self.model.pop(key)
        else:
            with pytest.raises(UnknownKeyError):
                self.matcher.remove(key)

    @precondition(lambda self: self.removed.keys() - self.model.keys())
    @rule()
    def add_again(self) -> None:
        key = min(self.removed.keys() - self.model.keys())
        self.model[key] = self.removed.pop(key)
        self.matcher.add(key, self.model[key])

    @rule(some=st.lists(documents(depth=3), min_size=1, max_size=2), as_batch=st.booleans())
    def match(self, some: list[str], as_batch: bool) -> None:
        expected = [one_by_one(self.model, document) for document in some]
        if as_batch:
            self.held.append((self.matcher.match_batch(some), expected))
        else:
            assert [answer(self.matcher, document) for document in some] == expected

    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "matcher"
        self.matcher.save(path)
        self.matcher = Matcher.load(path, cache_bytes=self.cache_bytes)

    @invariant()
    def answers_as_the_model_does(self) -> None:
        expected = [one_by_one(self.model, document) for document in self.fixed]
        assert [answer(self.matcher, document) for document in self.fixed] == expected
        self.held.append((self.matcher.match_batch(self.fixed), expected))
        if len(self.held) > 4:
            self.read_oldest()

    def read_oldest(self) -> None:
        batch, expected = self.held.pop(0)
        assert list(map(as_set, batch)) == expected
        assert batch.offsets.tolist() == [0, *accumulate(map(len, expected))]

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert len(self.matcher) == len(self.model)
        assert as_set(list(self.matcher)) == self.model.keys()
        assert all(self.matcher[key] == pattern for key, pattern in self.model.items())
        stats = self.matcher.stats()
        assert stats.subscriptions == len(self.model)
        assert stats.patterns == len(set(self.model.values()))
        assert stats.cached_bytes <= self.cache_bytes


TestMatcherLife = MatcherLife.TestCase
TestMatcherLife.settings = settings(max_examples=max(EXAMPLES // 10, 1), stateful_step_count=25)
