"""Random expressions of the whole grammar, and documents on which they come to something.

    node_sets, numbers, strings, booleans    XPath 1.0, by the type of the value
    expressions_1                            any of them
    expressions_2                            XPath 2.0: sequences, quantifiers, types, dates
    rich_documents                           with comments, instructions, identifiers, languages

Expressions are built as trees; their ``text`` is what a user could write.  Names and values are
few, so that most expressions select something.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from hypothesis import strategies as st

from twigcast.language import (
    CONTEXT,
    EMPTY,
    ROOT,
    Along,
    AxisName,
    Binding,
    Call,
    Conditional,
    Constant,
    Expression,
    Filter,
    Kind,
    NodeTest,
    Operation,
    Path,
    Typed,
    Variable,
    node_test,
)

NAMES = ("a", "b", "c")
NAMESPACES = {"p": "urn:p", "q": "urn:q"}
TEXTS = (
    "",
    "1",
    "2",
    "2.0",
    "15",
    " 15 ",
    "-3",
    "1e1",
    "ab",
    "abc",
    "b",
    "a b",
    " a  b ",
    "é",
    "en",
)
LITERALS = ("", "1", "2", "ab", "b", "2.0", "é", "a", "en", "k1", "k1 k2", " ", "x")
NUMBERS: tuple[int | Decimal, ...] = (
    0,
    1,
    2,
    3,
    10,
    15,
    Decimal("1.5"),
    Decimal("0.5"),
    Decimal("2.0"),
)

CONSTANTS: tuple[str | int | Decimal | float, ...] = (*NUMBERS, *LITERALS, 1e0, 2.5, 1e20)

AXES: tuple[AxisName, ...] = (
    *("child", "child", "descendant", "descendant-or-self", "self", "parent", "ancestor"),
    *("ancestor-or-self", "following-sibling", "preceding-sibling", "following", "preceding"),
    *("attribute", "attribute", "namespace"),
)

_ANY_NODE = node_test(Kind.NODE)
_OTHER_TESTS = (
    _ANY_NODE,
    node_test(Kind.TEXT),
    node_test(Kind.COMMENT),
    node_test(Kind.INSTRUCTION),
    node_test(Kind.INSTRUCTION, None, "pi"),
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_ARITHMETIC = ("+", "-", "*", "div", "mod")


def descendants_of(start: Expression, step: Along) -> Path:
    """``start//step``."""
    return Path((start, Along("descendant-or-self", _ANY_NODE), step))


@st.composite
def node_tests(draw: st.DrawFn, axis: AxisName) -> NodeTest:
    """A test that some node on the axis may pass."""
    if axis == "namespace":
        local = draw(st.sampled_from((None, "p", "q", "xml")))
        return node_test(Kind.NAMESPACE, None if local is None else "", local)
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(_OTHER_TESTS))
    kind = Kind.ATTRIBUTE if axis == "attribute" else Kind.ELEMENT
    names = ("x", "y") if kind is Kind.ATTRIBUTE else NAMES
    namespace = draw(st.sampled_from(("", "", "", "", None, "urn:p", "urn:q")))
    local = draw(st.sampled_from((*names, *names, None)))
    if local is None and namespace == "":
        namespace = None
    return node_test(kind, namespace, local)


@st.composite
def steps(draw: st.DrawFn, depth: int = 1) -> Along:
    """An axis step with its predicates."""
    axis = draw(st.sampled_from(AXES))
    test = draw(node_tests(axis))
    count = draw(st.sampled_from((0, 0, 0, 1, 1, 2))) if depth > 0 else 0
    return Along(axis, test, tuple(draw(predicates(depth - 1)) for _ in range(count)))


def predicates(depth: int = 1) -> st.SearchStrategy[Expression]:
    """What stands in brackets: positions often."""
    positions: Sequence[Expression] = (
        Constant(1),
        Constant(2),
        Call("last"),
        Operation("=", (Call("position"), Call("last"))),
        Operation("<", (Call("position"), Constant(3))),
        Operation("-", (Call("last"), Constant(1))),
        Operation("=", (Operation("mod", (Call("position"), Constant(2))), Constant(1))),
    )
    return st.one_of(st.sampled_from(positions), booleans(depth), node_sets(depth), numbers(depth))


@st.composite
def node_sets(draw: st.DrawFn, depth: int = 1) -> Expression:
    """An expression that gives nodes."""
    kind = draw(st.integers(0, 11))
    if kind <= 5 or depth <= 0:
        return draw(_paths(depth))
    if kind <= 7:
        operands = draw(st.lists(_paths(depth - 1), min_size=2, max_size=3))
        return Operation("|", tuple(operands))
    if kind <= 9:
        base = draw(node_sets(depth - 1))
        inner = draw(st.lists(predicates(depth - 1), min_size=1, max_size=2))
        filtered = Filter(base, tuple(inner))
        return Path((filtered, draw(steps(depth - 1)))) if draw(st.booleans()) else filtered
    if kind == 10:
        return Call("id", (draw(st.one_of(strings(0), _paths(0))),))
    return draw(st.sampled_from((CONTEXT, ROOT)))


@st.composite
def _paths(draw: st.DrawFn, depth: int) -> Expression:
    following = draw(st.lists(steps(depth), min_size=1, max_size=3))
    start = draw(st.sampled_from((None, None, "/", "//", ".//", ".")))
    if start is None:
        return following[0] if len(following) == 1 else Path(tuple(following))
    first: Expression = ROOT if start.startswith("/") else CONTEXT
    if start.endswith("//"):
        return Path((*descendants_of(first, following[0]).steps, *following[1:]))
    return Path((first, *following))


@st.composite
def numbers(draw: st.DrawFn, depth: int = 1) -> Expression:
    """An expression that gives a number."""
    kind = draw(st.integers(0, 9))
    if depth <= 0 or kind <= 2:
        return Constant(draw(st.sampled_from(NUMBERS)))
    if kind <= 4:
        operator = draw(st.sampled_from(_ARITHMETIC))
        return Operation(operator, (draw(values(depth - 1)), draw(values(depth - 1))))
    if kind == 5:
        return Operation("-", (draw(values(depth - 1)),))
    if kind == 6:
        name = draw(st.sampled_from(("count", "sum")))
        return Call(name, (draw(node_sets(depth - 1)),))
    if kind == 7:
        name = draw(st.sampled_from(("floor", "ceiling", "round", "number")))
        return Call(name, (draw(values(depth - 1)),))
    if kind == 8:
        return Call("string-length", (draw(values(depth - 1)),))
    return draw(st.sampled_from((Call("number"), Call("string-length"))))


@st.composite
def strings(draw: st.DrawFn, depth: int = 1) -> Expression:
    """An expression that gives a string."""
    kind = draw(st.integers(0, 9))
    if depth <= 0 or kind <= 1:
        return Constant(draw(st.sampled_from(LITERALS)))
    inner = values(depth - 1)
    if kind == 2:
        return Call("string", (draw(inner),))
    if kind == 3:
        return Call("concat", tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if kind == 4:
        name = draw(st.sampled_from(("substring-before", "substring-after")))
        return Call(name, (draw(inner), draw(inner)))
    if kind == 5:
        arguments = [draw(inner), draw(numbers(depth - 1)), draw(numbers(depth - 1))]
        return Call("substring", tuple(arguments[: draw(st.integers(2, 3))]))
    if kind == 6:
        return Call("normalize-space", (draw(inner),))
    if kind == 7:
        return Call("translate", (draw(inner), draw(inner), draw(inner)))
    if kind == 8:
        name = draw(st.sampled_from(("name", "local-name", "namespace-uri")))
        return Call(name, (draw(node_sets(depth - 1)),))
    names = ("string", "normalize-space", "name", "local-name", "namespace-uri")
    return Call(draw(st.sampled_from(names)))


@st.composite
def booleans(draw: st.DrawFn, depth: int = 1) -> Expression:
    """An expression that gives yes or no."""
    kind = draw(st.integers(0, 9))
    if depth <= 0 or kind <= 3:
        operator = draw(st.sampled_from(_COMPARISONS))
        return Operation(operator, (draw(values(depth - 1)), draw(values(depth - 1))))
    if kind <= 5:
        operator = draw(st.sampled_from(("and", "or")))
        operands = draw(st.lists(values(depth - 1), min_size=2, max_size=3))
        return Operation(operator, tuple(operands))
    if kind == 6:
        return Call(draw(st.sampled_from(("not", "boolean"))), (draw(values(depth - 1)),))
    if kind == 7:
        name = draw(st.sampled_from(("contains", "starts-with")))
        return Call(name, (draw(values(depth - 1)), draw(values(depth - 1))))
    if kind == 8:
        return Call("lang", (Constant(draw(st.sampled_from(("en", "EN", "en-GB", "de", "")))),))
    return Call(draw(st.sampled_from(("true", "false"))))


def values(depth: int = 1) -> st.SearchStrategy[Expression]:
    """An XPath 1.0 expression of any type."""
    return st.one_of(node_sets(depth), numbers(depth), strings(depth), booleans(depth))


def expressions_1(depth: int = 3) -> st.SearchStrategy[Expression]:
    """An XPath 1.0 expression."""
    return values(depth)


DATES = ("2024-02-29", "2024-03-01Z", "1999-12-31+05:00", "-0044-03-15", "2024-02-30", "today")
TIMES = ("00:00:00", "23:59:59.5Z", "12:30:00-05:00", "24:00:00")
DATE_TIMES = tuple(f"{date}T12:30:00" for date in ("2024-02-29", "2023-12-31", "0001-01-01"))
DURATIONS = ("P1D", "-P1DT2H", "PT0S", "P1Y2M", "-P13M", "P1Y1D", "PT1.5S")
REGULAR_EXPRESSIONS = (
    "a",
    "^a",
    "b$",
    "[a-c]+",
    "a.c",
    r"\d+",
    "a|b",
    "(a)(b)?",
    r"\s+",
    "[^a]",
    "x{2,3}",
    "(",
)
TYPES = (
    *("xs:string", "xs:boolean", "xs:decimal", "xs:double", "xs:float", "xs:integer", "xs:int"),
    *("xs:byte", "xs:nonNegativeInteger", "xs:positiveInteger", "xs:unsignedByte", "xs:date"),
    *("xs:dateTime", "xs:time", "xs:duration", "xs:dayTimeDuration", "xs:yearMonthDuration"),
    *("xs:anyURI", "xs:untypedAtomic", "xs:token", "xs:normalizedString"),
)
SEQUENCE_TYPES = (*TYPES, "item()", "node()", "element()", "attribute()", "text()")

_BINDINGS: tuple[Literal["some", "every", "for", "let"], ...] = ("some", "every", "for", "let")
_CASTS: tuple[Literal["cast as", "castable as"], ...] = ("cast as", "castable as")
_TESTS_OF_TYPE: tuple[Literal["instance of", "treat as"], ...] = ("instance of", "treat as")
_OCCURRENCES: tuple[Literal["", "?", "*", "+"], ...] = ("", "?", "*", "+")

_ONE_TO_ONE = (
    *("exists", "empty", "lower-case", "upper-case", "string-to-codepoints", "abs", "avg", "max"),
    *("min", "distinct-values", "reverse", "head", "tail", "zero-or-one", "one-or-more"),
    *("exactly-one", "data", "count", "string", "number", "round", "floor", "ceiling"),
    *("round-half-to-even", "sum", "string-join", "normalize-unicode", "encode-for-uri"),
    *("has-children", "root", "tokenize", "not", "boolean", "string-length", "normalize-space"),
)
_TWO_TO_ONE = (
    *("ends-with", "codepoint-equal", "contains-token", "deep-equal", "compare", "index-of"),
    *("contains", "starts-with", "concat", "substring-before", "substring-after"),
)


@st.composite
def dated(draw: st.DrawFn) -> Expression:
    """A date, time or duration, mostly a valid one."""
    name, texts = draw(
        st.sampled_from(
            (
                ("xs:date", DATES),
                ("xs:time", TIMES),
                ("xs:dateTime", DATE_TIMES),
                ("xs:duration", DURATIONS),
                ("xs:dayTimeDuration", ("P1D", "-PT36H", "PT0S", "PT1.5S")),
                ("xs:yearMonthDuration", ("P1Y", "-P1M", "P14M")),
            )
        )
    )
    return Call(name, (Constant(draw(st.sampled_from(texts))),))


@st.composite
def expressions_2(draw: st.DrawFn, depth: int = 2, variables: tuple[str, ...] = ()) -> Expression:
    """An XPath 2.0 expression, well-formed but perhaps without a value."""

    def inner(*bound: str) -> Expression:
        return draw(expressions_2(depth - 1, (*variables, *bound)))

    kind = draw(st.integers(0, 24))
    if depth <= 0 or kind <= 3:
        leaves: list[st.SearchStrategy[Expression]] = [
            st.sampled_from(CONSTANTS).map(Constant),
            _paths(0),
            dated(),
            st.sampled_from((CONTEXT, EMPTY, Call("true"), Call("false"))),
        ]
        if variables:
            leaves.append(st.sampled_from(variables).map(Variable))
        return draw(st.one_of(leaves))
    match kind:
        case 4 | 5:
            return Operation(draw(st.sampled_from(_COMPARISONS)), (inner(), inner()))
        case 6:
            names = ("eq", "ne", "lt", "le", "gt", "ge")
            return Operation(draw(st.sampled_from(names)), (inner(), inner()))
        case 7 | 8:
            operators = ("+", "-", "*", "div", "idiv", "mod", "||")
            return Operation(draw(st.sampled_from(operators)), (inner(), inner()))
        case 9:
            return Operation(",", tuple(inner() for _ in range(draw(st.integers(2, 3)))))
        case 10:
            bounds = tuple(Constant(draw(st.integers(0, 4))) for _ in range(2))
            return Operation("to", bounds)
        case 11:
            operator = draw(st.sampled_from(("intersect", "except", "|", "is", "<<", ">>")))
            return Operation(operator, (draw(_paths(depth - 1)), draw(_paths(depth - 1))))
        case 12:
            return Operation(draw(st.sampled_from(("and", "or"))), (inner(), inner()))
        case 13 | 14:
            name = draw(st.sampled_from(("v", "w")))
            how = draw(st.sampled_from(_BINDINGS))
            return Binding(how, name, inner(), inner(name))
        case 15:
            return Conditional(inner(), inner(), inner())
        case 16:
            how_cast = draw(st.sampled_from(_CASTS))
            occurrence = draw(st.sampled_from(_OCCURRENCES[:2]))
            return Typed(how_cast, inner(), draw(st.sampled_from(TYPES)), occurrence)
        case 17:
            how_asked = draw(st.sampled_from(_TESTS_OF_TYPE))
            asked = draw(st.sampled_from(_OCCURRENCES))
            return Typed(how_asked, inner(), draw(st.sampled_from(SEQUENCE_TYPES)), asked)
        case 18 | 19:
            return Call(draw(st.sampled_from(_ONE_TO_ONE)), (inner(),))
        case 20:
            return Call(draw(st.sampled_from(_TWO_TO_ONE)), (inner(), inner()))
        case 21:
            expression = Constant(draw(st.sampled_from(REGULAR_EXPRESSIONS)))
            name = draw(st.sampled_from(("matches", "tokenize", "replace")))
            more = (Constant(draw(st.sampled_from(("-", "$1", "")))),) if name == "replace" else ()
            return Call(name, (inner(), expression, *more))
        case 22:
            name = draw(st.sampled_from(("subsequence", "remove", "insert-before")))
            number = Constant(draw(st.integers(0, 3)))
            more_items = (inner(),) if name == "insert-before" else ()
            return Call(name, (inner(), number, *more_items))
        case 23:
            return Filter(inner(), (inner(),))
        case _:
            return Operation("!", (inner(), inner()))


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@st.composite
def _element(draw: st.DrawFn, depth: int) -> str:
    name = draw(st.sampled_from((*NAMES, *NAMES, "p:a", "q:b")))
    attributes = ""
    for attribute in draw(st.lists(st.sampled_from(("x", "y", "p:x")), unique=True, max_size=2)):
        attributes += f' {attribute}="{_escape(draw(st.sampled_from(TEXTS)))}"'
    extra = draw(st.integers(0, 15))
    more = {
        0: ' xmlns="urn:p"',
        1: ' xmlns=""',
        2: ' xmlns:p="urn:q"',
        3: ' xml:lang="en-GB"',
        4: ' xml:lang="de"',
        5: ' xml:id="@"',
        6: ' xml:id="@"',
    }
    attributes += more.get(extra, "")
    if depth <= 0:
        content = _escape(draw(st.sampled_from(TEXTS)))
    else:
        parts = st.one_of(
            _element(depth - 1),
            _element(depth - 1),
            st.sampled_from(TEXTS).map(_escape),
            st.sampled_from(("<!--ab-->", "<?pi x?>", "<?other?>", "<![CDATA[1]]>")),
        )
        content = "".join(draw(st.lists(parts, max_size=4)))
    return f"<{name}{attributes}>{content}</{name}>"


@st.composite
def rich_documents(draw: st.DrawFn, depth: int = 3) -> str:
    """A document with all kinds of nodes; identifiers are k1, k2 … in document order.

    Two mistakes of libxml2 are avoided: it takes a document type declaration for a node on some
    axes, and from behind the root it finds no root before it if nothing else is.
    """
    bindings = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    elements = "".join(draw(st.lists(_element(depth - 1), min_size=1, max_size=3)))
    identified = f"<a{bindings}>{elements}</a>".split('="@"')
    text = identified[0]
    for number, piece in enumerate(identified[1:], start=1):
        text += f'="k{number}"{piece}'
    before = draw(st.sampled_from(("", "<!--top-->", "<?pi top?>")))
    after = draw(st.sampled_from(("", "<!--end-->"))) if before else ""
    return f"{before}{text}{after}"
