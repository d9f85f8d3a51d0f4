"""Rows about subscriptions that differ only in the value that they compare one path with.

The documents are lists of quotes, some 4,000 bytes each.  Subscriptions are drawn so that a
document matches a few dozen of them, whatever their number: the cost must not grow with those
whose value is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from string import ascii_lowercase
from typing import Final

from lab.benchmarks.matching.bench import MatchingBench
from lab.benchmarks.results import Result

_QUOTES: Final = 44
_HIGHEST: Final = 1_000
_WORD: Final = 10
_PATH: Final = "/market/quote/value"

_Workload = tuple[list[str], list[bytes]]


def same_path_values(bench: MatchingBench) -> Iterator[Result]:
    """One row for each kind of comparison."""
    kinds: dict[str, tuple[str, Callable[[Random, int, int], _Workload], float]] = {
        "ranges": ("ranges of numbers", ranges, 1.0),
        "thresholds": ("thresholds", thresholds, 1.0),
        "equal-strings": ("strings with =", equal_strings, 1.0),
        "starts-with": ("strings with starts-with()", beginnings, 1.0),
        "contains": ("strings with contains()", parts, 1.5),
    }
    for name, (what, make, bound) in kinds.items():
        bench.progress(f"making {what}")
        random = Random(f"{bench.seed} {name}")
        texts, documents = make(random, bench.sizes.values, bench.sizes.documents)
        matcher = bench.fill(texts)
        yield bench.expat_ratio(
            f"values-{name}",
            f"{len(texts):,} {what} on one path, {_QUOTES} values a document",
            matcher,
            documents,
            bench.goal(bound, "values"),
            example=texts[0],
            document_bytes=sum(map(len, documents)) // len(documents),
        )


def ranges(random: Random, count: int, documents: int) -> _Workload:
    """``[. > 17.301][. < 17.325]``; each number is in two of the ranges, more or less."""
    width = 2 * _HIGHEST * 1_000 // count
    bounds: set[tuple[int, int]] = set()
    while len(bounds) < count:
        low = random.randrange(_HIGHEST * 1_000)
        bounds.add((low, low + random.randint(width // 2 + 1, width + width // 2 + 1)))
    texts = [
        f"{_PATH}[. > {low / 1000:.3f}][. < {high / 1000:.3f}]" for low, high in sorted(bounds)
    ]
    random.shuffle(texts)
    made = [_document(random, lambda index: _number(random)) for _ in range(documents)]
    return texts, made


def thresholds(random: Random, count: int, documents: int) -> _Workload:
    """``[. > 1017.31]``; one number of a document exceeds a few of them, the others none."""
    texts = [f"{_PATH}[. > {_HIGHEST * (1 + number / count):.4f}]" for number in range(count)]
    random.shuffle(texts)
    exceeding = _HIGHEST * 100 / count

    def value(index: int) -> str:
        return _number(random) if index else f"{_HIGHEST + random.random() * exceeding:.4f}"

    return texts, [_document(random, value) for _ in range(documents)]


def equal_strings(random: Random, count: int, documents: int) -> _Workload:
    """``[. = "word"]``; every other word of the documents is subscribed to."""
    words = _words(random, 2 * count)
    texts = [f'{_PATH}[. = "{word}"]' for word in words[:count]]
    made = [_document(random, lambda index: random.choice(words)) for _ in range(documents)]
    return texts, made


def beginnings(random: Random, count: int, documents: int) -> _Workload:
    """``[starts-with(., "wor")]``, beginnings of words of the documents."""
    words = _words(random, count)
    wanted: dict[str, None] = {}
    while len(wanted) < count:
        wanted[random.choice(words)[: random.randint(_WORD // 2, _WORD - 1)]] = None
    texts = [f'{_PATH}[starts-with(., "{part}")]' for part in wanted]
    made = [_document(random, lambda index: random.choice(words)) for _ in range(documents)]
    return texts, made


def parts(random: Random, count: int, documents: int) -> _Workload:
    """``[contains(., "ord")]``, parts of words of the documents."""
    words = _words(random, count)
    wanted: dict[str, None] = {}
    while len(wanted) < count:
        length = random.randint(_WORD // 2, _WORD - 2)
        start = random.randint(0, _WORD - length)
        wanted[random.choice(words)[start : start + length]] = None
    texts = [f'{_PATH}[contains(., "{part}")]' for part in wanted]
    made = [_document(random, lambda index: random.choice(words)) for _ in range(documents)]
    return texts, made


def _number(random: Random) -> str:
    return f"{random.randrange(_HIGHEST * 1_000) / 1000:.3f}"


def _words(random: Random, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(random.choices(ascii_lowercase, k=_WORD))] = None
    return list(words)


def _document(random: Random, value: Callable[[int], str]) -> bytes:
    quotes = [
        f"<quote><name>{''.join(random.choices(ascii_lowercase, k=8))}</name>"
        f"<value>{value(index)}</value><place>market hall {random.randint(1, 99)}</place></quote>"
        for index in range(_QUOTES)
    ]
    random.shuffle(quotes)
    return f"<market>{''.join(quotes)}</market>".encode()
