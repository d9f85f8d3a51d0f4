"""The quick way for linear expressions gives the answers of the parser, or none."""

from __future__ import annotations

import copy
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import NAMESPACES, expressions, linear_expressions

from twigcast.errors import SubscriptionError
from twigcast.language import DEFAULT_LIMITS, LanguageLimits, Pattern, linear_normal_form, parse
from twigcast.language.bindings import Bindings
from twigcast.language.parser import read_by_grammar

Answer = tuple[object, ...]


def descend(text: str, limits: LanguageLimits = DEFAULT_LIMITS) -> Pattern:
    """What the parser says when it does not look for a quick way."""
    return read_by_grammar(text, Bindings(NAMESPACES), limits).pattern


def answer(text: str, limits: LanguageLimits, *, quick: bool) -> Answer:
    """All that a caller can see of a pattern, or of the error."""
    try:
        pattern = parse(text, NAMESPACES, limits=limits) if quick else descend(text, limits)
    except SubscriptionError as error:
        return error.reason, error.text, error.position
    steps = [(s.axis, s.test.kind, s.test.namespace, s.test.local) for s in pattern.steps()]
    texts = [step.text for step in pattern.steps()]
    return str(pattern), pattern.alternatives, steps, texts, pattern.linear_steps


def refused(text: str) -> bool:
    try:
        descend(text)
    except SubscriptionError:
        return True
    return False


ODD_NAMES = (
    *("and", "or", "not", "div", "mod", "text", "position", "contains", "starts-with", "Q"),
    *("é", "Größe", "価格", "_", "a.b", "a-b", "a.", "a-", "x1", "a·b", "\U00010000", "\u1680"),
)
SLASHES = ("/", "//")
SMALL_LIMITS = st.builds(
    LanguageLimits, length=st.integers(1, 12), steps=st.integers(1, 5), depth=st.integers(1, 5)
)


@st.composite
def odd_expressions(draw: st.DrawFn) -> str:
    """Linear expressions of odd names, some without slashes at their start."""
    steps = draw(st.lists(st.sampled_from((*ODD_NAMES, "*", "*")), min_size=1, max_size=6))
    path = "".join(draw(st.sampled_from(SLASHES)) + step for step in steps)
    return path.lstrip("/") if draw(st.booleans()) else path


@given(st.one_of(linear_expressions(), odd_expressions()))
def test_every_linear_expression_has_a_quick_answer(text: str) -> None:
    assert linear_normal_form(text) == str(descend(text))


@given(st.one_of(linear_expressions(), odd_expressions()))
def test_a_normal_form_is_its_own(text: str) -> None:
    normal_form = linear_normal_form(text)
    assert normal_form is not None
    assert linear_normal_form(normal_form) == normal_form


@given(expressions())
def test_other_expressions_have_the_right_answer_or_none(text: str) -> None:
    assert linear_normal_form(text) in (None, str(descend(text)))


@given(st.one_of(st.text(), st.text("/*ab.-:@[]()|'=1 \t\né·Q{}\x00\ud800", max_size=8)))
def test_texts_of_any_kind_have_the_right_answer_or_none(text: str) -> None:
    assert linear_normal_form(text) in ((None,) if refused(text) else (None, str(descend(text))))


@given(st.one_of(linear_expressions(), odd_expressions(), expressions()), SMALL_LIMITS)
def test_patterns_and_errors_are_those_of_the_parser(text: str, limits: LanguageLimits) -> None:
    for bounds in (DEFAULT_LIMITS, limits):
        assert answer(text, bounds, quick=True) == answer(text, bounds, quick=False)


@pytest.mark.parametrize(
    ("text", "normal_form"),
    [
        ("a", "//a"),
        ("*", "/*"),
        ("/a/*/b", "/a/*/b"),
        ("/a/*//b", "/a/*//b"),
        ("/a//*/b", "/a/*//b"),
        ("/a//*//b", "/a/*//b"),
        ("/*//*/*//a//*", "/*/*/*//a/*"),
        ("*/a//*/*", "/*//a/*/*"),
        ("//a/*//b//*/c", "//a/*//b/*//c"),
    ],
)
def test_runs_of_any_name(text: str, normal_form: str) -> None:
    assert linear_normal_form(text) == normal_form


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "/",
            "//",
            "///a",
            "a/",
            "a//",
            "a///b",
            "**",
            "a*",
            "*a",
            "1",
            "-a",
            ".",
            "..",
            "a/.",
        ),
        *(" a", "a ", "a /b", "a\n", "/a\n", "a[b]", "a[1]", "@a", "a/@b", "text()", "a|b"),
        *("p:a", "*:a", "p:*", "Q{}a", "Q{urn:p}a", "a::b", "a#", "a\x00", "a/\ud800", "$a", "'a'"),
    ],
)
def test_no_quick_answer(text: str) -> None:
    assert linear_normal_form(text) is None


@pytest.mark.parametrize("step", ["/a", "//a", "/*", "//*"])
@pytest.mark.parametrize("count", [99, 100, 101])
def test_the_limit_on_depth(step: str, count: int) -> None:
    text = step * count
    assert (linear_normal_form(text) is None) is (count > DEFAULT_LIMITS.depth)
    assert refused(text) is (count > DEFAULT_LIMITS.depth)
    assert answer(text, DEFAULT_LIMITS, quick=True) == answer(text, DEFAULT_LIMITS, quick=False)


@pytest.mark.parametrize("text", ["a/b/c", "/a/b/c", "//a//b", "//*//*", "*"])
@pytest.mark.parametrize("limit", range(1, 10))
def test_other_limits_are_kept_to_one_by_one(text: str, limit: int) -> None:
    for limits in (
        LanguageLimits(length=limit),
        LanguageLimits(steps=limit),
        LanguageLimits(depth=limit),
    ):
        assert answer(text, limits, quick=True) == answer(text, limits, quick=False)


@pytest.mark.parametrize("start", ["", "/", "//"])
@pytest.mark.parametrize("room", range(-2, 4))
def test_the_limit_on_length(start: str, room: int) -> None:
    text = start.ljust(DEFAULT_LIMITS.length - room, "a")
    assert answer(text, DEFAULT_LIMITS, quick=True) == answer(text, DEFAULT_LIMITS, quick=False)
    assert linear_normal_form(text) in ((None,) if refused(text) else (None, str(descend(text))))


@pytest.mark.parametrize(
    "text",
    ["a" * 19_990, "//*" * 6_600, "/a" * 9_990, "a" * 19_000 + "[b]", "/a" * 99 + "/a:b"],
    ids=["name", "runs", "steps", "predicate", "prefix"],
)
def test_hostile_texts_take_a_moment(text: str) -> None:
    start = time.process_time()
    for _ in range(100):
        linear_normal_form(text)
    assert time.process_time() - start < 1


class Name(str):
    """A text of a type of its own, as numpy's are."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


def test_the_answer_is_a_plain_text() -> None:
    for text in ("/a/b", "a/b", "/a//*/b"):
        assert type(linear_normal_form(Name(text))) is str
        assert str(parse(Name(text))) == str(descend(text))


def test_patterns_are_values_before_and_after_their_trees_are_built() -> None:
    fresh, used = parse("a//*/b"), parse("//a/*//b")
    assert used.alternatives is used.alternatives
    with pytest.raises(AttributeError, match="immutable"):
        fresh.alternatives = ()  # type: ignore[misc]
    assert fresh == used == descend("a//*/b")
    assert len({fresh, used, descend("a//*/b")}) == 1
    for pattern in (fresh, used):
        for again in (pickle.loads(pickle.dumps(pattern)), copy.deepcopy(pattern)):
            assert again == pattern
            assert again.alternatives == used.alternatives


def test_deep_patterns_survive_pickling() -> None:
    pattern = parse("/a" * 200, limits=LanguageLimits(depth=200))
    again = pickle.loads(pickle.dumps(pattern))
    assert again == pattern
    assert len(again.linear_steps) == 200
