"""The rows about asking an archive: how much a query looks at, and how quick it is beside a scan.

The archive holds documents of several kinds, as that of a firm does: of each DTD, some elements
serve as roots, spread evenly over those that can hold enough.  They are variants of generated
documents of some 2 KB: thousands of shapes, and hundreds of documents of each that differ in what
their elements say.  The queries are paths to an element with what it says, like
``/nitf/body/body.head/byline[. = "forge volcano"]``, taken at random from the documents; the first
ones count that find something, but less than a hundredth of the archive.  Whether other documents
have that path too is left to chance.  How much each query matches is known
from evaluating all candidates on all documents.

The peer is one compiled XPath of lxml for each query, asked of all documents of the same archive in
``mapInArrow``, at its best (see ``pipeline_peers``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
from lxml import etree

from lab.benchmarks.matching.bench import fill
from lab.benchmarks.pipeline.bench import (
    ARCHIVED,
    PipelineBench,
    Readings,
    take_turns,
)
from lab.benchmarks.pipeline.generate import Batches, VaryDocuments, vary_documents
from lab.benchmarks.pipeline.peers import count_with_lxml
from lab.benchmarks.results import Detail, Result
from twigcast.errors import WorkloadError
from twigcast.pipeline import ArchiveReport, QueryReport, archive, query

_LARGEST_SHARE: Final = 0.01
"""The share of the archive that a query may select."""
_OURS: Final = "query"
_LXML: Final = "lxml on all documents"
_TRIES: Final = 20
_ALL: Final = "/*"


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """What one query looked at, and what it and the peer took in each round."""

    xpath: str
    report: QueryReport
    readings: Readings

    @property
    def evaluated(self) -> float:
        """The share of the archive that had to be looked at."""
        return self.report.evaluated / self.report.documents


def make_archive(bench: PipelineBench, folder: Path) -> tuple[ArchiveReport, float]:
    """Make documents in parallel and archive them; what was done, and how many seconds it took."""
    sizes = bench.sizes
    with bench.spark() as session:
        count = sizes.templates * sizes.variants
        bench.progress(f"making {count:,} documents on Spark")
        made = vary_documents(
            session,
            bench.kinds,
            ARCHIVED,
            templates=sizes.templates,
            variants=sizes.variants,
            seed=bench.seed,
            parts=sizes.files,
        )
        made.write.option("compression", "lz4").parquet(str(folder / "made"))
        bench.progress(f"archiving {count:,} documents")
        documents = session.read.parquet(str(folder / "made")).selectExpr(
            "id as source", "content", "cast(null as string) as problem"
        )
        begun = time.perf_counter()
        report = archive(session, documents, str(folder / "archive"))
        return report, time.perf_counter() - begun


def query_figures(bench: PipelineBench, folder: Path) -> list[QueryFigures]:
    """Choose the queries and measure each beside the peer, in one session with new workers."""
    store = str(folder / "archive")
    with bench.spark() as session:
        # Every document has a root, so all match by their shapes, without being looked at.
        everything = query(session, store, _ALL, documents=True).frame
        chosen = _choose(bench, session, store)
        return [_measure(bench, session, store, everything, xpath) for xpath in chosen]


def _measure(
    bench: PipelineBench, session: Any, store: str, everything: Any, xpath: str
) -> QueryFigures:
    reports: list[QueryReport] = []

    def ask() -> float:
        bench.progress(f"asking for {xpath}")
        begun = time.perf_counter()
        result = query(session, store, xpath)
        ids = result.ids()
        seconds = time.perf_counter() - begun
        reports.append(result.report)
        if len(set(ids)) != result.report.matched:
            raise AssertionError(f"{xpath}: a document is in the result twice")
        return seconds

    def scan() -> float:
        bench.progress(f"{_LXML}: {xpath}")
        begun = time.perf_counter()
        matches = count_with_lxml(everything, (xpath,), at_best=True)
        seconds = time.perf_counter() - begun
        if matches != reports[-1].matched:
            raise AssertionError(f"{xpath}: {_OURS} finds {reports[-1].matched}, lxml {matches}")
        return seconds

    ask()
    return QueryFigures(xpath, reports[-1], take_turns({_OURS: ask, _LXML: scan}, bench.rounds))


# --- which queries ------------------------------------------------------------------------------


def _choose(bench: PipelineBench, session: Any, store: str) -> list[str]:
    """The first candidates that find something, but little."""
    candidates = find_candidates(bench)
    bench.progress(f"evaluating {len(candidates)} candidates for a query on all documents")
    everything = query(session, store, _ALL, documents=True).frame
    counted = everything.select("content").mapInArrow(
        CountEach(tuple(candidates)), "documents bigint, counts array<bigint>"
    )
    total, counts = 0, np.zeros(len(candidates), np.int64)
    for row in counted.collect():
        total += row.documents
        counts += np.array(row.counts, np.int64)
    return choose_rare(
        dict(zip(candidates, counts.tolist(), strict=True)), total, bench.sizes.queries
    )


def choose_rare(counts: Mapping[str, int], total: int, count: int) -> list[str]:
    """The first expressions that match some documents, but few of all."""
    rare = [text for text, matches in counts.items() if 0 < matches < _LARGEST_SHARE * total]
    if len(rare) < count:
        raise WorkloadError(
            f"only {len(rare)} of {len(counts)} paths with a value find something, but less than "
            f"{_LARGEST_SHARE:.0%} of {total:,} documents; use another DTD or seed"
        )
    return rare[:count]


def find_candidates(bench: PipelineBench) -> list[str]:
    """Paths to elements with what they say, from templates drawn at random."""
    sizes = bench.sizes
    vary = VaryDocuments(bench.kinds, ARCHIVED, sizes.variants, bench.seed)
    draw = Random(bench.seed)
    drawn = (draw.randrange(sizes.templates) for _ in range(sizes.candidates * _TRIES))
    texts: dict[str, None] = {}
    for template in vary.templates(drawn):
        leaves = [one for one in etree.fromstring(template).iter() if one.text and not len(one)]
        if leaves:
            texts[_condition(draw.choice(leaves))] = None
        if len(texts) == sizes.candidates:
            break
    return list(texts)


def _condition(element: Any) -> str:
    """The path to an element of a generated document, and that it says what it says."""
    path = "/".join(each.tag for each in [*reversed(list(element.iterancestors())), element])
    return f'/{path}[. = "{element.text}"]'


@dataclass(frozen=True, slots=True)
class CountEach:
    """From batches with content to how many documents there are, and match each expression."""

    texts: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        matcher = fill(self.texts)
        total, counts = 0, np.zeros(len(self.texts), np.int64)
        for batch in batches:
            ids = np.asarray(matcher.match_batch(batch.column(0)).ids)
            total += len(batch)
            counts += np.bincount(ids, minlength=len(self.texts))
        yield pa.RecordBatch.from_pydict(
            {
                "documents": pa.array([total], pa.int64()),
                "counts": pa.array([counts.tolist()], pa.list_(pa.int64())),
            }
        )


# --- rows ---------------------------------------------------------------------------------------


def query_rows(
    bench: PipelineBench, archived: ArchiveReport, seconds: float, figures: list[QueryFigures]
) -> Iterator[Result]:
    """How quickly documents are archived, what queries look at, and their speed."""
    sizes = ("roots", "templates", "variants", "queries")
    yield Result(
        "archive",
        f"archiving {archived.documents:,} documents of {archived.shapes:,} shapes",
        archived.added / seconds,
        "documents a second",
        details={
            "seconds": round(seconds, 2),
            "bytes": archived.bytes,
            "kinds": ", ".join(kind.root for kind in bench.kinds),
        },
    )
    looked_at: dict[str, Detail] = {}
    for one in figures:
        looked_at[f"{one.xpath}: matches"] = one.report.matched
        looked_at[f"{one.xpath}: evaluated"] = one.report.evaluated
    yield Result(
        "query-evaluated",
        f"{len(figures)} queries for under {_LARGEST_SHARE:.0%} of {archived.documents:,} "
        "documents: evaluated",
        100 * sum(one.evaluated for one in figures) / len(figures),
        "%",
        goal=bench.goal(5, *sizes),
        matches=sum(one.report.matched for one in figures) / len(figures),
        details=looked_at,
    )
    # A round is one turn of all queries.
    both = Readings(
        {
            method: [
                sum(each)
                for each in zip(*(one.readings.seconds[method] for one in figures), strict=True)
            ]
            for method in (_OURS, _LXML)
        }
    )
    ratio, noise = both.ratio(_LXML, _OURS)
    details: dict[str, Detail] = {
        f"{method}, s": round(both.median(method) / len(figures), 3) for method in (_OURS, _LXML)
    }
    yield Result(
        "query-speed",
        f"the same queries: {_LXML} ÷ {_OURS}",
        ratio,
        "× ours",
        noise,
        bench.goal(5, *sizes, least=True),
        sum(one.report.matched for one in figures) / len(figures),
        details,
    )
