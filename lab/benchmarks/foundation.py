"""The speed of the ground floor: parsing subscriptions, trees of documents, one match, overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from lxml import etree

from lab.benchmarks.measure import Measurement, Progress, each, measure, quiet
from twigcast.documents import read_document
from twigcast.language import Pattern, parse
from twigcast.matching import CompactDocument, compile_pattern
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

_PATHS = PathParameters(wildcard=0.1, descendant=0.1)


def foundation_speed(
    schema: Schema,
    *,
    subscriptions: int = 2_000,
    documents: int = 200,
    size: int = 4_000,
    seed: int = 1,
    rounds: int = 7,
    progress: Progress = quiet,
) -> Iterator[Measurement]:
    """Measure on subscriptions and documents generated from the schema.

    Half the subscriptions are linear (W = DO = 0.1), half are trees in XNET's setting, of which
    half compare a value.
    """
    progress("making the workload")
    patterns = [
        *_generated(schema, _PATHS, subscriptions // 2, seed),
        *_generated(schema, TreeParameters(), subscriptions // 2, seed),
    ]
    made = generate_documents(schema, DocumentParameters(size=size), seed=seed)
    files = list(islice(made, documents))

    progress("parsing subscriptions")
    texts = [str(pattern) for pattern in patterns]
    xpaths = [pattern.to_xpath() for pattern in patterns]
    yield from measure(
        f"parse a subscription ({len(texts):,} texts)",
        {
            "lxml etree.XPath": lambda: [_compiled_xpath(*xpath) for xpath in xpaths],
            "twigcast.parse": lambda: [parse(text) for text in texts],
        },
        units=len(texts),
        rounds=rounds,
    )

    progress("making trees of documents")
    mean = sum(map(len, files)) // len(files)
    yield from measure(
        f"make a tree of a document ({len(files):,} of {mean:,} bytes)",
        {
            "lxml fromstring": lambda: each(etree.fromstring, files),
            "twigcast read_document": lambda: each(read_document, files),
        },
        units=len(files),
        rounds=rounds,
    )

    progress("evaluating patterns")
    few, some = patterns[:: max(1, len(patterns) // 100)], files[:50]
    twigs = [compile_pattern(pattern) for pattern in few]
    compact = [CompactDocument(data) for data in some]
    trees = [etree.fromstring(data).getroottree() for data in some]
    paths = [_compiled_xpath(*pattern.to_xpath()) for pattern in few]
    yield from measure(
        f"evaluate one pattern on a read document ({len(few)} x {len(some)})",
        {
            "lxml etree.XPath": lambda: [path(tree) for tree in trees for path in paths],
            "twigcast kernel": lambda: [
                document.matches(twig) for document in compact for twig in twigs
            ],
        },
        units=len(few) * len(some),
        rounds=rounds,
    )

    progress("overlap with the schema")
    yield from measure(
        f"overlap of a subscription with the schema ({len(patterns):,})",
        {"twigcast Schema.overlaps": lambda: [schema.overlaps(pattern) for pattern in patterns]},
        units=len(patterns),
        rounds=rounds,
    )

    progress("generating")
    for work, parameters in (("path", _PATHS), ("tree", TreeParameters())):
        yield from measure(
            f"generate a distinct {work} subscription ({subscriptions:,})",
            {"twigcast generate": _generation(schema, parameters, subscriptions, seed)},
            units=subscriptions,
            rounds=min(rounds, 3),
        )


def _generated(
    schema: Schema, parameters: PathParameters | TreeParameters, count: int, seed: int
) -> list[Pattern]:
    values = ValueParameters() if isinstance(parameters, TreeParameters) else None
    return list(islice(generate_subscriptions(schema, parameters, seed=seed, values=values), count))


def _generation(
    schema: Schema, parameters: PathParameters | TreeParameters, count: int, seed: int
) -> Callable[[], object]:
    return lambda: list(islice(generate_subscriptions(schema, parameters, seed=seed), count))


def _compiled_xpath(text: str, namespaces: dict[str, str]) -> etree.XPath:
    return etree.XPath(text, namespaces=namespaces or None)
