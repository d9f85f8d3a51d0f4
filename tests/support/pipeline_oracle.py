"""What a job on Spark must come to, found without Spark: by lxml, and by a live network.

Results are read back with pyarrow and json alone, so that a mistake in the code that reads tables
cannot hide one in the code that writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from lxml import etree
from oracle import parse_tree

from twigcast.hierarchy import Network
from twigcast.language import Pattern, Subscription
from twigcast.routing import Crossing, Document, Envelope, NetworkPlan, Observer, Send

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]

COLUMNS = {
    "deliveries": ("document", "key", "subscriber"),
    "documents": ("id", "source", "size", "hash", "status"),
    "rejected": ("document", "source", "reason", "line", "column"),
    "links": ("sender", "receiver", "documents", "bytes", "false_positives", "unit"),
}
"""The tables of a result; with a network deliveries have the broker too."""


# --- results as they lie there ------------------------------------------------------------------


def read_rows(folder: Path, table: str, *, in_order: bool = True) -> list[Row]:
    """The rows of one table of a result; each as often as it stands there."""
    columns = COLUMNS[table]
    if table == "deliveries" and (folder / "links").is_dir():
        columns = (*columns, "broker")
    rows: list[Row] = []
    for path in sorted((folder / table).rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            above = _named_by_folders(path.relative_to(folder))
            rows += (tuple((row | above).get(name) for name in columns) for row in _rows(path))
    return sorted(rows, key=repr) if in_order else rows


def read_result(folder: Path) -> dict[str, list[Row]]:
    """All tables of a result."""
    tables = ["deliveries", "documents", "rejected"]
    if (folder / "links").is_dir():
        tables.append("links")
    return {table: read_rows(folder, table) for table in tables}


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    if path.suffix == ".json":
        # Not splitlines, which also takes other characters for the end of a line.
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]
    with pq.ParquetFile(path) as file:
        rows: list[dict[str, Any]] = file.read().to_pylist()
        return rows


def _named_by_folders(path: Path) -> dict[str, str]:
    """The columns that names of folders tell, as Hive writes them."""
    pairs = (part.partition("=") for part in path.parts[:-1])
    return {name: unquote(value) for name, equals, value in pairs if equals}


def totals_of(result: Mapping[str, list[Row]]) -> dict[str, Any]:
    """What a summary must say of these tables."""
    statuses = Counter(row[4] for row in result["documents"])
    links = [dict(zip(COLUMNS["links"], row, strict=True)) for row in result.get("links", [])]
    return {
        "documents": len(result["documents"]),
        "bytes": sum(row[2] or 0 for row in result["documents"]),
        "deliveries": len(result["deliveries"]),
        "delivered": statuses["delivered"],
        "unwanted": statuses["unwanted"],
        "rejected": statuses["rejected"],
        "reasons": _ranked(Counter(row[2] for row in result["rejected"]))[:10],
        "busiest": _ranked(Counter(row[2] for row in result["deliveries"]))[:10],
        "links": sorted(links, key=lambda link: (link["sender"], link["receiver"])),
    }


def _ranked(counts: Counter[str]) -> list[list[Any]]:
    return [list(pair) for pair in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]


def require_summary(folder: Path) -> None:
    """The summary of a result says what its tables do."""
    told = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["totals"]
    assert told == totals_of(read_result(folder))


# --- documents and subscriptions ----------------------------------------------------------------


def frame_of(
    spark: SparkSession, documents: Mapping[str, bytes | None], partitions: int = 2
) -> DataFrame:
    """Documents by id as a frame of so many partitions."""
    rows = [
        (name, None if content is None else bytearray(content))
        for name, content in documents.items()
    ]
    return spark.createDataFrame(rows, "id string, content binary").repartition(partitions)


def brute_force(
    documents: Mapping[str, bytes], patterns: Mapping[str, Pattern]
) -> dict[str, set[str]]:
    """By document, the keys of what matches it as libxml2 sees it."""
    questions = {key: _question(pattern) for key, pattern in patterns.items()}
    found = {}
    for name, content in documents.items():
        tree = parse_tree(content)
        found[name] = {key for key, ask in questions.items() if ask(tree)}
    return found


def _question(pattern: Pattern) -> etree.XPath:
    expression, namespaces = pattern.to_xpath()
    return etree.XPath(f"boolean({expression})", namespaces=namespaces or None)


def expected_result(
    documents: Mapping[str, bytes],
    subscriptions: Iterable[Subscription],
    sources: Mapping[str, str] | None = None,
) -> dict[str, list[Row]]:
    """The tables of a job on good documents."""
    given = {each.key: each for each in subscriptions}
    found = brute_force(documents, {key: each.pattern for key, each in given.items()})
    deliveries = [
        (name, key, given[key].subscriber or key) for name, keys in found.items() for key in keys
    ]
    facts = [
        (
            name,
            (sources or {}).get(name, name),
            len(content),
            hashlib.sha256(content).hexdigest(),
            "delivered" if found[name] else "unwanted",
        )
        for name, content in documents.items()
    ]
    return {
        "deliveries": sorted(deliveries, key=repr),
        "documents": sorted(facts, key=repr),
        "rejected": [],
    }


# --- a live network -----------------------------------------------------------------------------


class _Crossings(Observer):
    def __init__(self) -> None:
        self.seen: list[Crossing] = []

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Document):
            self.seen.append(Crossing(envelope.sender, envelope.receiver))


def published(
    plan: NetworkPlan,
    documents: Mapping[str, bytes],
    producer_of: Mapping[str, str],
    scope: str = "",
) -> tuple[list[Row], list[Row]]:
    """Deliveries and links when each document is published, live, by a client of the plan.

    A crossing is in vain where no broker that the document reaches over it has a client for it.
    """
    crossings = _Crossings()
    network = Network.planned(plan, observer=crossings)
    deliveries: list[Row] = []
    traffic: dict[tuple[str, str], list[int]] = {}
    for link in plan.overlay.links:
        for pair in ((link.first, link.second), (link.second, link.first)):
            traffic[pair] = [0, 0, 0]
    for name, content in documents.items():
        crossings.seen.clear()
        for client in network.clients.values():
            client.deliveries.clear()
        network.publish(producer_of[name], content, scope=scope)
        network.settle()
        useful = set()
        for client in network.clients.values():
            for delivery in client.deliveries:
                useful.add(client.broker)
                deliveries += (
                    (name, key, client.name, client.broker) for key in delivery.subscriptions
                )
        for crossing in crossings.seen:
            counts = traffic[crossing.sender, crossing.receiver]
            counts[0] += 1
            counts[1] += len(content)
            counts[2] += not (_beyond(crossing, crossings.seen) & useful)
    links = [(*pair, *counts, _unit_of(*pair)) for pair, counts in traffic.items()]
    return sorted(deliveries, key=repr), sorted(links, key=repr)


def _unit_of(one: str, other: str) -> str:
    """What the names of two brokers have in common, but for the last part."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return "/".join(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _beyond(crossing: Crossing, seen: list[Crossing]) -> set[str]:
    """The brokers that a document reaches over a crossing."""
    reached = {crossing.receiver}
    waiting = [crossing]
    for one in waiting:
        for other in seen:
            if other.sender == one.receiver and other.receiver != one.sender:
                reached.add(other.receiver)
                waiting.append(other)
    return reached
