"""Workloads made in parallel: documents and expressions, drawn by workers from a schema.

    numbers, cut into parts ──Arrow──► worker: a plan, made once ──► one thing for each number

Plans (:mod:`twigcast.workload`) give the thing with a number without those before it, so what is
drawn depends on schema, parameters and seed alone, not on how the numbers were cut.

:func:`draw_documents` takes each document from the schema.  :func:`vary_documents` is for archives,
where many documents have few shapes: it draws *templates*, and from each of them variants that
differ in what their elements say::

    <p class="x">festival mirror</p>   ──►   <p class="x">arch arena</p>   ──►   …

The other text of an element is one that elements of its name have in other templates; tags and
attributes stay, so a template and its variants have one shape.  Each ends with a comment that names
it: none is equal to another, however little a template has to say.

Cost: half a millisecond for a document of 2,000 characters, some ten microseconds for a variant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    DocumentPlan,
    PathParameters,
    SubscriptionPlan,
    TreeParameters,
)

Batches: TypeAlias = Iterator[pa.RecordBatch]

DOCUMENTS: Final = "id string, content binary"
EXPRESSIONS: Final = "key string, xpath string"

_DOCUMENT_FIELDS: Final = pa.schema([("id", pa.string()), ("content", pa.binary())])
_EXPRESSION_FIELDS: Final = pa.schema([("key", pa.string()), ("xpath", pa.string())])
_AT_ONCE: Final = 1_000
_POOLED: Final = 300
"""Templates whose texts the variants draw from."""
_BEGINNING: Final = re.compile(rb"(<([^\s<>/!?]+)(?:\s[^<>]*[^<>/])?>)([^<]+)")
"""A start tag, and the text behind it; generated documents write ``<`` and ``>`` as references."""


def draw_documents(
    spark: SparkSession,
    schema: Schema,
    parameters: Sequence[DocumentParameters],
    count: int,
    *,
    seed: int,
    parts: int,
) -> DataFrame:
    """So many documents with an id, the parameters taking turns."""
    numbers = spark.range(0, count, 1, parts)
    return numbers.mapInArrow(DrawDocuments(schema, tuple(parameters), seed), DOCUMENTS)


@dataclass(frozen=True, slots=True)
class DrawDocuments:
    """From numbers to documents."""

    schema: Schema
    parameters: tuple[DocumentParameters, ...]
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        plans = [DocumentPlan(self.schema, each, seed=self.seed) for each in self.parameters]

        def rows() -> Iterator[tuple[str, bytes]]:
            for number in _numbers(batches):
                yield f"d{number}", _taken(plans, number)

        return _batches(rows(), _DOCUMENT_FIELDS)


def vary_documents(
    spark: SparkSession,
    schemas: Sequence[Schema],
    parameters: DocumentParameters,
    *,
    templates: int,
    variants: int,
    seed: int,
    parts: int,
) -> DataFrame:
    """So many variants of each of so many templates, the schemas taking turns."""
    vary = VaryDocuments(tuple(schemas), parameters, variants, seed)
    return spark.range(0, templates, 1, parts).mapInArrow(vary, DOCUMENTS)


@dataclass(frozen=True, slots=True)
class VaryDocuments:
    """From numbers of templates to their variants, the first of which is the template itself."""

    schemas: tuple[Schema, ...]
    parameters: DocumentParameters
    variants: int
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        plans = self._plans()
        pools = _texts(_taken(plans, number) for number in range(_POOLED))

        def rows() -> Iterator[tuple[str, bytes]]:
            for number in _numbers(batches):
                template, draw = _taken(plans, number), Random(f"{self.seed}, {number}")
                for variant, content in enumerate(self._varied(template, pools, draw)):
                    name = f"t{number}-{variant}"
                    yield name, b"%b<!-- %b -->" % (content, name.encode())

        return _batches(rows(), _DOCUMENT_FIELDS)

    def templates(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """The templates with these numbers."""
        plans = self._plans()
        return (_taken(plans, number) for number in numbers)

    def _plans(self) -> list[DocumentPlan]:
        return [DocumentPlan(each, self.parameters, seed=self.seed) for each in self.schemas]

    def _varied(
        self, template: bytes, pools: dict[bytes, list[bytes]], draw: Random
    ) -> Iterator[bytes]:
        pieces: list[bytes] = []
        gaps: list[tuple[int, list[bytes]]] = []
        end = 0
        for match in _BEGINNING.finditer(template):
            pool = pools.get(match[2])
            if pool is not None:
                pieces += (template[end : match.start(3)], match[3])
                gaps.append((len(pieces) - 1, pool))
                end = match.end(3)
        pieces.append(template[end:])
        yield template
        for _ in range(self.variants - 1):
            for index, pool in gaps:
                pieces[index] = pool[int(draw.random() * len(pool))]
            yield b"".join(pieces)


def _taken(plans: Sequence[DocumentPlan], number: int) -> bytes:
    """The document with that number, the plans taking turns."""
    return plans[number % len(plans)].document(number // len(plans))


def _texts(documents: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """The texts at the beginning of elements, by name; as often as they were met."""
    pools: dict[bytes, list[bytes]] = {}
    for document in documents:
        for match in _BEGINNING.finditer(document):
            pools.setdefault(match[2], []).append(match[3])
    return pools


def draw_expressions(
    spark: SparkSession,
    schema: Schema,
    parameters: Sequence[PathParameters | TreeParameters],
    count: int,
    *,
    seed: int,
    parts: int,
) -> DataFrame:
    """So many expressions under keys of their own, the parameters taking turns.

    Some are equal: distinctness needs to see all of them.
    """
    numbers = spark.range(0, count, 1, parts)
    return numbers.mapInArrow(DrawExpressions(schema, tuple(parameters), seed), EXPRESSIONS)


@dataclass(frozen=True, slots=True)
class DrawExpressions:
    """From numbers to expressions."""

    schema: Schema
    parameters: tuple[PathParameters | TreeParameters, ...]
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        plans = [SubscriptionPlan(self.schema, each, seed=self.seed) for each in self.parameters]

        def rows() -> Iterator[tuple[str, str]]:
            for number in _numbers(batches):
                plan = plans[number % len(plans)]
                yield f"s{number}", str(plan.pattern(number // len(plans)))

        return _batches(rows(), _EXPRESSION_FIELDS)


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _batches(rows: Iterator[tuple[str, bytes | str]], fields: pa.Schema) -> Batches:
    while some := list(islice(rows, _AT_ONCE)):
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(zip(*some, strict=True), fields, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=fields)
