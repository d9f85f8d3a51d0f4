"""Sets of patterns among which covering is not transitive, and the minimal set by definition."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from twigcast.covering.pairwise import Prepared
from twigcast.errors import SubscriptionError
from twigcast.language import Pattern, parse

CHAIN = ("/z/*[.//x][.//y]", "/z/*//b[x][y]", "/z//a//b[x][y]")
"""Each covers the next, and the first is not known to cover the last."""
CIRCLE = ("/z[*[.//x][.//y]][.//a//b[x][y]]", "/z[*//b[x][y]][.//a//b[x][y]]", "/z//a//b[x][y]")
"""All equivalent; in this order each replaces the next, and the last the first."""
_LEAVES = ("x", "y", "*", "x", "y", "@k", "text()", "x[.>1]", "y[.>1][.<9]", "x[2]")
_PREDICATES = ("contains(x,'ab')", "contains(x,'a')", "not(w)", "x or y", "@k>1", ". = 1")


def draw_tangle(random: Random, size: int, root: str = "z") -> list[Pattern]:
    """Distinct patterns, many of them wider or narrower than another one."""
    texts = [_draw_pattern(random, root) for _ in range(2)]
    for _ in range(size):
        texts.append(_varied(random, random.choice(texts)))
    for famous in (CHAIN, CIRCLE, ("/z", "/*")):
        if random.random() < 0.2:
            texts += [text.replace("/z", "/" + root) for text in famous]
    patterns = [pattern for pattern in map(_understood, texts) if pattern is not None]
    random.shuffle(patterns)
    return list(dict.fromkeys(patterns))


def minimal_places(patterns: Sequence[Pattern]) -> set[int]:
    """The places of the patterns that stay, from what replaces what, pair by pair."""
    prepared = [Prepared(pattern) for pattern in patterns]
    places = range(len(prepared))
    covers = [[one.covers(other) for other in prepared] for one in prepared]
    above = [
        {p for p in places if p != q and covers[p][q] and (p < q or not covers[q][p])}
        for q in places
    ]
    reached = [set(others) for others in above]
    for middle in places:
        for others in reached:
            if middle in others:
                others |= reached[middle]
    return {
        place
        for place in places
        if all(place in reached[other] and place <= other for other in reached[place])
    }


def _draw_pattern(random: Random, root: str) -> str:
    start = random.choice((f"/{root}", f"/{root}", "//", "/"))
    branch = _draw_branch(random, 3)
    return f"{start}[{branch}]" if start.endswith(root) else start + branch


def _draw_branch(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.3:
        return random.choice(_LEAVES)
    branches = [
        random.choice(("", ".//")) + _draw_branch(random, depth - 1)
        if random.random() < 0.9
        else random.choice(_PREDICATES)
        for _ in range(random.choice((1, 1, 2, 2, 3)))
    ]
    return random.choice("**ab") + "".join(f"[{branch}]" for branch in branches)


def _varied(random: Random, text: str) -> str:
    place = random.randrange(len(text))
    here, before, after = text[place], text[:place], text[place + 1 :]
    if here in "ab":
        return before + random.choice(("*", f"*/{here}", f"*//{here}", f"{here}//{here}")) + after
    if here == "*":
        return before + random.choice("ab") + after
    if here == "[":
        return before + f"[{random.choice('*ab')}/" + after
    if text[place : place + 3] == ".//":
        return before + random.choice(("", "*/", "*//", ".//a//")) + text[place + 3 :]
    return text


def _understood(text: str) -> Pattern | None:
    try:
        return parse(text)
    except SubscriptionError:
        return None
