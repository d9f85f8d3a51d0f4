"""Work that comes and goes leaves no memory behind: what is in use is flat after a warm-up.

Each kind of work runs in a process of its own, as many rounds to warm up as to be measured.  Its
size is taken after every few rounds, since what is dead may be swept up now and then only, and the
largest of the second half is compared with the largest of the first.  Counted are the bytes that
the allocator has handed out (exact, so that a small piece lost in each round shows), the blocks of
Python objects, and the resident pages, which wander a little even when all is well.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, gc, itertools, sys, threading
from pathlib import Path
from twigcast import DocumentLimits, Matcher, MatcherFileError, TwigcastError
from twigcast.language import parse

class Usage(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

measure = ctypes.CDLL(None).mallinfo2
measure.restype = Usage

def sizes():
    gc.collect()
    usage = measure()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return usage.uordblks + usage.hblkhd, sys.getallocatedblocks(), pages * 4096

def peaks(rounds):
    measured = []
    for _ in range(20):
        work(rounds // 20)
        measured.append(sizes())
    return [max(kind) for kind in zip(*measured)]

folder = Path(sys.argv[1])
rounds = int(sys.argv[2])
good = b"<a xmlns:p='urn:p'>" + b"<p:b y='7'>text</p:b><a><c><d>x</d></c></a>" * 20 + b"</a>"
bad = good[:-2]
expressions = [
    "//a[b[2] or contains(c//d, 'x')]/@y[. > 5]", "//a/c/d", "//*:b[@y=7]", "/a[not(z)]",
    "//d[.='x']", "//a//a//d", "//c[starts-with(., 'x')] | //q", "/a/*[3]", "//text()[.='text']",
]
patterns = list(map(parse, expressions))
counter = itertools.count()

BODY

before = peaks(rounds)
print(*(second - first for first, second in zip(before, peaks(rounds))))
"""

WORK = {
    "add and remove": (
        """
matcher = Matcher()
matcher.add("stays", "//a//c")
def work(times):
    for turn in range(times):
        for number, pattern in enumerate(patterns):
            matcher.add(f"{turn} {number}", pattern)
        for number in range(len(patterns)):
            matcher.remove(f"{turn} {number}")
""",
        4_000,
    ),
    "patterns never seen before": (
        """
def fresh(turn):
    return parse(f"//a{turn}[@x{turn}='{turn}']//b[contains(., '{turn}')] | /c{turn}")
for turn in range(2 * rounds):
    fresh(turn)  # the parser remembers names, up to a bound
matcher = Matcher()
matcher.add("stays", "//a//c")
def work(times):
    for turn in itertools.islice(counter, times):
        matcher.add("k", fresh(turn))
        matcher.match(good)
        matcher.remove("k")
""",
        2_500,
    ),
    "match": (
        """
matchers = [Matcher(cache_bytes=size) for size in (0, 3_000, 2**28)]
for matcher in matchers:
    for number, pattern in enumerate(patterns):
        matcher.add(str(number), pattern)
def work(times):
    for turn in range(times):
        for matcher in matchers:
            matcher.match(good)
            for wrong in (bad, b"", b"<a>\\xff</a>", "<a>&e;</a>"):
                try:
                    matcher.match(wrong)
                except TwigcastError:
                    pass
""",
        1_000,
    ),
    "documents never seen before": (
        """
matcher = Matcher(cache_bytes=50_000)
for number, pattern in enumerate(patterns):
    matcher.add(str(number), pattern)
def work(times):
    for turn in itertools.islice(counter, times):
        matcher.match(f"<a{turn}><b{turn} x{turn}='{turn}'>{turn}</b{turn}><c><d/></c></a{turn}>")
""",
        20_000,
    ),
    "batches": (
        """
import pyarrow
matcher = Matcher()
for number, pattern in enumerate(patterns):
    matcher.add(str(number), pattern)
documents = [good, bad, b"<a/>", b"", good.decode().encode("utf-16")]
array = pyarrow.array([*documents, None], pyarrow.binary())
def work(times):
    for turn in range(times):
        for batch in (matcher.match_batch(documents), matcher.match_batch(array[1:])):
            list(batch)
            batch.to_arrow()
            batch.ids
        matcher.match_batch(documents)  # never expanded
""",
        400,
    ),
    "batches that outlive updates": (
        """
matcher = Matcher()
def work(times):
    held = []
    for turn in range(times):
        for number, pattern in enumerate(patterns):
            matcher.add(str(number), pattern)
        held.append(matcher.match_batch([good, b"<a/>"]))
        held = held[-5:]
        for number in range(len(patterns)):
            matcher.remove(str(number))
        list(held[0])
""",
        1_000,
    ),
    "save and load": (
        """
matcher = Matcher()
for number, pattern in enumerate(patterns):
    matcher.add(str(number), pattern)
path = folder / "saved"
matcher.save(path)
data = path.read_bytes()
broken = folder / "broken"
def work(times):
    for turn in range(times):
        matcher.save(path)
        loaded = Matcher.load(path)
        loaded.match(good)
        loaded.add("new", "//d")
        place = next(counter) * 7 % len(data)
        broken.write_bytes(data[:place] + bytes([255 - data[place]]) + data[place + 1:])
        for wrong in (broken, folder / "missing"):
            try:
                Matcher.load(wrong)
            except (MatcherFileError, OSError):
                pass
""",
        400,
    ),
    "whole matchers": (
        """
def work(times):
    for turn in range(times):
        matcher = Matcher(limits=DocumentLimits(depth=10))
        for number, pattern in enumerate(patterns):
            matcher.add(str(number), pattern)
        matcher.match(good)
        for wrong in (lambda: matcher.add("0", "//a"), lambda: matcher.remove("other"),
                      lambda: matcher.add("new", "//a["), lambda: matcher.match("<a>" * 20)):
            try:
                wrong()
            except TwigcastError:
                pass
""",
        1_000,
    ),
    "threads that come and go": (
        """
matcher = Matcher()
for number, pattern in enumerate(patterns):
    matcher.add(str(number), pattern)
def work(times):
    for turn in range(times):
        thread = threading.Thread(target=lambda: [matcher.match(good) for _ in range(3)])
        thread.start()
        thread.join()
""",
        800,
    ),
}


@pytest.mark.parametrize("kind", WORK)
def test_nothing_leaks(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    body, rounds = WORK[kind]
    folder = tmp_path_factory.mktemp("leaks")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("BODY", body), str(folder), str(rounds)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    in_use, blocks, resident = map(int, run.stdout.split())
    assert in_use < 16 * rounds + 20_000
    assert blocks < rounds / 5 + 200
    assert resident < 2_000_000
