"""Equivalent spellings meet, different ones stay apart."""

from __future__ import annotations

import pytest

from twigcast.language import Step, parse

SAME = [
    ["a/b", "//a/b", ".//a/b", "./a/b", "//a/./b", "//a[b]", "//a[./b]", "//a/b | a[b]"],
    ["/a[b][c]", "/a[c][b]", "/a[b and c]", "/a[b]/c", "/a[c]/b", "/a[b][c][b]", "/a[(b) and (c)]"],
    ["/a[b]", "/a[b][b]", "/a[b and b]", "/a[b or b]", "/a/b", "/a[not(not(b))]"],
    ["/a[price>5]", "/a[5<price]", "/a/price[.>5]", "/a[price>'5']", "/a[price > 5.0]"],
    ["/a[price>=5]", "/a[5<=price]"],
    ["/a[b=5]", "/a[5=b]", "/a[b=5.00]"],
    ["/a//b", "/a/.//b", "/a[.//b]", "/a//./b"],
    ["/a/b/c", "/a[b]/b/c", "/a[b/c][b]", "/a[.//c]/b/c", "/a[*]/b/c", "/a[*/c]/b[c]"],
    ["/a/*//b", "/a//*/b", "/a//*//b"],
    ["/a/*/*//b", "/a//*/*/b", "/a/*//*/b", "/a//*//*//b"],
    ["/*", "//*", "*", "/* | //a"],
    ["/*/*", "//*/*", "//*//*", "/*//*"],
    ["/a[b or c]", "/a[c or b]", "/a[c or b or c]", "/a[b or c or c/d]"],
    ["/a[not(b)][not(c)]", "/a[not(b or c)]", "/a[not(b) and not(c)]"],
    ["/a[not(b) or not(c)]", "/a[not(b and c)]"],
    ["/a[.!='x']", "/a[not(.='x')]"],
    ["/a[1]", "/a[position()=1]", "/a[position()<2]", "/a[position()<=1.5]"],
    ["/a[position()>=3]", "/a[position()>2]", "/a[2<position()]", "/a[position()>2.5]"],
    ["/a[position()>=2]", "/a[position()!=1]"],
    ["/a", "/a[position()>0]", "/a[.]", "/a[contains(b, '')]", "/a[b or .]", "/a[position()!=1.5]"],
    ["/a[0]", "/b[. < 'x']", "/a[not(.)]", "/a[position()<1]", "/a/b[c[0]]", "/a[not(. or b)]"],
    ["//@id", "//*/@id", "//*[@id]", "/*//@id", ".//@id"],
    ["/a/@x[contains(.,'y')]", "/a[contains(@x, 'y')]", "/a[@x[contains(., 'y')]]"],
    ["/a/b[2][contains(.,'y')]", "/a[contains(b[2], 'y')]"],
    ["//a | //b", "b | a", "b | a | b", "a | b | b/c"],
    ["/a[.>5]", "/a[.>5][.>3]", "/a[.>5 and .>=5]", "/a[.>5][.!=2]"],
    ["//Q{}a", "a"],
    ["/a[b='x'][c='y']", '/a["y"=c]["x"=b]'],
    ["/a[. = 0]", "/a[. = -0]"],
]


@pytest.mark.parametrize("spellings", SAME, ids=[group[0] for group in SAME])
def test_spellings_meet(spellings: list[str]) -> None:
    patterns = [parse(text) for text in spellings]
    assert {str(pattern) for pattern in patterns} == {str(patterns[0])}
    assert len(set(patterns)) == 1


def test_different_meanings_stay_apart() -> None:
    patterns = {parse(group[0]) for group in SAME}
    assert len(patterns) == len(SAME)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a[b!='x']", "/a[not(b='x')]"),
        ("/a[b>1][b<9]", "/a[b[.>1][.<9]]"),
        ("/a[not(b<5)]", "/a[b>=5]"),
        ("/a[.=5]", "/a[.='5']"),
        ("/a[contains(b,'x')]", "/a[b[contains(.,'x')]]"),
        ("//b[1]", "//*[1]"),
        ("/a[b/c][b/d]", "/a/b[c][d]"),
        ("/a[.//@x]", "/a[*//@x]"),
        ("/a//*[1]", "/a/*[1]"),
        ("/a[.='']", "/a[not(text())]"),
        ("*:a", "a"),
        ("/a/text()", "/a//text()"),
    ],
)
def test_near_spellings_differ(one: str, other: str) -> None:
    assert parse(one) != parse(other)


def test_patterns_are_values() -> None:
    pattern = parse("/a[b][c>5]")
    assert repr(pattern) == "twigcast.parse('/a[b][c>5]')"
    assert pattern != "/a[b][c>5]"
    (step,) = pattern.alternatives
    assert isinstance(step, Step)
    for part, name in ((pattern, "alternatives"), (step, "conditions"), (step.test, "local")):
        with pytest.raises(AttributeError):
            setattr(part, name, None)
    assert {pattern: 1}[parse("/a[c>5]/b")] == 1
    assert [step.test.text for step in pattern.steps()].count("b") == 1
    assert parse("/a//b/*").linear_steps is not None
    assert parse("/a[b]/c").linear_steps is None
    assert parse("a | b").linear_steps is None
    assert parse("a[1]").linear_steps is None
    assert parse("a/@b").linear_steps is None
