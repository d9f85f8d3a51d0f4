"""Rows about reading alone: readers beside bare expat, on generated and on real documents.

expat only checks a document; our reader checks it and reports what it reads, which is counted;
pugixml and lxml make trees, and the kernel makes what it evaluates single patterns on.  pugixml
checks less than XML asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from lxml import etree

from lab.benchmarks.matching.bench import EXPAT, MatchingBench, parse_all
from lab.benchmarks.matching.pugixml import REMEDY, load_pugixml
from lab.benchmarks.matching.real import read_documents
from lab.benchmarks.measure import each, measure
from lab.benchmarks.results import Result, ratio_result
from lab.readers import ReaderPair
from twigcast.matching import CompactDocument

_READER: Final = "our reader"
_KERNEL: Final = "our kernel"
_LXML: Final = "lxml.etree.fromstring"
_PUGIXML: Final = "pugixml"
_FASTEST: Final = "pugixml, fewest checks"

_AT_LEAST: Final = 200
"""A round reads so many documents, if need be the same ones several times."""
_NAMES: Final = {
    _READER: "reader",
    _KERNEL: "kernel",
    _LXML: "lxml",
    _PUGIXML: "pugixml",
    _FASTEST: "pugixml-fastest",
}


def reading(bench: MatchingBench, folders: Sequence[Path]) -> Iterator[Result]:
    """Each reader on each set of documents."""
    pugixml = load_pugixml()
    if pugixml is None:
        bench.note(REMEDY)
    for name, documents in _document_sets(bench, folders):
        work = f"read {len(documents):,} documents of {name}"
        bench.progress(work)
        size = sum(map(len, documents)) // len(documents)
        documents = documents * max(1, _AT_LEAST // len(documents))
        readers: dict[str, Callable[[], object]] = {
            EXPAT: partial(parse_all, documents),
            _READER: partial(ReaderPair().count_events, documents),
            _KERNEL: partial(each, CompactDocument, documents),
            _LXML: partial(each, etree.fromstring, documents),
        }
        if pugixml is not None:
            readers[_PUGIXML] = pugixml(documents, False)
            readers[_FASTEST] = pugixml(documents, True)
        measurements = measure(
            work,
            readers,
            units=len(documents),
            rounds=bench.quick_rounds,
            clock=time.process_time,
        )
        for method in list(readers)[1:]:
            yield ratio_result(
                f"read-{name}-{_NAMES[method]}",
                f"{work}: {method}",
                measurements,
                method,
                goal=bench.goal(0.2, "documents") if method == _READER else None,
                details={"mean_bytes": size},
            )


def _document_sets(
    bench: MatchingBench, folders: Sequence[Path]
) -> Iterator[tuple[str, list[bytes]]]:
    """The generated documents under the name of their root, then those of each folder."""
    yield bench.schema.root, bench.documents
    if not folders:
        bench.note("no real documents: name folders of them with --documents")
    for folder in folders:
        if documents := read_documents(folder):
            yield folder.name, documents
