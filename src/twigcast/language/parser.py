"""From text to pattern: a short cut for linear expressions, grammar and lowering for all others.

:func:`parse` is for callers: what looks like a mistake, but is none by the language, is a Python
warning.  :func:`read_expression` gives the same warnings as values, for programs that read
expressions of others (a broker) or very many (a Spark worker).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Unpack

from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.keywords import refuse_unknown
from twigcast.language.analysis import static_type
from twigcast.language.bindings import (
    NO_BINDINGS,
    BindingKeywords,
    Bindings,
    RelativeTo,
    Scope,
    Variables,
    Version,
)
from twigcast.language.expressions import Call, Expression, walk_expression
from twigcast.language.grammar import Grammar
from twigcast.language.limits import DEFAULT_LIMITS, LanguageLimits
from twigcast.language.linear import linear_normal_form
from twigcast.language.lowering import lower
from twigcast.language.nodes import VERSION_2, Residual
from twigcast.language.pattern import Pattern, linear_pattern, plain_pattern
from twigcast.language.visiting import walk
from twigcast.language.warning import Notices, issue, unused_bindings


class Reading(NamedTuple):
    """A pattern, and what was noticed while it was read."""

    pattern: Pattern
    warnings: Sequence[SubscriptionWarning] = ()
    prefixes: AbstractSet[str] = frozenset()
    """The prefixes that the expression uses; an empty one is the default namespace."""
    variables: AbstractSet[str] = frozenset()
    """The variables that the expression uses."""


def parse(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    variables: Variables | None = None,
    relative_to: RelativeTo = "anywhere",
    version: Version = "1.0",
    limits: LanguageLimits = DEFAULT_LIMITS,
) -> Pattern:
    """The pattern of a subscription.

    ``namespaces`` binds the prefixes that the expression uses; an empty prefix stands for element
    names without one.  ``variables`` are the values of its variables: texts, numbers, truths,
    dates, or sequences of them.  A relative path may begin anywhere (``a/b`` means ``//a/b``); with
    ``relative_to="document"`` it begins at the document node (``/a/b``), as in most other systems.
    Functions of later versions are known in both; ``version`` says whose rules hold where XPath
    1.0 and 2.0 disagree.

    Raises :class:`~twigcast.errors.SubscriptionError`, which shows the position, for anything
    outside the language of ``docs/language.md``.  A comparison that never holds and a binding that
    the expression does not use are a :class:`~twigcast.errors.SubscriptionWarning`.
    """
    bindings = _bindings(namespaces, variables, relative_to, version)
    if bindings is NO_BINDINGS and limits is DEFAULT_LIMITS and isinstance(text, str):
        normal_form = linear_normal_form(text)  # here too, since most expressions are linear
        if normal_form is not None:
            return linear_pattern(normal_form)
    reading = read_bound(text, bindings, limits)
    if reading.warnings:
        issue(reading.warnings)
    if namespaces or variables:
        issue(unused_bindings(bindings, reading, text))
    return reading.pattern


def read_expression(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    variables: Variables | None = None,
    relative_to: RelativeTo = "anywhere",
    version: Version = "1.0",
    limits: LanguageLimits = DEFAULT_LIMITS,
) -> Reading:
    """What :func:`parse` does, with its warnings in the result."""
    return read_bound(text, _bindings(namespaces, variables, relative_to, version), limits)


def read_normal_form(text: str) -> Pattern:
    """The pattern of a text that is most likely in normal form, from another broker say.

    It is what :func:`read_expression` gives, and takes a quarter of the time.
    """
    normal_form = linear_normal_form(text)
    if normal_form is not None:
        return linear_pattern(normal_form)
    return plain_pattern(text) or read_expression(text).pattern


def _bindings(
    namespaces: Mapping[str, str] | None,
    variables: Variables | None,
    relative_to: RelativeTo,
    version: Version,
) -> Bindings:
    if not namespaces and not variables and relative_to == "anywhere" and version == "1.0":
        return NO_BINDINGS  # whose scope is known already
    return Bindings(namespaces or {}, variables or {}, relative_to, version)


def read_bound(text: str, bindings: Bindings, limits: LanguageLimits = DEFAULT_LIMITS) -> Reading:
    """What :func:`read_expression` does, with bindings that expressions may share."""
    pattern = _linear(text, bindings.scope, limits)
    return read_by_grammar(text, bindings, limits) if pattern is None else Reading(pattern)


def _linear(text: str, scope: Scope, limits: LanguageLimits) -> Pattern | None:
    """The pattern of a linear expression whose names are in no namespace; None for others."""
    if not isinstance(text, str):
        raise TypeError(f"a subscription is a str, not {type(text).__name__}")
    if scope.namespaces.get("") or not (limits is DEFAULT_LIMITS or _surely_within(limits, text)):
        return None
    if scope.relative_to == "document" and not text.startswith("/"):
        text = f"/{text}"
    normal_form = linear_normal_form(text)
    return None if normal_form is None else linear_pattern(normal_form)


def read_by_grammar(text: str, bindings: Bindings, limits: LanguageLimits) -> Reading:
    """What any expression says, without the short cut for linear ones."""
    grammar = Grammar(text, bindings.scope, limits)
    warnings: list[SubscriptionWarning] = []

    def notice(expression: Expression, reason: str) -> None:
        position = grammar.position_of(expression)
        if not any((each.reason, each.position) == (reason, position) for each in warnings):
            warnings.append(SubscriptionWarning(reason, text, position))

    expression = grammar.parse()
    pattern = Pattern((lower(expression, bindings.version == "2.0", notice),))
    normal_form = str(pattern)
    if VERSION_2 in text and _has_version_within(pattern):
        raise SubscriptionError(f"{VERSION_2}(…) stands for a whole condition only", text, 0)
    # It may be longer and up to three times as deep (brackets for slashes, `not` at each leaf).
    if len(normal_form) > limits.length or 3 * grammar.deepest > limits.depth:
        try:
            Grammar(normal_form, NO_BINDINGS.scope, limits).parse()
        except SubscriptionError as error:
            raise SubscriptionError(f"in normal form, {error.reason}", text, 0) from error
    if normal_form != text.strip() and not warnings:
        if not pattern.alternatives:
            warnings.append(SubscriptionWarning("no document matches this expression", text))
        elif normal_form == "/*" and static_type(expression) != "nodes":
            warnings.append(SubscriptionWarning("every document matches this expression", text))
    return Reading(pattern, warnings, grammar.prefixes, grammar.variables)


def parse_all(expressions: Mapping[str, str | Pattern], bindings: Bindings) -> dict[str, Pattern]:
    """The patterns of expressions that share bindings.

    A binding is reported as a warning if no expression uses it.
    """
    notices = Notices()
    notices.bind(bindings)
    patterns: dict[str, Pattern] = {}
    for key, each in expressions.items():
        if isinstance(each, Pattern):
            patterns[key] = each
            continue
        reading = read_bound(each, bindings)
        notices.add(reading, bindings)
        patterns[key] = reading.pattern
    notices.issue()
    return patterns


def as_pattern(
    subscription: str | Pattern,
    namespaces: Mapping[str, str] | None = None,
    **bindings: Unpack[BindingKeywords],
) -> Pattern:
    """The pattern of an expression, or the pattern itself."""
    if isinstance(subscription, Pattern):
        if namespaces is not None or (bindings and NO_BINDINGS.beside(**bindings)):
            raise TypeError("bindings go with an expression; a Pattern has them already")
        return subscription
    if bindings:
        refuse_unknown(bindings, BindingKeywords.__annotations__, "a subscription")
    return parse(subscription, namespaces, **bindings)


def _surely_within(limits: LanguageLimits, text: str) -> bool:
    """Whether a linear expression keeps to the limits, and so does its normal form.

    It has a slash before every step but perhaps the first, where the normal form puts two.
    """
    return len(text) + 2 <= limits.length and text.count("/") < min(limits.steps, limits.depth)


def _has_version_within(pattern: Pattern) -> bool:
    """Whether an expression has another version as a part of it."""
    return any(
        isinstance(each, Call) and each.name == VERSION_2
        for condition in walk(*pattern.alternatives)
        if isinstance(condition, Residual)
        for each in walk_expression(condition.expression)
    )
