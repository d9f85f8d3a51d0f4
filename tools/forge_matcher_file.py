"""Forge files of matchers: words are altered, and the checksum is made to fit them.

    python tools/forge_matcher_file.py --count 20000 --seed 1

A checksum refuses accidents, so damage at random never gets past it.  Here it is computed anew, and
nothing but the checks of ``soundness.hpp`` stands between the forged words and the kernel.  Each
forgery is loaded in a process of its own, and if it loads, everything that a matcher can do is done
with it.  Whoever writes a file can write any subscriptions, so wrong answers are no failure; a
signal, a hang, memory without bound, or an error that does not belong to the operation is one.
Programs of patterns are read when first asked; that one of them is damaged is reported then.

A forgery depends on nothing but the seed and its number.  For that, matchers are made with a hash
secret that is always the same, where usually each has its own.

    file ──draw──► changed words ──checksum──► forged file ──fork──► refused, reported, harmless

Words drawn at random seldom are numbers that lead somewhere.  So ``--sweep`` puts every small
number in place of every word of a small file.  What fails is printed with its number, which as
``--first`` with ``--count 1`` brings it back.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import signal
import struct
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzz_matcher_lives import NAMESPACES, draw_expression

from twigcast import (
    DuplicateKeyError,
    Matcher,
    MatcherFileError,
    SubscriptionError,
    UnknownKeyError,
)

# --- the format ---------------------------------------------------------------------------------

HEADER_SIZE = 64
SIZE_AT, SECRET_AT, CHECKSUM_AT = 24, 32, 56
FACTOR = 0x9E3779B97F4A7C15
NONE = 2**32 - 1
"""The number that leads nowhere."""

SECTIONS = tuple(
    "tests words name_bytes partial word_slots nodes edge_slots places heads value_links blocks "
    "intervals head_slots parts part_texts buckets filter part_slots subscribers keys key_ends "
    "members subscriber_slots patterns compounds texts extras probes links triggers units branches "
    "segments denials segment_slots compound_slots probe_slots known_labels known_paths "
    "destinations".split()
)
"""The arrays of an index, in the order of ``Index::each_array``."""

WIDE = {"words", "heads", "intervals", "parts", "filter", "key_ends", "compounds", "probes"}
"""Those with words of eight bytes among those of four."""


def checksum(data: bytes | bytearray) -> int:
    """As ``Checksum`` in ``index_file.hpp``, of a whole number of blocks of 32 bytes."""
    mask = 2**64 - 1
    lanes = [1, 2, 3, 4]
    for words in struct.iter_unpack("<4Q", data):
        for lane, word in enumerate(words):
            product = (lanes[lane] ^ word) * FACTOR & mask
            lanes[lane] = product ^ product >> 32
    value = 0
    for last in lanes:
        value = ((value ^ last) * FACTOR + (value >> 29)) & mask
    return value


def sign(data: bytearray) -> bytes:
    """The file with the checksum of what it holds."""
    struct.pack_into("<Q", data, CHECKSUM_AT, 0)
    struct.pack_into("<Q", data, CHECKSUM_AT, checksum(data))
    return bytes(data)


class Span(NamedTuple):
    """Where in a file a section lies."""

    begin: int
    size: int


def sections_of(data: bytes) -> dict[str, Span]:
    """The sections by name."""
    table = struct.iter_unpack("<2Q", data[HEADER_SIZE : HEADER_SIZE + 16 * len(SECTIONS)])
    return {name: Span(*place) for name, place in zip(SECTIONS, table, strict=True)}


class Change(NamedTuple):
    """A word of a section, counted in words of that width, and what stands there instead."""

    section: str
    place: int
    width: int
    value: int


def forge(data: bytes, changes: Sequence[Change]) -> bytes:
    """The file with other words, signed.  ``header`` and ``table`` count as sections too."""
    forged = bytearray(data)
    spans = alterable(data)
    for change in changes:
        _write(forged, spans[change.section], change)
    return sign(forged)


def with_sections(data: bytes, others: Mapping[str, bytes]) -> bytes:
    """The file with other sections, of any length, in place of some; signed."""
    file = bytearray(data[:HEADER_SIZE]) + bytes(16 * len(SECTIONS))
    for number, (name, span) in enumerate(sections_of(data).items()):
        section = others.get(name, data[span.begin : span.begin + span.size])
        file += bytes(-len(file) % 64)
        struct.pack_into("<2Q", file, HEADER_SIZE + 16 * number, len(file), len(section))
        file += section
    file += bytes(-len(file) % 64)
    struct.pack_into("<Q", file, SIZE_AT, len(file))
    return sign(file)


def alterable(data: bytes) -> dict[str, Span]:
    """What may be altered: the sections, their table, and the secret and version of the header."""
    header = Span(SECRET_AT, CHECKSUM_AT - SECRET_AT)
    return {
        "header": header,
        "table": Span(HEADER_SIZE, 16 * len(SECTIONS)),
        **{name: span for name, span in sections_of(data).items() if span.size >= 4},
    }


def _write(data: bytearray, span: Span, change: Change) -> None:
    code = "<Q" if change.width == 8 else "<I"
    struct.pack_into(code, data, span.begin + change.place * change.width, change.value)


def read_word(data: bytes, span: Span, place: int, width: int = 4) -> int:
    """A word of a section."""
    begin = span.begin + place * width
    return int.from_bytes(data[begin : begin + width], "little")


# --- what is forged -----------------------------------------------------------------------------

EVERY_KIND = (
    *("/a/b", "//a", "//*", "//*:b", "//p:*", "/a//b/@x", "//@*", "//a/text()", "//@p:x"),
    *("//a[b]/c", "//a[b=1][c]", "/a[b>1][c]", "//*[a][b]//c", "//a[.//b[c][b]][@x]"),
    *("/a/b/c[a/b/c='ab'][b]", "/a/b[c/a/b > 5]/c[a]", "//c[a/b[c][a]][b//a]", "/a/a/a[b][c]"),
    *("//a[.='ab']", "//a[.!='ab']", "//b[contains(., 'abca')]", "//b[starts-with(., 'ab')]"),
    *("/a[starts-with(b, 'ab')]", "/a/b/c[a/b[starts-with(., 'ab')]][b]", "/a[.='ab'][b]"),
    *("//b[.=1]", "//b[.!=1]", "//b[.<1]", "//b[.<=2]", "//b[.>1]", "//b[.>=2]", "//@x[.='1']"),
    *("//a[b>1 and b<15]", "//b[.>1][.!='2'][contains(., '5')]", "//a[text()='ab']"),
    *("//a[not(b)]", "//a[b][not(c)]", "/a/b[2]", "//a[position()>1]/b", "/a[b[1]='ab']"),
    *("/a | //b[c][a]", "//c | //a[b=1] | /a[not(c)]", "//a[b or c]", "//a[b][c or @x]"),
)
JOINED = (
    *("/a/b/c[a/b/c][b]", "/a[not(new)]", "//a[b][c]", "/a[contains(., 'ab')]", "/a[. != 'q']"),
    *("/a[starts-with(., 'ab')]", "/a/b/c[a/b/c[starts-with(., 'ab')]][b]", "//*:b", "//@x"),
)
"""Some that hold at the top of a document, and some that are joined from far below."""
SHARED = ("//@x", "//@x", "/a/b", "//*:b", "/a/b")
"""Some that have more than one subscriber."""
NEW = ("//a", "/a/b/new", "//a[b=1][new]", "//b[. > 5][c]", "//c[.='q'] | //new", "//a[not(new)]")
DOCUMENTS = (
    b"<a><b>1</b><c/></a>",
    b"<a xmlns:p='urn:p' x='1'>ab<a><b>2</b><c>3</c></a><a><b/><b>15</b><c/><p:q p:x='2'/></a></a>",
    b"<a>abc<b>abcabc<c><a><b>ab<c>ab</c></b></a><b><a/></b></c><a><c/></a></b><a><b/><c/></a></a>",
    b"<a><b><c><a>ab<b>7</b></a><b/></c><c><a><b>ab<c>ab</c></b></a></c></b><c><a/></c></a>",
    b"<a x='ab'>" + b"<b>5<c>2</c></b><c><b/></c>" * 30 + b"</a>",
    b"<a>" * 70 + b"<b>1</b><c/>" + b"</a>" * 70,
    b"<c>" + b"".join(b"<b>%d</b>" % number for number in range(40)) + b"</c>",
    b"<a><b></a>",
)
"""The last is not well-formed."""


def empty_matcher() -> Matcher:
    """A matcher whose hash secret, and so whose file, is always the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty"
        Matcher().save(path)
        data = bytearray(path.read_bytes())
        struct.pack_into("<2Q", data, SECRET_AT, 0x243F6A8885A308D3, 0x13198A2E03707345)
        path.write_bytes(sign(data))
        return Matcher.load(path)


def save(expressions: Sequence[str]) -> bytes:
    """The file of a matcher of these, under their numbers as keys."""
    matcher = empty_matcher()
    for number, expression in enumerate(expressions):
        destination = number % 40 if number % 3 else None
        matcher.add(str(number), expression, NAMESPACES, destination=destination)
    matcher.match_batch(DOCUMENTS)  # so that there are label paths to be saved
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genuine"
        matcher.save(path)
        return path.read_bytes()


@cache
def genuine(number: int) -> bytes:
    """One of the files to be altered."""
    random = Random(f"genuine {number}")
    if number == 0:
        return save((*EVERY_KIND, *SHARED))
    if number == 1:
        return save((*JOINED, *SHARED))
    if number == 2:
        # Places of the value index that are too large to be copied, and lists that are long.
        many = [f"//b[. > {place}]" for place in range(80)] + [f"//a[.='{n}']" for n in range(70)]
        return save([*many, *(f"/a/b[contains(., 'ab{n}')]" for n in range(9)), *EVERY_KIND])
    if number == 3:
        # Many intervals at one place that is small enough to be copied and sorted.
        return save([f"//b[. > {place % 7}][. < {place}]" for place in range(60)])
    if number < 14:
        return save(random.sample(EVERY_KIND, random.choice((1, 2, 4, 10))))
    return save([draw_expression(random) for _ in range(random.choice((2, 10, 30)))])


class Forgery(NamedTuple):
    """A file, by its number, what was altered in it, and how often a section then stands in it."""

    file: int
    changes: tuple[Change, ...]
    repeated: str = ""
    times: int = 1

    def data(self) -> bytes:
        data = forge(genuine(self.file), self.changes)
        if not self.repeated:
            return data
        begin, size = sections_of(data)[self.repeated]
        return with_sections(data, {self.repeated: data[begin : begin + size] * self.times})


def draw_forgery(seed: int, number: int) -> Forgery:
    """One or two words altered in one of the files, and perhaps a section that is longer."""
    random = Random(f"{seed} {number}")
    file = random.choice((0, 1, 1, 2, 3, random.randrange(24), random.randrange(24)))
    data = genuine(file)
    spans = alterable(data)
    # The header and the table are few words, and nearly all of their changes are seen at once.
    names = [name for name in spans if name not in ("header", "table")] * 10 + ["header", "table"]
    changes = [_draw_change(random, data, random.choice(names), spans)]
    if random.random() < 0.4:
        name = changes[0].section if random.random() < 0.5 else random.choice(names)
        changes.append(_draw_change(random, data, name, spans))
        if random.random() < 0.3 and changes[0].width == changes[1].width:
            changes = _swap(data, spans, changes)
    if random.random() < 0.1 and changes[0].section in SECTIONS:
        return Forgery(file, tuple(changes), random.choice(SECTIONS), random.choice((2, 3, 4, 50)))
    return Forgery(file, tuple(changes))


def _draw_change(random: Random, data: bytes, name: str, spans: dict[str, Span]) -> Change:
    span = spans[name]
    width = 8 if name in ("header", "table") or (name in WIDE and random.random() < 0.3) else 4
    count = span.size // width
    place = random.randrange(count)
    old = read_word(data, span, place, width)
    other = read_word(data, span, random.randrange(count), width)
    # Bytes that mean something in a path, and those of a double that is no number.
    special = random.choice(
        (b"////////", b"}}}}Q{a}", b"\1\1\1\1\1\1\1\1", b"\0\0\0\0\0\0\xf8\x7f")
    )
    kinds = (
        (0, 1, 2, random.randrange(8), random.randrange(100), count),
        (old + 1, old - 1, old ^ 1 << random.randrange(8 * width), other, other, other),
        (NONE, -1, 1 << (8 * width - 1), random.getrandbits(8 * width)),
        (int.from_bytes(special[-width:], "little"),),
    )
    value = random.choice(random.choices(kinds, (4, 4, 2, 1))[0])
    return Change(name, place, width, value % (1 << 8 * width))


def _swap(data: bytes, spans: dict[str, Span], changes: Sequence[Change]) -> list[Change]:
    """The two words change places instead."""
    values = [read_word(data, spans[one.section], one.place, one.width) for one in changes]
    return [one._replace(value=value) for one, value in zip(changes, reversed(values), strict=True)]


def sweep(file: int, most: int = 12) -> Iterator[Forgery]:
    """Every small number, and NONE, in place of every word of a file but its texts."""
    data = genuine(file)
    for name, span in sections_of(data).items():
        for place in range(0 if name in ("name_bytes", "keys", "texts") else span.size // 4):
            for value in (*range(most), NONE):
                if read_word(data, span, place) != value:
                    yield Forgery(file, (Change(name, place, 4, value),))


# --- what is done with a forgery ----------------------------------------------------------------


class Use:
    """Everything that a matcher can do."""

    def __init__(self, path: Path) -> None:
        """Raises MatcherFileError if the file is refused; that it is never refused later."""
        matcher = Matcher.load(path)
        self._again = path.with_suffix(".again")
        self.reported = False
        """Whether a pattern was found to be damaged when a document was matched."""
        try:
            self._live(matcher)
            # With nothing remembered, paths are forgotten within a document, units asked exactly.
            self._match(Matcher.load(path, cache_bytes=0))
        except MatcherFileError as error:
            raise AssertionError("what was loaded and saved is refused") from error

    def _live(self, matcher: Matcher) -> None:
        repr(matcher)
        self._match(matcher)
        keys = list(matcher)
        for key in keys:
            # One may be listed and not be found, and its text be of no subscription.
            with suppress(UnknownKeyError, SubscriptionError):
                matcher[key]
        self._match_and_save(matcher)
        for number, expression in enumerate(NEW):
            with suppress(DuplicateKeyError):
                matcher.add(f"new {number}", expression)
        self._match_and_save(matcher)
        for key in keys[::2]:
            with suppress(UnknownKeyError):
                matcher.remove(key)
        self._match_and_save(matcher)
        for number, expression in enumerate((*EVERY_KIND, *JOINED)):
            with suppress(DuplicateKeyError):
                matcher.add(f"again {number}", expression, NAMESPACES)
        self._match_and_save(pickle.loads(pickle.dumps(matcher)))
        self._match(matcher)

    def _match_and_save(self, matcher: Matcher) -> None:
        self._match(matcher)
        matcher.save(self._again)
        self._match(Matcher.load(self._again))

    def _match(self, matcher: Matcher) -> None:
        for document in DOCUMENTS[:-1]:
            with self._being_reported():
                matcher.match(document)
        with self._being_reported():
            batch = matcher.match_batch(DOCUMENTS)
            assert list(batch.errors) == [len(DOCUMENTS) - 1]
            assert len(batch.ids) == sum(map(len, batch)) == batch.offsets[-1]
        with self._being_reported():
            wanted = matcher.match_destinations(DOCUMENTS)
            assert list(wanted.errors) == [len(DOCUMENTS) - 1]

    @contextmanager
    def _being_reported(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if str(error) != "the matcher holds a pattern that is damaged":
                raise
            self.reported = True


# --- trials -------------------------------------------------------------------------------------

PROCESSOR_SECONDS, SECONDS = 5, 60
"""After which a trial counts as hanging; it takes some milliseconds."""
MEMORY = 2**30
"""Bytes of address space that a trial may take beside what the process had before."""

SCRATCH = Path("/dev/shm")
"""Where a save does not wait for a disk."""

REFUSED, REPORTED, HARMLESS, FAILING = "refused", "reported", "harmless", "failing"
FINE = (REFUSED, REPORTED, HARMLESS)


def attempt(data: bytes, folder: Path, bounded: bool = True) -> str:
    """Use a forged file in a process of its own: one of FINE, or what went wrong."""
    path = folder / "forged"
    path.write_bytes(data)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(tell, _outcome(path, bounded).encode()[-4_000:])
        os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        outcome = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ending = signal.Signals(os.WTERMSIG(status)).name
        return f"{'hangs' if ending in ('SIGPROF', 'SIGALRM') else 'crashes'}: {ending}"
    return outcome or f"exits with {os.WEXITSTATUS(status)}"


def _outcome(path: Path, bounded: bool) -> str:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if bounded:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    # Their signals end the process wherever it is.
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return REPORTED if Use(path).reported else HARMLESS
    except MatcherFileError:
        return REFUSED
    except BaseException:
        return traceback.format_exc()


def run(
    forgeries: Iterable[Forgery | Path], bounded: bool = True
) -> Iterator[tuple[Forgery | Path, str]]:
    """What becomes of each."""
    with tempfile.TemporaryDirectory(dir=SCRATCH if SCRATCH.is_dir() else None) as folder:
        for forgery in forgeries:
            data = forgery.data() if isinstance(forgery, Forgery) else forgery.read_bytes()
            yield forgery, attempt(data, Path(folder), bounded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments; 1 if anything was found."""
    parser = argparse.ArgumentParser(description="look for forged files of matchers that do harm")
    parser.add_argument("files", type=Path, nargs="*", help="try these instead of making some")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sweep", action="store_true", help="small numbers everywhere, in order")
    parser.add_argument("--first", type=int, default=0, help="the number of the first forgery")
    parser.add_argument("--count", type=int, default=1_000, help="how many")
    parser.add_argument("--unbounded", action="store_true", help="any memory, as sanitizers need")
    chosen = parser.parse_args(arguments)
    numbers = range(chosen.first, chosen.first + chosen.count)
    forgeries: Iterable[Forgery | Path] = chosen.files
    if chosen.sweep:
        forgeries = islice(sweep(1), numbers.start, numbers.stop)
    elif not chosen.files:
        forgeries = (draw_forgery(chosen.seed, number) for number in numbers)
    outcomes: Counter[str] = Counter()
    for number, (forgery, outcome) in enumerate(run(forgeries, not chosen.unbounded), chosen.first):
        outcomes[outcome if outcome in FINE else FAILING] += 1
        if outcome not in FINE or chosen.files:
            print(f"{number}: {forgery}: {outcome}", flush=True)
    print(*(f"{outcomes[name]} {name}" for name in (*FINE, FAILING)), sep=", ")
    return 1 if outcomes[FAILING] else 0


if __name__ == "__main__":
    sys.exit(main())
