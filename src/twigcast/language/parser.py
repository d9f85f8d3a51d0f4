"""From text to pattern: the quick way for linear expressions, recursive descent for all others."""

from __future__ import annotations

from collections.abc import Mapping

from twigcast.errors import SubscriptionError
from twigcast.language.descent import Descent
from twigcast.language.limits import DEFAULT_LIMITS, LanguageLimits
from twigcast.language.linear import linear_normal_form
from twigcast.language.pattern import Pattern, linear_pattern

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

_XML_ALONE = {"xml": XML_NAMESPACE}


def parse(
    text: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    limits: LanguageLimits = DEFAULT_LIMITS,
) -> Pattern:
    """The pattern of a subscription.

    ``namespaces`` binds the prefixes that the expression uses.  Raises
    :class:`~twigcast.errors.SubscriptionError`, which shows the place, for anything outside the
    language of ``docs/language.md``.
    """
    if not isinstance(text, str):
        raise TypeError(f"a subscription is a str, not {type(text).__name__}")
    bound = _bound(namespaces) if namespaces else _XML_ALONE
    if limits is DEFAULT_LIMITS or _surely_within(limits, text):
        normal_form = linear_normal_form(text)
        if normal_form is not None:
            return linear_pattern(normal_form)
    return parse_by_descent(text, bound, limits)


def parse_by_descent(text: str, bound: Mapping[str, str], limits: LanguageLimits) -> Pattern:
    """The pattern of any expression, with prefixes already checked."""
    descent = Descent(text, bound, limits)
    pattern = descent.parse()
    normal_form = str(pattern)
    # It may be longer and up to three times as deep (brackets for slashes, `not` at each leaf).
    if len(normal_form) > limits.length or 3 * descent.deepest > limits.depth:
        try:
            Descent(normal_form, bound, limits).parse()
        except SubscriptionError as error:
            raise SubscriptionError(f"in normal form, {error.reason}", text, 0) from error
    return pattern


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


def _bound(namespaces: Mapping[str, str]) -> dict[str, str]:
    bound = {**_XML_ALONE, **namespaces}
    for prefix, uri in bound.items():
        if not isinstance(uri, str):
            raise TypeError(f"the namespace of {prefix} is a str, not {type(uri).__name__}")
        if "{" in uri or "}" in uri:
            raise ValueError(f"the namespace of {prefix} must not have braces: {uri}")
        if (prefix == "xml") != (uri == XML_NAMESPACE):
            raise ValueError(f"xml and {XML_NAMESPACE} belong together; {prefix} is bound to {uri}")
    return bound
