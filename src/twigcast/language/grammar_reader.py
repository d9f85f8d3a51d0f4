"""What all of the grammar needs: names and what they stand for, limits, complaints."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from twigcast.errors import SubscriptionError
from twigcast.language.bindings import Scope
from twigcast.language.expressions import AxisName, Expression
from twigcast.language.functions import BY_NAME, OUTSIDE_FUNCTIONS, TYPES, XSLT_FUNCTIONS
from twigcast.language.limits import LanguageLimits
from twigcast.language.nodes import (
    ATTRIBUTE,
    ELEMENT,
    VERSION_2,
    Kind,
    NodeTest,
    element_test,
    node_test,
)
from twigcast.language.tokens import TokenReader

KIND_TESTS: Final = {
    "node": Kind.NODE,
    "text": Kind.TEXT,
    "comment": Kind.COMMENT,
    "processing-instruction": Kind.INSTRUCTION,
    "element": ELEMENT,
    "attribute": ATTRIBUTE,
    "document-node": Kind.DOCUMENT,
}
_SCHEMA_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"
_FUNCTION_NAMESPACE: Final = "http://www.w3.org/2005/xpath-functions"
_KNOWN_PREFIXES: Final = {
    "": _FUNCTION_NAMESPACE,
    "fn": _FUNCTION_NAMESPACE,
    "xs": _SCHEMA_NAMESPACE,
    "xsd": _SCHEMA_NAMESPACE,
}
_ALIKE: Final = 0.75
_REMEDIES: Final = {
    "==": "write =",
    "<>": "write !=",
    "&&": "write and",
    "AND": "write and",
    "OR": "write or",
    "NOT": "write not(…)",
    "LIKE": "write contains(…), starts-with(…) or matches(…)",
    "IN": "write = (…, …)",
}
"""What other languages write, and XPath's word for it."""


class GrammarReader(TokenReader):
    """The words of an expression with the bindings of its names, within limits."""

    def __init__(self, text: str, scope: Scope, limits: LanguageLimits) -> None:
        if len(text) > limits.length:
            reason = f"the expression is longer than {limits.length} characters"
            raise SubscriptionError(reason, text, limits.length)
        super().__init__(text)
        self._namespaces, self._variables, self._relative_to = scope
        self._default = self._namespaces.get("", "")
        self._limits = limits
        self.prefixes: set[str] = set()
        self.variables: set[str] = set()
        self._in_scope: list[str] = []
        self._within = 0  # predicates and steps around: a relative path there starts at a node
        self._steps = 0
        self._length = len(text)
        self._depth = 0
        self.deepest = 0
        self._begins: dict[int, tuple[Expression, int]] = {}

    def position_of(self, expression: Expression) -> int | None:
        """Where in the text a comparison, or the bracket of a predicate, is."""
        known = self._begins.get(id(expression))
        return None if known is None else self.starts[known[1]]

    def _begin(self, expression: Expression, at: int) -> None:
        # The expression is kept, so that no other one gets its id.
        self._begins.setdefault(id(expression), (expression, at))

    def _enter(self, at: int) -> None:
        self._depth += 1
        if self._depth > self.deepest:
            self.deepest = self._depth
            if self.deepest > self._limits.depth:
                reason = f"the expression is nested more than {self._limits.depth} deep"
                raise self.error(reason, at)

    def _count(self, at: int) -> None:
        self._steps += 1
        if self._steps > self._limits.steps:
            most = self._limits.steps
            reason = f"the expression has more than {most} steps, comparisons and calls"
            raise self.error(reason, at)

    def _parse_test(self, axis: AxisName) -> NodeTest:
        kind = self.kind
        if kind == "name":
            following = self.ahead()
            if following == "(":
                return self._parse_kind_test()
            if following != ":" and axis not in ("attribute", "namespace"):
                return self._unprefixed_element(self.next())
        if kind not in ("name", "braced", "*"):
            raise self.error("a name, * or a node test was expected here", self.at)
        if axis == "attribute":
            return node_test(ATTRIBUTE, *self._parse_name())
        if axis == "namespace":
            return node_test(Kind.NAMESPACE, *self._parse_name())
        return node_test(ELEMENT, *self._parse_name(self._default))

    def _parse_kind_test(self) -> NodeTest:
        at = self.at
        word = self.next()
        kind = KIND_TESTS.get(word)
        if kind is None:
            raise self.error(f"the function {word}() cannot stand behind an axis", at)
        self.next()
        name: tuple[str | None, str | None] = (None, None)
        if kind is Kind.INSTRUCTION and self.kind in ("string", "name"):
            name = None, self._literal() if self.kind == "string" else self.next()
        elif kind in (ELEMENT, ATTRIBUTE) and self.kind in ("name", "braced", "*"):
            name = self._parse_name(self._default if kind is ELEMENT else "")
        self.expect(")", f") behind {word}(")
        return node_test(kind, *name)

    def _unprefixed_element(self, name: str) -> NodeTest:
        if not self._default:
            return element_test(name)
        self.prefixes.add("")
        return node_test(ELEMENT, self._default, name)

    def _parse_name(self, default: str = "") -> tuple[str | None, str | None]:
        """The namespace and local part of a name test, None where anything will do.

        ``default`` is the namespace of a name without a prefix.
        """
        at, kind = self.at, self.kind
        word = self.next()
        if kind == "braced":
            if self.kind not in ("name", "*") or not self.joined(at):
                raise self.error("a name or * must follow Q{…} at once", self.at)
            return word[2:-1], _name_or_any(self.next())
        if (
            self.kind != ":"
            or self.ahead() not in ("name", "*")
            or not self.joined(at)
            or not self.joined(at + 1)
        ):
            if kind == "*":
                return None, None
            if default:
                self.prefixes.add("")
            return default, word
        self.next()
        local = _name_or_any(self.next())
        if kind == "*":
            return None, local
        namespace = self._namespaces.get(word)
        if namespace is None:
            remedy = f"bind it (namespaces={{{word!r}: …}}; xmlns:{word} = … in a file)"
            raise self.error(f"the prefix {word} is not bound; {remedy} or write Q{{…}}name", at)
        self.prefixes.add(word)
        return namespace, local

    def _parse_function_name(self) -> str:
        at = self.at
        prefix, local = "", self.next()
        if self.kind == ":":
            self.next()
            prefix, local = local, self.next()
        spelled = f"{prefix}:{local}" if prefix else local
        namespace = self._namespace_of_functions(prefix)
        if namespace == _SCHEMA_NAMESPACE:
            name = f"xs:{local}"
        elif namespace == _FUNCTION_NAMESPACE:
            name = local
        else:
            where = f"; {prefix} is bound to {namespace}" if namespace else ""
            raise self.error(f"the function {spelled}() is not known{where}", at)
        if name in BY_NAME or (name == VERSION_2 and not prefix):
            return name
        if name in XSLT_FUNCTIONS:
            reason = f"{spelled}() is a function of stylesheets; there is none here"
            raise self.error(reason, at)
        if name in OUTSIDE_FUNCTIONS:
            reason = f"{spelled}() is not there; an expression sees one document and nothing else"
            raise self.error(reason, at)
        similar = [f"xs:{name}"] if f"xs:{name}" in TYPES else []
        similar = similar or get_close_matches(name.lower(), BY_NAME, n=1, cutoff=_ALIKE)
        hint = f"; did you mean {similar[0]}()?" if similar else ""
        raise self.error(f"the function {spelled}() is not known{hint}", at)

    def _namespace_of_functions(self, prefix: str) -> str | None:
        """The namespace that a prefix of a function or a type stands for.

        Some need no binding, and stand for the same whatever they are bound to.
        """
        bound = self._namespaces.get(prefix) if prefix else None
        if bound is not None:
            self.prefixes.add(prefix)
        return _KNOWN_PREFIXES.get(prefix, bound)

    def _parse_type_name(self) -> str:
        at = self.at
        if self.kind != "name":
            raise self.error("the name of a type was expected here", at)
        prefix, local = "", self.next()
        if self.kind == ":" and self.ahead() == "name":
            self.next()
            prefix, local = local, self.next()
        name = f"xs:{local}"
        is_schema_type = self._namespace_of_functions(prefix) == _SCHEMA_NAMESPACE
        if not is_schema_type or name not in TYPES:
            spelled = f"{prefix}:{local}" if prefix else local
            hint = f"; did you mean {name}?" if name in TYPES and not prefix else ""
            raise self.error(f"the type {spelled} is not known{hint}", at)
        return name

    def _literal(self) -> str:
        word = self.next()
        mark = word[0]
        return word[1:-1].replace(mark + mark, mark)

    def _parse_variable_name(self) -> str:
        name = self.expect("name", "the name of a variable")
        if self.kind == ":" and self.ahead() == "name":
            self.next()
            name = f"{name}:{self.next()}"
        return name

    def _close(self, closing: str, what: str) -> None:
        if self.kind != closing:
            raise self.error(self._complaint(closing, what), self.at)
        self.next()

    def _complaint(self, closing: str, behind: str = "the expression") -> str:
        if self.kind == "end":
            return f"{closing} is missing"
        return f"{self.word!r} is not expected behind {behind}{self._remedy()}"

    def _remedy(self) -> str:
        """XPath's word for what other languages write; begins with a semicolon."""
        remedy = _REMEDIES.get(self.word.upper()) or _REMEDIES.get(
            "".join(self.words[max(self.at - 1, 0) : self.at + 1])
        )
        return f"; {remedy}" if remedy else ""

    def _expect_word(self, word: str, where: str) -> None:
        if self.kind != "name" or self.word != word:
            raise self.error(f"{word} was expected {where}", self.at)
        self.next()


def _name_or_any(word: str) -> str | None:
    return None if word == "*" else word
