"""Many subscriptions against documents, all at once."""

from __future__ import annotations

import errno
import mmap
import operator
import os
import secrets
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Source
from twigcast.errors import (
    DocumentError,
    DuplicateKeyError,
    MatcherFileError,
    UnknownKeyError,
)
from twigcast.language import Pattern, as_pattern, linear_normal_form, restore_pattern
from twigcast.matching._kernel import Answers, CompiledPattern, Documents, MatchEngine
from twigcast.matching.batches import prepare_batch
from twigcast.matching.plan import make_units
from twigcast.matching.program import encode, make_program

DEFAULT_CACHE_BYTES = 256 * 2**20
_MOST_CACHE_BYTES = 2**32 - 1


@dataclass(frozen=True, slots=True)
class MatcherStats:
    """How large a matcher is."""

    subscriptions: int
    patterns: int
    """Distinct ones: what is evaluated, however many subscribers each has."""
    states: int
    """Steps of all patterns, equal beginnings counted once."""
    bytes: int
    """Of the subscriptions and their index, without the caches of threads."""
    cached_paths: int
    """Label paths of documents that the threads' caches know."""
    cached_bytes: int


class Matcher:
    """A set of subscriptions under keys, and the documents that match them.

    >>> matcher = Matcher()
    >>> matcher.add("alice", "//Stock[Price > 15]")
    >>> matcher.add("bob", "/Stock/Symbol")
    >>> sorted(matcher.match("<Stock><Symbol>GHI</Symbol><Price>17</Price></Stock>"))
    ['alice', 'bob']

    Any number of threads may use it at once; matching runs without the interpreter lock.  A
    document meets the subscriptions as they are before or after an update, never in between.

    ``limits`` bound what a document may be.  ``cache_bytes`` bounds what each thread that matches
    remembers of the paths that it met in documents; with 0 nothing is kept between documents.
    """

    __slots__ = ("__weakref__", "_cache_bytes", "_engine", "_limits")

    _engine: MatchEngine
    _limits: DocumentLimits
    _cache_bytes: int

    def __init__(
        self,
        *,
        limits: DocumentLimits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self._start(limits, cache_bytes)

    def _start(
        self,
        limits: DocumentLimits | None,
        cache_bytes: int,
        mapping: mmap.mmap | bytes | None = None,
    ) -> None:
        if operator.index(cache_bytes) < 0:
            raise ValueError(f"cache_bytes must not be negative: {cache_bytes}")
        self._limits = limits or DEFAULT_LIMITS
        self._cache_bytes = cache_bytes
        self._engine = MatchEngine(min(cache_bytes, _MOST_CACHE_BYTES), mapping)
        _engines.add(self._engine)

    # --- subscriptions --------------------------------------------------------------------------

    def add(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        """Add a subscription under a key of its own.

        Raises :class:`~twigcast.errors.DuplicateKeyError` if the key is taken, and
        :class:`~twigcast.errors.SubscriptionError` for an expression outside the language.
        """
        key_bytes = _key_bytes(key)
        pattern = as_pattern(subscription, namespaces)
        path = linear_normal_form(str(pattern))
        if path is not None:
            outcome: str = self._engine.add_path(key_bytes, encode(path))
        else:
            outcome = self._add_pattern(key_bytes, pattern)
        if outcome == "duplicate key":
            raise DuplicateKeyError(key)
        assert outcome == "done", outcome

    def _add_pattern(self, key: bytes, pattern: Pattern) -> str:
        text = encode(str(pattern))
        outcome = self._engine.add_known(key, text)
        if outcome != "unknown pattern":
            return outcome
        units = make_units(pattern)
        if len(units) == 1 and units[0].is_path:
            return self._engine.add_path(key, units[0].branches[0].path)
        program = CompiledPattern(make_program(pattern))
        return self._engine.add_compound(key, text, program, units)

    def remove(self, key: str) -> None:
        """End a subscription; raises :class:`~twigcast.errors.UnknownKeyError` if there is none."""
        if self._engine.remove(_key_bytes(key)) != "done":
            raise UnknownKeyError(key)

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._engine)

    def __iter__(self) -> Iterator[str]:
        """The keys, as they are at the start."""
        return iter(self._engine.keys())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _key_bytes(key) in self._engine

    def __getitem__(self, key: str) -> Pattern:
        """The pattern of a subscription."""
        text = self._engine.text(_key_bytes(key))
        if text is None:
            raise UnknownKeyError(key)
        return restore_pattern(text)

    # --- documents ------------------------------------------------------------------------------

    def match(self, document: Source) -> list[str]:
        """The keys of the subscriptions that the document matches, in no order.

        Raises :class:`~twigcast.errors.DocumentError` for a document that is not well-formed or
        exceeds a limit.
        """
        documents = Documents(self._limits)
        documents.add(document)
        answers = self._engine.match(documents)
        if answers.errors:
            raise answers.errors[0]
        return answers.keys(0)

    def match_batch(self, documents: Any) -> BatchMatches:
        """Match many documents in one go, without the interpreter lock.

        ``documents`` are bytes or text in any sequence, or an Arrow array of binaries or strings
        (chunked or not), which is read where it lies.  A bad document gets an entry in the
        result's ``errors`` and does no harm to the others.
        """
        return BatchMatches(self._engine.match(prepare_batch(documents, self._limits)))

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all subscriptions, compiled, to a file that :meth:`load` maps into memory.

        The file appears whole or not at all; one that is there is replaced, also if it is in use.
        """
        target = Path(path).resolve()
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
        name = target.parent / f".twigcast-{secrets.token_hex(8)}"
        try:
            with os.fdopen(
                os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb"
            ) as file:
                self._engine.write(file.write)
                file.flush()
                os.fsync(file.fileno())
            name.replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                name.unlink()
            raise

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        limits: DocumentLimits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> Matcher:
        """The matcher in a file written by :meth:`save`.

        The file is mapped, not copied: processes that load the same file share its memory.  It may
        be updated like any other; that copies what it changes.  Raises
        :class:`~twigcast.errors.MatcherFileError` for a file that is damaged, cut off, or of
        another version.
        """
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise MatcherFileError("it is empty", str(path))
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        matcher = cls.__new__(cls)
        try:
            matcher._start(limits, cache_bytes, mapping)
        except ValueError as error:
            raise MatcherFileError(str(error), str(path)) from None
        return matcher

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, also one in another process, has subscriptions of its own."""
        pieces: list[bytes] = []
        self._engine.write(lambda piece: pieces.append(bytes(piece)))
        return _restored, (b"".join(pieces), self._limits, self._cache_bytes)

    # --- reports --------------------------------------------------------------------------------

    def stats(self) -> MatcherStats:
        """How large the matcher is at the moment."""
        return MatcherStats(*self._engine.statistics())

    def __repr__(self) -> str:
        stats = self.stats()
        ending = "" if stats.subscriptions == 1 else "s"
        return (
            f"<Matcher: {stats.subscriptions:,} subscription{ending}, {stats.patterns:,} distinct>"
        )


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
        """Why a document could not be matched, by its position in the batch."""
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
        """Numbers of subscriptions; :meth:`key` tells whose."""
        return self._answers.ids

    def key(self, number: int) -> str:
        """The key of a subscription that is among ``ids``."""
        return self._answers.key(number)

    def to_arrow(self) -> Any:
        """The keys as an Arrow array of lists; null for a document that could not be matched."""
        import pyarrow

        data, starts = (pyarrow.py_buffer(part) for part in self._answers.all_keys())
        keys = pyarrow.LargeStringArray.from_buffers(len(self.ids), starts, data)
        offsets = pyarrow.array(self.offsets, pyarrow.int32())
        bad = pyarrow.array([number in self.errors for number in range(len(self))], pyarrow.bool_())
        return pyarrow.ListArray.from_arrays(offsets, keys.cast(pyarrow.string()), mask=bad)

    def __len__(self) -> int:
        return len(self._answers)

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...
    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self._answers.keys(number) for number in range(*index.indices(len(self)))]
        index = operator.index(index)
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} documents in the batch")
        return self._answers.keys(number)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a BatchMatches belongs to its matcher; pass on list(batch) or to_arrow()")

    def __repr__(self) -> str:
        return f"<BatchMatches: {len(self):,} documents, {len(self.errors):,} of them bad>"


_engines: weakref.WeakSet[MatchEngine] = weakref.WeakSet()
_paused: list[MatchEngine] = []


def _pause_all() -> None:
    """A child process must not inherit a lock that one of its parent's threads held."""
    for engine in list(_engines):
        engine.pause()
        _paused.append(engine)


def _resume_all(is_child: bool) -> None:
    while _paused:
        _paused.pop().resume(is_child)


os.register_at_fork(
    before=_pause_all,
    after_in_parent=lambda: _resume_all(False),
    after_in_child=lambda: _resume_all(True),
)


def _restored(data: bytes, limits: DocumentLimits, cache_bytes: int) -> Matcher:
    matcher = Matcher.__new__(Matcher)
    matcher._start(limits, cache_bytes, data)
    return matcher


def _key_bytes(key: str) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {type(key).__name__}")
    return encode(key)
