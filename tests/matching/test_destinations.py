"""The destinations that want a document are those of all that it matches, found with less work."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy
import pytest
from folders import EXAMPLES as EXAMPLE_FILES
from hypothesis import given, settings
from hypothesis import strategies as st
from matcher_answers import as_set, parse_all
from strategies import NAMESPACES, documents, expressions, linear_expressions

from twigcast import DocumentLimits, Matcher
from twigcast.errors import DocumentError, EvaluationBudgetError
from twigcast.language import Pattern
from twigcast.matching import BatchDestinations
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    TreeParameters,
    generate_documents,
    generate_subscriptions,
)

CACHES = (256 * 2**20, 2_000, 0)
EXAMPLES = settings().max_examples

QUOTE = b"<quotes><quote><symbol>GHI</symbol><price>17</price></quote></quotes>"
WIDE = "<a>" + "<b><c>1</c></b>" * 30_000 + "</a>"
COSTLY = "//b[count(following::*) = 12345678]"

Destinations = Mapping[str, int | None]


def filled(
    patterns: Mapping[str, Pattern | str], destinations: Destinations, cache_bytes: int
) -> Matcher:
    matcher = Matcher(cache_bytes=cache_bytes)
    for key, pattern in patterns.items():
        matcher.add(key, pattern, destination=destinations[key])
    return matcher


def check(matcher: Matcher, documents: Sequence[bytes | str], of: Destinations) -> None:
    """The destinations, and the keys of those without, are those of the keys that match."""
    batch, matches = matcher.match_destinations(documents), matcher.match_batch(documents)
    assert batch.errors.keys() == matches.errors.keys()
    for numbers, named, keys in zip(batch, batch.named, matches, strict=True):
        assert numbers == sorted({number for key in keys if (number := of[key]) is not None})
        assert as_set(named) == {key for key in keys if of[key] is None}


def work(batch: BatchDestinations) -> int:
    return sum(batch.looked_at)


# --- exactness ----------------------------------------------------------------------------------

NUMBERS = st.none() | st.integers(0, 3) | st.sampled_from((31, 32, 63, 200, 1023))


@settings(max_examples=max(EXAMPLES // 3, 1))
@given(st.data(), st.sampled_from(CACHES))
def test_they_are_those_of_the_keys_that_match(data: st.DataObject, cache_bytes: int) -> None:
    drawn = data.draw(st.lists(expressions() | linear_expressions(), min_size=1, max_size=25))
    some = data.draw(st.lists(documents() | st.just("<a>"), min_size=1, max_size=4))
    patterns = parse_all(drawn, NAMESPACES)
    destinations = {key: data.draw(NUMBERS) for key in patterns}
    matcher = filled(patterns, destinations, cache_bytes)
    for _ in range(2):
        check(matcher, some, destinations)
    gone = data.draw(st.sets(st.sampled_from(sorted(patterns))))
    for key in gone:
        matcher.remove(key)
    check(matcher, some, destinations)
    for key in gone:
        destinations[key] = data.draw(NUMBERS)
        matcher.add(key, patterns[key], destination=destinations[key])
    check(matcher, some, destinations)


@pytest.mark.parametrize("cache_bytes", CACHES)
@pytest.mark.parametrize("count", [1, 32, 1024])
def test_generated_subscriptions_while_they_come_and_go(cache_bytes: int, count: int) -> None:
    schema = Schema.from_dtd(EXAMPLE_FILES / "news.dtd", root="news")
    texts = [
        str(each) for each in islice(generate_subscriptions(schema, TreeParameters(), seed=5), 400)
    ]
    some = list(islice(generate_documents(schema, DocumentParameters(), seed=6), 10))
    draw = random.Random(7)
    destinations: dict[str, int | None] = {}
    matcher = Matcher(cache_bytes=cache_bytes)
    for number in range(3_000):
        key = str(draw.randrange(600))
        if draw.random() < 0.5:
            destinations[key] = draw.choice((None, *[draw.randrange(count)] * 9))
            matcher.update({key: draw.choice(texts)}, destination=destinations[key])
        else:
            matcher.discard(key)
        if number % 300 == 0:
            check(matcher, some, destinations)


@pytest.mark.parametrize("reader", ["checked", "expat"])
def test_both_readers(reader: str) -> None:
    matcher = Matcher({"a": "//symbol"}, reader=reader)  # type: ignore[arg-type]
    matcher.add("b", "//price[. > 3]", destination=9)
    assert matcher.match_destinations([QUOTE])[0] == [9]


def test_a_pattern_that_several_destinations_share() -> None:
    matcher = Matcher()
    for number in (3, 40, 3, None):
        matcher.add(str(len(matcher)), "//quote[price > 3]", destination=number)
    assert matcher.stats().patterns == 1
    assert matcher.match_destinations([QUOTE])[0] == [3, 40]
    assert matcher.match_destinations([QUOTE]).named[0] == ["3"]
    matcher.remove("0")
    assert matcher.match_destinations([QUOTE])[0] == [3, 40]
    matcher.remove("2")
    assert matcher.match_destinations([QUOTE])[0] == [40]
    matcher.remove("1")
    assert matcher.match_destinations([QUOTE])[0] == []
    assert matcher.match(QUOTE) == ["3"]


def test_a_key_gets_another_destination() -> None:
    matcher = Matcher()
    matcher.add("a", "//quote", destination=1)
    matcher.replace("a", "//quote", destination=2)
    assert matcher.match_destinations([QUOTE])[0] == [2]
    matcher.update({"a": "//quote"}, destination=70)
    assert matcher.match_destinations([QUOTE])[0] == [70]
    matcher.replace("a", "//quote")
    assert matcher.match_destinations([QUOTE])[0] == []
    assert matcher.match(QUOTE) == ["a"]


# --- the answer ---------------------------------------------------------------------------------


def test_vectors_are_rows_of_words() -> None:
    matcher = Matcher()
    matcher.add("a", "//symbol", destination=0)
    assert numpy.asarray(matcher.match_destinations([QUOTE]).vectors).tolist() == [[1]]
    matcher.add("b", "//price", destination=33)
    batch = matcher.match_destinations([b"<price/>", b"<", QUOTE])
    vectors = numpy.asarray(batch.vectors)
    assert vectors.dtype == numpy.uint32
    assert vectors.tolist() == [[0, 2], [0, 0], [1, 2]]
    assert [batch[0], batch[-1], batch[1:]] == [[33], [0, 33], [[], [0, 33]]]
    assert isinstance(batch.errors[1], DocumentError)
    assert repr(batch) == "<BatchDestinations: 3 documents, 1 of them bad>"
    with pytest.raises(IndexError, match="3 documents"):
        batch[3]
    with pytest.raises(TypeError, match="list"):
        copy.copy(batch)
    with pytest.raises(TypeError):
        batch.vectors[0, 0] = 1  # nobody changes what others look at


def test_nothing_in_nothing_out() -> None:
    assert numpy.asarray(Matcher().match_destinations([]).vectors).shape == (0, 1)
    batch = Matcher({"a": "//symbol"}).match_destinations([QUOTE, None])
    assert list(batch) == [[], []]
    assert numpy.asarray(batch.vectors).tolist() == [[0], [0]]
    assert list(batch.errors) == [1]


def test_documents_beyond_a_limit() -> None:
    matcher = Matcher(limits=DocumentLimits(depth=2))
    matcher.add("a", "/quotes", destination=1)
    batch = matcher.match_destinations([QUOTE, b"<quotes/>"])
    assert list(batch) == [[], [1]]
    assert "depth" in str(batch.errors[0])


@pytest.mark.parametrize("number", [-1, 1024, 2**40])
@pytest.mark.parametrize("method", [Matcher.add, Matcher.replace])
def test_a_number_out_of_range_is_refused(method: Callable[..., None], number: int) -> None:
    matcher = Matcher({"b": "//b"})
    with pytest.raises(ValueError, match=r"from 0 to 1,023, not .*number them from 0"):
        method(matcher, "a", "//a", destination=number)
    with pytest.raises(ValueError, match="from 0 to 1,023"):
        matcher.update({"a": "//a"}, destination=number)
    assert list(matcher) == ["b"]


def test_the_budget_names_what_may_want_a_document_besides() -> None:
    matcher = Matcher()
    for key, expression, destination in (
        ("costly", COSTLY, 1),
        ("found", COSTLY, 2),
        ("nowhere", COSTLY, None),
        ("a", "/a", None),
        ("b", "//b", 2),
    ):
        matcher.add(key, expression, destination=destination)
    batch = matcher.match_destinations([WIDE])
    assert list(batch) == [[2]]
    error = batch.errors[0]
    assert isinstance(error, EvaluationBudgetError)
    assert (sorted(error.keys), error.matched) == (["costly", "nowhere"], ("a",))
    matcher.remove("nowhere")
    matcher.add("c", "//c", destination=1)
    batch = matcher.match_destinations([WIDE])
    assert (list(batch), list(batch.named), dict(batch.errors)) == ([[1, 2]], [["a"]], {})


# --- files and copies ---------------------------------------------------------------------------


def test_files_and_copies_have_destinations(tmp_path: Path) -> None:
    matcher = Matcher()
    for number, expression in enumerate(("//symbol", "//quote[price > 3]", "//zz", "//price")):
        matcher.add(str(number), expression, destination=number * 30)
    matcher.add("none", "//quotes")
    matcher.remove("0")
    matcher.save(tmp_path / "file")
    for other in (Matcher.load(tmp_path / "file"), copy.copy(matcher)):
        assert other.match_destinations([QUOTE])[0] == [30, 90]
        other.add("new", "//quotes", destination=5)
        other.remove("3")
        assert other.match_destinations([QUOTE])[0] == [5, 30]
    assert matcher.match_destinations([QUOTE])[0] == [30, 90]


def test_an_index_that_is_rebuilt_has_them_too() -> None:
    matcher = Matcher()
    matcher.add("kept", "//quote[price > 3][symbol]", destination=100)
    for number in range(3_000):
        matcher.add(str(number), f"//p{number}", destination=number % 1024)
    for number in range(3_000):
        matcher.remove(str(number))
    assert matcher.match_destinations([QUOTE])[0] == [100]


# --- what is skipped ----------------------------------------------------------------------------


def test_a_residual_is_not_evaluated_for_a_destination_that_is_found() -> None:
    matcher = Matcher()
    for number in range(100):
        matcher.add(str(number), f"//b[count(c) = {number}]", destination=0)
    document = "<a><b><c/></b></a>"
    before = work(matcher.match_destinations([document]))
    assert before < 10, "the second of them fits"
    matcher.add("b", "//b", destination=0)
    assert work(matcher.match_destinations([document])) < before
    matcher.add("other", "//b[count(c) = 0]", destination=1)
    assert matcher.match_destinations([document])[0] == [0]
    assert work(matcher.match_destinations([document])) <= before


def test_values_of_a_path_are_not_tested_when_all_that_they_lead_to_is_found() -> None:
    matcher = Matcher()
    for number in range(1_000):
        matcher.add(f"p{number}", f"//price[. > {number / 100}]", destination=number % 8)
    some = [b"<quotes>" + b"<price>5</price>" * 40 + b"</quotes>"]
    matcher.add("silent", "//zz", destination=8)
    all_tested = work(matcher.match_destinations(some))
    assert all_tested < 100, "the other prices are not looked at"
    for number in range(8):
        matcher.add(f"q{number}", "/quotes", destination=number)
    batch = matcher.match_destinations(some)
    assert batch[0] == list(range(8))
    assert work(batch) < 10, "no price is looked at"


def test_branches_are_not_joined_for_a_destination_that_is_found() -> None:
    matcher = Matcher()
    for number in range(100):
        matcher.add(str(number), f"//a[b][c]//d[e{number % 2}][f]", destination=number % 4)
    some = ["<r>" + "<a><b/><c/><d><e0/><e1/><f/></d></a>" * 3 + "</r>"]
    batch = matcher.match_destinations(some)
    assert batch[0] == [0, 1, 2, 3]
    known = work(batch)
    for number in range(4):
        matcher.add(f"r{number}", "/r", destination=number)
    assert work(matcher.match_destinations(some)) < known


@pytest.mark.parametrize("count", [100, 10_000])
def test_work_does_not_grow_with_the_subscriptions(count: int) -> None:
    """Some four for each destination must be met before all are found, however many there are."""
    draw = random.Random(1)
    matcher = Matcher()
    for number in range(count):
        expression = f"/quotes/quote[price > {draw.random() * 20:.9f}]"
        matcher.add(str(number), expression, destination=number % 32)
    for _ in range(300):  # until the thresholds are copied in their order
        batch = matcher.match_destinations([QUOTE])
    assert batch[0] == list(range(32))
    assert len(matcher.match(QUOTE)) > 0.8 * count
    assert work(batch) < 32 * 8


def test_who_has_left_is_not_waited_for() -> None:
    """Once a destination has no subscription, documents need not be asked for it any more."""
    matcher = Matcher()
    matcher.add("root", "/quotes", destination=0)
    for number in range(100):
        matcher.add(str(number), f"//price[. > {number}][. < 200]", destination=1)
    asking = work(matcher.match_destinations([QUOTE]))
    for number in range(100):
        matcher.remove(str(number))
    matcher.add("price", "//price[. > 3]", destination=0)
    assert work(matcher.match_destinations([QUOTE])) < asking


# --- threads ------------------------------------------------------------------------------------


def test_a_document_meets_one_destination_of_a_key_that_moves() -> None:
    """Never both and never none, and rows are widened where a batch is under way."""
    matcher = Matcher()
    matcher.add("moving", "//quote[price > 3]", destination=0)
    stop = threading.Event()

    def move() -> None:
        for number in cycle((1, 40, 1023, 0)):
            matcher.replace("moving", "//quote[price > 3]", destination=number)
            if stop.is_set():
                return

    thread = threading.Thread(target=move)
    thread.start()
    try:
        seen = [numbers for _ in range(40) for numbers in matcher.match_destinations([QUOTE] * 500)]
    finally:
        stop.set()
        thread.join()
    assert {len(numbers) for numbers in seen} == {1}
    assert {number for [number] in seen} <= {0, 1, 40, 1023}
