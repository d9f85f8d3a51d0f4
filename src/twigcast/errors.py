"""Every error and warning that a caller of Twigcast can meet.

All errors derive from :class:`TwigcastError`.  Each says what is wrong, where, and, where one
exists, the remedy; the parts stand in attributes too, so that a program can use them.
"""

from __future__ import annotations


class TwigcastError(Exception):
    """The base of every error raised on purpose."""


class _ExpressionError(TwigcastError, ValueError):
    """An expression with something wrong at one position.

    ``reason`` says what is wrong, ``text`` is the whole expression and ``position`` the offset of
    the offending character in it.  ``str()`` adds the expression with a caret below the position.
    """

    def __init__(self, reason: str, text: str, position: int) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        super().__init__(reason, text, position)

    def __str__(self) -> str:
        return f"{self.reason} {_marked(self.text, self.position)}"


class SubscriptionError(_ExpressionError):
    """An expression that is not a subscription: bad syntax, or names that stand for nothing."""


class AdvertisementError(_ExpressionError):
    """A text that is not an advertisement."""


class SubscriptionWarning(UserWarning):
    """Something in a subscription that does nothing, or that no document can fulfil.

    The subscription is taken as it is.  ``reason`` says what was noticed, ``text`` is the
    expression, and ``position`` the offset in it, or None where the whole is meant.  ``where`` is
    the file and line, empty for an expression that was given directly.
    """

    def __init__(
        self, reason: str, text: str = "", position: int | None = None, where: str = ""
    ) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        self.where = where
        super().__init__(reason, text, position, where)

    def __str__(self) -> str:
        reason = f"{self.where}: {self.reason}" if self.where else self.reason
        if self.position is not None:
            return f"{reason} {_marked(self.text, self.position)}"
        return f"{reason}\n  {_excerpt(self.text, 0)[0]}" if self.text else reason


class SubscriptionFileError(TwigcastError, ValueError):
    """A line of a subscriptions file that cannot be read; ``path`` and ``line`` say where.

    Lines count from 1, rows of a Parquet file likewise; 0 stands for the whole file.
    """

    def __init__(self, reason: str, path: str, line: int) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        super().__init__(reason, path, line)

    def __str__(self) -> str:
        return f"{self.path}{f', line {self.line}' if self.line else ''}: {self.reason}"


class DocumentError(TwigcastError, ValueError):
    """A document that is not well-formed XML, or that exceeds a limit.

    ``line`` and ``column`` count from 1; both are 0 where there is no position (a document that is
    too large is refused before it is read).
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        super().__init__(reason, line, column)

    def __str__(self) -> str:
        if not self.line:
            return self.reason
        return f"line {self.line}, column {self.column}: {self.reason}"


class EvaluationBudgetError(DocumentError):
    """Whether a document matches was not found out: an expression takes too much work on it.

    ``keys`` are those of the subscriptions concerned, and ``matched`` those of all others that the
    document matches; both are empty where a pattern was asked alone.
    """

    def __init__(self, keys: tuple[str, ...] = (), matched: tuple[str, ...] = ()) -> None:
        self.keys = keys
        self.matched = matched
        which = ", ".join(map(repr, keys[:3])) + (" and others" if keys[3:] else "")
        of = f" of the subscription {which}" if keys else ""
        super().__init__(
            f"whether the document matches was not decided: an expression{of} takes too much work"
            " on it; ask for less, such as paths instead of following:: and preceding::"
        )

    def __reduce__(self) -> tuple[type[EvaluationBudgetError], tuple[tuple[str, ...], ...]]:
        return type(self), (self.keys, self.matched)


class DuplicateKeyError(TwigcastError, ValueError):
    """A subscription under a ``key`` that another one has."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)

    def __str__(self) -> str:
        return f"the key {self.key!r} has a subscription already; remove it first, or use replace()"


class UnknownKeyError(TwigcastError, KeyError):
    """There is no subscription under the ``key``."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)

    def __str__(self) -> str:
        return f"there is no subscription with the key {self.key!r}"


class MatcherFileError(TwigcastError, ValueError):
    """A file that holds no matcher that can be used; ``path`` and ``reason`` say which and why."""

    def __init__(self, reason: str, path: str) -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason, path)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class SchemaError(TwigcastError, ValueError):
    """A DTD, an XSD or samples that cannot be read, or whose root element is not known."""


class ExplanationBudgetError(TwigcastError):
    """Explaining ``subscription`` on a document takes more than ``budget`` steps of evaluation."""

    def __init__(self, subscription: str, budget: int) -> None:
        self.subscription = subscription
        self.budget = budget
        super().__init__(subscription, budget)

    def __str__(self) -> str:
        return (
            f"the explanation takes more than {self.budget:,} steps; "
            "try a smaller document, or a part of the subscription"
        )


class CoveringBudgetError(TwigcastError):
    """Whether ``p`` covers ``q`` was not decided with ``budget`` models.

    ``p`` and ``q`` are the texts of the patterns; ``reason`` says what was in the way and
    ``remedy`` what to do about it.
    """

    def __init__(self, p: str, q: str, budget: int, reason: str, remedy: str) -> None:
        self.p = p
        self.q = q
        self.budget = budget
        self.reason = reason
        self.remedy = remedy
        super().__init__(p, q, budget, reason, remedy)

    def __str__(self) -> str:
        return (
            f"whether {self.p} covers {self.q} was not decided with a budget of {self.budget} "
            f"models: {self.reason}; {self.remedy}"
        )


class CountingBudgetError(TwigcastError):
    """The paths that patterns match were not counted with ``budget`` states.

    ``patterns`` are the texts of those that were counted together.
    """

    def __init__(self, patterns: tuple[str, ...], budget: int) -> None:
        self.patterns = patterns
        self.budget = budget
        super().__init__(patterns, budget)

    def __str__(self) -> str:
        which = self.patterns[0] if len(self.patterns) == 1 else f"{len(self.patterns)} patterns"
        return (
            f"the paths matched by {which} were not counted with a budget of {self.budget:,} "
            "states; allow for more, or count fewer patterns together"
        )


class OverlayError(TwigcastError, ValueError):
    """An overlay or a network file that makes no sense: which broker, link or line, and why."""


class NetworkError(TwigcastError):
    """Something asked of a network that it cannot do now; says what to do instead."""


class ScenarioError(TwigcastError, ValueError):
    """A scenario that makes no sense.  In the message, fields of the scenario are in backquotes."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class PipelineError(TwigcastError):
    """Something asked of the pipeline that it cannot do: what, where, and the remedy."""


class SparkMissingError(PipelineError, ImportError):
    """Spark is not installed, or there is no Java for it; says what to install."""


class WorkloadError(TwigcastError, ValueError):
    """A workload that cannot be generated: impossible parameters, or no more distinct ones."""


def _marked(text: str, position: int) -> str:
    """The position in words, and the text with a caret below the position."""
    excerpt, column = _excerpt(text, position)
    return f"(at character {position + 1})\n  {excerpt}\n  {' ' * column}^"


def _excerpt(text: str, position: int, width: int = 72) -> tuple[str, int]:
    """The part of ``text`` around ``position`` on one line, and the column of that position."""
    start = max(0, position - width // 2)
    end = start + width
    shown = "".join(" " if character.isspace() else character for character in text[start:end])
    before = "…" if start else ""
    after = "…" if end < len(text) else ""
    return before + shown + after, position - start + len(before)


class StoreError(TwigcastError):
    """A broker's store that cannot be opened, read or written; the text names it and the remedy."""


class ConfigError(TwigcastError, ValueError):
    """A configuration with something wrong; ``where`` is the key, as in ``store.folder``.

    ``path`` is the file, empty where the configuration was given otherwise.
    """

    def __init__(self, reason: str, path: str = "", where: str = "") -> None:
        self.reason = reason
        self.path = path
        self.where = where
        super().__init__(reason, path, where)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.path, self.where, self.reason) if part)


class AccessError(TwigcastError):
    """Somebody asks for what is not theirs; ``code`` is ``unauthenticated`` or ``not-allowed``."""

    def __init__(self, reason: str, code: str = "not-allowed") -> None:
        self.reason = reason
        self.code = code
        super().__init__(reason, code)

    def __str__(self) -> str:
        return self.reason


class ConnectionFailedError(TwigcastError):
    """No broker answers at an ``address``, or the connection is lost and stays so."""

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        self.reason = reason
        super().__init__(address, reason)

    def __str__(self) -> str:
        return f"{self.address}: {self.reason}"


class RefusedError(TwigcastError):
    """What a broker refuses, with its reason and the ``code`` that the wire names for it."""

    def __init__(self, reason: str, code: str) -> None:
        self.reason = reason
        self.code = code
        super().__init__(reason, code)

    def __str__(self) -> str:
        return self.reason
