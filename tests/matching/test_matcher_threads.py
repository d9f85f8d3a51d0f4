"""Threads may match, add and remove at once: every document sees one moment's subscriptions.

Each writer adds its keys in order and removes them in order, so that at any moment it has a
*window* of them: those already added and not yet removed.

    key         0   1   2   3   4   5   6   7
                gone ──┘ └─ there ──┘ └── to come       window (2, 5)

Writers count every update before it starts and after it has finished.  An answer must hold one
window of each writer, no older than what had finished before the question and no newer than what
had started before the answer was there.  All answers together must be moments of one history: of
any two, one is nowhere earlier than the other.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest
from matcher_answers import answer, as_set, fill, one_by_one, parse_all

from twigcast import Matcher
from twigcast.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SMALL = b"<r><a x='1'>text</a><b><a/></b></r>"
LARGE = b"<r>" + b"<a x='1'>text</a><b><a/></b>" * 6_000 + b"</r>"
"""Enough nodes for the kernel to give up the interpreter lock."""

SPELLINGS = (
    "//a",
    "/r/b/a",
    "//a[@x='{0}' or .='text']",
    "//r[b]//a[not(z{0})]",
    "/r/*[position()<9{0}]",
    "//b | //q{0}",
)
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


def run_together(*actions: Callable[[], None]) -> None:
    """Run every action on a thread of its own; the first error of any of them is raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(actions))

    def guarded(action: Callable[[], None]) -> None:
        try:
            start.wait()
            action()
        except BaseException as error:
            errors.append(error)

    # A thread that never returned would otherwise keep the tests from ending.
    threads = [threading.Thread(target=guarded, args=(action,), daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


class Window(NamedTuple):
    """How many of a writer's keys are removed, and how many have been added."""

    removed: int
    added: int


class Writer:
    """Adds its keys in order, removes them in order, with at most ``width`` there at once.

    Goes on until ``stop`` is set, so that whoever asks meets updates however slow the machine is.
    """

    def __init__(self, matcher: Matcher, name: str, width: int) -> None:
        self.matcher = matcher
        self.name = name
        self.width = width
        self.stop = threading.Event()
        self.started = Window(0, 0)
        self.finished = Window(0, 0)

    def pattern(self, number: int) -> str:
        """Matches both documents; neighbours often have the same pattern."""
        number //= 2
        return SPELLINGS[number % len(SPELLINGS)].format(number)

    def run(self) -> None:
        while not self.stop.is_set():
            self._add(self.finished.added)
            if self.finished.added - self.finished.removed > self.width:
                self._remove(self.finished.removed)
        while self.finished.removed < self.finished.added:
            self._remove(self.finished.removed)

    def _add(self, number: int) -> None:
        self.started = self.started._replace(added=number + 1)
        self.matcher.add(f"{self.name}{number}", self.pattern(number))
        self.finished = self.started

    def _remove(self, number: int) -> None:
        self.started = self.started._replace(removed=number + 1)
        self.matcher.remove(f"{self.name}{number}")
        self.finished = self.started

    def window(self, keys: set[str]) -> Window | None:
        """The window that an answer shows, None where it is empty; fails if it has gaps."""
        numbers = sorted(
            int(key.removeprefix(self.name)) for key in keys if key.startswith(self.name)
        )
        if not numbers:
            return None
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "keys of different moments"
        return Window(numbers[0], numbers[-1] + 1)


Moment = tuple[Window | None, ...]


def check_moment(
    writers: Sequence[Writer], before: list[Window], keys: set[str], after: list[Window]
) -> Moment:
    """The windows of an answer, each within what may have been seen."""
    moment = tuple(writer.window(keys) for writer in writers)
    for window, earliest, latest in zip(moment, before, after, strict=True):
        if window is None:
            assert earliest.added <= latest.removed, "keys are missing"
        else:
            assert earliest.removed <= window.removed <= latest.removed
            assert earliest.added <= window.added <= latest.added
    return moment


def is_no_later(one: Moment, other: Moment) -> bool:
    """Whether each window of one moment is no later than that of the other; None is unknown."""
    return all(
        first is None or second is None or (first[0] <= second[0] and first[1] <= second[1])
        for first, second in zip(one, other, strict=True)
    )


class Reader:
    """Asks so many times, and notes what it saw."""

    def __init__(
        self, writers: Sequence[Writer], ask: Callable[[], list[set[str]]], times: int
    ) -> None:
        self.writers = writers
        self.ask = ask
        self.times = times
        self.moments: list[Moment] = []

    def run(self) -> None:
        for _ in range(self.times):
            before = [writer.finished for writer in self.writers]
            answers = self.ask()
            after = [writer.started for writer in self.writers]
            for keys in answers:
                self.moments.append(check_moment(self.writers, before, keys, after))


def run_all(writers: Sequence[Writer], *readings: Callable[[], None]) -> None:
    """The writers write until every reading is done."""
    waiting = list(readings)
    lock = threading.Lock()

    def read(reading: Callable[[], None]) -> None:
        try:
            reading()
        finally:
            with lock:
                waiting.remove(reading)
                if not waiting:
                    for writer in writers:
                        writer.stop.set()

    run_together(
        *(writer.run for writer in writers), *(partial(read, reading) for reading in readings)
    )


_TRIES = 5
"""How often readers may see next to nothing: who runs when is for the system to say."""


def check_history(readers: Sequence[Reader]) -> bool:
    """What all readers saw are moments of one history; whether some saw the middle of it."""
    moments = {moment for reader in readers for moment in reader.moments if None not in moment}
    ordered = sorted(moments, key=lambda moment: sum(sum(window or ()) for window in moment))
    for earlier, later in itertools.pairwise(ordered):
        assert is_no_later(earlier, later), "two answers that no order of updates explains"
    return len(ordered) > 5


def test_the_patterns_of_the_writers_match_both_documents() -> None:
    writer = Writer(Matcher(), "w ", 10)
    patterns = parse_all(writer.pattern(number) for number in range(100))
    assert one_by_one(patterns, SMALL) == one_by_one(patterns, LARGE) == patterns.keys()


@pytest.mark.parametrize("cache_bytes", [0, 2_000, 2**20])
def test_answers_are_moments_of_one_history(cache_bytes: int) -> None:
    matcher = Matcher(cache_bytes=cache_bytes)

    def saw_updates() -> bool:
        writers = [Writer(matcher, "v ", 3), Writer(matcher, "w ", 20)]
        readers = [
            Reader(writers, lambda: [answer(matcher, SMALL)], 300),
            Reader(writers, lambda: [answer(matcher, SMALL)], 300),
            Reader(writers, lambda: [answer(matcher, LARGE)], 20),
        ]
        run_all(writers, *(reader.run for reader in readers))
        assert len(matcher) == 0
        assert matcher.match(SMALL) == []
        return check_history(readers)

    assert any(saw_updates() for _ in range(_TRIES))


def test_documents_of_a_batch_see_moments_too() -> None:
    matcher = Matcher(cache_bytes=50_000)

    def ask() -> list[set[str]]:
        batch = matcher.match_batch([SMALL, LARGE, SMALL, b"<r>"])
        assert list(batch.errors) == [3]
        # Expanded after a while, when the subscriptions are others.
        matcher.match(LARGE)
        return [as_set(batch[number]) for number in range(3)]

    def saw_updates() -> bool:
        writers = [Writer(matcher, "v ", 3), Writer(matcher, "w ", 20)]
        readers = [Reader(writers, ask, 20), Reader(writers, ask, 20)]
        run_all(writers, *(reader.run for reader in readers))
        return check_history(readers)

    assert any(saw_updates() for _ in range(_TRIES))


def test_keys_can_be_listed_while_they_change() -> None:
    matcher = Matcher()
    writers = [Writer(matcher, "v ", 30), Writer(matcher, "w ", 30)]

    def look() -> None:
        for turn in range(100_000):
            keys = as_set(list(matcher))
            for writer in writers:
                writer.window(keys)
            assert len(matcher) <= 62
            assert matcher.stats().subscriptions <= 62
            assert "other" not in matcher
            if turn >= 300 and all(writer.finished.added > 0 for writer in writers):
                break

    run_all(writers, look, look)
    assert min(writer.finished.added for writer in writers) > 0


def test_an_equal_pattern_that_stays_is_never_lost() -> None:
    """One subscriber stays while others of the very same pattern come and go."""
    matcher = fill(Matcher(), {"stays": "//a[@x='1']"})
    seen: set[frozenset[str]] = set()

    def come_and_go(guest: str) -> None:
        for _ in range(1_000):
            matcher.add(guest, "//a[@x='1']")
            matcher.remove(guest)

    def look() -> None:
        for _ in range(1_000):
            seen.add(frozenset(answer(matcher, SMALL)))

    run_together(partial(come_and_go, "one"), partial(come_and_go, "two"), look, look)
    assert all("stays" in keys for keys in seen)
    assert matcher.match(SMALL) == ["stays"]
    assert matcher.stats().patterns == 1


def test_of_threads_that_add_one_key_exactly_one_succeeds() -> None:
    matcher = Matcher()
    won: list[int] = []

    def add(number: int) -> None:
        for turn in range(300):
            try:
                matcher.add(f"{turn}", f"//a[@x='{number}']")
            except ValueError:
                continue
            won.append(turn)

    run_together(*(partial(add, number) for number in range(3)))
    assert sorted(won) == list(range(300))
    assert len(matcher) == 300


def test_a_key_that_is_replaced_is_never_without_a_subscription() -> None:
    matcher = Matcher({"k": SPELLINGS[0], "other": "//q"})
    writers = 2
    done = threading.Semaphore(0)

    def replace(update: bool) -> None:
        for number in range(600):
            expression = SPELLINGS[number % len(SPELLINGS)].format(number)
            if update:
                matcher.update({"k": expression})
            else:
                matcher.replace("k", expression)
        done.release()

    def ask() -> None:
        ended = 0
        while ended < writers:
            ended += done.acquire(blocking=False)
            assert matcher.match(SMALL) == ["k"]
            assert sorted(matcher) == ["k", "other"]

    run_together(partial(replace, False), partial(replace, True), ask)
    assert len(matcher) == 2


def test_parallel_batches_answer_as_serial_ones_do() -> None:
    expressions = [spelling.format(n) for spelling in SPELLINGS for n in range(9)]
    patterns = parse_all([*expressions, "//z", "/r/b/b", "//a[.='other']", "//b[a]/a[2]"])
    batches = [
        [SMALL, b"<r><b><b>%d</b></b></r>" % number, b"<r", LARGE[:300] + b"</r>", LARGE]
        + [b"<r><z%d/><a x='%d'/></r>" % (number, place) for place in range(20)]
        for number in range(12)
    ]
    serial = fill(Matcher(), patterns)
    expected = [list(map(as_set, serial.match_batch(batch))) for batch in batches]
    assert expected[3][1] == one_by_one(patterns, batches[3][1])
    for cache_bytes in (0, 2_000, 2**28):
        shared = fill(Matcher(cache_bytes=cache_bytes), patterns)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(shared.match_batch, batches))
        assert [list(map(as_set, answer)) for answer in answers] == expected


def test_a_bad_document_on_one_thread_is_no_trouble_on_another() -> None:
    matcher = fill(Matcher(), {"k": "//a[.='text']"})

    def good() -> None:
        for _ in range(300):
            assert matcher.match(SMALL) == ["k"]

    def bad() -> None:
        for _ in range(300):
            with pytest.raises(DocumentError):
                matcher.match(SMALL[:-1])

    run_together(good, bad, good, bad)


WITHIN_A_BATCH = """
import faulthandler, signal
from twigcast import Matcher

faulthandler.dump_traceback_later(100, exit=True)
matcher = Matcher({"stays": "/a"})
document = b"<a>" + b"<b/>" * 20_000 + b"</a>"
added = []
is_due = False

def update(*_):
    global is_due
    if is_due:
        is_due = False
        for number in range(6_000):
            matcher.add(str(number), f"//c[d = {number}]")
            matcher.remove(str(number))
        added.append(f"new {len(added)}")
        matcher.add(added[-1], "/a[b]")
        assert set(matcher.match(document)) == {"stays", *added}

signal.signal(signal.SIGALRM, update)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
generation = matcher.match_numbered(document).generation
batch = None
while batch is None or batch.generation == generation:  # until the index is rebuilt within one
    before, is_due = {"stays", *added}, True
    batch = matcher.match_batch([document] * 200)
    generation = matcher.match_numbered(document).generation
signal.setitimer(signal.ITIMER_REAL, 0)
assert [set(answer) for answer in batch] == [before] * 200
assert set(matcher.match(document)) == {"stays", *added}
"""


def test_an_index_is_rebuilt_within_a_batch_and_nobody_waits() -> None:
    """A signal handler updates and matches in the middle of a batch of the same thread."""
    command = [sys.executable, "-c", WITHIN_A_BATCH]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
