"""The destinations that want the documents of a batch: vectors of bits."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, overload

from twigcast.errors import DocumentError
from twigcast.matching._kernel import Answers
from twigcast.matching.batch_matches import BatchMatches


class BatchDestinations(Sequence[list[int]]):
    """The destinations that want the documents of a batch: for each document, their numbers.

    They are those of the moment when the document was matched.
    """

    __slots__ = ("_answers", "named")

    named: BatchMatches
    """The subscriptions without a destination that the documents match."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.named = BatchMatches(answers)

    @property
    def vectors(self) -> memoryview:
        """A row of 32-bit words for each document: bit b of word w is destination 32 × w + b.

        The rows are as long as the highest destination of the matcher needs.  ``numpy.asarray``
        makes an array of the shape (documents, words) of it without a copy.
        """
        return self._answers.vectors

    @property
    def looked_at(self) -> memoryview:
        """How many label paths, values and patterns were looked at for each document.

        What leads only to destinations that were already found is not among them.
        """
        return self._answers.looked_at

    @property
    def errors(self) -> Mapping[int, DocumentError]:
        """Why a document could not be matched, by its position in the batch.

        With an EvaluationBudgetError, only the destinations of its ``keys`` were not decided; the
        document's vector holds all others that want it.
        """
        return MappingProxyType(self._answers.errors)

    def __len__(self) -> int:
        return len(self._answers)

    @overload
    def __getitem__(self, index: int) -> list[int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...
    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        index = operator.index(index)
        document = index + len(self) if index < 0 else index
        if not 0 <= document < len(self):
            raise IndexError(f"there are {len(self)} documents in the batch")
        vectors = self._answers.vectors
        assert vectors.shape is not None
        words = range(vectors.shape[1])
        return [32 * word + bit for word in words for bit in _bits_of(vectors[document, word])]

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a BatchDestinations is no copy of its own; pass on list(batch)")

    def __repr__(self) -> str:
        return f"<BatchDestinations: {len(self):,} documents, {len(self.errors):,} of them bad>"


def _bits_of(word: int) -> list[int]:
    return [bit for bit in range(32) if word >> bit & 1]
