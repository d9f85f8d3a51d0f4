"""A saved matcher answers as before, and a damaged file is refused rather than believed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conformance_cases import load_cases
from matcher_answers import answer, fill, one_by_one, parse_all

from twigcast import DuplicateKeyError, LanguageLimits, Matcher, MatcherFileError, UnknownKeyError
from twigcast.documents import DocumentLimits
from twigcast.errors import DocumentError
from twigcast.language import Pattern, parse

CASES = list(load_cases())
PATTERNS: dict[str, Pattern] = {repr(case.question): case.question.pattern for case in CASES} | {
    "": parse("//a"),
    "\0 and é": parse("//a[.='\ud83d']"),
    "k" * 100_000: parse("//Q{urn:x}é[@*:ü != 'ß']"),
    "a duplicate of the empty key's": parse("a"),
    "never": parse("/a[position()<1]"),
    "long": parse(f"//a[.!='{'x' * 50_000}']", limits=LanguageLimits(length=100_000)),
    "deep": parse("//a" + "[a" * 90 + "]" * 90, limits=LanguageLimits(depth=200)),
    "wide": parse("//a[" + " or ".join(f"b='{number}'" for number in range(200)) + "]"),
    "numbers": parse("//a[. > 1.5 or . < -0.000001 or . = 123456789012345678]"),
    "positions": parse("/a/*[2]/b[position()>=3] | //a[4294967297]"),
    "quotes": parse("""//a[@x='"'][@y="'"]"""),
}
"""Every kind of pattern, under every kind of key."""

DOCUMENTS = sorted({case.document for case in CASES})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "subscriptions.matcher"
    fill(Matcher(), PATTERNS).save(path)
    return path


@cache
def expected() -> list[set[str]]:
    return [one_by_one(PATTERNS, document) for document in DOCUMENTS]


def check_all(matcher: Matcher) -> None:
    assert [answer(matcher, document) for document in DOCUMENTS] == expected()


# --- there and back -----------------------------------------------------------------------------


def test_every_kind_of_pattern_comes_back(saved: Path) -> None:
    loaded = Matcher.load(saved)
    assert set(loaded) == PATTERNS.keys()
    assert len(loaded) == len(PATTERNS)
    for key, pattern in PATTERNS.items():
        assert key in loaded
        assert loaded[key] == pattern
    stats = loaded.stats()
    assert stats.subscriptions == len(PATTERNS)
    assert stats.patterns == len(set(PATTERNS.values()))
    check_all(loaded)
    check_all(loaded)  # now from the cache


@pytest.mark.parametrize("as_text", [True, False])
def test_paths_are_text_or_path_objects(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "näme with blanks"
    given = str(path) if as_text else path
    fill(Matcher(), {"k": "//a"}).save(given)
    assert path.is_file()
    assert Matcher.load(given).match("<a/>") == ["k"]


def test_an_empty_matcher_comes_back_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    Matcher().save(path)
    loaded = Matcher.load(path)
    assert len(loaded) == 0
    assert loaded.match("<a/>") == []
    loaded.add("k", "//a")
    assert loaded.match("<a/>") == ["k"]


def test_a_loaded_matcher_changes_like_any_other(saved: Path) -> None:
    loaded = Matcher.load(saved)
    patterns = dict(PATTERNS)
    with pytest.raises(DuplicateKeyError):
        loaded.add("", "//b")
    with pytest.raises(UnknownKeyError):
        loaded.remove("nothing")
    for number, key in enumerate(PATTERNS):
        if number % 3 == 0:
            loaded.remove(key)
            del patterns[key]
    for key, pattern in parse_all(["//b[@x]", "/a/b", "//new", "/a//*"]).items():
        loaded.add(key, pattern)
        patterns[key] = pattern
    # One that was removed comes back under another key, one under its own with another pattern.
    for key, pattern in (("again", PATTERNS[""]), ("", parse("/b"))):
        loaded.add(key, pattern)
        patterns[key] = pattern
    for document in DOCUMENTS:
        assert answer(loaded, document) == one_by_one(patterns, document)
    again = saved.with_name("again")
    loaded.save(again)
    twice = Matcher.load(again)
    for document in DOCUMENTS:
        assert answer(twice, document) == one_by_one(patterns, document)
    check_all(Matcher.load(saved))


def test_what_was_removed_is_not_saved(tmp_path: Path) -> None:
    small, churned = tmp_path / "small", tmp_path / "churned"
    fill(Matcher(), {"k": "//a"}).save(small)
    matcher = fill(Matcher(), {"k": "//a"})
    for number in range(2_000):
        matcher.add(f"secret {number}", f"//secret[.='{number}']")
    matcher.match("<secret>5</secret>")
    for number in range(2_000):
        matcher.remove(f"secret {number}")
    matcher.save(churned)
    assert b"secret" not in churned.read_bytes()
    assert churned.stat().st_size < 2 * small.stat().st_size


def test_settings_are_those_of_the_loading(saved: Path) -> None:
    loaded = Matcher.load(saved, limits=DocumentLimits(depth=2), cache_bytes=0)
    assert any("text='/a/b'," in key for key in loaded.match("<a><b/></a>"))
    with pytest.raises(DocumentError, match=r"DocumentLimits\.depth"):
        loaded.match("<a><b><c/></b></a>")
    assert loaded.stats().cached_bytes == 0
    Matcher.load(saved).match("<a><b><c/></b></a>")


def test_saving_changes_nothing(saved: Path) -> None:
    matcher = fill(Matcher(), PATTERNS)
    matcher.save(saved)
    check_all(matcher)
    matcher.remove("")
    check_all(Matcher.load(saved))


ANOTHER_PROCESS = """
import json, sys
from twigcast import Matcher
matcher = Matcher.load(sys.argv[1])
documents = json.load(sys.stdin)
print(json.dumps([matcher.match(document) for document in documents]))
matcher.remove("")
matcher.add("", "/b")
print(json.dumps([matcher.match(document) for document in documents]))
"""


def test_another_process_gives_the_same_answers(saved: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ANOTHER_PROCESS, str(saved)],
        input=json.dumps(DOCUMENTS),
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(json.loads, run.stdout.splitlines())
    assert list(map(set, before)) == expected()
    changed = PATTERNS | {"": parse("/b")}
    assert list(map(set, after)) == [one_by_one(changed, document) for document in DOCUMENTS]


# --- what is no matcher's file ------------------------------------------------------------------


def refusal(path: Path) -> MatcherFileError:
    with pytest.raises(MatcherFileError) as caught:
        Matcher.load(path)
    assert str(caught.value.path) == str(path)
    assert caught.value.reason
    assert caught.value.reason in str(caught.value)
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"\0" * 4_096, b"\xff" * 4_096, b"<a/>", b"key\t//a\n", b"\x7fELF" + b"\2" * 500],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    refusal(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Matcher.load(tmp_path / "nothing")
    with pytest.raises(OSError, match=r".") as caught:
        Matcher.load(tmp_path)
    assert isinstance(caught.value, IsADirectoryError)


def with_byte(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + bytes([value]) + data[place + 1 :]


def test_the_head_of_the_file_says_what_it_is(saved: Path) -> None:
    """No other first bytes are accepted, and some of them name a version that we do not know."""
    data = saved.read_bytes()
    reasons = []
    for place in range(16):
        for value in (data[place] ^ 1, data[place] ^ 0x80, 255 - data[place]):
            saved.write_bytes(with_byte(data, place, value))
            reasons.append(refusal(saved).reason)
    assert any("version" in reason for reason in reasons)


@pytest.mark.parametrize("addition", [b"\0", b"x" * 5_000, b"\0" * 4_096])
def test_a_file_with_more_at_its_end_is_refused(saved: Path, addition: bytes) -> None:
    with saved.open("ab") as file:
        file.write(addition)
    refusal(saved)


def test_two_files_in_one_are_refused(saved: Path) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data + data)
    refusal(saved)
    other = saved.with_name("other")
    fill(Matcher(), {"k": "//a"}).save(other)
    foreign = other.read_bytes()
    for cut in (64, 1_000, len(foreign) // 2):
        mixed = data[:cut] + foreign[cut:]
        assert mixed not in (data, foreign)
        saved.write_bytes(mixed)
        refusal(saved)


DAMAGE = """
import json, random, sys
from pathlib import Path
from twigcast import Matcher, MatcherFileError

path, documents = Path(sys.argv[1]), json.load(sys.stdin)
good = path.read_bytes()
expected = [set(Matcher.load(path).match(document)) for document in documents]
keys = set(Matcher.load(path))
chance = random.Random(7)
count = len(good)
lengths = {*range(min(count, 80)), *range(max(count - 80, 0), count)}
lengths |= {chance.randrange(count) for _ in range(250)}
trials = [("cut", length, good[:length]) for length in sorted(lengths)]
for _ in range(600):
    place, bit = chance.randrange(count), chance.randrange(8)
    trials.append(("bit", place, good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1:]))
for _ in range(200):
    place, size = chance.randrange(count), chance.choice([2, 4, 8, 64])
    filling = chance.choice([b"\\0", b"\\xff", b"\\x7f"]) * size
    trials.append(("fill", place, (good[:place] + filling + good[place + size:])[:count]))
for kind, place, data in trials:
    if data == good:
        continue
    print(kind, place, end=" ", flush=True)  # the last line tells where a crash was
    path.write_bytes(data)
    try:
        matcher = Matcher.load(path, cache_bytes=10_000)
        answers = [set(matcher.match(document)) for document in documents]
        verdict = "same" if answers == expected and set(matcher) == keys else "wrong"
    except MatcherFileError:
        verdict = "refused"
    print(verdict)
"""


def test_damaged_files_are_refused_or_harmless(tmp_path: Path) -> None:
    """Cut off, a bit flipped, bytes overwritten: never a crash, never another answer."""
    path = tmp_path / "damaged"
    small = {key[:50]: pattern for key, pattern in PATTERNS.items() if len(str(pattern)) < 500}
    fill(Matcher(), {key: small[key] for key in list(small) if key.isprintable()}).save(path)
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", DAMAGE, str(path)],
        input=json.dumps(DOCUMENTS[::12]),
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = run.stdout.splitlines()
    assert run.returncode == 0, (verdicts[-1:], run.stderr[-3_000:])
    assert len(verdicts) > 800
    assert [verdict for verdict in verdicts if verdict.endswith("wrong")] == []
    assert all(verdict.endswith("refused") for verdict in verdicts if verdict.startswith("cut"))


# --- saving -------------------------------------------------------------------------------------


def test_saving_over_the_file_in_use_is_safe(saved: Path) -> None:
    loaded = Matcher.load(saved)
    fill(Matcher(), {"other": "//b"}).save(saved)
    check_all(loaded)
    assert list(Matcher.load(saved)) == ["other"]
    loaded.save(saved)
    check_all(loaded)
    loaded.save(saved)
    check_all(Matcher.load(saved))
    saved.unlink()
    check_all(loaded)
    loaded.add("new", "/a")
    loaded.save(saved)
    assert len(Matcher.load(saved)) == len(PATTERNS) + 1


def test_a_file_is_replaced_as_a_whole(saved: Path) -> None:
    before = saved.read_bytes()
    with saved.open("rb") as reader:
        fill(Matcher(), {"other": "//b"}).save(saved)
        assert reader.read() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_the_file_may_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        fill(Matcher(), {"k": "//a"}).save(tmp_path / "saved")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "saved").stat().st_mode) == 0o640


def test_where_nothing_can_be_saved(tmp_path: Path) -> None:
    matcher = fill(Matcher(), PATTERNS)
    with pytest.raises(FileNotFoundError):
        matcher.save(tmp_path / "nowhere" / "file")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match=r"."):
        matcher.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert list(folder.iterdir()) == []
    check_all(matcher)


NO_SPACE = """
import resource, sys
from twigcast import Matcher
matcher = Matcher()
for number in range(3_000):
    matcher.add(str(number), f"//a[.='{number}']")
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    matcher.save(sys.argv[1])
except OSError as error:
    print("refused", len(matcher.match("<a>5</a>")))
"""


def test_a_save_that_fails_half_way_leaves_the_file_as_it_was(saved: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", NO_SPACE, str(saved)], capture_output=True, text=True, check=True
    )
    assert run.stdout == "refused 1\n"
    assert list(saved.parent.iterdir()) == [saved]
    check_all(Matcher.load(saved))


def test_a_file_can_be_loaded_at_any_time_while_it_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "busy"
    versions: list[dict[str, Any]] = [
        {f"{version} {number}": f"//a[.='{number}']" for number in range(size)}
        for version, size in (("small", 3), ("large", 400))
    ]
    matchers = [fill(Matcher(), version) for version in versions]
    matchers[0].save(path)
    done = threading.Event()

    def save() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            matchers[turn % 2].save(path)

    # A thread that never returned would otherwise keep the tests from ending.
    writer = threading.Thread(target=save, daemon=True)
    writer.start()
    try:
        for _ in range(50):
            loaded = Matcher.load(path)
            assert set(loaded) in [set(version) for version in versions]
            assert answer(loaded, "<a>2</a>") in ({"small 2"}, {"large 2"})
    finally:
        done.set()
        writer.join(60)
    assert not writer.is_alive()
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_argument_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    Matcher({"a": "//a"}).save(tmp_path / "matcher")
    for arguments in ({"reader": "expat2"}, {"cache_bytes": -1}):
        with pytest.raises(ValueError, match=r"reader|cache_bytes") as refused:
            Matcher.load(tmp_path / "matcher", **arguments)
        assert not isinstance(refused.value, MatcherFileError)
    matcher = Matcher.load(tmp_path / "matcher", reader="expat")
    assert matcher.match("<a/>") == ["a"]
