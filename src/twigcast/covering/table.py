"""A table of subscriptions kept minimal under covering at all times.

What a router sends to its neighbour is the set of *forwarded* patterns: those of the table that no
other one covers.  Every other pattern hangs below one that covers it, its witness::

    forwarded ──►  /news//p          /news/body
                    ├── /news/a/p     └── /news/body/table
                    └── /news/b/p

A new pattern that is covered is hung below a forwarded one; otherwise it is forwarded, and the
forwarded ones that it covers are withdrawn and hang below it, with all they carry.  When a
forwarded pattern goes, those right below it look for another witness, and the ones that find none
return (Chand and Felber, section 3; Li, Hou and Jacobsen, section 4.1).

Invariant: the forwarded patterns are the maximal ones of the table, one for each class of
equivalent ones, and nothing else, as far as ``covers`` sees it; where that misses a covering on
trees, a pattern too many may be forwarded, never one too few.  Cost: one or two searches of the
forwarded set for an addition, as many for each pattern right below one that is removed; a pattern
looks for a new witness each time that one goes, which in a random order is seldom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from twigcast.covering.search import PatternSearch, Search
from twigcast.covering.subscribers import SubscriptionSet
from twigcast.language import BindingKeywords, Pattern, as_pattern, require_pattern


@dataclass(frozen=True, slots=True)
class Change:
    """What to send to a neighbour: forward first, then withdraw, and no document is missed."""

    forward: tuple[Pattern, ...] = ()
    withdraw: tuple[Pattern, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to send."""
        return bool(self.forward or self.withdraw)


class CoveringTable(SubscriptionSet):
    """Subscriptions under keys, and the patterns that stand for all of them upstream.

    >>> table = CoveringTable()
    >>> table.add("alice", "/news/p")
    Change(forward=(twigcast.parse('/news/p'),), withdraw=())
    >>> table.add("bob", "/news/p/em")
    Change(forward=(), withdraw=())
    >>> table.remove("alice")
    Change(forward=(twigcast.parse('/news/p/em'),), withdraw=(twigcast.parse('/news/p'),))

    ``search`` finds coverings in the forwarded set; by default by a factorization tree.
    """

    def __init__(self, search: Search | None = None) -> None:
        super().__init__()
        self._search: Search = PatternSearch() if search is None else search
        self._witness: dict[Pattern, Pattern | None] = {}
        self._below: dict[Pattern, dict[Pattern, None]] = {}
        self._forwarded: dict[Pattern, None] = {}

    def add(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> Change:
        """Add a subscription under a key of its own; what that changes upstream.

        Raises :class:`~twigcast.errors.DuplicateKeyError` if the key is taken, and
        :class:`~twigcast.errors.SubscriptionError` for an expression outside the language.
        """
        pattern = as_pattern(subscription, namespaces, **bindings)
        if not self._subscribers.add(key, pattern):
            return _NOTHING
        with self._subscribers.undone_on_error(key):
            withdrawn = self._insert(pattern)
        return _NOTHING if withdrawn is None else Change((pattern,), tuple(withdrawn))

    def remove(self, key: str) -> Change:
        """End a subscription; what that changes upstream.

        Raises :class:`~twigcast.errors.UnknownKeyError` if there is none.
        """
        pattern, is_gone = self._subscribers.remove(key)
        if not is_gone:
            return _NOTHING
        below = self._below.pop(pattern, {})
        witness = self._witness.pop(pattern)
        if witness is not None:
            # What covers it covers what hangs below it.
            del self._below[witness][pattern]
            self._hang(below, witness)
            return _NOTHING
        del self._forwarded[pattern]
        self._search.remove(pattern)
        returning: dict[Pattern, None] = {}
        withdrawn = [pattern]
        # Short ones first: they tend to cover the others.
        for orphan in sorted(below, key=_length):
            covered = self._insert(orphan)
            if covered is not None:
                returning[orphan] = None
                # Where ``covers`` misses a covering, one forwarded before may be among them.
                withdrawn += [other for other in covered if other not in returning]
                for other in covered:
                    returning.pop(other, None)
        return Change(tuple(returning), tuple(withdrawn))

    def _insert(self, pattern: Pattern) -> list[Pattern] | None:
        """Hang a pattern below a witness, or forward it; then, what is withdrawn for it."""
        witnesses = self._search.covering(pattern)
        if witnesses:
            self._hang({pattern: None}, witnesses[0])
            return None
        covered = self._search.covered_by(pattern)
        self._search.add(pattern)
        for other in covered:
            self._search.remove(other)
            del self._forwarded[other]
        self._hang(dict.fromkeys(covered), pattern)
        self._witness[pattern] = None
        self._forwarded[pattern] = None
        return covered

    def _hang(self, patterns: dict[Pattern, None], witness: Pattern) -> None:
        if patterns:
            self._below.setdefault(witness, {}).update(patterns)
            for pattern in patterns:
                self._witness[pattern] = witness

    @property
    def forwarded(self) -> tuple[Pattern, ...]:
        """The patterns that stand for all subscriptions upstream."""
        return tuple(self._forwarded)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The distinct patterns of all subscriptions."""
        return self._subscribers.patterns

    def witness(self, pattern: Pattern) -> Pattern | None:
        """A pattern of the table that covers this one; None for one that is forwarded itself.

        Raises KeyError for a pattern that nobody subscribes to.
        """
        require_pattern(pattern)
        if pattern not in self._witness:
            raise KeyError(f"nobody subscribes to {pattern}")
        return self._witness[pattern]

    def below(self, pattern: Pattern) -> tuple[Pattern, ...]:
        """The patterns that this one is the witness of."""
        require_pattern(pattern)
        return tuple(self._below.get(pattern, ()))

    def keys_of(self, pattern: Pattern) -> list[str]:
        """The keys of the subscriptions to exactly this pattern."""
        require_pattern(pattern)
        return list(self._subscribers.keys_of(pattern))

    def __repr__(self) -> str:
        return (
            f"<CoveringTable of {len(self):,} subscriptions, {len(self._witness):,} patterns, "
            f"{len(self._forwarded):,} of them forwarded>"
        )


_NOTHING = Change()


def _length(pattern: Pattern) -> int:
    return len(str(pattern))
