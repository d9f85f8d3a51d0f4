"""Verdicts: what a worker decides about a batch of documents, one verdict a document.

    documents ──► Decide ──► Verdicts ──┬──► rows for Spark, one a document
                                        └──► the tables of a result, which workers write

A verdict has the facts of a document (id, source, size, hash), its status, the reason and position
if it was rejected, its deliveries, and with a network the links that it crosses.

:class:`MatchDocuments` asks an index, :class:`RouteDocuments` a frozen network.  Both hold only the
name of a bundle, and are pure functions of a batch, so any worker may decide a batch again.  Keys
and subscribers stay numbers into dictionaries until they are written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twigcast.errors import DocumentError, NetworkError
from twigcast.pipeline.route.bundles import Bundle
from twigcast.pipeline.route.indexes import Index
from twigcast.pipeline.sources.documents import Batches
from twigcast.routing import FrozenNetwork, Route, depth_of_scope

DELIVERED: Final = "delivered"
UNWANTED: Final = "unwanted"
REJECTED: Final = "rejected"

_FACTS: Final = (
    "id string, source string, size bigint, hash string, status string, "
    "reason string, line int, column int"
)
MATCH_SCHEMA: Final = f"{_FACTS}, deliveries array<struct<key: string, subscriber: string>>"
ROUTE_SCHEMA: Final = (
    f"{_FACTS}, deliveries array<struct<key: string, subscriber: string, broker: string>>, "
    "crossings array<struct<sender: string, receiver: string, wasted: boolean>>"
)
_MOST_DELIVERIES: Final = 200_000

Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on a batch of documents, as columns."""

    facts: pa.RecordBatch
    """id, source, size, hash, reason, line, column."""
    offsets: Counts
    """Where each document's part of the deliveries begins, and the end of the last."""
    deliveries: Mapping[str, pa.Array]
    """The columns of the deliveries; dictionaries where names are many times the same."""
    crossing_offsets: Counts | None = None
    crossings: Mapping[str, pa.Array] | None = None

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def status(self) -> pa.Array:
        """The status of each document: delivered, unwanted or rejected."""
        is_wanted = pa.array(np.diff(self.offsets) > 0)
        wanted = pc.if_else(is_wanted, DELIVERED, UNWANTED)
        return pc.if_else(pc.is_valid(self.facts.column("reason")), REJECTED, wanted)

    def rows(self) -> Batches:
        """One row a document, in batches whose number of deliveries is bounded."""
        facts = self.facts.add_column(4, "status", self.status)
        for begin, end in self._pieces():
            deliveries = _lists(self.offsets[begin : end + 1], self.deliveries)
            rows = facts.slice(begin, end - begin).append_column("deliveries", deliveries)
            if self.crossings is not None and self.crossing_offsets is not None:
                crossings = _lists(self.crossing_offsets[begin : end + 1], self.crossings)
                rows = rows.append_column("crossings", crossings)
            yield rows

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of documents with few enough deliveries; a range has at least one document."""
        begin = 0
        while begin < len(self):
            most = self.offsets[begin] + _MOST_DELIVERIES
            end = max(begin + 1, int(np.searchsorted(self.offsets, most, side="right")) - 1)
            yield begin, min(end, len(self))
            begin = end


def _lists(offsets: Counts, columns: Mapping[str, pa.Array]) -> pa.ListArray:
    first, last = int(offsets[0]), int(offsets[-1])
    plain = [_plain(column.slice(first, last - first)) for column in columns.values()]
    structs = pa.StructArray.from_arrays(plain, list(columns))
    return pa.ListArray.from_arrays(pa.array(offsets - first, pa.int32()), structs)


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return column.dictionary.take(column.indices)
    return column


Decide = Callable[[pa.RecordBatch], Verdicts]


@dataclass(frozen=True, slots=True)
class MatchDocuments:
    """Decides by an index of subscriptions."""

    bundle: Bundle[Index]

    def __call__(self, batch: pa.RecordBatch) -> Verdicts:
        index = self.bundle.loaded()
        matches = index.matcher.match_batch(batch.column("content"))
        numbers = pa.array(np.asarray(matches.ids).astype(np.int32), pa.int32())
        subscribers = index.subscriber_of.take(numbers)
        return Verdicts(
            _facts(batch, matches.errors),
            np.asarray(matches.offsets),
            {
                "key": pa.DictionaryArray.from_arrays(numbers, index.keys),
                "subscriber": pa.DictionaryArray.from_arrays(subscribers, index.subscribers),
            },
        )


@dataclass(frozen=True, slots=True)
class RouteDocuments:
    """Decides by a frozen network; a document enters where its column ``at`` says, or at ``at``.

    With a ``scope`` it does not leave the unit of its broker that the scope names.
    """

    bundle: Bundle[FrozenNetwork]
    at: str | None = None
    scope: str = ""

    def __call__(self, batch: pa.RecordBatch) -> Verdicts:
        network = self.bundle.loaded()
        brokers = [self.at] * len(batch)
        if "at" in batch.schema.names:
            brokers = [each or self.at for each in batch.column("at").to_pylist()]
        known = set(network.brokers)
        problems = {broker: self._problem(broker, known) for broker in set(brokers)}
        errors = {
            number: DocumentError(problem)
            for number, broker in enumerate(brokers)
            if (problem := problems[broker])
        }
        # A document with an error is routed from any broker, and its route is dropped.
        good = [each for each in brokers if each is not None and not problems[each]]
        any_broker, scope = (good[0], self.scope) if good else (network.brokers[0], "")
        entered = [any_broker if each is None or problems[each] else each for each in brokers]
        routes = _Routes()
        results = network.route_batch(batch.column("content"), entered, scope=scope)
        for number, result in enumerate(results):
            if isinstance(result, DocumentError):
                errors[number] = result
            routes.add(result if isinstance(result, Route) and number not in errors else None)
        return routes.verdicts(_facts(batch, errors))

    def _problem(self, broker: str | None, known: Container[str]) -> str:
        """Why no document enters at a broker; empty if documents do."""
        if broker is None:
            return "nothing says at which broker the document enters the network"
        if broker not in known:
            return f"the network has no broker {broker!r}, at which the document would enter it"
        try:
            depth_of_scope(broker, self.scope)
        except NetworkError as error:
            return str(error)
        return ""


class _Routes:
    """The routes of a batch, as columns."""

    def __init__(self) -> None:
        self._starts = [0]
        self._deliveries: dict[str, list[str]] = {"key": [], "subscriber": [], "broker": []}
        self._crossing_starts = [0]
        self._crossings: dict[str, list[Any]] = {"sender": [], "receiver": [], "wasted": []}

    def add(self, route: Route | None) -> None:
        if route is not None:
            columns = self._deliveries
            for delivery in route.deliveries:
                count = len(delivery.subscriptions)
                columns["key"] += delivery.subscriptions
                columns["subscriber"] += [delivery.client] * count
                columns["broker"] += [delivery.broker] * count
            in_vain = Counter(route.wasted())
            for crossing in route.crossings:
                in_vain[crossing] -= 1
                self._crossings["sender"].append(crossing.sender)
                self._crossings["receiver"].append(crossing.receiver)
                self._crossings["wasted"].append(in_vain[crossing] >= 0)
        self._starts.append(len(self._deliveries["key"]))
        self._crossing_starts.append(len(self._crossings["sender"]))

    def verdicts(self, facts: pa.RecordBatch) -> Verdicts:
        crossings = {
            name: pa.array(values, pa.bool_() if name == "wasted" else pa.string())
            for name, values in self._crossings.items()
        }
        return Verdicts(
            facts,
            np.array(self._starts, np.int64),
            {
                name: pa.array(values, pa.string()).dictionary_encode()
                for name, values in self._deliveries.items()
            },
            np.array(self._crossing_starts, np.int64),
            crossings,
        )


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """The function for ``mapInArrow`` that gives verdicts as rows of Spark."""

    decide: Decide

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            yield from self.decide(batch).rows()


def _facts(batch: pa.RecordBatch, errors: Mapping[int, DocumentError]) -> pa.RecordBatch:
    """The facts of the documents of a batch, which do not depend on any subscription."""
    contents = batch.column("content")
    problems = batch.column("problem") if "problem" in batch.schema.names else None
    reasons: list[str | None] = [None] * len(batch)
    lines: list[int | None] = [None] * len(batch)
    columns: list[int | None] = [None] * len(batch)
    for number, error in errors.items():
        problem = problems[number].as_py() if problems is not None else None
        reasons[number] = problem or error.reason
        if error.line and not problem:
            lines[number], columns[number] = error.line, error.column
    return pa.RecordBatch.from_pydict(
        {
            "id": batch.column("id"),
            "source": batch.column("source"),
            "size": pc.binary_length(contents).cast(pa.int64()),
            "hash": pa.array(_hashes(contents), pa.string()),
            "reason": pa.array(reasons, pa.string()),
            "line": pa.array(lines, pa.int32()),
            "column": pa.array(columns, pa.int32()),
        }
    )


def _hashes(contents: pa.Array) -> list[str | None]:
    """SHA-256 of each document, as ``sha256sum`` prints it."""
    _, offsets, data = contents.buffers()
    if data is None:
        empty = hashlib.sha256().hexdigest()
        return [None if one is None else empty for one in contents.to_pylist()]
    wide = str(contents.type).startswith("large")
    starts = np.frombuffer(offsets, np.int64 if wide else np.int32)
    ends = starts[contents.offset : contents.offset + len(contents) + 1].tolist()
    view = memoryview(data)
    hashes: list[str | None] = [
        hashlib.sha256(view[begin:end]).hexdigest() for begin, end in pairwise(ends)
    ]
    if contents.null_count:
        for number in np.flatnonzero(np.asarray(contents.is_null())):
            hashes[number] = None
    return hashes
