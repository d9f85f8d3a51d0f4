"""Values, the vocabulary, and the draws behind them."""

from __future__ import annotations

from collections import Counter

import pytest
from folders import EXAMPLES

from twigcast.errors import WorkloadError
from twigcast.language import ValueTest, passes
from twigcast.schema import Attribute, ElementDeclaration, Schema, Text
from twigcast.workload import Vocabulary
from twigcast.workload.chance import below, shuffled, stream, zipf_bounds, zipf_rank
from twigcast.workload.values import Dates, Domain, Domains, Listed, Prose, Range, Terms
from twigcast.workload.vocabulary import WORDS


def _domains() -> dict[str, Domain]:
    return {
        "range": Range(3, 5),
        "dates": Dates(),
        "terms": Terms(("maple", "oak"), zipf_bounds(2, 1.0), 1),
        "prose": Domains(Vocabulary()).prose("paragraph"),
        "numbers listed": Listed(("1", "2", "3")),
        "names listed": Listed(("x", "y")),
        "one listed": Listed(("x",)),
    }


@pytest.mark.parametrize("name", list(_domains()))
def test_every_test_is_passed_by_some_written_value_and_none_is_empty(name: str) -> None:
    domain = _domains()[name]
    values = [domain.write(stream("value", 1, index)) for index in range(3_000)]
    for operator in domain.operators:
        for index in range(50):
            test = domain.test(stream(f"test {operator}", 1, index), operator)
            assert isinstance(test, ValueTest)
            assert test.operator == operator
            assert any(passes(value, test) for value in values), (name, test.text)


def test_mean_lengths_are_those_of_what_is_written() -> None:
    for name, domain in _domains().items():
        lengths = [len(domain.write(stream("value", 2, index))) for index in range(2_000)]
        mean = sum(lengths) / len(lengths)
        # Words are not all as likely, so their mean is an estimate only.
        assert mean == pytest.approx(domain.mean_length, rel=0.25), name


def plain(name: str) -> ElementDeclaration:
    return ElementDeclaration(name, Text())


def test_domains_follow_from_names_and_never_from_a_seed() -> None:
    domains = Domains(Vocabulary())
    assert isinstance(domains.text(plain("price")), Range)
    assert isinstance(domains.text(plain("rights-year")), Range)
    assert isinstance(domains.text(plain("DateId")), Dates)
    assert isinstance(domains.attribute("media", Attribute("width", "nmtoken")), Range)
    assert isinstance(
        domains.attribute("a", Attribute("b", "enumeration", "required", None, ("x",))), Listed
    )
    for kind in ("id", "idref", "idrefs", "entity"):
        assert domains.attribute("a", Attribute("b", kind)) is None
    assert domains.attribute("a", Attribute("b", "cdata", "fixed", "1")) is None


def test_kinds_of_text_are_mixed_as_the_vocabulary_says() -> None:
    schema = Schema.from_dtd(EXAMPLES / "news.dtd")
    kinds = Counter(type(Domains(Vocabulary()).text(plain(name))) for name in schema.elements)
    assert all(kinds[kind] >= 3 for kind in (Range, Dates, Terms, Prose))
    without = Counter(
        type(Domains(Vocabulary(numbers=0)).text(plain(name))) for name in schema.elements
    )
    assert without[Range] == 0
    only = Counter(
        type(Domains(Vocabulary(numbers=1)).text(plain(name))) for name in schema.elements
    )
    assert set(only) == {Range, Dates}


def test_the_first_word_differs_from_element_to_element() -> None:
    domains = Domains(Vocabulary(numbers=0))
    favourites = set()
    for name in ("city", "desk", "outlet", "keyword"):
        prose = domains.prose(name)
        words = Counter(prose.write(stream("word", 1, 0)).split())
        for index in range(200):
            words.update(prose.write(stream("word", 1, index)).split())
        favourites.add(words.most_common(1)[0][0])
    assert len(favourites) == 4


def test_words_are_plain_and_distinct() -> None:
    assert len(WORDS) == len(set(WORDS)) > 300
    assert Vocabulary().tokens == WORDS
    assert any(not word.isascii() for word in WORDS)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"words": ()}, "XML name"),
        ({"words": ("two words",)}, "XML name"),
        ({"words": ("fine", "a\x01b")}, "cannot stand"),
        ({"words": ("fine", "both ' and \"")}, "cannot stand"),
        ({"words": ("fine", " blank")}, "cannot stand"),
        ({"skew": -1}, "skew"),
        ({"numbers": 1.5}, "share of numbers"),
        ({"lowest": 7, "highest": 7}, "lowest"),
        ({"shortest": 5, "longest": 4}, "at least one word"),
        ({"shortest": 0}, "at least one word"),
    ],
)
def test_impossible_vocabularies_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(WorkloadError, match=reason):
        Vocabulary(**arguments)  # type: ignore[arg-type]


def test_streams_are_even_and_independent_of_each_other() -> None:
    draw = stream("even", 1, 0)
    tally = Counter(below(draw, 10) for _ in range(20_000))
    assert set(tally) == set(range(10))
    # Seven standard deviations.
    assert all(abs(count - 2_000) < 300 for count in tally.values())
    firsts = {stream("even", seed, index)() for seed in range(30) for index in range(30)}
    assert len(firsts) == 900
    assert abs(sum(firsts) / 900 - 0.5) < 0.07


def test_zipf_ranks_have_the_promised_chances() -> None:
    bounds = zipf_bounds(4, 1.0)
    draw = stream("zipf", 1)
    tally = Counter(zipf_rank(draw, bounds) for _ in range(20_000))
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    for rank in range(4):
        assert tally[rank] / 20_000 == pytest.approx(1 / (rank + 1) / total, abs=0.02)
    even = Counter(zipf_rank(draw, zipf_bounds(4, 0.0)) for _ in range(8_000))
    assert all(abs(even[rank] - 2_000) < 250 for rank in range(4))
    assert zipf_rank(draw, zipf_bounds(1, 1.0)) == 0


def test_shuffling_gives_every_order_equally() -> None:
    tally = Counter(shuffled(stream("shuffle", 1, index), "abc") for index in range(6_000))
    assert len(tally) == 6
    assert all(abs(count - 1_000) < 200 for count in tally.values())
