"""Many subscriptions against documents, all at once."""

from __future__ import annotations

import errno
import mmap
import operator
import os
import secrets
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, Final, Unpack

from twigcast.documents import DEFAULT_LIMITS, DocumentLimits, Source
from twigcast.errors import (
    DuplicateKeyError,
    MatcherFileError,
    SubscriptionError,
    UnknownKeyError,
)
from twigcast.keywords import exact_keywords, refuse_unknown
from twigcast.language import (
    NO_BINDINGS,
    BindingKeywords,
    Bindings,
    Notices,
    Pattern,
    RelativeTo,
    Variables,
    Version,
    as_pattern,
    read_bound,
    restore_pattern,
)
from twigcast.matching._kernel import (
    ANY_KEY,
    FREE_KEY,
    TAKEN_KEY,
    CompiledPattern,
    Documents,
    MatchEngine,
    normal_form,
)
from twigcast.matching.batch_destinations import BatchDestinations
from twigcast.matching.batch_matches import BatchMatches
from twigcast.matching.batches import ReaderName, prepare_batch
from twigcast.matching.explain import explain
from twigcast.matching.explanation import Explanation
from twigcast.matching.expression_program import encode
from twigcast.matching.forks import pause_at_forks
from twigcast.matching.keys import destination_number, key_bytes, new_key
from twigcast.matching.learning import learn_known_paths
from twigcast.matching.plan import make_units
from twigcast.matching.program import make_program
from twigcast.matching.subscription_pairs import Subscriptions, pairs_of
from twigcast.matching.views import Items, Values

DEFAULT_CACHE_BYTES = 256 * 2**20
_MOST_CACHE_BYTES = 2**32 - 1
_MOST_SHOWN: Final = 10


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


@exact_keywords
class Matcher(Mapping[str, Pattern]):
    """A mapping from keys to subscriptions, and the documents that match them.

    >>> matcher = Matcher({"alice": "//Stock[Price > 15]"})
    >>> matcher.add("bob", "/Stock/Symbol")
    >>> sorted(matcher.match("<Stock><Symbol>GHI</Symbol><Price>17</Price></Stock>"))
    ['alice', 'bob']
    >>> matcher["alice"]
    twigcast.parse('//Stock[Price>15]')

    Any number of threads may use it at once; matching runs without the interpreter lock.  A
    document meets the subscriptions as they are before or after :meth:`add`, :meth:`replace` or
    :meth:`remove`, never in between.

    ``subscriptions`` are added at once, as by :meth:`update`.  ``namespaces``, ``variables``,
    ``relative_to`` and ``version`` hold for all expressions that are given to this matcher, as for
    :func:`twigcast.parse`.  ``limits`` bound what a document may be.
    ``cache_bytes`` bounds what each thread that matches remembers of the paths that it met in
    documents; with 0 nothing is kept between documents.  ``reader`` is "checked", Twigcast's own
    reader, which starts again with expat where it is not sure of a document, or "expat", which
    reads all documents with expat; the answers are the same.
    """

    __slots__ = ("__weakref__", "_bindings", "_cache_bytes", "_engine", "_limits", "_reader")

    _engine: MatchEngine
    _limits: DocumentLimits
    _cache_bytes: int
    _reader: ReaderName
    _bindings: Bindings

    def __init__(
        self,
        subscriptions: Subscriptions = (),
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        limits: DocumentLimits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        reader: ReaderName = "checked",
    ) -> None:
        bindings = Bindings(dict(namespaces or {}), dict(variables or {}), relative_to, version)
        self._start(limits, cache_bytes, reader, bindings)
        if subscriptions:
            self.update(subscriptions)

    def _start(
        self,
        limits: DocumentLimits | None,
        cache_bytes: int,
        reader: ReaderName,
        bindings: Bindings,
        mapping: mmap.mmap | bytes | None = None,
        path: str = "",
    ) -> None:
        if operator.index(cache_bytes) < 0:
            raise ValueError(f"cache_bytes must not be negative: {cache_bytes}")
        _ = bindings.scope  # checks them
        self._bindings = bindings if bindings else NO_BINDINGS
        self._limits = DEFAULT_LIMITS if limits is None else limits
        Documents(self._limits, reader)  # checks it
        self._reader = reader
        self._cache_bytes = cache_bytes
        try:
            self._engine = MatchEngine(min(cache_bytes, _MOST_CACHE_BYTES), mapping)
        except ValueError as error:
            raise MatcherFileError(str(error), path) from None
        pause_at_forks(self._engine)
        if mapping is not None:
            learn_known_paths(self._engine)

    # --- subscriptions --------------------------------------------------------------------------

    def add(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        *,
        destination: int | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Add a subscription under a key of its own.

        ``namespaces`` and ``variables`` are bindings for this expression, beside those of the
        matcher; ``relative_to`` and ``version`` replace the matcher's.  ``destination`` is the
        number that :meth:`match_destinations` gives for it.  Raises
        :class:`~twigcast.errors.DuplicateKeyError` if the key is taken, and
        :class:`~twigcast.errors.SubscriptionError` for an expression outside the language.
        """
        number = destination_number(destination)
        read = self._read(subscription, namespaces, **bindings)
        if not self._put(new_key(key), read, number, FREE_KEY):
            raise DuplicateKeyError(key)

    def _pattern(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> Pattern:
        """The pattern of an expression, read with the bindings of the matcher too."""
        if self._bindings is NO_BINDINGS or isinstance(subscription, Pattern):
            return as_pattern(subscription, namespaces, **bindings)
        refuse_unknown(bindings, BindingKeywords.__annotations__, "a subscription")
        bound = self._bindings.beside(namespaces, **bindings)
        reading = read_bound(subscription, bound)
        notices = Notices()
        notices.bind(Bindings(namespaces or {}, bindings.get("variables") or {}))
        notices.add(reading, bound)
        notices.issue()
        return reading.pattern

    def _read(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> bytes | Pattern:
        """The pattern of an expression; of most only the normal form, which the kernel knows."""
        if self._bindings is NO_BINDINGS and namespaces is None and not bindings:
            form = normal_form(subscription) if isinstance(subscription, str) else None
            if form is not None:
                return form
        return self._pattern(subscription, namespaces, **bindings)

    def _put(self, key: bytes, subscription: bytes | Pattern, destination: int, rule: int) -> bool:
        """Give a key a pattern, or one in normal form; False if the rule refuses the key."""
        text = subscription if isinstance(subscription, bytes) else encode(str(subscription))
        is_path = text is subscription and b"[" not in text
        add = self._engine.add_path if is_path else self._engine.add_text
        update: str = add(key, text, destination, rule)
        if update == "unknown pattern":
            known = subscription if isinstance(subscription, Pattern) else None
            pattern = known or restore_pattern(text.decode())
            update = self._plan(key, text, pattern, destination, rule)
        assert update in ("done", "duplicate key", "unknown key"), update
        return update == "done"

    def _plan(self, key: bytes, text: bytes, pattern: Pattern, destination: int, rule: int) -> str:
        """Add a pattern that the kernel cannot read by itself."""
        units = make_units(pattern)
        if len(units) == 1 and units[0].is_path:
            return self._engine.add_path(key, units[0].branches[0].path, destination, rule)
        program = CompiledPattern(make_program(pattern))
        return self._engine.add_compound(key, text, program, units, destination, rule)

    def remove(self, key: str) -> None:
        """End a subscription; raises :class:`~twigcast.errors.UnknownKeyError` if there is none."""
        if self._engine.remove(key_bytes(key)) != "done":
            raise UnknownKeyError(key)

    def discard(self, key: str) -> None:
        """End a subscription if there is one under the key."""
        self._engine.remove(key_bytes(key))

    def replace(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        *,
        destination: int | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Give a key another subscription and destination; UnknownKeyError if it has none.

        A document meets either the one or the other.
        """
        number = destination_number(destination)
        read = self._read(subscription, namespaces, **bindings)
        if not self._put(key_bytes(key), read, number, TAKEN_KEY):
            raise UnknownKeyError(key)

    def update(self, subscriptions: Subscriptions, *, destination: int | None = None) -> None:
        """Add many subscriptions of one destination, or replace those whose keys are taken.

        All are read before the first is added, so that an error changes nothing.  A document may
        come between two of them.  The first time, a binding of the matcher that no expression uses
        is reported as a warning.
        """
        number = destination_number(destination)
        read: dict[bytes, bytes | Pattern] = {}  # what the kernel reads itself is a normal form
        bindings = self._bindings
        notices = Notices()
        if not len(self):
            notices.bind(bindings)
        for key, subscription in pairs_of(subscriptions):
            name = new_key(key)
            if isinstance(subscription, str) and bindings is NO_BINDINGS:
                form = normal_form(subscription)
                if form is not None:
                    read[name] = form
                    continue
            if not isinstance(subscription, Pattern):
                try:
                    reading = read_bound(subscription, bindings)
                except SubscriptionError as error:
                    reason = f"{key}: {error.reason}"
                    raise SubscriptionError(reason, error.text, error.position) from None
                notices.add(reading, bindings, key)
                subscription = reading.pattern
            read[name] = subscription
        notices.issue()
        for name, one in read.items():
            self._put(name, one, number, ANY_KEY)

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._engine)

    def __iter__(self) -> Iterator[str]:
        """The keys, as they are at the start."""
        return iter(self._engine.keys())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key_bytes(key) in self._engine

    def __getitem__(self, key: str) -> Pattern:
        """The pattern of a subscription."""
        text = self._engine.text(key_bytes(key))
        if text is None:
            raise UnknownKeyError(key)
        return restore_pattern(text)

    def items(self) -> ItemsView[str, Pattern]:
        """The keys and patterns; what other threads remove meanwhile may be left out."""
        return Items(self)

    def values(self) -> ValuesView[Pattern]:
        """The patterns, one for each key."""
        return Values(self)

    # A matcher is itself and no other, whatever subscriptions it has.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # --- documents ------------------------------------------------------------------------------

    def match(self, document: Source) -> list[str]:
        """The keys of the subscriptions that the document matches, in no order.

        Raises :class:`~twigcast.errors.DocumentError` for a document that is not well-formed or
        exceeds a limit, and :class:`~twigcast.errors.EvaluationBudgetError`, which has the keys of
        all that matched, where an expression takes too much work on it.
        """
        return self.match_numbered(document)[0]

    def match_numbered(self, document: Source) -> BatchMatches:
        """The answer of :meth:`match` as a batch of one, for programs that go on with numbers."""
        documents = Documents(self._limits, self._reader)
        documents.add(document)
        answers = self._engine.match(documents)
        if answers.errors:
            raise answers.errors[0]
        return BatchMatches(answers)

    def match_batch(self, documents: Any) -> BatchMatches:
        """Match many documents in one go, without the interpreter lock.

        ``documents`` are bytes or text in any sequence, or an Arrow array of binaries or strings
        (chunked or not), which is read where it lies.  A bad document gets an entry in the
        result's ``errors`` and does no harm to the others.
        """
        return BatchMatches(
            self._engine.match(prepare_batch(documents, self._limits, self._reader))
        )

    def match_destinations(self, documents: Any) -> BatchDestinations:
        """The destinations of the subscriptions that documents match; those without are named.

        ``documents`` are as for :meth:`match_batch`.  What leads only to destinations that the
        document has already is not looked at, so this takes less time the fewer destinations there
        are, and the fewer subscriptions without one.
        """
        prepared = prepare_batch(documents, self._limits, self._reader)
        return BatchDestinations(self._engine.match(prepared, seeks_destinations=True))

    def explain(self, document: Source, subscription: str | Pattern) -> Explanation:
        """Which steps, values and texts make a document match a subscription, or fail.

        ``subscription`` is a key of this matcher, an XPath or a Pattern; a text that is a key is
        taken for the key.
        """
        if not isinstance(subscription, Pattern):
            text = self._engine.text(key_bytes(subscription))
            if text is not None:
                subscription = restore_pattern(text)
            else:
                subscription = self._expression(subscription)
        return explain(subscription, document, self._limits)

    def _expression(self, text: str) -> Pattern:
        try:
            return self._pattern(text)
        except SubscriptionError as error:
            reason = f"this is no key of the matcher, and as an expression: {error.reason}"
            raise SubscriptionError(reason, text, error.position) from None

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
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        limits: DocumentLimits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        reader: ReaderName = "checked",
    ) -> Matcher:
        """The matcher in a file written by :meth:`save`, with bindings for what is added to it.

        The file holds neither bindings nor ``limits``, ``cache_bytes`` and ``reader``.
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
        bindings = Bindings(dict(namespaces or {}), dict(variables or {}), relative_to, version)
        matcher._start(limits, cache_bytes, reader, bindings, mapping, str(path))
        return matcher

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, also one in another process, has subscriptions of its own."""
        pieces: list[bytes] = []
        self._engine.write(lambda piece: pieces.append(bytes(piece)))
        state = (b"".join(pieces), self._limits, self._cache_bytes, self._reader, self._bindings)
        own = getattr(self, "__dict__", None)  # of a class that extends this one
        return _restored, (type(self), *state), own or None

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

    def _repr_html_(self) -> str:
        """What notebooks show: the size, and the first few subscriptions."""
        stats = self.stats()
        rows = "".join(
            f"<tr><td>{escape(key)}</td><td><code>{escape(str(pattern))}</code></td></tr>"
            for key, pattern in islice(self.items(), _MOST_SHOWN)
        )
        left = stats.subscriptions - _MOST_SHOWN
        more = f"<p>and {left:,} more</p>" if left > 0 else ""
        return (
            f"<p>Matcher: {stats.subscriptions:,} subscriptions, {stats.patterns:,} distinct "
            f"patterns, {stats.bytes / 1e6:,.1f} MB</p>"
            f"<table><tr><th>key</th><th>pattern</th></tr>{rows}</table>{more}"
        )


def _restored(
    kind: type[Matcher],
    data: bytes,
    limits: DocumentLimits,
    cache_bytes: int,
    reader: ReaderName,
    bindings: Bindings,
) -> Matcher:
    matcher = kind.__new__(kind)
    matcher._start(limits, cache_bytes, reader, bindings, data, "a pickled matcher")
    return matcher
