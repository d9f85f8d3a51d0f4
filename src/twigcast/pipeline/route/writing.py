"""Tables that workers write themselves, if the folder of the result is one that they see.

Handing verdicts to Spark costs as much as matching plain paths: names that are numbers in Arrow
become strings in rows.  So a task writes its part of each table as Parquet, straight from Arrow
with names as dictionaries.  The task gives Spark one row: the files that it wrote, and its totals.

    task 0 ──► _tries/deliveries/part-5f….parquet, _tries/documents/part-5f….parquet, … ──► one row
    task 1 ──► …

Spark keeps exactly one row for each part of the job, however often a part was tried.  The driver
moves the files that these rows name to the tables, and removes the files of other tries.  So the
result is right after retries, speculation and lost machines.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twigcast.pipeline.columns import arrow_schema, batch_of
from twigcast.pipeline.route.reading import BROKER, COLUMNS
from twigcast.pipeline.route.verdicts import Counts, Decide, Verdicts
from twigcast.pipeline.sources.documents import Batches

WRITTEN_SCHEMA: Final = "written string"
_ROWS_AT_ONCE: Final = 500_000
_FIRST_DOCUMENTS: Final = 100
_DOCUMENTS_AT_ONCE: Final = 50_000
_DICTIONARY_BYTES: Final = 16 * 2**20

_SCHEMAS: Final = {name: arrow_schema(columns) for name, columns in COLUMNS.items()}
_ROUTED: Final = _SCHEMAS | {"deliveries": arrow_schema(f"{COLUMNS['deliveries']}, {BROKER}")}
_NAMES: Final = pa.dictionary(pa.int32(), pa.string())


@dataclass
class Written:
    """What a task reports: its files, and the totals of its documents."""

    files: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    deliveries: int = 0
    links: dict[str, list[int]] = field(default_factory=dict)
    """By sender and receiver as JSON: documents, bytes, false positives."""

    def add(self, verdicts: Verdicts) -> None:
        """Add the verdicts on a batch to the totals."""
        self.statuses.update(_counted(verdicts.status))
        self.reasons.update(_counted(verdicts.facts.column("reason").drop_null()))
        self.bytes += pc.sum(verdicts.facts.column("size")).as_py() or 0
        self.deliveries += int(verdicts.offsets[-1] - verdicts.offsets[0])
        if verdicts.crossings is not None and verdicts.crossing_offsets is not None:
            self._add_crossings(verdicts.facts, verdicts.crossing_offsets, verdicts.crossings)

    def _add_crossings(
        self, facts: pa.RecordBatch, offsets: Counts, crossings: Mapping[str, pa.Array]
    ) -> None:
        sizes = np.repeat(pc.fill_null(facts.column("size"), 0).to_numpy(), np.diff(offsets))
        columns = (crossings[name].to_pylist() for name in ("sender", "receiver", "wasted"))
        for sender, receiver, wasted, size in zip(*columns, sizes.tolist(), strict=True):
            counts = self.links.setdefault(json.dumps([sender, receiver]), [0, 0, 0])
            counts[0] += 1
            counts[1] += size
            counts[2] += wasted

    def link(self, sender: str, receiver: str) -> tuple[int, int, int]:
        """Documents, bytes and false positives of a link."""
        documents, size, wasted = self.links.get(json.dumps([sender, receiver]), (0, 0, 0))
        return documents, size, wasted

    def merge(self, other: Written) -> None:
        self.files += other.files
        self.statuses += other.statuses
        self.reasons += other.reasons
        self.bytes += other.bytes
        self.deliveries += other.deliveries
        for link, more in other.links.items():
            counts = self.links.setdefault(link, [0, 0, 0])
            counts[:] = [one + another for one, another in zip(counts, more, strict=True)]

    def to_text(self) -> str:
        """The report as one text, for the row that goes to the driver."""
        return json.dumps(vars(self))

    @classmethod
    def of_text(cls, text: str) -> Written:
        fields: dict[str, Any] = json.loads(text)
        for name in ("statuses", "reasons"):
            fields[name] = Counter(fields[name])
        return cls(**fields)


def _counted(values: pa.Array) -> dict[str, int]:
    return {one["values"]: one["counts"] for one in pc.value_counts(values).to_pylist()}


@dataclass(frozen=True, slots=True)
class WriteTables:
    """The function for ``mapInArrow`` that decides on documents and writes the tables."""

    decide: Decide
    folder: str
    routed: bool = False

    def __call__(self, batches: Batches) -> Batches:
        written = Written()
        tables = _Tables(Path(self.folder), _ROUTED if self.routed else _SCHEMAS)
        try:
            for piece in _pieces(batches, written):
                verdicts = self.decide(piece)
                written.add(verdicts)
                tables.add(verdicts)
            tables.write_deliveries()
        finally:
            tables.close()
        written.files = tables.files
        yield pa.RecordBatch.from_pydict({"written": [written.to_text()]})


def _pieces(batches: Batches, written: Written) -> Batches:
    """Batches cut so that each has about as many deliveries as are written at once."""
    for batch in batches:
        begin = 0
        while begin < len(batch):
            # Estimated from the mean number of deliveries of the documents before.
            documents = written.statuses.total()
            most = len(batch)
            if written.deliveries:
                most = max(1, _ROWS_AT_ONCE * documents // written.deliveries)
            elif not documents:
                most = _FIRST_DOCUMENTS
            yield batch.slice(begin, most)
            begin += most


class _Tables:
    """The files of one task, each made when its first row comes."""

    def __init__(self, folder: Path, schemas: Mapping[str, pa.Schema]) -> None:
        self._folder = folder
        self._schemas = schemas
        self._name = f"part-{secrets.token_hex(8)}.parquet"
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: list[_Waiting] = []
        self._rows = self._documents = 0

    @property
    def files(self) -> list[str]:
        return [f"{table}/{self._name}" for table in self._writers]

    def add(self, verdicts: Verdicts) -> None:
        facts = verdicts.facts
        columns = {name: facts.column(name) for name in ("id", "source", "size", "hash")}
        self._write("documents", pa.table(columns | {"status": verdicts.status}))
        is_bad = pc.is_valid(facts.column("reason"))
        if pc.any(is_bad).as_py():
            bad = facts.filter(is_bad).rename_columns({"id": "document"})
            self._write("rejected", pa.table(bad.select(self._schemas["rejected"].names)))
        # A copy: the ids of a batch from Spark would keep the whole batch in memory.
        ids = facts.column("id").take(pa.array(np.arange(len(verdicts))))
        self._waiting.append(_Waiting(ids, np.diff(verdicts.offsets), verdicts.deliveries))
        self._rows += int(verdicts.offsets[-1] - verdicts.offsets[0])
        self._documents += len(verdicts)
        if self._rows >= _ROWS_AT_ONCE or self._documents >= _DOCUMENTS_AT_ONCE:
            self.write_deliveries()

    def write_deliveries(self) -> None:
        """The deliveries of several batches, as a row group of their own with its dictionaries."""
        if self._rows:
            columns = {"document": _documents_of(self._waiting)}
            for name in self._schemas["deliveries"].names[1:]:
                columns[name] = _joined([one.deliveries[name] for one in self._waiting])
            self._write("deliveries", pa.table(columns), row_group=self._rows)
        self._waiting.clear()
        self._rows = self._documents = 0

    def _write(self, table: str, rows: pa.Table, row_group: int | None = None) -> None:
        writer = self._writers.get(table)
        if writer is None:
            # Only the driver makes the folder itself: a task may outlive a job that failed.
            (self._folder / table).mkdir(exist_ok=True)
            schema, named = self._schemas[table], ["status", "reason"]
            if table == "deliveries":
                schema, named = pa.schema([(name, _NAMES) for name in schema.names]), schema.names
            writer = self._writers[table] = pq.ParquetWriter(
                str(self._folder / table / self._name),
                schema,
                use_dictionary=[name for name in named if name in schema.names],
                dictionary_pagesize_limit=_DICTIONARY_BYTES,
                # Statistics of the other columns would take longer than writing them.
                write_statistics=[schema.names[0]],
                store_schema=False,
            )
        if row_group is None:
            for batch in rows.cast(self._schemas[table]).to_batches():
                writer.write_batch(batch)
        else:
            writer.write_table(rows, row_group_size=row_group)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


class _Waiting(NamedTuple):
    """Deliveries that are still to be written."""

    ids: pa.Array
    counts: Counts
    deliveries: Mapping[str, pa.Array]


def _documents_of(parts: list[_Waiting]) -> pa.DictionaryArray:
    """The id of the document of each delivery."""
    ids = pa.concat_arrays([part.ids for part in parts]).cast(pa.string())
    counts = np.concatenate([part.counts for part in parts])
    numbers = np.repeat(np.arange(len(ids), dtype=np.int32), counts)
    return _compact(pa.array(numbers), ids)


def _joined(parts: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Dictionary arrays in one; those of an index have one dictionary."""
    first = parts[0].dictionary
    if any(part.dictionary is not first and not part.dictionary.equals(first) for part in parts):
        whole = pa.chunked_array(parts).unify_dictionaries().combine_chunks()
        return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return _compact(pa.concat_arrays([part.indices for part in parts]), first)


def _compact(numbers: pa.Array, names: pa.Array) -> pa.DictionaryArray:
    """A dictionary array whose dictionary is not much larger than it has to be."""
    if len(names) <= len(numbers) // 2:
        return pa.DictionaryArray.from_arrays(numbers, names)
    used = numbers.dictionary_encode()
    return pa.DictionaryArray.from_arrays(used.indices, names.take(used.dictionary))


def write_empty(folder: Path, table: str, *, routed: bool) -> None:
    """Write a table without rows, so that readers see its columns."""
    empty = (_ROUTED if routed else _SCHEMAS)[table].empty_table()
    folder.mkdir(exist_ok=True)
    pq.write_table(empty, str(folder / "part-none.parquet"), store_schema=False)


def write_links(folder: Path, rows: list[tuple[Any, ...]]) -> None:
    """Write the table of the links, in one file."""
    folder.mkdir()
    table = pa.Table.from_batches([batch_of(rows, _SCHEMAS["links"])])
    pq.write_table(table, str(folder / "part-0.parquet"), store_schema=False)


def busiest_subscribers(files: Iterable[Path], most: int) -> list[tuple[str, int]]:
    """The subscribers with the most deliveries, counted from files of deliveries."""
    counts = []
    for path in files:
        with pq.ParquetFile(str(path), read_dictionary=["subscriber"]) as file:
            for number in range(file.num_row_groups):
                column = file.read_row_group(number, columns=["subscriber"]).column(0)
                for chunk in column.chunks:
                    counted = pc.value_counts(chunk.indices)
                    names = chunk.dictionary.take(counted.field("values"))
                    counts.append(pa.table({"name": names, "count": counted.field("counts")}))
    if not counts:
        return []
    summed = pa.concat_tables(counts).group_by("name").aggregate([("count", "sum")])
    order = [("count_sum", "descending"), ("name", "ascending")]
    top = summed.take(pc.select_k_unstable(summed, most, order))
    return list(
        zip(top.column("name").to_pylist(), top.column("count_sum").to_pylist(), strict=True)
    )
