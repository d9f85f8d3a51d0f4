"""A unit's profile covers all that is wanted, in at most so many patterns."""

from __future__ import annotations

from random import Random

import pytest

from lab.histories.vocabulary import draw_pattern
from twigcast import Pattern, covers, parse
from twigcast.covering import Change
from twigcast.hierarchy.profile import Profile


def texts(patterns: tuple[Pattern, ...]) -> list[str]:
    return sorted(map(str, patterns))


def test_what_fits_is_told_as_it_is() -> None:
    profile = Profile(2)
    wanted = (parse("//a[b > 3]"), parse("/c or /d"))
    assert profile.update(Change(wanted)) == Change(wanted)
    assert not profile.is_cut
    assert profile.update(Change((), wanted[:1])) == Change((), wanted[:1])


def test_without_a_limit_everything_is_told() -> None:
    wanted = tuple(parse(f"/a/b{number}") for number in range(100))
    assert Profile(None).update(Change(wanted)).forward == wanted


def test_what_is_deepest_and_stands_for_most_is_cut_first() -> None:
    profile = Profile(4)
    wanted = [parse(f"/a/b/c[d > {number}]") for number in range(4)]
    change = profile.update(Change((*wanted, parse("/a/e[f]"), parse("/x"))))
    assert profile.is_cut
    assert texts(change.forward) == ["/a/b/c/d", "/a/e/f", "/x"]


def test_what_saves_nothing_is_not_cut() -> None:
    other = parse("/q/r/s/t/u/v[@x = 1]")
    wanted = [parse(f"/news/body/p[. = {number}]") for number in range(4)]
    change = Profile(4).update(Change((other, *wanted)))
    assert texts(change.forward) == ["/news/body/p", str(other)]


def test_cuts_are_dropped_when_everything_fits_again() -> None:
    profile = Profile(4)
    wanted = tuple(parse(f"/a/b{number}") for number in range(6))
    told = set(profile.update(Change(wanted)).forward)
    assert profile.is_cut
    change = profile.update(Change((), wanted[3:]))
    assert (told - set(change.withdraw)) | set(change.forward) == set(wanted[:3])
    assert not profile.is_cut


def test_the_smallest_budget_is_everything() -> None:
    profile = Profile(1)
    profile.update(Change((parse("/a"),)))
    assert texts(profile.update(Change((parse("not(b)"),))).forward) == ["/*"]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_comes_and_goes_is_covered_and_within_the_budget(seed: int) -> None:
    random = Random(seed)
    most = random.choice((1, 2, 3, 5, 10))
    profile = Profile(most)
    wanted: list[Pattern] = []
    told: set[Pattern] = set()
    for _ in range(40):
        gone = [
            wanted.pop(random.randrange(len(wanted)))
            for _ in range(random.choice((0, 1, 2)))
            if wanted
        ]
        come = [parse(draw_pattern(random)) for _ in range(random.choice((0, 1, 3)))]
        wanted += come
        change = profile.update(Change(tuple(come), tuple(gone)))
        assert told.isdisjoint(change.forward)
        assert told.issuperset(change.withdraw)
        told = (told - set(change.withdraw)) | set(change.forward)
        assert len(told) <= most
        for pattern in wanted:
            for each in pattern.alternatives:
                assert any(covers(one, Pattern((each,))) for one in told)
        if len(set(wanted)) <= most * 3 // 4:
            assert told == set(wanted)
