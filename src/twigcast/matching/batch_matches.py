"""The answers to a batch of documents: numbers first, keys for whoever asks."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, overload

from twigcast.errors import DocumentError, EvaluationBudgetError
from twigcast.matching._kernel import Answers


class BatchMatches(Sequence[list[str]]):
    """The answers to a batch of documents: for each, the keys of the subscriptions it matches.

    Keys are looked up when asked for, and are those of the moment when the document was matched,
    whatever has changed since.  For programs that go on with numbers, the arrays of the kernel can
    be looked at where they are.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    @property
    def errors(self) -> Mapping[int, DocumentError]:
        """Why a document could not be matched, by its position in the batch.

        With an EvaluationBudgetError, only some subscriptions were not decided; the document's
        answer holds all others that it matches.
        """
        return MappingProxyType(self._answers.errors)

    @property
    def pattern_offsets(self) -> memoryview:
        """Where each document's part of ``pattern_ids`` begins, and the end of the last."""
        return self._answers.pattern_offsets

    @property
    def pattern_ids(self) -> memoryview:
        """Numbers of distinct patterns, each once a document."""
        return self._answers.pattern_ids

    @property
    def offsets(self) -> memoryview:
        """Where each document's part of ``ids`` begins, and the end of the last."""
        return self._answers.offsets

    @property
    def ids(self) -> memoryview:
        """Numbers of subscriptions; :meth:`key` says whose."""
        return self._answers.ids

    @property
    def generation(self) -> int:
        """Which index the numbers are of: in it, a number means one subscription."""
        return self._answers.generation

    def numbers(self, document: int) -> list[int]:
        """The part of ``ids`` that is a document's."""
        document = self._position(document)
        offsets = self._answers.offsets
        return self._answers.ids[offsets[document] : offsets[document + 1]].tolist()

    def key(self, number: int) -> str:
        """The key of a subscription that is among ``ids``."""
        return self._answers.key(number)

    def to_arrow(self) -> Any:
        """The keys as an Arrow array of lists; null for a document that could not be read.

        Each key is a number in a dictionary of all keys, which lies where the matcher has it and
        costs nothing; once a key was removed and added again, the dictionary is made anew, of the
        keys in the answer, at some 100 ns for each of them.  Its type is
        ``large_list<dictionary<int32, large_string>>``; to send it elsewhere without the other
        keys, ``cast`` it to lists of strings.
        """
        import pyarrow

        def array(kind: Any, numbers: memoryview) -> Any:
            buffers = [None, pyarrow.py_buffer(numbers)]
            return pyarrow.Array.from_buffers(kind, len(numbers), buffers)

        texts, ends = map(pyarrow.py_buffer, self._answers.all_keys())
        all_keys = pyarrow.LargeStringArray.from_buffers(ends.size // 8 - 1, ends, texts)
        numbers = array(pyarrow.int32(), self.ids)
        if self._answers.has_repeated_keys():
            used = numbers.dictionary_encode()
            named = all_keys.take(used.dictionary).dictionary_encode()
            numbers, all_keys = named.indices.take(used.indices), named.dictionary
        keys = pyarrow.DictionaryArray.from_arrays(numbers, all_keys, safe=False)
        unread = {
            number
            for number, error in self.errors.items()
            if not isinstance(error, EvaluationBudgetError)
        }
        is_unread = [number in unread for number in range(len(self))] if unread else None
        mask = None if is_unread is None else pyarrow.array(is_unread, pyarrow.bool_())
        offsets = array(pyarrow.int64(), self.offsets)
        return pyarrow.LargeListArray.from_arrays(offsets, keys, mask=mask)

    def __len__(self) -> int:
        return len(self._answers)

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...
    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self._answers.keys(number) for number in range(*index.indices(len(self)))]
        return self._answers.keys(self._position(index))

    def _position(self, index: int) -> int:
        """The position of a document; a negative index counts from the end."""
        index = operator.index(index)
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} documents in the batch")
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a BatchMatches belongs to its matcher; pass on list(batch) or to_arrow()")

    def __repr__(self) -> str:
        return f"<BatchMatches: {len(self):,} documents, {len(self.errors):,} of them bad>"
