"""From text to pattern: a short cut for linear expressions, recursive descent for all others.

:func:`parse` is for callers: what looks like a mistake, but is none by the language, is a Python
warning.  :func:`read_expression` gives the same warnings as values, for programs that read
expressions of others (a broker) or very many (a Spark worker).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Final, NamedTuple

from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.language.descent import Descent
from twigcast.language.limits import DEFAULT_LIMITS, LanguageLimits
from twigcast.language.linear import linear_normal_form
from twigcast.language.pattern import Pattern, linear_pattern
from twigcast.language.tokens import NAME
from twigcast.language.warning import Notices, issue, unused_binding

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"

_XML_ALONE: Final = {"xml": XML_NAMESPACE}
_MOST_READ_TWICE: Final = 10_000
"""Characters of expressions; more would hold up the event loop of a client for too long."""


class Reading(NamedTuple):
    """A pattern, and what was noticed while it was read."""

    pattern: Pattern
    warnings: Sequence[SubscriptionWarning] = ()
    prefixes: AbstractSet[str] = frozenset()
    """The prefixes that the expression uses; an empty one is the default namespace."""


def parse(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    limits: LanguageLimits = DEFAULT_LIMITS,
) -> Pattern:
    """The pattern of a subscription.

    ``namespaces`` binds the prefixes that the expression uses; an empty prefix stands for element
    names without one.  Raises :class:`~twigcast.errors.SubscriptionError`, which shows the
    position, for anything outside the language of ``docs/language.md``.  A comparison that never
    holds and a binding that the expression does not use are a
    :class:`~twigcast.errors.SubscriptionWarning`.
    """
    if not namespaces and limits is DEFAULT_LIMITS and isinstance(text, str):
        normal_form = linear_normal_form(text)  # here too, since most expressions are linear
        if normal_form is not None:
            return linear_pattern(normal_form)
    reading = read_expression(text, namespaces, limits=limits)
    if reading.warnings:
        issue(reading.warnings)
    if namespaces:
        for prefix, uri in namespaces.items():
            if uri and prefix != "xml" and prefix not in reading.prefixes:
                issue((unused_binding(prefix, uri, text),))
    return reading.pattern


def read_expression(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    limits: LanguageLimits = DEFAULT_LIMITS,
) -> Reading:
    """What :func:`parse` does, with its warnings in the result."""
    bound = check_namespaces(namespaces) if namespaces else _XML_ALONE
    pattern = _linear(text, bound, limits)
    return read_by_descent(text, bound, limits) if pattern is None else Reading(pattern)


def _linear(text: str, bound: Mapping[str, str], limits: LanguageLimits) -> Pattern | None:
    """The pattern of a linear expression whose names are in no namespace; None for others."""
    if not isinstance(text, str):
        raise TypeError(f"a subscription is a str, not {type(text).__name__}")
    if bound.get("") or not (limits is DEFAULT_LIMITS or _surely_within(limits, text)):
        return None
    normal_form = linear_normal_form(text)
    return None if normal_form is None else linear_pattern(normal_form)


def read_by_descent(text: str, bound: Mapping[str, str], limits: LanguageLimits) -> Reading:
    """What any expression says, with prefixes already checked."""
    descent = Descent(text, bound, limits)
    pattern = descent.parse()
    normal_form = str(pattern)
    # It may be longer and up to three times as deep (brackets for slashes, `not` at each leaf).
    if len(normal_form) > limits.length or 3 * descent.deepest > limits.depth:
        try:
            Descent(normal_form, _XML_ALONE, limits).parse()
        except SubscriptionError as error:
            raise SubscriptionError(f"in normal form, {error.reason}", text, 0) from error
    return Reading(pattern, descent.warnings, descent.prefixes)


def warn_of(expressions: Collection[str], namespaces: Mapping[str, str] | None) -> None:
    """Issue the warnings of expressions that others parse; their errors are left to the others.

    Expressions that are long together are not read: reading all of them twice would take long.
    """
    if sum(map(len, expressions)) > _MOST_READ_TWICE:
        return
    notices = Notices()
    notices.bind(namespaces or {})
    for text in expressions:
        with suppress(ValueError, TypeError):
            notices.add(read_expression(text, namespaces), namespaces or {})
    notices.issue()


def as_pattern(subscription: str | Pattern, namespaces: Mapping[str, str] | None) -> Pattern:
    """The pattern of an expression, or the pattern itself."""
    if not isinstance(subscription, Pattern):
        return parse(subscription, namespaces)
    if namespaces is not None:
        raise TypeError("namespaces go with an expression; a Pattern has them already")
    return subscription


def _surely_within(limits: LanguageLimits, text: str) -> bool:
    """Whether a linear expression keeps to the limits, and so does its normal form.

    It has a slash before every step but perhaps the first, where the normal form puts two.
    """
    return len(text) + 2 <= limits.length and text.count("/") < min(limits.steps, limits.depth)


def check_namespaces(namespaces: Mapping[str, str]) -> dict[str, str]:
    """The bindings with that of ``xml``; TypeError or ValueError for one that cannot be."""
    bound = {**_XML_ALONE, **namespaces}
    for prefix, uri in bound.items():
        if not isinstance(prefix, str):
            raise TypeError(
                f"a prefix is a str, not {type(prefix).__name__}; "
                'the default namespace is bound with {"": uri}'
            )
        if prefix and re.fullmatch(NAME, prefix) is None:
            raise ValueError(f"{prefix!r} is no prefix; a prefix is a name without a colon")
        whose = f"the namespace of {prefix}" if prefix else "the default namespace"
        if not isinstance(uri, str):
            raise TypeError(f"{whose} is a str, not {type(uri).__name__}")
        if "{" in uri or "}" in uri:
            raise ValueError(f"{whose} must not have braces: {uri}")
        if (prefix == "xml") != (uri == XML_NAMESPACE):
            raise ValueError(f"xml and {XML_NAMESPACE} belong together; {whose} is {uri}")
    return bound
