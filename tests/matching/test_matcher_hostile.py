"""Documents and sets of subscriptions made to cost much cost a bounded time and memory.

Time is the processor's, so that other work on the machine does not count; the bounds are several
times what is needed and far below what a cost of the wrong order would be.  Where that would be
hours, a small case comes first, so that the test fails rather than hangs.  Every answer is also
compared with that of single patterns.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from folders import SUPPORT
from matcher_answers import answer, as_set, fill, one_by_one, parse_all

from twigcast import Matcher, parse
from twigcast.documents import DEFAULT_LIMITS, DocumentLimits
from twigcast.errors import DocumentError
from twigcast.language import Pattern
from twigcast.matching import plan

MEBIBYTE = 2**20


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds


def quickest(action: Callable[[], object]) -> float:
    """The processor's time for the action, at its best."""
    times = []
    for _ in range(5):
        started = time.thread_time()
        action()
        times.append(time.thread_time() - started)
    return min(times)


def check(
    patterns: Mapping[str, Pattern],
    document: str | bytes,
    seconds: float,
    *,
    limits: DocumentLimits = DEFAULT_LIMITS,
    compared: int = 100,
    times: int = 2,
) -> None:
    """With room in the cache, with little and with none: in time, and as single patterns answer."""
    some = dict(Random(1).sample(sorted(patterns.items()), min(compared, len(patterns))))
    expected = one_by_one(some, document, limits)
    for cache_bytes in (256 * MEBIBYTE, MEBIBYTE // 4, 0):
        matcher = fill(Matcher(cache_bytes=cache_bytes, limits=limits), patterns)
        for _ in range(times):
            with within(seconds):
                found = answer(matcher, document)
            assert found & some.keys() == expected
        assert matcher.stats().cached_bytes <= cache_bytes


def steps(random: Random, names: str, shortest: int, longest: int) -> str:
    return "".join(
        random.choice(("/", "//", "//")) + random.choice(names)
        for _ in range(random.randint(shortest, longest))
    )


def bushy(random: Random, names: Sequence[str], size: int, deepest: int) -> str:
    """A document of ``size`` elements that goes down and up at random."""
    parts, opened = ["<r>"], ["r"]
    for _ in range(size):
        while len(opened) > 1 and (len(opened) >= deepest or random.random() < 0.45):
            parts.append(f"</{opened.pop()}>")
        opened.append(random.choice(names))
        parts.append(f"<{opened[-1]}>")
    return "".join(parts) + "".join(f"</{name}>" for name in reversed(opened))


# --- documents ----------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [512, 20_000])
def test_depth_at_the_limit(depth: int) -> None:
    inside = "<b x='1'>text</b>"
    document = "<a>" * (depth - 1) + inside + "</a>" * (depth - 1)
    expressions = ["//a" * count for count in range(1, 60)]
    expressions += ["//a" * count + "//b[@x=1]" for count in range(60)]
    expressions += ["//a" * count + "/c" for count in range(60)]
    expressions += ["/a" * count + "[.//b]" for count in range(1, 60)]
    expressions += ["//a[b][not(a)]", "//a[2]", "//a[not(.//b)]", "//a[.='text']", "//a[.='tex']"]
    limits = DocumentLimits(depth=depth)
    check(parse_all(expressions), document, 2, limits=limits, compared=40)
    matcher = fill(Matcher(limits=limits), parse_all(expressions))
    with pytest.raises(DocumentError, match=r"DocumentLimits\.depth"):
        matcher.match(f"<a>{document}</a>")


def test_100_000_siblings() -> None:
    document = "<r>" + "<b c='1'>x</b>" * 99_999 + "<b c='2'>y</b></r>"
    expressions = [f"/r/b[{place}]" for place in (1, 2, 1_000, 100_000, 100_001)]
    expressions += [f"/r/b[position()>={place}]/@c" for place in (5, 99_999, 100_001)]
    expressions += [f"//b[.='{text}']" for text in "xyz"]
    expressions += [f"/r[b/@c={number}]" for number in range(100)]
    expressions += [f"//r[not(b='{number}')]//b[text()='y']" for number in range(20)]
    expressions += ["//b[.='y']/@c[.=2]", "//b[2][.='y']", "/r/*[99999]", "//b[c]", "/r/text()"]
    check(parse_all(expressions), document, 8, compared=25)


def test_50_000_distinct_tags_and_attributes() -> None:
    tags = "".join(f"<t{number} a{number}='{number}'/>" for number in range(50_000))
    expressions = [f"/r/t{number}" for number in range(0, 50_500, 500)]
    expressions += [f"//@a{number}[.={number}]" for number in range(0, 50_500, 500)]
    expressions += ["//t5[@a6]", "//*[@a5]", "/r/*[@*='7']", "//t1/t2", "/r[t49999]/t0"]
    check(parse_all(expressions), f"<r>{tags}</r>", 5, compared=30)


def test_thousands_of_distinct_paths() -> None:
    """Each of them may begin what is asked for; what does not hold is found out once, not each."""
    names = [f"n{number}" for number in range(50)]
    expressions = [f"//{name}/nothing" for name in names]
    expressions += [f"//*[{place}]" for place in range(20, 30)]
    expressions += [f"//*[not(*)][*[{place}]]" for place in range(10)]
    expressions += [f"//*[n{number}][n1][n2][n3][n4]" for number in range(5, 10)]
    document = bushy(Random(9), names, 8_000, 100)
    check(parse_all(expressions), document, 0.5)


def test_as_many_attributes_as_are_allowed() -> None:
    tag = "".join(f" a{number}='{number}'" for number in range(1_000))
    expressions = [f"//@a{number}" for number in range(0, 2_000, 2)]
    expressions += [f"//b[@a{number}={number}][@a0]" for number in range(500)]
    expressions += [f"//b[@a{number}={number + 1}]" for number in range(500)]
    check(parse_all(expressions), f"<r>{f'<b{tag}/>' * 20}</r>", 5)


def test_10_megabytes_of_text() -> None:
    text = "abcdefghi " * 1_000_000
    expressions = [f"//a[contains(., 'i a{'bcdefghi'[:length]}x')]" for length in range(9)]
    expressions += [f"//a[contains(., 'hi abc{number}')]" for number in range(20)]
    expressions += [f"//a[starts-with(., '{text[:length]}')]" for length in (1, 10, 500)]
    expressions += [f"/r[.='{number}']" for number in range(20)]
    expressions += [f"/r/a[.>{number}]" for number in range(20)]
    expressions += ["//a[contains(., 'end')]", "//text()[contains(., 'i end')]", "/r[not(a='x')]"]
    for size, seconds in ((30_000, 0.4), (len(text), 5)):
        document = f"<r><a>{text[:size]}end</a></r>"
        check(parse_all(expressions), document, seconds, compared=20, times=1)


def test_deep_mixed_text() -> None:
    """A value test at every level of a deep document, where each has all of the text below."""
    document = "<a>x" * 100 + "y" * 20_000 + "</a>" * 100
    expressions = [f"//a[.='{'x' * count}']" for count in range(50)]
    expressions += [f"//a[contains(., 'xyyy{number}')]" for number in range(50)]
    expressions += [f"//a[starts-with(., '{'x' * count}y')]" for count in range(1, 50)]
    check(parse_all(expressions), document, 5, compared=20)


def test_text_that_is_nearly_what_is_sought_everywhere() -> None:
    expressions = ["//a[contains(., 'yyyyyyyyz')]", "//a[contains(., 'yyyyzyyyy')]", "//a[.='y']"]
    for length, seconds in ((10_000, 0.2), (1_000_000, 2)):
        check(parse_all(expressions), f"<a>{'y' * length}</a>", seconds)


# --- sets of subscriptions ----------------------------------------------------------------------


def test_wildcards_and_descendants_alone() -> None:
    random = Random(2)
    expressions = ["//*" * count for count in range(1, 60)]
    expressions += ["//*" * count + "[2]" for count in range(1, 60)]
    expressions += ["".join(random.choice(("/*", "//*", "//a")) for _ in range(30))] * 5
    expressions += [steps(random, "*ab", 5, 25) for _ in range(500)]
    document = bushy(random, "ab", 10_000, 60)
    check(parse_all(expressions), document, 10, compared=60)


def test_thousands_of_subscriptions_with_many_descendant_steps() -> None:
    random = Random(3)
    expressions = {steps(random, "abcdefgh", 5, 10) for _ in range(3_000)}
    document = bushy(random, "abcdefgh", 4_000, 40)
    check(parse_all(sorted(expressions)), document, 10)


def test_every_other_step_of_the_alphabet() -> None:
    """Sets of active steps that are all different: the worst case of a determinised automaton."""
    names = "abcdefghijkl"
    expressions = [f"//{one}//{two}//{three}" for one in names for two in names for three in names]
    document = bushy(Random(4), names, 4_000, 100)
    check(parse_all(expressions), document, 10)


@pytest.mark.parametrize("text", ["//a[b][c][d][not(z)]", "//a[b][not(w)][not(x)][not(y or z)]"])
def test_a_pattern_of_too_many_branches_or_denials_is_asked(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel counts those of a unit in sixteen bits."""
    monkeypatch.setattr(plan, "_MOST_BRANCHES", 3)
    (unit,) = plan.make_units(parse(text))
    assert (unit.needs_check, len(unit.branches), unit.denials) == (True, 1, ())
    matcher = Matcher({"k": text})
    assert matcher.match("<a><b/><c/><d/></a>") == ["k"]
    assert matcher.match("<r><a><b/><c/><d/><z/></a><a><c/><d/></a></r>") == []


def test_nested_predicates_of_descendants() -> None:
    random = Random(5)
    expressions = []
    for _ in range(300):
        inner = ".//" + random.choice("abcd")
        for _ in range(random.randint(1, 8)):
            inner = f".//{random.choice('abcd')}[{random.choice((inner, f'not({inner})'))}]"
        expressions.append(f"//{random.choice('abcd')}[{inner}]")
    check(parse_all(expressions), bushy(random, "abcd", 3_000, 50), 10, compared=60)


VALUES: dict[str, tuple[int, Callable[[int], str]]] = {
    "text": (20_000, lambda number: f"//quote[symbol='S{number}']"),
    "attribute": (5_000, lambda number: f"//quote[@id='{number}']"),
    "own text": (5_000, lambda number: f"/feed/quote/symbol[.='S{number}']"),
    "number": (5_000, lambda number: f"//quote[@id={number}]"),
    "two values": (5_000, lambda number: f"//quote[symbol='S{number}'][price>{number % 100}]"),
    "prefix": (5_000, lambda number: f"//quote/symbol[starts-with(., 'S{number}')]"),
    "suffix": (5_000, lambda number: f"//quote/symbol[ends-with(., 'S{number}')]"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_thousands_of_subscriptions_to_one_path_differ_by_value(kind: str) -> None:
    count, spell = VALUES[kind]
    patterns = parse_all(map(spell, range(count)))
    quotes = "".join(
        f"<quote id='{number}'><symbol>S{number}</symbol><price>{number % 150}</price></quote>"
        for number in range(0, 2 * count, count // 50)
    )
    document = f"<feed>{quotes}</feed>".encode()
    with within(8):
        matcher = fill(Matcher(), patterns)
    found = answer(matcher, document)
    share = 20
    some = {key: patterns[key] for key in map(str, range(0, count, share))}
    assert found & some.keys() == one_by_one(some, document)

    at_once = quickest(lambda: matcher.match(document))
    each_alone = share * quickest(lambda: one_by_one(some, document))
    assert at_once < each_alone / 20
    with within(8):
        for key in patterns:
            matcher.remove(key)
    assert matcher.match(document) == []


def test_thresholds_on_one_path() -> None:
    """Half of 20,000 comparisons hold, so the answer is long, whatever finds it."""
    expressions = [f"//quote[price>{number}]" for number in range(10_000)]
    expressions += [f"//quote[price<{number}]" for number in range(10_000)]
    document = "<feed>" + "<quote><price>5000.5</price></quote>" * 100 + "</feed>"
    matcher = fill(Matcher(), parse_all(expressions))
    with within(3):
        found = answer(matcher, document)
    assert found == {str(number) for number in (*range(5_001), *range(15_001, 20_000))}


@pytest.mark.parametrize("function", ["contains", "starts-with", "ends-with"])
def test_literals_with_long_common_prefixes(function: str) -> None:
    for length, count, seconds in ((2_000, 200, 0.2), (20_000, 1_000, 5)):
        expressions = [f"//p[{function}(., '{'a' * size}b')]" for size in range(1, count)]
        expressions += [f"//p[{function}(., '{'a' * 500}{number}')]" for number in range(count)]
        document = f"<r><p>{'a' * length}</p><p>{'a' * 150}b</p><p>{'a' * 500}77</p></r>"
        check(parse_all(expressions), document, seconds)


def test_one_subscription_more_costs_no_more_than_itself() -> None:
    """Adding, matching and removing, beside 5,000 that stay."""
    random = Random(6)
    patterns = parse_all(steps(random, "abcdefgh", 3, 8) + f"[@x='{n}']" for n in range(5_000))
    matcher = fill(Matcher(), patterns)
    document = bushy(random, "abcdefgh", 50, 10)
    before = answer(matcher, document)
    with within(10):
        for number in range(200):
            matcher.add("one more", f"//a[@y='{number}'] | /r")
            assert answer(matcher, document) == before | {"one more"}
            matcher.remove("one more")
            assert answer(matcher, document) == before


# --- the cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cache_bytes", [0, 1, 5_000, 100_000, 2 * MEBIBYTE])
def test_the_cache_stays_within_its_bound(cache_bytes: int) -> None:
    """Every document brings paths that were never seen, of names that subscriptions ask for."""
    random = Random(7)
    names = [f"n{number}" for number in range(60)]
    patterns = parse_all([f"//{name}/*[@x]" for name in names] + ["//n1//n2", "//n3[.='1']"])
    matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
    most = 0
    for _ in range(300):
        line = random.choices(names, k=30)
        opened = "".join(f"<{name}><{random.choice(names)} x=''/>1" for name in line)
        document = opened + "".join(f"</{name}>" for name in reversed(line))
        assert answer(matcher, document) == one_by_one(patterns, document)
        cached = matcher.stats().cached_bytes
        assert cached <= cache_bytes
        most = max(most, cached)
    if cache_bytes >= 100_000:
        assert most > cache_bytes / 10, "the bound was never near, so this shows nothing"


def test_names_that_nobody_asks_for_fill_no_cache() -> None:
    matcher = fill(Matcher(), parse_all(["//a", "//*[@x]", "//a//b", "//*//c", "//b[.='1']"]))
    sizes = []
    for number in range(300):
        fresh = "".join(f"<n{number}-{n}><m{n}-{number} x{number}=''/>" for n in range(20))
        closed = "".join(f"</n{number}-{n}>" for n in reversed(range(20)))
        found = answer(matcher, f"<r>{fresh}<a><b>{number}</b></a>{closed}</r>")
        assert found == {"0", "2"} | ({"4"} if number == 1 else set())
        sizes.append(matcher.stats().cached_bytes)
    assert sizes[-1] == sizes[10]


def test_the_cache_stays_within_its_bound_in_batches() -> None:
    matcher = fill(Matcher(cache_bytes=50_000), {"k": "//a//b[.='1']", "other": "//*[@x]/*"})
    documents = [
        bushy(Random(number), "abcdefgh", 300, 30)
        .replace("<b>", f"<b{number}>1<b/>")
        .replace("</b>", f"</b{number}>")
        for number in range(60)
    ]
    batch = matcher.match_batch(documents)
    assert batch.errors == {}
    assert matcher.stats().cached_bytes <= 50_000
    patterns = parse_all(["//a//b[.='1']", "//*[@x]/*"])
    for document, keys in zip(documents, batch, strict=True):
        expected = one_by_one({"k": patterns["0"], "other": patterns["1"]}, document)
        assert as_set(keys) == expected


# --- memory -------------------------------------------------------------------------------------

MEMORY_SCRIPT = """
import sys
from pathlib import Path
from random import Random
from twigcast import Matcher
from twigcast.matching import CompactDocument

def high_water():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

sys.path[:0] = sys.argv[1:]
from test_matcher_hostile import bushy, steps

random = Random(8)
{body}
"""

MEMORY = {
    "descendants": (
        """
cache = 4 * 2**20
matcher = Matcher(cache_bytes=cache)
for number in range(3_000):
    matcher.add(str(number), steps(random, "abcdefgh", 5, 10))
documents = [bushy(random, "abcdefgh", 2_000, 60).encode() for _ in range(3)]
before = high_water()
for document in documents:
    matcher.match(document)
print(high_water() - before, cache)
""",
        64 * MEBIBYTE,
    ),
    "fresh names": (
        """
cache = 4 * 2**20
matcher = Matcher(cache_bytes=cache)
for number in range(100):
    matcher.add(str(number), f"//a{number}//*[@x]")
before = high_water()
for number in range(300):
    tags = "".join(f"<t{number}-{n} a{number}-{n}=''/>" for n in range(300))
    matcher.match(f"<r>{tags}</r>")
print(high_water() - before, cache)
""",
        16 * MEBIBYTE,
    ),
    "large document": (
        """
matcher = Matcher(cache_bytes=2**20)
for number in range(2_000):
    matcher.add(str(number), f"//b[@c='{number}'][not(d)] | //e{number}")
document = b"<r>" + b"<b c='1'>x</b>" * 200_000 + b"</r>"
alone = CompactDocument(document).byte_size
before = high_water()
matcher.match(document)
print(high_water() - before, 2 * alone)
""",
        32 * MEBIBYTE,
    ),
    "subscriptions": (
        """
before = high_water()
matcher = Matcher()
for number in range(10_000):
    matcher.add(f"subscriber {number}", f"//quote[symbol='S{number}'][price>{number}]")
matcher.match("<quote><symbol>S5</symbol><price>6</price></quote>")
print(high_water() - before, 0)
""",
        80 * MEBIBYTE,
    ),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory(name: str) -> None:
    body, slack = MEMORY[name]
    script = MEMORY_SCRIPT.replace("{body}", body)
    run = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent), str(SUPPORT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    growth, allowed = map(int, run.stdout.split())
    assert growth < allowed + slack
