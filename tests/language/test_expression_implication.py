"""Whatever an expression is said to imply holds on random documents wherever it does."""

from __future__ import annotations

import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from random_expressions import RandomExpressions, random_document

from twigcast.errors import SubscriptionError
from twigcast.language import Pattern, Residual, implies, parse, walk

_PLACES = re.compile(r"(?<=[a-z*)])(?=[\]/)= ]|$)")
_CONSTANTS = re.compile(r"(?<![\w'.])\d+(?![\w'.])")


def stronger(random: Random, text: str) -> str:
    """The expression with a predicate more, with another number, or with a condition beside it."""
    choice = random.randrange(4)
    if choice == 0 and (numbers := list(_CONSTANTS.finditer(text))):
        number = random.choice(numbers)
        return f"{text[: number.start()]}{random.randrange(5)}{text[number.end() :]}"
    if choice == 1:
        return f"({text}) and {RandomExpressions(random).boolean(2)}"
    place = random.choice([match.start() for match in _PLACES.finditer(text)] or [len(text)])
    predicate = random.choice(
        ("a", "@b", "b = 1", "1", "last()", "self::a", "not(c)", "count(*) > 1")
    )
    return f"{text[:place]}[{predicate}]{text[place:]}"


def residual_of(text: str) -> tuple[Pattern, Residual] | None:
    """The pattern of ``//*[text]`` and the residual at its first step, if that is all it has."""
    try:
        pattern = parse(f"//*[{text}]")
    except SubscriptionError:
        return None
    found = [each for each in walk(*pattern.alternatives) if isinstance(each, Residual)]
    is_whole = len(found) == 1 and len(list(walk(*pattern.alternatives))) == 2
    return (pattern, found[0]) if is_whole else None


@given(seed=st.integers(0, 10**9))
def test_what_is_implied_holds(seed: int) -> None:
    random = Random(seed)
    documents = [random_document(random) for _ in range(12)]
    for _ in range(20):
        text = RandomExpressions(random).boolean(3)
        asked, known = residual_of(text), residual_of(stronger(random, text))
        if asked is None or known is None or not implies(known[1], asked[1]):
            continue
        for document in documents:
            if known[0].matches(document):
                assert asked[0].matches(document), (known[1].text, asked[1].text, document)


def test_many_are_found() -> None:
    random = Random(7)
    found = 0
    for _ in range(3000):
        text = RandomExpressions(random).boolean(3)
        asked, known = residual_of(text), residual_of(stronger(random, text))
        if asked is not None and known is not None and known[1] != asked[1]:
            found += implies(known[1], asked[1])
    assert found > 100
