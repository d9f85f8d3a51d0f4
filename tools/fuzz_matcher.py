"""Looks for a document, a set of subscriptions or a damaged file that Matcher gets wrong.

    python tools/fuzz_matcher.py --seconds 60 --seed 1

Work is done in rounds.  Each is a random life of one matcher: subscriptions come and go, documents
with damaged bytes are matched one by one and in batches, the matcher is saved and loaded, and its
file is damaged.  Every answer is compared with that of each pattern asked alone, and with libxml2
where it reads the document; a damaged file must be refused or answer as before.

Rounds run in a process of their own, so that a crash or a hang is a finding too.  A round depends
on nothing but the seed and its number: ``--round`` repeats one.  A finding is printed as a short
script that shows it, found by leaving out whatever is not needed; the exit code is then 1.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import fuzz_rounds
from fuzz_matcher_lives import (
    NAMESPACES,
    Add,
    Match,
    Operation,
    Reload,
    Remove,
    draw_life,
)
from lxml import etree

from twigcast import Matcher
from twigcast.documents import Source
from twigcast.errors import DocumentError, MatcherFileError
from twigcast.language import Pattern, Residual, parse, walk
from twigcast.matching import CompactDocument, compile_pattern

_OUTSIDE_THE_ROOT = re.compile(rb"<!DOCTYPE|<!--|<\?|<\x00|!\x00|\xff\xfe|\xfe\xff|&")
"""What may be an instruction, a comment or a declaration outside the root, in any encoding."""

Item = TypeVar("Item")


# --- living them --------------------------------------------------------------------------------

Answer: TypeAlias = frozenset[str] | None
"""Which keys match; None for a document that is refused."""


class Life:
    """A matcher, and beside it the patterns that it should hold."""

    def __init__(self, make: Callable[[int], Matcher], cache_bytes: int) -> None:
        self.matcher = make(cache_bytes)
        self.cache_bytes = cache_bytes
        self.patterns: dict[str, Pattern] = {}

    def live(self, operation: Operation) -> str | None:
        """Do it, and tell what is wrong with the outcome."""
        if isinstance(operation, Add):
            if operation.key not in self.patterns:
                self.patterns[operation.key] = parse(operation.expression, NAMESPACES)
                self.matcher.add(operation.key, operation.expression, NAMESPACES)
        elif isinstance(operation, Remove):
            if operation.key in self.patterns:
                del self.patterns[operation.key]
                self.matcher.remove(operation.key)
        elif isinstance(operation, Match):
            return self._match(operation)
        else:
            return self._reload(operation)
        if set(self.matcher) != self.patterns.keys():
            return f"holds {sorted(self.matcher)} instead of {sorted(self.patterns)}"
        return None

    def _match(self, operation: Match) -> str | None:
        if operation.as_batch:
            batch = self.matcher.match_batch(operation.documents)
            answers = [
                None if place in batch.errors else _distinct(keys)
                for place, keys in enumerate(batch)
            ]
        else:
            answers = [_ask(self.matcher, document) for document in operation.documents]
        for document, answer in zip(operation.documents, answers, strict=True):
            expected = one_by_one(self.patterns, document)
            if answer != expected:
                return f"{document!r}: {_shown(answer)}, one by one {_shown(expected)}"
            second = by_libxml2(self.patterns, document)
            if answer is not None and second is not None:
                decided = decided_by_libxml2(self.patterns, document)
                if answer & decided != second & decided:
                    return f"{document!r}: {_shown(answer)}, libxml2 {_shown(second)}"
        if self.matcher.stats().cached_bytes > self.cache_bytes:
            return f"the cache takes more than {self.cache_bytes} bytes"
        return None

    def _reload(self, operation: Reload) -> str | None:
        samples = (b"<a x='1'><b>15</b><a/></a>", b"<p:a xmlns:p='urn:p'><c>ab</c></p:a>")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "matcher"
            self.matcher.save(path)
            data = bytearray(path.read_bytes())
            for place, change in operation.damage:
                start = place % len(data) if data else 0
                if change is None:
                    del data[start:]
                else:
                    data[start : start + len(change)] = change[: len(data) - start]
            path.write_bytes(data)
            try:
                loaded = type(self.matcher).load(path, cache_bytes=self.cache_bytes)
            except MatcherFileError as error:
                return None if operation.damage else f"refused its own file: {error}"
            for sample in samples:
                answer, expected = _ask(loaded, sample), one_by_one(self.patterns, sample)
                if answer != expected:
                    return f"{sample!r} once loaded: {_shown(answer)} instead of {_shown(expected)}"
            if {key: loaded[key] for key in loaded} != self.patterns:
                return "holds other subscriptions once loaded"
        if not operation.damage:
            self.matcher = loaded
        return None


def _ask(matcher: Matcher, document: Source) -> Answer:
    try:
        return _distinct(matcher.match(document))
    except DocumentError:
        return None


def _distinct(keys: Sequence[str]) -> frozenset[str]:
    return frozenset(keys) if len(set(keys)) == len(keys) else frozenset([*keys, "a key twice"])


def one_by_one(patterns: dict[str, Pattern], document: bytes) -> Answer:
    """The answer of each pattern, evaluated by itself."""
    try:
        compact = CompactDocument(document)
    except DocumentError:
        return None
    return frozenset(key for key in patterns if compact.matches(compile_pattern(patterns[key])))


def by_libxml2(patterns: dict[str, Pattern], document: bytes) -> Answer:
    """The answer of libxml2; None where it does not read the document."""
    parser = etree.XMLParser(resolve_entities=True, no_network=True, huge_tree=True)
    try:
        tree = etree.fromstring(document, parser).getroottree()
    except etree.XMLSyntaxError:
        return None
    answers = set()
    for key, pattern in patterns.items():
        xpath, prefixes = pattern.to_xpath()
        if tree.xpath(f"boolean({xpath})", namespaces=prefixes or None):
            answers.add(key)
    return frozenset(answers)


def decided_by_libxml2(patterns: dict[str, Pattern], document: bytes) -> frozenset[str]:
    """The keys on which libxml2 is right: all, or those without residuals.

    libxml2 takes a document type declaration for a node on some axes, and from behind the root it
    does not see the root.
    """
    if _OUTSIDE_THE_ROOT.search(document) is None:
        return frozenset(patterns)
    return frozenset(
        key
        for key, pattern in patterns.items()
        if not any(isinstance(each, Residual) for each in walk(*pattern.alternatives))
    )


def _shown(answer: Answer) -> str:
    return "refused" if answer is None else str(sorted(answer))


def judge(
    make: Callable[[int], Matcher], cache_bytes: int, operations: Sequence[Operation]
) -> str | None:
    """What is wrong with the first outcome that is wrong."""
    life = Life(make, cache_bytes)
    for operation in operations:
        try:
            wrong = life.live(operation)
        except Exception as error:
            wrong = f"raises {type(error).__name__}: {error}"
        if wrong is not None:
            return wrong
    return None


# --- findings -----------------------------------------------------------------------------------


def shrink(items: list[Item], is_wrong: Callable[[list[Item]], bool]) -> list[Item]:
    """A part of the items that is still wrong, of which hardly any more can be left out.

    Long stretches are tried first; short ones of every length, since an element is one.
    """
    size = len(items)
    while size:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + size :]
            if is_wrong(fewer):
                items = fewer
            else:
                start += size
        size = size // 2 if size > 50 else size - 1
    return items


def unwrap(data: bytes, is_wrong: Callable[[bytes], bool]) -> bytes:
    """The document without pairs of tags, which no stretch of bytes is, as far as it is wrong."""
    while True:
        parts = re.findall(rb"<[^>]*>|[^<]+|<", data)
        pairs = itertools.combinations(range(len(parts)), 2)
        fewer = (
            b"".join(part for at, part in enumerate(parts) if at not in pair) for pair in pairs
        )
        smaller = next(filter(is_wrong, fewer), None)
        if smaller is None:
            return data
        data = smaller


def reduce_life(
    make: Callable[[int], Matcher], cache_bytes: int, operations: Sequence[Operation]
) -> list[Operation]:
    """Fewer operations on smaller documents that still go wrong."""

    def is_wrong(some: Sequence[Operation]) -> bool:
        return judge(make, cache_bytes, some) is not None

    kept = shrink(list(operations), is_wrong)
    for place, operation in enumerate(kept):
        if isinstance(operation, Match):
            kept = _reduce_match(kept, place, operation, is_wrong)
    return kept


def _reduce_match(
    operations: list[Operation],
    place: int,
    match: Match,
    is_wrong: Callable[[Sequence[Operation]], bool],
) -> list[Operation]:
    """The operations with fewer and smaller documents in the one at ``place``."""

    def replaced(documents: Sequence[bytes]) -> list[Operation]:
        smaller = match._replace(documents=tuple(documents))
        return [*operations[:place], smaller, *operations[place + 1 :]]

    def smaller(documents: list[bytes], number: int) -> list[bytes]:
        before, after = documents[:number], documents[number + 1 :]

        def is_wrong_with(data: bytes) -> bool:
            return is_wrong(replaced([*before, data, *after]))

        def shorter(data: bytes) -> bytes:
            return bytes(shrink(list(data), lambda some: is_wrong_with(bytes(some))))

        data = shorter(unwrap(shorter(documents[number]), is_wrong_with))
        return [*before, data, *after]

    documents = shrink(list(match.documents), lambda some: is_wrong(replaced(some)))
    for number in range(len(documents)):
        documents = smaller(documents, number)
    return replaced(documents)


def reproduction(cache_bytes: int, operations: Sequence[Operation], wrong: str) -> str:
    """A script that shows the finding."""
    lines = [f"# {line}" for line in wrong.splitlines()]
    lines += [
        "# run in the folder of fuzz_matcher.py",
        "from fuzz_matcher import judge",
        "from fuzz_matcher_lives import Add, Match, Reload, Remove",
        "from twigcast import Matcher",
        "operations = [",
        *(f"    {operation!r}," for operation in operations),
        "]",
        f"print(judge(lambda size: Matcher(cache_bytes=size), {cache_bytes}, operations))",
    ]
    return "\n".join(lines)


def plain_matcher(cache_bytes: int) -> Matcher:
    """What is tested unless a test of this file says otherwise."""
    return Matcher(cache_bytes=cache_bytes)


def run_round(seed: int, number: int, make: Callable[[int], Matcher] = plain_matcher) -> str | None:
    """Live one life; the script of the finding, if there is one."""
    cache_bytes, operations = draw_life(seed, number)
    if judge(make, cache_bytes, operations) is None:
        return None
    reduced = reduce_life(make, cache_bytes, operations)
    return reproduction(cache_bytes, reduced, judge(make, cache_bytes, reduced) or "")


if __name__ == "__main__":
    sys.exit(fuzz_rounds.main(__file__, "look for what Matcher gets wrong", run_round))
