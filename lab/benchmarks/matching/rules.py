"""Rows about real rules: expressions of the world, all that are taken, on real documents.

A file of rules has one a line: an expression, a tab, its namespaces as a JSON object.  Rules that
are refused, mostly for a function or a variable of a stylesheet, are left out and counted.

lxml gets the rules as they are written, with ``//`` before a relative path; where that is not what
the rule means, it gets the normal form.  Rules that lxml refuses cost it nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from lxml import etree

from lab.benchmarks.matching.bench import OURS, MatchingBench, mean_matches
from lab.benchmarks.matching.real import read_documents
from lab.benchmarks.measure import measure
from lab.benchmarks.results import Goal, Result, ratio_result
from twigcast.errors import SubscriptionError
from twigcast.language import Pattern, read_expression
from twigcast.matching import Matcher

_MOST_EXPAT: Final = 5.0
_LEAST_LXML: Final = 150.0
_LXML: Final = "lxml one by one"
_PEER_DOCUMENTS: Final = 50


def real_rules(
    bench: MatchingBench, file: Path | None, folders: Iterable[Path]
) -> Iterator[Result]:
    """All rules at once on each folder's documents, beside expat and beside lxml."""
    if file is None:
        return
    bench.progress(f"reading {file.name}")
    rules, refused = read_rules(file)
    matcher = Matcher({str(number): rule.pattern for number, rule in enumerate(rules)})
    xpaths = compile_rules(rules)
    for folder in folders:
        documents = read_documents(folder)
        if not documents:
            continue
        # The goals are about rules for invoices on invoices.
        is_goal = folder.name == "ubl"
        work = f"{len(documents):,} documents of {folder.name}, {len(rules):,} rules"
        yield bench.expat_ratio(
            f"rules-{folder.name}",
            work,
            matcher,
            documents,
            Goal(_MOST_EXPAT) if is_goal else None,
            refused=refused,
        )
        yield _beside_lxml(bench, folder.name, matcher, xpaths, documents, is_goal=is_goal)


def _beside_lxml(
    bench: MatchingBench,
    folder: str,
    matcher: Matcher,
    xpaths: Sequence[etree.XPath],
    documents: Sequence[bytes],
    *,
    is_goal: bool,
) -> Result:
    some = documents[:: max(1, len(documents) // _PEER_DOCUMENTS)]
    trees = [etree.fromstring(data).getroottree() for data in some]
    work = f"{len(some):,} documents of {folder}: the {len(xpaths):,} rules that lxml takes"
    bench.progress(work)
    measurements = measure(
        work,
        {OURS: lambda: matcher.match_batch(some), _LXML: lambda: _ask_lxml(xpaths, trees)},
        units=len(some),
        rounds=2,
        clock=time.process_time,
    )
    return ratio_result(
        f"rules-{folder}-lxml",
        f"{work}, lxml's trees made before ÷ all rules",
        measurements,
        _LXML,
        goal=Goal(_LEAST_LXML, least=True) if is_goal else None,
        matches=mean_matches(matcher, some),
        unit="× ours",
    )


class Rule(NamedTuple):
    """A rule as it is written, and as it is understood."""

    text: str
    namespaces: dict[str, str]
    pattern: Pattern

    def to_xpath(self) -> tuple[str, dict[str, str]]:
        """The rule for lxml, whose relative paths begin at the document node."""
        for text in (self.text, f"//{self.text}"):
            with suppress(SubscriptionError):
                reading = read_expression(text, self.namespaces, relative_to="document")
                if reading.pattern == self.pattern:
                    return text, self.namespaces
        return self.pattern.to_xpath()


def read_rules(file: Path) -> tuple[list[Rule], int]:
    """The rules that are taken, and how many are not."""
    rules: list[Rule] = []
    refused = 0
    for line in file.read_text("utf-8").splitlines():
        text, _, written = line.partition("\t")
        namespaces = json.loads(written or "{}")
        try:
            rules.append(Rule(text, namespaces, read_expression(text, namespaces).pattern))
        except SubscriptionError:
            refused += 1
    return rules, refused


def compile_rules(rules: Iterable[Rule]) -> list[etree.XPath]:
    """The rules in lxml's form, those that it takes."""
    compiled: list[etree.XPath] = []
    tree = etree.fromstring("<a><b>1</b></a>").getroottree()
    for rule in rules:
        text, names = rule.to_xpath()
        try:
            xpath = etree.XPath(f"boolean({text})", namespaces=names or None)
            xpath(tree)
        except etree.XPathError:
            continue
        compiled.append(xpath)
    return compiled


def _ask_lxml(xpaths: Iterable[etree.XPath], trees: Iterable[etree._ElementTree]) -> int:
    count = 0
    for tree in trees:
        for xpath in xpaths:
            try:
                count += bool(xpath(tree))
            except etree.XPathError:
                continue  # a function that libxml2 lacks, met only now
    return count
