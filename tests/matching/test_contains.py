"""``contains`` on values within each other: as libxml2 answers, in one pass over the text."""

from __future__ import annotations

import time
from random import Random

import pytest
from lxml import etree
from matcher_answers import answer

from twigcast import Matcher
from twigcast.matching import BatchMatches

LETTERS = "ab "
CACHES = (256 * 2**20, 2_000, 0)


def draw_text(random: Random, longest: int) -> str:
    return "".join(random.choices(LETTERS, k=random.randint(0, longest)))


def draw_document(random: Random, deepest: int, longest: int) -> str:
    """Elements within each other, with text, attributes and comments before, in and behind them."""

    def draw(depth: int) -> str:
        name = random.choice("xyz")
        attribute = f' k="{draw_text(random, 6)}"' if random.random() < 0.3 else ""
        inside = [draw_text(random, longest)]
        for _ in range(random.choice((1, 1, 1, 1, 2)) if depth < deepest else 0):
            if random.random() < 0.85:
                inside.append(draw(depth + 1))
            inside.append(random.choice(("", "<!--a-->", "<?a b?>")))
            inside.append(draw_text(random, longest))
        return f"<{name}{attribute}>{''.join(inside)}</{name}>"

    return draw(1)


def draw_expression(random: Random) -> str:
    """One that asks, at some level, for one part or two."""

    def part() -> str:
        return "".join(random.choices(LETTERS, k=random.choice((1, 2, 3, 4, 5, 6, 9))))

    path = random.choice(("//x", "//*", "//x//y", "/x/y", "/*/*/*", "//y/z", "//x/text()", "//@k"))
    return random.choice(
        (
            f"{path}[contains(., '{part()}')]",
            f"{path}[contains(., '{part()}')]",
            f"{path}[contains(., '{part()}')][contains(., '{part()}')]",
            f"{path}[starts-with(., '{part()[:2]}')][contains(., '{part()}')]",
            f"//x[contains(., '{part()}')][y]",
            f"//x[contains(., '{part()}')][y[contains(., '{part()}')]]",
            f"//*[contains(y, '{part()}')]",
            f"//x[not(contains(., '{part()}'))]",
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_nested_values_as_libxml2_answers(seed: int) -> None:
    random = Random(seed)
    expressions = list(dict.fromkeys(draw_expression(random) for _ in range(300)))
    sizes = [(5, 6), (8, 3), (4, 120), (30, 2)]
    documents = [
        draw_document(random, *random.choice(sizes[:3] if seed % 2 else sizes)) for _ in range(8)
    ]
    trees = [etree.fromstring(document) for document in documents]
    expected = [
        {expression for expression in expressions if tree.xpath(f"boolean({expression})")}
        for tree in trees
    ]
    for cache_bytes in CACHES:
        matcher = Matcher(cache_bytes=cache_bytes)
        for expression in expressions[::2]:
            matcher.add(expression, expression)
        matcher.match(documents[0])
        for expression in expressions[1::2]:
            matcher.add(expression, expression)
        for document, keys in zip(documents, expected, strict=True):
            assert answer(matcher, document) == keys


def test_values_that_touch() -> None:
    """What stands in two values together is in neither of them, but in what is around both."""
    matcher = Matcher()
    for name in ("r", "v", "v/text()", "r/text()"):
        matcher.add(name, f"//{name}[contains(., 'abcdef')]")
    assert answer(matcher, "<r><v>xabc</v><v>defx</v></r>") == {"r"}
    assert answer(matcher, "<r><v>xabc<!-- -->def</v></r>") == {"r", "v"}
    assert answer(matcher, "<r><v>xabc</v>def<v>abcdef</v></r>") == {"r", "v", "v/text()"}
    assert answer(matcher, "<r>abcdef<v/></r>") == {"r", "r/text()"}


def test_more_values_than_wait_at_once() -> None:
    """Values are looked up while one around them is open, and the text goes on behind that."""
    matcher = Matcher()
    for key, expression in {
        "across": "/r[contains(., '69998 69999 end')]",
        "first": "/r[contains(., 'begin 0 1 2 ')]",
        "both": "/r[contains(., 'begin')][contains(., 'end')]",
        "one": "/r/v[contains(., '35007')]",
        "none": "/r/v[contains(., 'end')]",
    }.items():
        matcher.add(key, expression)
    values = "".join(f"<v>{number} </v>" for number in range(70_000))
    assert answer(matcher, f"<r>begin {values}end</r>") == {"across", "first", "both", "one"}


def test_depth_does_not_multiply_the_text() -> None:
    """Fifty levels around a text cost about as much as one; once each read all of it."""
    random = Random(3)
    text = "".join(random.choices("abcdefgh ", k=100_000))
    places = [random.randrange(len(text) - 9) for _ in range(50)]
    matcher = Matcher()
    for number, place in enumerate(places):
        matcher.add(f"one {number}", f"//a[contains(., '{text[place : place + 8]}')]")
        matcher.add(
            f"two {number}", f"//a[contains(., '{text[place : place + 7]}')][contains(., 'x')]"
        )
        matcher.add(f"level {number}", f"{'/a' * (number + 1)}[contains(., 'xyz{number}')]")

    def quickest(depth: int) -> float:
        documents = [f"<a>{'<a>' * (depth - 1)}{text}{'</a>' * depth}".encode()] * 3
        times = []
        for _ in range(5):
            started = time.thread_time()
            answers: BatchMatches = matcher.match_batch(documents)
            times.append(time.thread_time() - started)
        assert {len(one) for one in answers} == {50}
        return min(times)

    assert quickest(50) < 5 * quickest(1)
