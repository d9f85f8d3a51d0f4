"""A file keeps the label paths that documents had, and a loaded matcher begins with them."""

from __future__ import annotations

import pickle
import random
import threading
from pathlib import Path

import pytest

from twigcast import Matcher

SUBSCRIPTIONS = {
    "path": "/a/b",
    "anywhere": "//c",
    "any": "/a/*/@id",
    "value": "//b[@id = 'x7']",
    "range": "//c[. > 3]",
    "join": "/a[b/c][.//d]",
    "union": "//d | /a/c",
    "text": "//b/text()",
    "part": "//*:e",
    "not": "/a[not(c)]",
    "program": "/a[count(b) = 2]",
}


def documents(seed: int, count: int) -> list[bytes]:
    chance = random.Random(seed)

    def element(depth: int) -> str:
        name = chance.choice("abcde")
        inside = "".join(element(depth + 1) for _ in range(chance.randrange(4 - depth)))
        number = chance.randrange(9)
        return f"<{name} id='x{number}'>{inside}{number}</{name}>"

    return [f"<a>{element(0)}{element(0)}</a>".encode() for _ in range(count)]


def answers(matcher: Matcher, feed: list[bytes]) -> list[list[str]]:
    return [sorted(keys) for keys in matcher.match_batch(feed)]


def test_a_loaded_matcher_knows_what_the_saved_one_had_met(tmp_path: Path) -> None:
    feed = documents(1, 50)
    matcher = Matcher(SUBSCRIPTIONS)
    matcher.save(tmp_path / "before")
    assert Matcher.load(tmp_path / "before").stats().cached_paths == 0
    expected = answers(matcher, feed)
    matcher.save(tmp_path / "after")
    loaded = Matcher.load(tmp_path / "after")
    met = matcher.stats().cached_paths
    assert loaded.stats().cached_paths == met > 50
    assert answers(loaded, feed) == expected
    assert loaded.stats().cached_paths == met, "no document had to teach it a path"


def test_a_copy_and_a_second_file_know_it_too(tmp_path: Path) -> None:
    feed = documents(2, 30)
    matcher = Matcher(SUBSCRIPTIONS)
    expected = answers(matcher, feed)
    copy = pickle.loads(pickle.dumps(matcher))
    copy.save(tmp_path / "second")
    second = Matcher.load(tmp_path / "second")
    assert second.stats().cached_paths == matcher.stats().cached_paths
    assert answers(second, feed) == expected


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_a_new_matcher(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    matcher = Matcher(SUBSCRIPTIONS)
    answers(matcher, documents(seed, 20))
    for key in chance.sample(sorted(SUBSCRIPTIONS), 6):
        matcher.remove(key)  # so that tests are numbered anew, and some are gone
    matcher.save(tmp_path / "file")
    loaded = Matcher.load(tmp_path / "file")
    assert loaded.stats().cached_paths > 0
    loaded.add("new", chance.choice(["//e/@id", "/a/b/c", "//*[c]/d", "//d[. = 5]", "//f"]))
    feed = documents(seed + 1000, 40)
    new = Matcher(dict(loaded.items()))
    assert answers(loaded, feed) == answers(new, feed)


@pytest.mark.parametrize("cache_bytes", [0, 1_000, 20_000])
def test_a_small_cache_stays_small(cache_bytes: int, tmp_path: Path) -> None:
    matcher = Matcher(SUBSCRIPTIONS)
    feed = documents(3, 300)
    expected = answers(matcher, feed)
    matcher.save(tmp_path / "file")
    loaded = Matcher.load(tmp_path / "file", cache_bytes=cache_bytes)
    assert loaded.stats().cached_paths < matcher.stats().cached_paths
    assert loaded.stats().cached_bytes <= cache_bytes
    assert answers(loaded, feed) == expected
    loaded.save(tmp_path / "again")
    again = Matcher.load(tmp_path / "again")
    assert again.stats().cached_paths == matcher.stats().cached_paths, "all are known as before"


def test_where_no_thread_can_be_started_documents_teach_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    matcher = Matcher(SUBSCRIPTIONS)
    feed = documents(4, 20)
    expected = answers(matcher, feed)
    matcher.save(tmp_path / "file")
    monkeypatch.setattr("twigcast.matching.learning._MOMENT", 0.0)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    loaded = Matcher.load(tmp_path / "file")
    assert loaded.stats().cached_paths == 0
    assert answers(loaded, feed) == expected


def test_many_paths_are_built_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"n{number}" for number in range(23)]
    leaves = "".join(f"<{name}/>" for name in names)
    middle = "".join(f"<{name}>{leaves}</{name}>" for name in names)
    feed = [f"<{name}>{middle}</{name}>".encode() for name in names]
    matcher = Matcher({name: f"//{name}/n0/{name}" for name in names})
    expected = answers(matcher, feed)
    met = matcher.stats().cached_paths
    assert met > 10_000
    matcher.save(tmp_path / "file")
    monkeypatch.setattr("twigcast.matching.learning._MOMENT", 0.0)
    loaded = Matcher.load(tmp_path / "file")
    loaded.add("meanwhile", "//n1/n2/n3")
    for thread in threading.enumerate():
        if thread.name == "twigcast-learning":
            thread.join()
    assert loaded.stats().cached_paths == met
    found = answers(loaded, feed)
    assert [[key for key in keys if key != "meanwhile"] for keys in found] == expected
    assert sum("meanwhile" in keys for keys in found) == 1
    # Documents that come at once take over what was built.
    hasty = Matcher.load(tmp_path / "file")
    assert answers(hasty, feed) == expected
    assert hasty.stats().cached_paths == met
