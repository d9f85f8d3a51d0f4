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
from twigcast.language.tokens import Token, tokenize

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
    if len(text) > limits.length:
        reason = f"the expression is longer than {limits.length} characters"
        raise SubscriptionError(reason, text, limits.length)
    bound = {"xml": XML_NAMESPACE, **(namespaces or {})}
    for prefix, uri in bound.items():
        _check_binding(prefix, uri)
    return _Parser(text, bound, limits).parse()


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
    token: Token
    position: Position | None = None
    conditions: list[Condition] = field(default_factory=list)


@dataclass(slots=True)
class _Path:
    """A path as read; without steps it is ``.``, the node itself."""

    token: Token
    steps: list[_RawStep] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str, namespaces: dict[str, str], limits: LanguageLimits) -> None:
        self._text = text
        self._namespaces = namespaces
        self._limits = limits
        self._tokens = tokenize(text)
        self._at = 0
        self._token = self._tokens[0]
        self._steps = 0
        self._depth = 0

    # --- tokens -----------------------------------------------------------------------------

    def _ahead(self) -> Token:
        """The token behind the present one."""
        return self._token if self._token.kind == "end" else self._tokens[self._at + 1]

    def _next(self) -> Token:
        """Go on to the next token; the one left behind."""
        token = self._token
        if token.kind != "end":
            self._at += 1
            self._token = self._tokens[self._at]
        return token

    def _take(self, *kinds: str) -> Token | None:
        return self._next() if self._token.kind in kinds else None

    def _expect(self, kind: str, what: str) -> Token:
        token = self._take(kind)
        if token is None:
            raise self._error(f"{what} was expected here", self._token)
        return token

    def _error(self, reason: str, token: Token) -> SubscriptionError:
        return SubscriptionError(reason, self._text, token.position)

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > self._limits.depth:
            raise self._error(
                f"the expression is nested more than {self._limits.depth} deep", token
            )

    # --- expressions ------------------------------------------------------------------------

    def parse(self) -> Pattern:
        alternatives: list[Step] = []
        while True:
            condition = self._exists(self._parse_top_path())
            if condition is not NEVER:
                assert isinstance(condition, Step)
                alternatives.append(condition)
            if self._take("|") is None:
                break
        if self._token.kind != "end":
            raise self._error(self._complaint_behind("the path"), self._token)
        return Pattern(tuple(alternatives))

    def _parse_top_path(self) -> _Path:
        token = self._token
        if token.kind == "end":
            raise self._error("an expression was expected here", token)
        if token.kind == "(":
            raise self._error("parentheses around a path are not supported", token)
        axis = self._take("/", "//")
        if axis is not None and axis.kind == "/" and not self._starts_step():
            if self._token.kind in ("end", "|"):
                raise self._error("/ alone is the document itself; /* matches every document", axis)
            raise self._step_error()
        path = self._parse_steps(token, _AXES[axis.kind] if axis else Axis.DESCENDANT)
        if not path.steps:
            raise self._error("a path must name something: an element, @attribute or text()", token)
        return path

    def _parse_relative_path(self) -> _Path:
        token = self._token
        if token.kind in ("/", "//"):
            hint = "start it with . to search below this node"
            raise self._error(f"a path within a predicate cannot start at the root; {hint}", token)
        return self._parse_steps(token, Axis.CHILD)

    def _parse_steps(self, start: Token, axis: Axis) -> _Path:
        """Steps and the slashes between; ``axis`` leads to the first."""
        path = _Path(start)
        outer_depth = self._depth
        while True:
            if self._token.kind == ".":
                dot = self._next()
                if self._token.kind == "[":
                    raise self._error(". takes no predicate", self._token)
                slash = self._take("/", "//")
                if slash is None:
                    if axis is Axis.DESCENDANT:
                        raise self._error(
                            "//. at the end of a path is not supported; write //*", dot
                        )
                    break
                if slash.kind == "//":
                    axis = Axis.DESCENDANT
                continue
            step = self._parse_step(axis)
            path.steps.append(step)
            slash = self._take("/", "//")
            if slash is None:
                break
            if step.test.kind is not Kind.ELEMENT:
                raise self._error(f"nothing lies below {_called(step.test)}", slash)
            axis = _AXES[slash.kind]
        self._depth = outer_depth
        return path

    def _starts_step(self) -> bool:
        token = self._token
        return token.kind in ("name", "braced", "*", "@", ".")

    def _step_error(self) -> SubscriptionError:
        token = self._token
        if token.kind == "..":
            return self._error("the parent axis (..) is not supported", token)
        if token.kind == "$":
            return self._error("variables are not supported", token)
        if token.kind in ("string", "number"):
            return self._error("a path was expected here, not a literal", token)
        if token.kind == "(":
            return self._error("parentheses within a path are not supported", token)
        if token.kind in _ARITHMETIC:
            return self._error(f"arithmetic ({token.text}) is not supported", token)
        return self._error("a step (a name, *, @name, text() or .) was expected here", token)

    def _parse_step(self, axis: Axis) -> _RawStep:
        token = self._token
        if not self._starts_step():
            raise self._step_error()
        self._enter(token)
        self._steps += 1
        if self._steps > self._limits.steps:
            raise self._error(f"the expression has more than {self._limits.steps} steps", token)
        step = _RawStep(axis, self._parse_test(), token)
        if self._token.kind == "[" and self._at_position(self._at + 1):
            self._parse_position(step)
        while self._token.kind == "[":
            step.conditions.append(self._parse_predicate(step))
        return step

    def _parse_test(self) -> NodeTest:
        token = self._token
        if self._take("@"):
            if not self._starts_step() or self._token.kind in ("@", "."):
                raise self._error("the name of an attribute was expected here", self._token)
            return node_test(Kind.ATTRIBUTE, *self._parse_name())
        following = self._ahead()
        if token.kind == "name" and following.kind == "::":
            hint = _AXIS_HINTS.get(token.text)
            raise self._error(
                f"the axis {token.text}:: is not supported" + (f"; {hint}" if hint else ""), token
            )
        if token.kind == "name" and following.kind == "(":
            if token.text != "text":
                what = "node test" if token.text in _NODE_TYPES else "function"
                raise self._error(f"the {what} {token.text}() is not supported here", token)
            self._next()
            self._next()
            self._expect(")", ") behind text(")
            return node_test(Kind.TEXT)
        return node_test(Kind.ELEMENT, *self._parse_name())

    def _parse_name(self) -> tuple[str | None, str | None]:
        """The namespace and local part of a name test, None where anything will do."""
        token = self._next()
        if token.kind == "braced":
            end = token.position + len(token.text)
            if self._token.kind not in ("name", "*") or self._token.position != end:
                raise self._error("a name or * must follow Q{…} at once", self._token)
            local = self._next()
            return token.text[2:-1].strip(), None if local.kind == "*" else local.text
        colon, second = self._token, self._ahead()
        if (
            colon.kind != ":"
            or colon.position != token.position + len(token.text)
            or second.kind not in ("name", "*")
            or second.position != colon.position + 1
        ):
            return (None, None) if token.kind == "*" else ("", token.text)
        self._next()
        self._next()
        local_part = None if second.kind == "*" else second.text
        if token.kind == "*":
            return None, local_part
        namespace = self._namespaces.get(token.text)
        if namespace is None:
            remedy = f"bind it (namespaces={{{token.text!r}: …}}; xmlns:{token.text} = … in a file)"
            raise self._error(
                f"the prefix {token.text} is not bound; {remedy} or write Q{{…}}name", token
            )
        return namespace, local_part

    # --- predicates -------------------------------------------------------------------------

    def _at_position(self, index: int) -> bool:
        """Whether the tokens from ``index`` on start a position predicate."""
        first, second = self._tokens[index], self._tokens[min(index + 1, len(self._tokens) - 1)]
        if first.kind == "name":
            return first.text == "position" and second.kind == "("
        if first.kind != "number":
            return False
        third = self._tokens[min(index + 2, len(self._tokens) - 1)]
        return second.kind == "]" or (second.kind in _COMPARISONS and third.text == "position")

    def _parse_position(self, step: _RawStep) -> None:
        opening = self._next()
        operator, value = "=", 0.0
        if self._token.kind == "number":
            value = float(self._next().text)
            if self._token.kind != "]":
                operator = _COMPARISONS[self._next().kind]
                self._parse_position_call()
        else:
            self._parse_position_call()
            comparison = self._take(*_COMPARISONS)
            if comparison is None:
                raise self._error("position() must be compared with a number", self._token)
            operator = comparison.kind
            value = self._parse_number("a number")
        if self._token.text in ("and", "or"):
            raise self._error("a position must stand in brackets of its own", self._token)
        if self._token.kind != "]":
            raise self._error(self._complaint_behind("a position", "]"), self._token)
        self._next()
        if step.test.kind is Kind.ATTRIBUTE:
            raise self._error("attributes have no position", opening)
        position = normal.position(operator, value)
        if isinstance(position, Position):
            step.position = position
        elif not position:
            step.conditions.append(NEVER)

    def _parse_position_call(self) -> None:
        self._expect("name", "position()")
        self._expect("(", "( behind position")
        self._expect(")", ") behind position(")

    def _parse_predicate(self, step: _RawStep) -> Condition:
        opening = self._next()
        self._enter(opening)
        if self._at_position(self._at):
            raise self._error("a position must be the first predicate of its step", self._token)
        condition = self._parse_either(step.test)
        if self._token.kind != "]":
            raise self._error(self._complaint_behind("a condition", "]"), self._token)
        self._next()
        self._depth -= 1
        return condition

    def _complaint_behind(self, what: str, closing: str = "the end") -> str:
        token = self._token
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

    def _parse_either(self, test: NodeTest) -> Condition:
        members = [self._parse_both(test)]
        while self._token == ("name", "or", self._token.position):
            self._next()
            members.append(self._parse_both(test))
        return members[0] if len(members) == 1 else normal.either(members)

    def _parse_both(self, test: NodeTest) -> Condition:
        members = [self._parse_single(test)]
        while self._token == ("name", "and", self._token.position):
            self._next()
            members.append(self._parse_single(test))
        return members[0] if len(members) == 1 else normal.both(members)

    def _parse_single(self, test: NodeTest) -> Condition:
        """One condition at a node that passes ``test``."""
        token = self._token
        if token.kind == "(":
            self._next()
            return self._parse_enclosed(token, test)
        if token.kind == "name" and self._ahead().kind == "(":
            if token.text == "not":
                self._next()
                self._next()
                return normal.negation(self._parse_enclosed(token, test))
            if token.text in _STRING_FUNCTIONS:
                return self._parse_string_function(test)
            if token.text == "position":
                raise self._error("a position must stand in brackets of its own", token)
        left = self._parse_operand(test)
        comparison = self._take(*_COMPARISONS)
        if comparison is None:
            if isinstance(left, _Path):
                return self._exists(left)
            raise self._error("a constant alone is not a condition", token)
        right_token = self._token
        right = self._parse_operand(test)
        if isinstance(left, _Path) and isinstance(right, _Path):
            raise self._error("a comparison of two paths is not supported", right_token)
        if isinstance(left, _Path) and not isinstance(right, _Path):
            return self._compared(left, comparison.kind, right, right_token)
        if isinstance(right, _Path) and not isinstance(left, _Path):
            return self._compared(right, _COMPARISONS[comparison.kind], left, token)
        raise self._error("a comparison of two constants is not supported", token)

    def _parse_enclosed(self, token: Token, test: NodeTest) -> Condition:
        self._enter(token)
        condition = self._parse_either(test)
        if self._token.kind != ")":
            raise self._error(self._complaint_behind("a condition", ")"), self._token)
        self._next()
        self._depth -= 1
        return condition

    def _parse_operand(self, test: NodeTest) -> _Path | str | float:
        token = self._token
        if token.kind == "string":
            return self._next().text[1:-1]
        if token.kind in ("number", "-"):
            return self._parse_number("a number behind -")
        path = self._parse_relative_path()
        if path.steps and test.kind is not Kind.ELEMENT:
            raise self._error(f"nothing lies below {_called(test)}", token)
        return path

    def _parse_number(self, what: str) -> float:
        sign = -1.0 if self._take("-") else 1.0
        if self._token.kind == "name" and self._ahead().kind == "(":
            raise self._error(f"the function {self._token.text}() is not supported", self._token)
        return sign * float(self._expect("number", what).text)

    def _parse_string_function(self, test: NodeTest) -> Condition:
        function = self._next()
        self._next()
        token = self._token
        path = self._parse_operand(test)
        if not isinstance(path, _Path):
            raise self._error(f"{function.text}() takes a path or . first", token)
        self._expect(",", f", behind the path of {function.text}()")
        literal = self._expect("string", "a string in quotes")
        self._expect(")", f") behind {function.text}(")
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
            raise self._error("this number is too large", token) from error


def _called(test: NodeTest) -> str:
    return "an attribute" if test.kind is Kind.ATTRIBUTE else "a text node"
