"""A matcher goes on after a fork, can be copied and pickled, and lets itself be interrupted."""

from __future__ import annotations

import copy
import os
import pickle
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from twigcast import Matcher
from twigcast.documents import DocumentLimits
from twigcast.matching import forks

DOCUMENT = b"<a><b x='1'>2</b></a>"


def small_matcher() -> Matcher:
    matcher = Matcher(limits=DocumentLimits(depth=3), cache_bytes=1_000)
    matcher.add("path", "/a/b")
    matcher.add("value", "//b[@x=1][. > 1]")
    return matcher


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda matcher: pickle.loads(pickle.dumps(matcher))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_has_subscriptions_of_its_own(duplicate: object) -> None:
    matcher = small_matcher()
    matcher.add("gone", "//b")
    matcher.remove("gone")
    assert callable(duplicate)
    other = duplicate(matcher)
    assert sorted(other) == ["path", "value"]
    assert sorted(other.match(DOCUMENT)) == ["path", "value"]
    other.remove("path")
    matcher.add("more", "//@x")
    assert sorted(matcher.match(DOCUMENT)) == ["more", "path", "value"]
    assert other.match(DOCUMENT) == ["value"]
    with pytest.raises(ValueError, match="depth"):
        other.match(b"<a><a><a><a/></a></a></a>")


class Tagged(Matcher):
    """A class of a user's own; at the top, so that it can be pickled."""

    name = ""


def test_a_copy_is_of_the_same_class_with_its_attributes() -> None:
    tagged = Tagged({"a": "//a"})
    tagged.name = "mine"
    for copied in (copy.copy(tagged), pickle.loads(pickle.dumps(tagged))):
        assert type(copied) is Tagged
        assert copied.name == "mine"
        assert copied.match("<a/>") == ["a"]


def test_answers_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="to_arrow"):
        pickle.dumps(small_matcher().match_batch([DOCUMENT]))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_child_process_goes_on_whatever_its_parent_was_doing() -> None:
    matcher = small_matcher()
    stop = threading.Event()

    def update() -> None:
        key = f"of {threading.get_ident()}"
        while not stop.is_set():
            matcher.add(key, "//c[d]")
            matcher.remove(key)

    def match() -> None:
        while not stop.is_set():
            matcher.match_batch([DOCUMENT] * 100)

    with ThreadPoolExecutor(4) as pool:
        try:
            futures = [pool.submit(work) for work in (update, update, match, match)]
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)  # a child that hangs ends by it
                    matcher.add("mine", "//b")
                    found = set(matcher.match(DOCUMENT))
                    os._exit(0 if found == {"path", "value", "mine"} else 1)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
        for future in futures:
            future.result()
    assert set(matcher.match(DOCUMENT)) == {"path", "value"}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_threads_may_fork_at_once() -> None:
    matchers = [small_matcher() for _ in range(4)]

    def fork() -> None:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                found = [len(matcher.match(DOCUMENT)) for matcher in matchers]
                os._exit(0 if found == [2] * len(matchers) else 1)
            assert os.waitpid(child, 0)[1] == 0

    def update() -> None:
        for number in range(300):
            matcher = matchers[number % len(matchers)]
            matcher.add("key", "//c[d]")
            matcher.remove("key")
            Matcher({"of its own": "//a"})

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for work in (fork, fork, fork, update)]:
            future.result()


def test_what_a_thread_has_paused_for_its_fork_no_other_resumes() -> None:
    matcher = small_matcher()
    is_paused, may_go_on = threading.Event(), threading.Event()

    def fork() -> None:
        forks._pause_all()
        is_paused.set()
        may_go_on.wait()
        forks._resume_all(False)

    with ThreadPoolExecutor(2) as pool:
        forking = pool.submit(fork)
        is_paused.wait()
        forks._resume_all(False)  # after a fork of this thread
        matching = pool.submit(matcher.match, DOCUMENT)
        is_let_in = wait([matching], 0.1).done
        may_go_on.set()
        assert len(matching.result()) == 2
        forking.result()
    assert not is_let_in


def test_a_signal_handler_may_fork_while_its_thread_does() -> None:
    matchers = [small_matcher(), small_matcher()]
    forks._pause_all()
    matchers.append(small_matcher())
    forks._pause_all()
    forks._resume_all(False)
    assert len(matchers[2].match(DOCUMENT)) == 2, "which the outer fork has not paused"
    forks._resume_all(False)
    assert [len(matcher.match(DOCUMENT)) for matcher in matchers] == [2, 2, 2]


def test_a_long_batch_can_be_interrupted() -> None:
    class StoppedError(Exception):
        pass

    def stop(number: int, frame: object) -> None:
        raise StoppedError

    matcher = small_matcher()
    document = b"<a>" + b"<b x='1'>2</b>" * 70_000 + b"</a>"
    batch = [document] * 400
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    start = time.process_time()
    try:
        with pytest.raises(StoppedError):
            matcher.match_batch(batch)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - start < 2
    assert sorted(matcher.match(DOCUMENT)) == ["path", "value"]


def test_threads_may_expand_one_answer_at_once() -> None:
    matcher = Matcher()
    for number in range(3_000):
        matcher.add(str(number), "//a")
    for _ in range(5):
        batch = matcher.match_batch([b"<a/>"] * 200)
        with ThreadPoolExecutor(4) as pool:
            lengths = list(pool.map(lambda _, batch=batch: len(batch.ids), range(8)))
        assert lengths == [600_000] * 8
        assert batch.offsets[-1] == 600_000


def test_what_is_dead_is_swept_out_though_some_batch_always_runs() -> None:
    matcher = small_matcher()
    stop = threading.Event()

    def match() -> None:
        while not stop.is_set():
            matcher.match_batch([DOCUMENT] * 300)

    with ThreadPoolExecutor(3) as pool:
        try:
            futures = [pool.submit(match) for _ in range(3)]
            most = 0
            for number in range(20_000):
                matcher.add("k", f"//n{number}/m")
                matcher.remove("k")
                most = max(most, matcher.stats().states if number % 500 == 0 else 0)
        finally:
            stop.set()
        for future in futures:
            future.result()
    assert most < 20_000
    assert sorted(matcher.match(DOCUMENT)) == ["path", "value"]


def test_many_predicates_that_hold_on_many_nodes_take_little_memory() -> None:
    matcher = Matcher()
    for number in range(3_000):
        matcher.add(f"one {number}", f"//a[. > {number}]")
        matcher.add(f"two {number}", f"/r[a > {number}][b]")
    document = b"<r>" + b"<a>99999</a>" * 10_000 + b"<b/></r>"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(matcher.match(document)) == 6_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
