"""Advertisements: the notation, the paths they promise, and what overlaps them."""

from __future__ import annotations

import pickle
import re
from bisect import bisect_right
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import parse_tree, xpath_matches
from schema_oracle import nested_document, selects
from strategies import linear_expressions

from twigcast.errors import AdvertisementError
from twigcast.language import parse
from twigcast.schema import Advertisement, Group
from twigcast.schema.notation import DEEPEST, LONGEST, MOST_NAMES, Part

KINDS = [
    ("/a", "non-recursive"),
    ("/a/*/c", "non-recursive"),
    ("/a/b(/c/d)+/e", "simple"),
    ("(/a)+", "simple"),
    ("/a(/b)+/c(/d/e)+", "series"),
    ("(/a)+(/b)+(/c)+", "series"),
    ("/a(/b(/c)+/d)+/e", "embedded"),
    ("/a(/b|/c/d)+/e", "embedded"),
    ("/a(/b)+((/c)+/d)+", "embedded"),
    ("/*:a/Q{urn:x}b(/Q{urn:x}*)+", "simple"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_notation_and_kinds(text: str, kind: str) -> None:
    advertisement = Advertisement.parse(text)
    assert str(advertisement) == text
    assert advertisement.kind == kind
    assert repr(advertisement) == f"Advertisement.parse({text!r})"
    again = pickle.loads(pickle.dumps(advertisement))
    assert again == advertisement
    assert hash(again) == hash(advertisement)


def test_white_space_is_not_part_of_an_advertisement() -> None:
    spaced = Advertisement.parse(" / a ( / b\n| / c ) + / d ")
    assert spaced == Advertisement.parse("/a(/b|/c)+/d")
    assert spaced != Advertisement.parse("/a(/c|/b)+/d")


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "a part is missing"),
        ("a/b", 0, "a part is missing"),
        ("//a", 1, r"a name or '\*' must follow"),
        ("/a/", 3, r"a name or '\*' must follow"),
        ("/a b", 3, "unexpected 'b'"),
        ("/a)", 2, "unexpected '\\)'"),
        ("/a+", 2, "unexpected '\\+'"),
        ("/a()+", 3, "a part is missing"),
        ("/a(/b|)+", 6, "a part is missing"),
        ("/a(/b", 5, "not closed"),
        ("/a(/b)/c", 6, "'\\+' must follow"),
        ("/p:a", 2, "prefixes are not bound"),
        ("/*:*", 1, "only a local name"),
        ("/a[b]", 2, "unexpected '\\['"),
        ("(" * (DEEPEST + 1) + "/a" + ")+" * (DEEPEST + 1), DEEPEST, "nested more than"),
        ("/a" * (MOST_NAMES + 1), 2 * MOST_NAMES + 1, "more than .* names"),
        ("/" + "a" * LONGEST, LONGEST, "longer than"),
    ],
)
def test_what_is_no_advertisement(text: str, position: int, reason: str) -> None:
    with pytest.raises(AdvertisementError, match=reason) as caught:
        Advertisement.parse(text)
    assert caught.value.position == position
    assert "^" in str(caught.value)


def test_the_largest_advertisement_works() -> None:
    nested = "(" * DEEPEST + "/a|/b" + ")+" * DEEPEST
    advertisement = Advertisement.parse(nested + "/c" * (MOST_NAMES - 2))
    assert str(advertisement).startswith("(((")
    assert advertisement.overlaps(parse("/a/b/b/c"))
    assert not advertisement.overlaps(parse("/c"))


# ---------------------------------------------------------------- paths, by regular expression


@st.composite
def advertisement_texts(draw: st.DrawFn, names: int = 5, depth: int = 2) -> str:
    """An advertisement of at most so many names over a, b and ``*``."""
    text = ""
    while names > 0 and (not text or draw(st.integers(0, 3))):
        if depth > 0 and names > 1 and draw(st.booleans()):
            size = draw(st.integers(1, min(3, names)))
            inner = draw(advertisement_texts(size, depth - 1))
            names -= _count_names(inner)
            if names > 0 and draw(st.booleans()):
                other = draw(advertisement_texts(1, 0))
                names -= _count_names(other)
                inner = f"{inner}|{other}"
            text += f"({inner})+"
        else:
            text += f"/{draw(st.sampled_from(('a', 'b', 'a', 'b', '*')))}"
            names -= 1
    return text


def _count_names(text: str) -> int:
    return text.count("/")


def _promises(text: str, path: tuple[str, ...]) -> bool:
    regex = text.replace("/*", "/[^/]+").replace("(", "(?:")
    return re.fullmatch(regex, "".join(f"/{name}" for name in path)) is not None


@given(advertisement_texts())
def test_promised_paths(text: str) -> None:
    advertisement = Advertisement.parse(text)
    assert str(advertisement) == text
    for length in range(1, 6):
        for path in product("abc", repeat=length):
            assert advertisement.matches_path(path) == _promises(text, path), path
    assert not advertisement.matches_path(())


def test_names_in_namespaces() -> None:
    advertisement = Advertisement.parse("/a/*:b/Q{urn:x}c/Q{urn:x}*/*")
    inside = [("urn:x", "c"), ("urn:x", "d")]
    assert advertisement.matches_path(["a", "b", *inside, "e"])
    assert advertisement.matches_path([("", "a"), ("urn:y", "b"), *inside, ("urn:z", "e")])
    assert not advertisement.matches_path([("urn:x", "a"), "b", *inside, "e"])
    assert not advertisement.matches_path(["a", "b", "c", ("urn:x", "d"), "e"])
    assert advertisement.overlaps(parse("/a/b/*:c/p:*", {"p": "urn:x"}))
    assert advertisement.overlaps(parse("/a/p:b", {"p": "urn:y"}))
    assert not advertisement.overlaps(parse("/p:a", {"p": "urn:x"}))
    assert not advertisement.overlaps(parse("/*/*/c"))


# ------------------------------------------------------------- overlap of linear expressions


def _words(parts: tuple[Part, ...], longest: int) -> set[str]:
    """The promised paths of at most so many names, as words over three letters."""
    words = {""}
    for part in parts:
        if isinstance(part, Group):
            once = set().union(*(_words(row, longest) for row in part.alternatives))
            after, latest = once, once
            while latest:
                latest = _joined(latest, once, longest) - after
                after = after | latest
        else:
            after = set(part.local or "abc")
        words = _joined(words, after, longest)
    return words


def _joined(words: set[str], after: set[str], longest: int) -> set[str]:
    short = sorted(after, key=len)
    lengths = [len(word) for word in short]
    return {
        one + two for one in words for two in short[: bisect_right(lengths, longest - len(one))]
    }


LONGEST_TRIED = 7


@given(advertisement_texts(names=4), st.lists(linear_expressions(), min_size=4, max_size=8))
def test_overlap_is_exact_against_all_paths(text: str, expressions: list[str]) -> None:
    """The shortest witness is bounded, so trying all paths up to the bound decides.

    Each descendant step skips at most every name of the advertisement once, each child step takes
    one, and from the last on every name is needed once at most.
    """
    advertisement = Advertisement.parse(text)
    words = sorted(_words(advertisement.parts, LONGEST_TRIED), key=len)
    assert all(_promises(text, tuple(word)) for word in words[:20])
    names = _count_names(text)
    for expression in expressions:
        steps = re.findall("//?", expression)
        bound = names * (steps.count("//") + 1) + steps.count("/")
        found = advertisement.overlaps(parse(expression))
        witness = next((word for word in words if selects(expression, word)), None)
        if witness is not None:
            assert found, (text, expression, witness)
            assert xpath_matches(parse_tree(nested_document(witness)), expression)
        elif bound <= LONGEST_TRIED or advertisement.kind == "non-recursive":
            assert not found, (text, expression)


PAPER = [
    # Li, Hou and Jacobsen, section 3.2: an absolute expression, and one with `//`
    ("/b/*/*/c/c/d", "/*/c/*/b/c", False),
    ("/a/*/e/*/d/*/c/b", "*/a//d/*/c//b", True),
    # section 3.3: the recursive part has to be taken twice
    ("/a/*/c(/e/d)+/*/c/e", "/*/a/c/*/d/e/d/*", True),
    ("/a/*/c(/e/d)+/*/c/e", "/*/a/c/*/d/e/e/*", False),
]
FAILURE_TABLE = [
    # a failure table over `*` jumps over a match here, and finds one that is none there
    ("/a/*/b/a", "//a/b/a", True),
    ("/a/*/b/*", "//a/b/a", True),
    ("/a/b/a/b", "//a/*/b", False),
    ("/a/b/b/a", "//a/*/a", False),
]
LATER_ITERATIONS = [
    # the printed loops give up, or agree, in their first iteration
    ("/a(/b)+/c(/d)+/e", "/a/b/b/c/d/d/e", True),
    ("/a(/b)+/c(/d)+/e", "/a/b/b/c/d/d/b", False),
    ("/a(/b)+/*(/d)+/e", "/a/b/b/b/b/d/e", True),
    ("/a(/b(/c)+/d)+/e", "/a/b/c/c/d/b/c/d/e", True),
    ("/a(/b(/c)+/d)+/e", "/a/b/c/c/d/b/d", False),
    ("/a(/b(/c)+/d)+/e", "//d/b/c/c/c/d/e", True),
    ("/a(/b(/c)+/d)+/e", "//c//e//b", False),
    ("/a(/b|/c/d)+/e", "/a/c/d/b/b/c/d/e", True),
    ("/a(/b|/c/d)+/e", "//c/b", False),
    ("/a(/b|/c/d)+/e", "//d//c//*/e", True),
]


@pytest.mark.parametrize(
    ("advertisement", "expression", "expected"), PAPER + FAILURE_TABLE + LATER_ITERATIONS
)
def test_named_cases(advertisement: str, expression: str, expected: bool) -> None:
    assert Advertisement.parse(advertisement).overlaps(parse(expression)) is expected


def test_an_expression_ends_on_the_path_not_at_its_end() -> None:
    advertisement = Advertisement.parse("/a/b/c")
    assert advertisement.overlaps(parse("/a"))
    assert advertisement.overlaps(parse("/a/b"))
    assert not advertisement.overlaps(parse("/a/b/c/d"))


# ----------------------------------------------------------------------- other expressions


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("/a/b/c[. > 5]", True),
        ("/a/b/@x", True),
        ("//@x", True),
        ("/a[.//text()='x']", True),
        ("/a/z/@x", False),
        ("/z//@x", False),
        ("/a[z]/b", True),  # the branch /a/b lies on the path, and another path may have /a/z
        ("/a[z][y]", False),
        ("/a[not(b)]", True),
        ("/z[not(b)]", False),
        ("/a[b or z]", True),
        ("/a[y or z]", False),
        ("/a[y or not(z)]", True),
        ("/a[(y and b) or z]", True),
        ("/a[y or @x]/z", False),
        ("/a[y or @x]/b", True),
        ("/a/b[2]/c", True),
        ("/a/*[contains(c, 'x')]", True),
        ("/a/*[contains(.//z, 'x')]", False),
        ("/a/*[contains(@z, 'x')]", True),
        ("/z | /a/b", True),
        ("/z | /a/y", False),
        ("/*[. < 'x']", False),
    ],
)
def test_a_branch_of_a_tree_along_the_path(expression: str, expected: bool) -> None:
    assert Advertisement.parse("/a/b/c").overlaps(parse(expression)) is expected
