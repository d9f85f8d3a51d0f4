"""Documents and the path publications that Li, Hou and Jacobsen route instead of them.

A publication is written as a document of its own, with the one path that it is, so that tables and
networks take it like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from lab.published.path_routing import path_documents
from twigcast.schema import Schema
from twigcast.workload import DocumentParameters, generate_documents


@dataclass(frozen=True, slots=True)
class Publications:
    """Documents, and the paths of each as documents of their own."""

    documents: Sequence[bytes]
    by_document: Sequence[Sequence[bytes]]

    @property
    def paths(self) -> list[bytes]:
        """The publications of all documents, in their order."""
        return [path for paths in self.by_document for path in paths]

    @property
    def mean(self) -> float:
        """The publications of a document."""
        return sum(map(len, self.by_document)) / len(self.documents)

    @property
    def mean_size(self) -> float:
        """The bytes of a document."""
        return sum(map(len, self.documents)) / len(self.documents)


def generate_publications(
    schema: Schema, count: int, *, seed: int, size: int | None = None, distinct: bool = True
) -> Publications:
    """So many documents of some size; ``distinct``, each path of a document is published once."""
    parameters = DocumentParameters(size=size)
    documents = list(islice(generate_documents(schema, parameters, seed=seed), count))
    return Publications(
        documents,
        [list(path_documents(document, distinct=distinct)) for document in documents],
    )
