"""Other methods to match one document with many subscriptions: one subscription after the other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

from lxml import etree

from lab.benchmarks.matching.bench import OURS, MatchingBench, mean_matches
from lab.benchmarks.measure import measure
from lab.benchmarks.results import Result, ratio_result
from twigcast.language import parse
from twigcast.matching import CompactDocument, CompiledPattern, compile_pattern

LXML: Final = "lxml, one by one"
TUNED: Final = "lxml at its best, one by one"
KERNEL: Final = "our kernel, one by one"

_REPEATS: Final = 10


def one_by_one(bench: MatchingBench) -> Iterator[Result]:
    """Compiled XPaths of lxml, and our own compiled patterns, each asked of each document.

    At its best lxml is asked for a truth value, of the root element instead of the tree, and
    without the regular expressions that it otherwise offers to every expression.
    """
    texts = bench.paths(bench.sizes.peers)
    documents = bench.documents[: bench.sizes.peer_documents]
    bench.progress(f"compiling {len(texts):,} XPaths")
    xpaths, tuned = compile_xpaths(texts), _compile_tuned(texts)
    twigs = [compile_pattern(parse(text)) for text in texts]
    matcher = bench.fill(texts)
    matches = mean_matches(matcher, documents)
    work = f"{len(texts):,} paths"
    bench.progress(f"{work}, one by one")
    for count in (
        sum(count_with_lxml(xpaths, data) for data in documents),
        sum(_count_with_tuned(tuned, data) for data in documents),
    ):
        assert count == round(matches * len(documents)), "lxml and twigcast disagree"
    units = dict.fromkeys((LXML, TUNED, KERNEL), len(documents))
    measurements = measure(
        work,
        {
            OURS: lambda: matcher.match_batch(documents * _REPEATS),
            LXML: lambda: [count_with_lxml(xpaths, data) for data in documents],
            TUNED: lambda: [_count_with_tuned(tuned, data) for data in documents],
            KERNEL: lambda: [_count_with_kernel(twigs, data) for data in documents],
        },
        units=units | {OURS: len(documents) * _REPEATS},
        rounds=bench.rounds,
        clock=time.process_time,
    )
    goals = {LXML: bench.goal(500, "peers", least=True), TUNED: None, KERNEL: None}
    names = {LXML: "peer-lxml", TUNED: "peer-lxml-best", KERNEL: "peer-kernel"}
    for method, goal in goals.items():
        yield ratio_result(
            names[method],
            f"{work}: {method}",
            measurements,
            method,
            goal=goal,
            matches=matches,
            unit="× ours",
        )


def compile_xpaths(texts: Iterable[str]) -> list[etree.XPath]:
    """The subscriptions in lxml's form."""
    spelled = (parse(text).to_xpath() for text in texts)
    return [etree.XPath(text, namespaces=names or None) for text, names in spelled]


def _compile_tuned(texts: Iterable[str]) -> list[etree.XPath]:
    spelled = (parse(text).to_xpath() for text in texts)
    return [
        etree.XPath(f"boolean({text})", namespaces=names or None, regexp=False)
        for text, names in spelled
    ]


def count_with_lxml(xpaths: Iterable[etree.XPath], data: bytes) -> int:
    """How many of the expressions the document matches."""
    tree = etree.fromstring(data).getroottree()
    return sum(bool(xpath(tree)) for xpath in xpaths)


def _count_with_tuned(xpaths: Iterable[etree.XPath], data: bytes) -> int:
    root = etree.fromstring(data)
    return sum(bool(xpath(root)) for xpath in xpaths)


def _count_with_kernel(twigs: Iterable[CompiledPattern], data: bytes) -> int:
    document = CompactDocument(data)
    return sum(document.matches(twig) for twig in twigs)
