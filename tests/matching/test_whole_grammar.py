"""Random expressions of the whole grammar in one Matcher: libxml2 answers each the same."""

from __future__ import annotations

from random import Random

from expression_strategies import expressions_1, rich_documents
from hypothesis import given, settings
from hypothesis import strategies as st
from match_oracles import Question
from matcher_answers import answer, as_set, fill, one_by_one
from oracle import parse_tree

from twigcast import Matcher
from twigcast.language import Expression

EXAMPLES = settings().max_examples
SETS = st.lists(expressions_1(depth=2), min_size=2, max_size=25)
DOCUMENTS = st.lists(rich_documents(), min_size=1, max_size=3)


@settings(max_examples=max(EXAMPLES // 5, 1))
@given(SETS, DOCUMENTS, st.sampled_from((256 * 2**20, 2_000, 0)))
def test_all_at_once(expressions: list[Expression], documents: list[str], cache_bytes: int) -> None:
    questions = {str(number): Question(one.text) for number, one in enumerate(expressions)}
    patterns = {key: question.pattern for key, question in questions.items()}
    matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
    batch = matcher.match_batch(documents)
    for number, document in enumerate([*documents, documents[0]]):
        tree = parse_tree(document)
        expected = {key for key, question in questions.items() if question.by_libxml2(tree)}
        assert answer(matcher, document) == expected
        assert one_by_one(patterns, document) == expected
        if number < len(documents):
            assert as_set(batch[number]) == expected


@settings(max_examples=max(EXAMPLES // 8, 1))
@given(SETS, rich_documents(), st.randoms(use_true_random=False))
def test_what_was_removed_leaves_no_trace(
    expressions: list[Expression], document: str, random: Random
) -> None:
    patterns = {str(n): Question(one.text).pattern for n, one in enumerate(expressions)}
    matcher = fill(Matcher(), patterns)
    gone = set(random.sample(sorted(patterns), k=len(patterns) // 2))
    for key in gone:
        matcher.remove(key)
    kept = {key: pattern for key, pattern in patterns.items() if key not in gone}
    assert answer(matcher, document) == one_by_one(kept, document)
