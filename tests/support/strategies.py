"""Random subscriptions and documents that meet often enough for a disagreement to show.

Expressions are drawn as XPath text, so that the oracle reads what a user writes and the parser
and the normal form stand between the two.  Few names and values: most cases must be undecided
until evaluated.
"""

from __future__ import annotations

from hypothesis import strategies as st

from twigcast.language.operators import FUNCTIONS

NAMESPACES = {"p": "urn:p", "q": "urn:q"}
NAMES = ("a", "b", "c")
ATTRIBUTES = ("x", "y")
TEXTS = ("", "1", "2", "2.0", "15", " 15 ", "-3", "1e1", "ab", "abc", "b", " ", "\n", "é<&")
LITERALS = ('"1"', "'2'", '"ab"', "'b'", '""', '"2.0"', "'é'", '" "')
NUMBERS = ("1", "2", "2.0", "10", "15", "-3", "1.5", "0")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@st.composite
def _predicate(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.integers(0, 11))
    if depth <= 0 or kind <= 3:
        return draw(relative_paths(depth - 1))
    if kind <= 6:
        path = draw(st.one_of(st.just("."), relative_paths(0)))
        constant = draw(st.sampled_from(LITERALS + NUMBERS))
        operator = draw(st.sampled_from(COMPARISONS))
        sides = (path, constant) if draw(st.booleans()) else (constant, path)
        return f" {operator} ".join(sides)
    if kind == 7:
        function = draw(st.sampled_from(sorted(FUNCTIONS)))
        path = draw(st.one_of(st.just("."), relative_paths(1)))
        return f"{function}({path}, {draw(st.sampled_from(LITERALS))})"
    if kind == 8:
        return f"not({draw(_predicate(depth - 1))})"
    operator = draw(st.sampled_from((" and ", " or ")))
    members = draw(st.lists(_predicate(depth - 1), min_size=2, max_size=3))
    return operator.join(f"({member})" for member in members)


@st.composite
def _position(draw: st.DrawFn) -> str:
    value = draw(st.sampled_from(("0", "1", "2", "3", "1.5")))
    if draw(st.booleans()):
        return f"[{value}]"
    operator = draw(st.sampled_from(COMPARISONS))
    if draw(st.booleans()):
        return f"[position() {operator} {value}]"
    return f"[{value} {operator} position()]"


@st.composite
def _step(draw: st.DrawFn, depth: int) -> str:
    name = draw(st.sampled_from((*NAMES, *NAMES, "*", "p:a", "q:*", "*:b", "Q{urn:q}b", "Q{}a")))
    position = draw(_position()) if draw(st.integers(0, 7)) == 0 else ""
    predicates = ""
    if depth > 0:
        count = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))
        predicates = "".join(f"[{draw(_predicate(depth - 1))}]" for _ in range(count))
    return name + position + predicates


@st.composite
def _leaf(draw: st.DrawFn) -> str:
    leaf = draw(st.sampled_from(("text()", "@x", "@y", "@*", "@p:x", "@*:y")))
    if draw(st.integers(0, 2)) == 0:
        operator = draw(st.sampled_from(COMPARISONS))
        leaf += f"[. {operator} {draw(st.sampled_from(LITERALS + NUMBERS))}]"
    return leaf


@st.composite
def relative_paths(draw: st.DrawFn, depth: int = 1) -> str:
    """A path as it stands within a predicate."""
    steps = draw(st.lists(_step(depth), min_size=0, max_size=3))
    if not steps or draw(st.integers(0, 3)) == 0:
        steps.append(draw(_leaf()))
    path = steps[0]
    for step in steps[1:]:
        path += draw(st.sampled_from(("/", "/", "//", "/./"))) + step
    return draw(st.sampled_from(("", "", ".//", "./"))) + path


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    """A subscription, with the prefixes of NAMESPACES."""
    alternatives = draw(st.lists(relative_paths(depth), min_size=1, max_size=2))
    starts = [draw(st.sampled_from(("/", "//", "//", ""))) for _ in alternatives]
    return " | ".join(start + path for start, path in zip(starts, alternatives, strict=True))


@st.composite
def linear_expressions(draw: st.DrawFn) -> str:
    """Names, ``*``, ``/`` and ``//`` alone."""
    steps = draw(st.lists(st.sampled_from((*NAMES, "*", "*")), min_size=1, max_size=5))
    return "".join(draw(st.sampled_from(("/", "//"))) + step for step in steps)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@st.composite
def _element(draw: st.DrawFn, depth: int) -> str:
    name = draw(st.sampled_from((*NAMES, *NAMES, "p:a", "q:b", "p:b")))
    attributes = ""
    for attribute in draw(st.lists(st.sampled_from(("x", "y", "p:x")), unique=True, max_size=2)):
        value = draw(st.sampled_from(TEXTS)).replace("\n", "&#10;")
        attributes += f' {attribute}="{_escape(value) if "&#" not in value else value}"'
    if draw(st.integers(0, 9)) == 0:
        attributes += ' xmlns="urn:p"' if draw(st.booleans()) else ' xmlns=""'
    children = ""
    if depth > 0:
        parts = st.one_of(
            _element(depth - 1),
            _element(depth - 1),
            st.sampled_from(TEXTS).map(_escape),
            st.sampled_from(("<!--c-->", "<?pi x?>", "<![CDATA[ab<]]>", "&#49;")),
        )
        children = "".join(draw(st.lists(parts, max_size=4)))
    else:
        children = _escape(draw(st.sampled_from(TEXTS)))
    return f"<{name}{attributes}>{children}</{name}>"


@st.composite
def documents(draw: st.DrawFn, depth: int = 4) -> str:
    """A well-formed document with the prefixes of NAMESPACES bound at its root."""
    bindings = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    text = draw(_element(depth))
    head, mark, rest = text.partition(">")
    return f"{head}{bindings}{mark}{rest}"
