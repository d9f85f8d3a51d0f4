"""From text to pattern: recursive descent over the tokens, building the normal form on the way.

    expression := path ('|' path)*                      at top level only
    path       := ('/' | '//')? step (('/' | '//') step)*
    step       := '.' | (name | '@' name | 'text()') ('[' position ']')? ('[' condition ']')*
    condition  := conjunct ('or' conjunct)*
    conjunct   := test ('and' test)*
    test       := '(' condition ')' | 'not(' condition ')' | operand (operator operand)?
                | ('contains' | 'starts-with') '(' path ',' string ')'
    operand    := path | string | number

All else of XPath is recognised far enough to be named in the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from twigcast.errors import SubscriptionError
from twigcast.language import normal
from twigcast.language.limits import DEFAULT_LIMITS, LanguageLimits
from twigcast.language.nodes import (
    ALWAYS,
    NEVER,
    Axis,
    Condition,
    Kind,
    NodeTest,
    Position,
    Step,
    node_test,
)
from twigcast.language.pattern import Pattern
from twigcast.language.tokens import Token, TokenReader

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

_COMPARISONS = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Each comparison, and what it becomes when its sides change places."""

_AXES = {"/": Axis.CHILD, "//": Axis.DESCENDANT}
_AXIS_HINTS = {
    "child": "write the name alone",
    "attribute": "write @name",
    "descendant": "write //name",
    "descendant-or-self": "write //",
    "self": "write .",
}
_STRING_FUNCTIONS = ("contains", "starts-with")
_NODE_TYPES = ("node", "comment", "processing-instruction")
_ARITHMETIC = ("+", "-", "*", "div", "mod")


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
    bound = {"xml": XML_NAMESPACE, **(namespaces or {})}
    for prefix, uri in bound.items():
        _check_binding(prefix, uri)
    parser = _Parser(text, bound, limits)
    pattern = parser.parse()
    normal_form = str(pattern)
    # It may be longer and up to three times as deep (brackets for slashes, `not` at each leaf).
    if len(normal_form) > limits.length or 3 * parser.deepest > limits.depth:
        try:
            _Parser(normal_form, bound, limits).parse()
        except SubscriptionError as error:
            raise SubscriptionError(f"in normal form, {error.reason}", text, 0) from error
    return pattern


def _check_binding(prefix: str, uri: str) -> None:
    if not isinstance(uri, str):
        raise TypeError(f"the namespace of {prefix} is a str, not {type(uri).__name__}")
    if "{" in uri or "}" in uri:
        raise ValueError(f"the namespace of {prefix} must not have braces: {uri}")
    if (prefix == "xml") != (uri == XML_NAMESPACE):
        raise ValueError(f"xml and {XML_NAMESPACE} belong together; {prefix} is bound to {uri}")


@dataclass(slots=True)
class _RawStep:
    """A step as read, before the path behind it is known."""

    axis: Axis
    test: NodeTest
    position: Position | None = None
    conditions: list[Condition] = field(default_factory=list)


@dataclass(slots=True)
class _Path:
    """A path as read; without steps it is ``.``, the node itself."""

    steps: list[_RawStep] = field(default_factory=list)


class _Parser(TokenReader):
    def __init__(self, text: str, namespaces: dict[str, str], limits: LanguageLimits) -> None:
        if len(text) > limits.length:
            reason = f"the expression is longer than {limits.length} characters"
            raise SubscriptionError(reason, text, limits.length)
        super().__init__(text)
        self._namespaces = namespaces
        self._limits = limits
        self._steps = 0
        self._depth = 0
        self.deepest = 0

    # --- limits -----------------------------------------------------------------------------

    def _enter(self, token: Token) -> None:
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)
        if self._depth > self._limits.depth:
            reason = f"the expression is nested more than {self._limits.depth} deep"
            raise self.error(reason, token)

    def _count(self, token: Token) -> None:
        self._steps += 1
        if self._steps > self._limits.steps:
            reason = f"the expression has more than {self._limits.steps} steps and comparisons"
            raise self.error(reason, token)

    # --- expressions ------------------------------------------------------------------------

    def parse(self) -> Pattern:
        alternatives: list[Step] = []
        while True:
            condition = self._exists(self._parse_top_path())
            if condition is not NEVER:
                assert isinstance(condition, Step)
                alternatives.append(condition)
            if self.take("|") is None:
                break
        if self.token.kind != "end":
            raise self.error(self._complaint_behind("the path"), self.token)
        return Pattern(tuple(alternatives))

    def _parse_top_path(self) -> _Path:
        token = self.token
        if token.kind == "end":
            raise self.error("an expression was expected here", token)
        if token.kind == "(":
            raise self.error("parentheses around a path are not supported", token)
        axis = self.take("/", "//")
        if axis is not None and axis.kind == "/" and not self._starts_step():
            if self.token.kind in ("end", "|"):
                raise self.error("/ alone is the document itself; /* matches every document", axis)
            raise self._step_error()
        path = self._parse_steps(_AXES[axis.kind] if axis else Axis.DESCENDANT)
        if not path.steps:
            raise self.error("a path must name something: an element, @attribute or text()", token)
        return path

    def _parse_relative_path(self) -> _Path:
        token = self.token
        if token.kind in ("/", "//"):
            hint = "start it with . to search below this node"
            raise self.error(f"a path within a predicate cannot start at the root; {hint}", token)
        return self._parse_steps(Axis.CHILD)

    def _parse_steps(self, axis: Axis) -> _Path:
        """Steps and the slashes between; ``axis`` leads to the first."""
        path = _Path()
        outer_depth = self._depth
        while True:
            if self.token.kind == ".":
                dot = self.next()
                if self.token.kind == "[":
                    raise self.error(". takes no predicate", self.token)
                slash = self.take("/", "//")
                if slash is None:
                    if axis is Axis.DESCENDANT:
                        raise self.error(
                            "//. at the end of a path is not supported; write //*", dot
                        )
                    break
                if slash.kind == "//":
                    axis = Axis.DESCENDANT
                continue
            step = self._parse_step(axis)
            path.steps.append(step)
            slash = self.take("/", "//")
            if slash is None:
                break
            if step.test.kind is not Kind.ELEMENT:
                raise self.error(f"nothing lies below {_called(step.test)}", slash)
            axis = _AXES[slash.kind]
        self._depth = outer_depth
        return path

    def _starts_step(self) -> bool:
        token = self.token
        return token.kind in ("name", "braced", "*", "@", ".")

    def _step_error(self) -> SubscriptionError:
        token = self.token
        if token.kind == "..":
            return self.error("the parent axis (..) is not supported", token)
        if token.kind == "$":
            return self.error("variables are not supported", token)
        if token.kind in ("string", "number"):
            return self.error("a path was expected here, not a literal", token)
        if token.kind == "(":
            return self.error("parentheses within a path are not supported", token)
        if token.kind in _ARITHMETIC:
            return self.error(f"arithmetic ({token.text}) is not supported", token)
        return self.error("a step (a name, *, @name, text() or .) was expected here", token)

    def _parse_step(self, axis: Axis) -> _RawStep:
        token = self.token
        if not self._starts_step():
            raise self._step_error()
        self._enter(token)
        self._count(token)
        step = _RawStep(axis, self._parse_test())
        if self.token.kind == "[" and self._at_position(self.at + 1):
            self._parse_position(step)
        while self.token.kind == "[":
            step.conditions.append(self._parse_predicate(step))
        return step

    def _parse_test(self) -> NodeTest:
        token = self.token
        if self.take("@"):
            if not self._starts_step() or self.token.kind in ("@", "."):
                raise self.error("the name of an attribute was expected here", self.token)
            return node_test(Kind.ATTRIBUTE, *self._parse_name())
        following = self.ahead()
        if token.kind == "name" and following.kind == "::":
            hint = _AXIS_HINTS.get(token.text)
            raise self.error(
                f"the axis {token.text}:: is not supported" + (f"; {hint}" if hint else ""), token
            )
        if token.kind == "name" and following.kind == "(":
            if token.text != "text":
                what = "node test" if token.text in _NODE_TYPES else "function"
                raise self.error(f"the {what} {token.text}() is not supported here", token)
            self.next()
            self.next()
            self.expect(")", ") behind text(")
            return node_test(Kind.TEXT)
        return node_test(Kind.ELEMENT, *self._parse_name())

    def _parse_name(self) -> tuple[str | None, str | None]:
        """The namespace and local part of a name test, None where anything will do."""
        token = self.next()
        if token.kind == "braced":
            end = token.position + len(token.text)
            if self.token.kind not in ("name", "*") or self.token.position != end:
                raise self.error("a name or * must follow Q{…} at once", self.token)
            local = self.next()
            return token.text[2:-1], None if local.kind == "*" else local.text
        colon, second = self.token, self.ahead()
        if (
            colon.kind != ":"
            or colon.position != token.position + len(token.text)
            or second.kind not in ("name", "*")
            or second.position != colon.position + 1
        ):
            return (None, None) if token.kind == "*" else ("", token.text)
        self.next()
        self.next()
        local_part = None if second.kind == "*" else second.text
        if token.kind == "*":
            return None, local_part
        namespace = self._namespaces.get(token.text)
        if namespace is None:
            remedy = f"bind it (namespaces={{{token.text!r}: …}}; xmlns:{token.text} = … in a file)"
            raise self.error(
                f"the prefix {token.text} is not bound; {remedy} or write Q{{…}}name", token
            )
        return namespace, local_part

    # --- predicates -------------------------------------------------------------------------

    def _at_position(self, index: int) -> bool:
        """Whether the tokens from ``index`` on start a position predicate."""
        kinds = [token.kind for token in self.tokens[index : index + 4]]
        if kinds[:2] == ["number", "]"]:
            return True
        if kinds[0] == "number" and len(kinds) == 4 and kinds[1] in _COMPARISONS:
            index, kinds = index + 2, kinds[2:]
        return kinds[:2] == ["name", "("] and self.tokens[index].text == "position"

    def _parse_position(self, step: _RawStep) -> None:
        opening = self.next()
        operator, value = "=", 0.0
        if self.token.kind == "number":
            value = self._parse_number("a number")
            if self.token.kind != "]":
                operator = _COMPARISONS[self.next().kind]
                self._parse_position_call()
        else:
            self._parse_position_call()
            comparison = self.take(*_COMPARISONS)
            if comparison is None:
                raise self.error("position() must be compared with a number", self.token)
            operator = comparison.kind
            value = self._parse_number("a number")
        if self.token.text in ("and", "or"):
            raise self.error("a position must stand in brackets of its own", self.token)
        if self.token.kind != "]":
            raise self.error(self._complaint_behind("a position", "]"), self.token)
        self.next()
        if step.test.kind is Kind.ATTRIBUTE:
            raise self.error("attributes have no position", opening)
        position = normal.position(operator, value)
        if isinstance(position, Position):
            step.position = position
        elif not position:
            step.conditions.append(NEVER)

    def _parse_position_call(self) -> None:
        self.expect("name", "position()")
        self.expect("(", "( behind position")
        self.expect(")", ") behind position(")

    def _parse_predicate(self, step: _RawStep) -> Condition:
        opening = self.next()
        self._enter(opening)
        if self._at_position(self.at):
            raise self.error("a position must be the first predicate of its step", self.token)
        condition = self._parse_either(step.test)
        if self.token.kind != "]":
            raise self.error(self._complaint_behind("a condition", "]"), self.token)
        self.next()
        self._depth -= 1
        return condition

    def _complaint_behind(self, what: str, closing: str = "the end") -> str:
        token = self.token
        if token.kind == "end":
            return f"{closing} is missing"
        if token.text in _ARITHMETIC:
            return f"arithmetic ({token.text}) is not supported"
        if token.kind == "|":
            return "a union (|) within a predicate is not supported; write or"
        if token.kind == "[":
            return "a predicate must stand behind a step"
        if token.kind in _COMPARISONS:
            return "a comparison belongs into a predicate, between a path and one constant"
        return f"{token.text!r} is not expected behind {what}"

    # The conditions below are built negated where an odd number of `not` stands around them, so
    # that each is brought into normal form once, however deep they are nested.

    def _parse_either(self, test: NodeTest, negated: bool = False) -> Condition:
        members = [self._parse_both(test, negated)]
        while self.token.kind == "name" and self.token.text == "or":
            self.next()
            members.append(self._parse_both(test, negated))
        if len(members) == 1:
            return members[0]
        return normal.both(members) if negated else normal.either(members)

    def _parse_both(self, test: NodeTest, negated: bool) -> Condition:
        members = [self._parse_single(test, negated)]
        while self.token.kind == "name" and self.token.text == "and":
            self.next()
            members.append(self._parse_single(test, negated))
        if len(members) == 1:
            return members[0]
        return normal.either(members) if negated else normal.both(members)

    def _parse_single(self, test: NodeTest, negated: bool) -> Condition:
        """One condition, or its negation, at a node that passes ``test``."""
        token = self.token
        if token.kind == "(":
            self.next()
            return self._parse_enclosed(token, test, negated)
        if token.kind == "name" and token.text == "not" and self.ahead().kind == "(":
            self.next()
            self.next()
            return self._parse_enclosed(token, test, not negated)
        condition = self._parse_plain(test)
        return normal.negation(condition) if negated else condition

    def _parse_plain(self, test: NodeTest) -> Condition:
        """A path, a comparison or a function at a node that passes ``test``."""
        token = self.token
        if token.kind == "name" and self.ahead().kind == "(":
            if token.text in _STRING_FUNCTIONS:
                return self._parse_string_function(test)
            if token.text == "position":
                raise self.error("a position must stand in brackets of its own", token)
        left = self._parse_operand(test)
        comparison = self.take(*_COMPARISONS)
        if comparison is None:
            if isinstance(left, _Path):
                return self._exists(left)
            raise self.error("a constant alone is not a condition", token)
        self._count(comparison)
        right_token = self.token
        right = self._parse_operand(test)
        if isinstance(left, _Path) and isinstance(right, _Path):
            raise self.error("a comparison of two paths is not supported", right_token)
        if isinstance(left, _Path) and not isinstance(right, _Path):
            return self._compared(left, comparison.kind, right, right_token)
        if isinstance(right, _Path) and not isinstance(left, _Path):
            return self._compared(right, _COMPARISONS[comparison.kind], left, token)
        raise self.error("a comparison of two constants is not supported", token)

    def _parse_enclosed(self, token: Token, test: NodeTest, negated: bool) -> Condition:
        self._enter(token)
        condition = self._parse_either(test, negated)
        if self.token.kind != ")":
            raise self.error(self._complaint_behind("a condition", ")"), self.token)
        self.next()
        self._depth -= 1
        return condition

    def _parse_operand(self, test: NodeTest) -> _Path | str | float:
        token = self.token
        if token.kind == "string":
            return self.next().text[1:-1]
        if token.kind in ("number", "-"):
            return self._parse_number("a number behind -")
        path = self._parse_relative_path()
        if path.steps and test.kind is not Kind.ELEMENT:
            raise self.error(f"nothing lies below {_called(test)}", token)
        return path

    def _parse_number(self, what: str) -> float:
        sign = -1.0 if self.take("-") else 1.0
        if self.token.kind == "name" and self.ahead().kind == "(":
            raise self.error(f"the function {self.token.text}() is not supported", self.token)
        token = self.expect("number", what)
        value = float(token.text)
        if math.isinf(value):
            raise self.error("this number is too large", token)
        return sign * value

    def _parse_string_function(self, test: NodeTest) -> Condition:
        function = self.next()
        self._count(function)
        self.next()
        token = self.token
        path = self._parse_operand(test)
        if not isinstance(path, _Path):
            raise self.error(f"{function.text}() takes a path or . first", token)
        self.expect(",", f", behind the path of {function.text}()")
        literal = self.expect("string", "a string in quotes")
        self.expect(")", f") behind {function.text}(")
        steps: list[Step] = []
        for raw in path.steps:
            conditions = normal.conjunction(raw.conditions)
            if conditions is None:
                # The path selects nothing, which XPath takes for an empty string.
                return ALWAYS if literal.text[1:-1] == "" else NEVER
            steps.append(Step(raw.axis, raw.test, raw.position, conditions))
        return normal.first_node(steps, function.text, literal.text[1:-1])

    # --- from paths to conditions -----------------------------------------------------------

    def _exists(self, path: _Path, last: Condition = ALWAYS) -> Condition:
        """The condition that the path selects a node where ``last`` holds."""
        condition = last
        for step in reversed(path.steps):
            conditions = (*step.conditions, condition)
            condition = normal.branch(step.axis, step.test, step.position, conditions)
        return condition

    def _compared(
        self, path: _Path, operator: str, operand: str | float, token: Token
    ) -> Condition:
        try:
            return self._exists(path, normal.value_test(operator, operand))
        except ValueError as error:
            raise self.error("this number is too large", token) from error


def _called(test: NodeTest) -> str:
    return "an attribute" if test.kind is Kind.ATTRIBUTE else "a text node"
