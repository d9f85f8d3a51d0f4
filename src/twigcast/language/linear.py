"""The short cut for linear expressions: names, ``*``, ``/`` and ``//`` alone.

Most subscriptions are such paths, and their normal form is a matter of text: at the start, no
slash means ``//``, and every run of ``*`` moves its descendant edge, if any, to its lower end.

    //*/a//*//*/b//*     a run is replaced from its first `//*` on
    /*//a/*/*//b/*       one `//` is left behind it; none at a leaf, where it means nothing

Invariant: where :func:`linear_normal_form` answers, the answer is what the parser would give.
Cost: one pass of a regular expression over the text, and another one where ``//*`` is in it.
"""

from __future__ import annotations

import re

from twigcast.language.limits import DEFAULT_LIMITS
from twigcast.language.nodes import (
    CHILD,
    DESCENDANT,
    ELEMENT,
    Condition,
    Step,
    element_test,
    node_test,
)
from twigcast.language.tokens import NAME

_MOST_STEPS = min(DEFAULT_LIMITS.steps, DEFAULT_LIMITS.depth)
_LONGEST = DEFAULT_LIMITS.length - len("//")
"""The slashes put before a text must fit as well."""

# Nothing is given back once taken (the `+` behind `*`, `?` and `}`): no step can be read twice.
_STEP = rf"(?:{NAME}+|\*)"
_LINEAR = re.compile(rf"/?+/?+{_STEP}(?://?+{_STEP}){{0,{_MOST_STEPS - 1}}}+")
_RUN = re.compile(r"//\*(?://?\*)*(//?)?")
_EDGES = re.compile(r"(//?)([^/]+)")


def linear_normal_form(text: str) -> str | None:
    """The text of the normal form of a linear expression within the default limits.

    None for everything else, be it an expression or not: prefixes, predicates, attributes,
    white space.
    """
    if len(text) > _LONGEST:
        return None
    match = _LINEAR.fullmatch(text)
    if match is None:
        return None
    form: str = match[0]  # not an instance of a subclass of str, as the text may be
    if form[0] != "/":
        form = "//" + form
    return _RUN.sub(_lowered, form) if "//*" in form else form


def _lowered(run: re.Match[str]) -> str:
    return "/*" * run[0].count("*") + ("//" if run[1] else "")


def linear_branch(normal_form: str) -> Step:
    """The tree of a linear expression in normal form."""
    conditions: tuple[Condition, ...] = ()
    for slashes, name in reversed(_EDGES.findall(normal_form)):
        axis = CHILD if slashes == "/" else DESCENDANT
        test = node_test(ELEMENT) if name == "*" else element_test(name)
        conditions = (Step(axis, test, None, conditions),)
    (branch,) = conditions
    assert isinstance(branch, Step)
    return branch
