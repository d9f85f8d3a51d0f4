"""The functions of expressions: every function of XPath that Twigcast knows, once.

The grammar reads this table to know a function and its number of arguments, the lowering to know
what kind of value it gives, and the kernel, of whose headers one is made from it when the kernel
is built: the *code* of a function is its index in :data:`FUNCTIONS_OF_XPATH`.

``result`` is the static type of the value, as far as predicates and comparisons must know it before
a document is there:

    boolean, number, string   one value of that type (of ``number``: perhaps none)
    nodes                     nodes only
    any                       anything else: sequences, dates, or not known

The module imports nothing of Twigcast, so that ``setup.py`` can load it before the kernel exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Result: TypeAlias = Literal["boolean", "number", "string", "nodes", "any"]

_ANY_NUMBER: Final = 1_000
"""As many arguments as an expression can hold."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: its name without ``fn:``, and how many arguments it takes."""

    name: str
    least: int
    most: int
    result: Result
    is_xpath_1: bool = False
    """Whether XPath 1.0 has it."""
    uses_context: bool = False
    """Whether its value depends on the context item if an argument is left out."""


def _all(result: Result, least: int, most: int, names: str, **facts: bool) -> list[Function]:
    return [Function(name, least, most, result, **facts) for name in names.split()]


FUNCTIONS_OF_XPATH: Final = (
    # XPath 1.0
    *_all("number", 0, 0, "last position", is_xpath_1=True, uses_context=True),
    *_all("number", 1, 1, "count sum floor ceiling", is_xpath_1=True),
    *_all("number", 1, 2, "round", is_xpath_1=True),
    *_all("number", 0, 1, "number string-length", is_xpath_1=True, uses_context=True),
    *_all("nodes", 1, 1, "id", is_xpath_1=True),
    *_all("string", 0, 1, "local-name namespace-uri name", is_xpath_1=True, uses_context=True),
    *_all("string", 0, 1, "string normalize-space", is_xpath_1=True, uses_context=True),
    *_all("string", 2, _ANY_NUMBER, "concat", is_xpath_1=True),
    *_all("string", 2, 2, "substring-before substring-after", is_xpath_1=True),
    *_all("string", 2, 3, "substring", is_xpath_1=True),
    *_all("string", 3, 3, "translate", is_xpath_1=True),
    *_all("boolean", 2, 2, "starts-with contains", is_xpath_1=True),
    *_all("boolean", 1, 1, "boolean not", is_xpath_1=True),
    *_all("boolean", 0, 0, "true false", is_xpath_1=True),
    *_all("boolean", 1, 2, "lang", is_xpath_1=True, uses_context=True),
    # XPath 2.0 and later
    *_all("boolean", 1, 1, "exists empty"),
    *_all("boolean", 2, 2, "ends-with codepoint-equal contains-token deep-equal"),
    *_all("boolean", 2, 3, "matches"),
    *_all("boolean", 0, 1, "has-children", uses_context=True),
    *_all("string", 1, 1, "lower-case upper-case codepoints-to-string encode-for-uri"),
    *_all("string", 1, 2, "string-join normalize-unicode"),
    *_all("string", 3, 4, "replace"),
    *_all("number", 1, 1, "abs"),
    *_all("number", 1, 2, "round-half-to-even"),
    *_all("number", 2, 2, "compare"),
    *_all("nodes", 0, 1, "root", uses_context=True),
    *_all("any", 1, 1, "avg max min distinct-values reverse head tail string-to-codepoints"),
    *_all("any", 1, 1, "zero-or-one one-or-more exactly-one unordered"),
    *_all("any", 0, 1, "data", uses_context=True),
    *_all("any", 1, 3, "tokenize"),
    *_all("any", 2, 2, "index-of remove"),
    *_all("any", 3, 3, "insert-before"),
    *_all("any", 2, 3, "subsequence"),
    *_all("any", 0, 0, "current-date current-dateTime current-time"),
    *_all("any", 1, 1, "year-from-date month-from-date day-from-date"),
    *_all("any", 1, 1, "year-from-dateTime month-from-dateTime day-from-dateTime"),
    *_all("any", 1, 1, "hours-from-dateTime minutes-from-dateTime seconds-from-dateTime"),
    *_all("any", 1, 1, "hours-from-time minutes-from-time seconds-from-time"),
    *_all("any", 1, 1, "years-from-duration months-from-duration days-from-duration"),
    *_all("any", 1, 1, "hours-from-duration minutes-from-duration seconds-from-duration"),
    # Constructors: the types that a value can be cast to
    *_all("any", 1, 1, "xs:string xs:boolean xs:decimal xs:double xs:float xs:integer"),
    *_all("any", 1, 1, "xs:long xs:int xs:short xs:byte xs:nonNegativeInteger"),
    *_all("any", 1, 1, "xs:positiveInteger xs:nonPositiveInteger xs:negativeInteger"),
    *_all("any", 1, 1, "xs:unsignedLong xs:unsignedInt xs:unsignedShort xs:unsignedByte"),
    *_all("any", 1, 1, "xs:date xs:dateTime xs:time xs:duration"),
    *_all("any", 1, 1, "xs:dayTimeDuration xs:yearMonthDuration"),
    *_all("any", 1, 1, "xs:anyURI xs:untypedAtomic xs:normalizedString xs:token"),
)

BY_NAME: Final = {function.name: function for function in FUNCTIONS_OF_XPATH}

CODES: Final = {function.name: code for code, function in enumerate(FUNCTIONS_OF_XPATH)}

REGULAR: Final = {"matches": 2, "tokenize": 2, "replace": 3}
"""The functions whose second argument is a regular expression, and which argument the flags are."""

XSLT_FUNCTIONS: Final = frozenset(
    "current document key generate-id system-property format-number unparsed-entity-uri "
    "element-available function-available format-date format-dateTime current-group "
    "current-grouping-key regex-group".split()
)
"""Functions that only a stylesheet has; the error says so."""

OUTSIDE_FUNCTIONS: Final = frozenset(
    "doc doc-available collection uri-collection unparsed-text unparsed-text-lines "
    "environment-variable static-base-uri".split()
)
"""Functions of XPath that look at something beside the document."""

TYPES: Final = frozenset(name for name in BY_NAME if name.startswith("xs:"))
"""The atomic types that ``cast as``, ``castable as`` and ``instance of`` know."""
