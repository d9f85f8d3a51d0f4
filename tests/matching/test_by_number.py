"""Values beside the subscriptions of a matcher, by the kernel's numbers."""

from __future__ import annotations

from random import Random

import pytest

from twigcast import Matcher
from twigcast.matching import ByNumber

TEXTS = [f"//a[b = {number % 7}]" if number % 3 else f"/a/c{number}" for number in range(40)]
DOCUMENTS = [
    b"<a><b>1</b><b>2</b><c0/><c3/></a>",
    b"<a><b>4</b><b>5</b><c6/><c9/><c12/></a>",
    b"<a/>",
]


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_keys_through_rebuilt_indexes(seed: int) -> None:
    random = Random(seed)
    matcher = Matcher()
    kept: dict[str, object] = {}
    by_number = ByNumber(kept.__getitem__)
    generations = set()
    for _ in range(6_000):  # an index is rebuilt after more than a thousand removals
        key = str(random.randrange(len(TEXTS)))
        if key in kept:
            matcher.remove(key)
            del kept[key]
        else:
            matcher.add(key, TEXTS[int(key)])
            kept[key] = object()
        if random.random() < 0.05:
            batch = matcher.match_batch(DOCUMENTS)
            generations.add(batch.generation)
            for number in range(len(DOCUMENTS)):
                values = by_number.of(batch, number)
                assert set(values) == {kept[each] for each in batch[number]}
                assert len(values) == len(batch[number])
    assert len(generations) > 1, "no index was rebuilt, so nothing was shown"


def test_a_key_is_spelled_once() -> None:
    matcher = Matcher({"one": "//a", "two": "//b"})
    asked: list[str] = []

    def lookup(key: str) -> str:
        asked.append(key)
        return key.upper()

    by_number = ByNumber(lookup)
    for _ in range(3):
        assert by_number.of(matcher.match_numbered("<a/>")) == ["ONE"]
    assert by_number.of(matcher.match_numbered("<a><b/></a>")) != []
    assert sorted(asked) == ["one", "two"]


def test_numbers_are_a_documents_part_of_the_ids() -> None:
    matcher = Matcher({"one": "//a", "two": "//b"})
    batch = matcher.match_batch(["<a/>", "<", "<b><a/></b>"])
    assert [sorted(map(batch.key, batch.numbers(at))) for at in range(3)] == [
        ["one"],
        [],
        ["one", "two"],
    ]
