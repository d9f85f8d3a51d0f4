"""From tokens to pattern: recursive descent, which builds the normal form bottom-up.

    expression := path ('|' path)*                      at top level only
    path       := ('/' | '//')? step (('/' | '//') step)*
    step       := '.' | (name | '@' name | 'text()') ('[' position ']')? ('[' condition ']')*
    condition  := conjunct ('or' conjunct)*
    conjunct   := test ('and' test)*
    test       := '(' condition ')' | 'not(' condition ')' | operand (operator operand)?
                | function '(' path ',' string ')'      function: those of language/operators.py
    operand    := path | string | number

All else of XPath is recognised far enough to be named in the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.language import normal
from twigcast.language.limits import LanguageLimits
from twigcast.language.nodes import (
    ALWAYS,
    ATTRIBUTE,
    CHILD,
    DESCENDANT,
    ELEMENT,
    NEVER,
    TEXT,
    Axis,
    Condition,
    NodeTest,
    Position,
    Step,
    element_test,
    node_test,
)
from twigcast.language.operators import FUNCTIONS, MIRRORED, TEXT_OPERATORS
from twigcast.language.pattern import Pattern
from twigcast.language.tokens import TokenReader

_AXES = {"/": CHILD, "//": DESCENDANT}
_AXIS_HINTS = {
    "child": "write the name alone",
    "attribute": "write @name",
    "descendant": "write //name",
    "descendant-or-self": "write //",
    "self": "write .",
}
_STEP_STARTS = ("name", "braced", "*", "@", ".")
_NODE_TYPES = ("node", "comment", "processing-instruction")
_ARITHMETIC = ("+", "-", "*", "div", "mod")

_RawStep = tuple[Axis, NodeTest, Position | None, list[Condition]]
"""A step as read, before the path behind it is known, with the conditions in its brackets."""

_Path = list[_RawStep]
"""A path as read; without steps it is ``.``, the node itself."""


class Descent(TokenReader):
    """One reading of an expression.

    Afterwards ``deepest`` is how far it was nested, ``prefixes`` are the bound prefixes that it
    used, and ``warnings`` say what can never hold.
    """

    def __init__(self, text: str, namespaces: Mapping[str, str], limits: LanguageLimits) -> None:
        if len(text) > limits.length:
            reason = f"the expression is longer than {limits.length} characters"
            raise SubscriptionError(reason, text, limits.length)
        super().__init__(text)
        self._namespaces = namespaces
        self._default = namespaces.get("", "")
        self._limits = limits
        self.prefixes: set[str] = set()
        self.warnings: list[SubscriptionWarning] = []
        self._steps = 0
        self._depth = 0
        self.deepest = 0

    # --- limits -----------------------------------------------------------------------------

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
            reason = f"the expression has more than {self._limits.steps} steps and comparisons"
            raise self.error(reason, at)

    # --- expressions ------------------------------------------------------------------------

    def parse(self) -> Pattern:
        """The pattern of the whole text."""
        alternatives: list[Step] = []
        while True:
            condition = _exists(self._parse_top_path(), ALWAYS)
            if condition is not NEVER:
                assert isinstance(condition, Step)
                alternatives.append(condition)
            if not self.take("|"):
                break
        if self.kind != "end":
            raise self.error(self._complaint_behind("the path"), self.at)
        return Pattern(tuple(alternatives))

    def _parse_top_path(self) -> _Path:
        at = self.at
        if self.kind == "end":
            raise self.error("an expression was expected here", at)
        if self.kind == "(":
            raise self.error("parentheses around a path are not supported", at)
        slash = self.take("/", "//")
        if slash == "/" and self.kind not in _STEP_STARTS:
            if self.kind in ("end", "|"):
                raise self.error("/ alone is the document itself; /* matches every document", at)
            raise self._step_error()
        path = self._parse_steps(_AXES[slash] if slash else DESCENDANT)
        if not path:
            raise self.error("a path must name something: an element, @attribute or text()", at)
        return path

    def _parse_relative_path(self) -> _Path:
        if self.kind in ("/", "//"):
            hint = "start it with . to search below this node"
            reason = f"a path within a predicate cannot start at the root; {hint}"
            raise self.error(reason, self.at)
        return self._parse_steps(CHILD)

    def _parse_steps(self, axis: Axis) -> _Path:
        """Steps and the slashes between; ``axis`` leads to the first."""
        path: _Path = []
        outer_depth = self._depth
        while True:
            if self.kind == ".":
                dot = self.at
                self.next()
                if self.kind == "[":
                    raise self.error(". takes no predicate", self.at)
                slash = self.take("/", "//")
                if not slash:
                    if axis is DESCENDANT:
                        reason = "//. at the end of a path is not supported; write //*"
                        raise self.error(reason, dot)
                    break
                if slash == "//":
                    axis = DESCENDANT
                continue
            step = self._parse_step(axis)
            path.append(step)
            if self.kind not in _AXES:
                break
            test = step[1]
            if test.kind is not ELEMENT:
                raise self.error(f"nothing lies below {_called(test)}", self.at)
            axis = _AXES[self.next()]
        self._depth = outer_depth
        return path

    def _step_error(self) -> SubscriptionError:
        kind, at = self.kind, self.at
        if kind == "..":
            return self.error("the parent axis (..) is not supported", at)
        if kind == "$":
            return self.error("variables are not supported", at)
        if kind in ("string", "number"):
            return self.error("a path was expected here, not a literal", at)
        if kind == "(":
            return self.error("parentheses within a path are not supported", at)
        if kind in _ARITHMETIC:
            return self.error(f"arithmetic ({self.word}) is not supported", at)
        return self.error("a step (a name, *, @name, text() or .) was expected here", at)

    def _parse_step(self, axis: Axis) -> _RawStep:
        if self.kind not in _STEP_STARTS:
            raise self._step_error()
        self._enter(self.at)
        self._count(self.at)
        test = self._parse_test()
        position = None
        conditions: list[Condition] = []
        if self.kind == "[":
            opening = self.at
            if self._at_position(opening + 1):
                asked = self._parse_position(test)
                if isinstance(asked, Position):
                    position = asked
                elif not asked:
                    self._warn("no sibling has this position; positions are 1, 2, 3, …", opening)
                    conditions.append(NEVER)
            while self.kind == "[":
                conditions.append(self._parse_predicate(test))
        return axis, test, position, conditions

    def _parse_test(self) -> NodeTest:
        if self.kind == "name":
            following = self.ahead()
            if following not in (":", "::", "("):
                return self._unprefixed_element(self.next())
            if following == "::":
                hint = _AXIS_HINTS.get(self.word)
                reason = f"the axis {self.word}:: is not supported" + (f"; {hint}" if hint else "")
                raise self.error(reason, self.at)
            if following == "(":
                return self._parse_text_test()
        if not self.take("@"):
            return node_test(ELEMENT, *self._parse_name(self._default))
        if self.kind not in ("name", "braced", "*"):
            raise self.error("the name of an attribute was expected here", self.at)
        return node_test(ATTRIBUTE, *self._parse_name())

    def _parse_text_test(self) -> NodeTest:
        if self.word != "text":
            what = "node test" if self.word in _NODE_TYPES else "function"
            raise self.error(f"the {what} {self.word}() is not supported here", self.at)
        self.next()
        self.next()
        self.expect(")", ") behind text(")
        return node_test(TEXT)

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

    # --- predicates -------------------------------------------------------------------------

    def _at_position(self, at: int) -> bool:
        """Whether the tokens from that one on start a position predicate."""
        kinds = self.kinds
        if kinds[at] == "number":
            if kinds[at + 1] not in MIRRORED:
                return kinds[at + 1] == "]"
            at += 2
        return kinds[at] == "name" and kinds[at + 1] == "(" and self.words[at] == "position"

    def _parse_position(self, test: NodeTest) -> Position | bool:
        """A position; True where every sibling passes, False where none does."""
        opening = self.at
        self.next()
        operator, value = "=", 0.0
        if self.kind == "number":
            value = self._parse_number("a number")
            if self.kind != "]":
                operator = MIRRORED[self.next()]
                self._parse_position_call()
        else:
            self._parse_position_call()
            operator = self.take(*MIRRORED)
            if not operator:
                raise self.error("position() must be compared with a number", self.at)
            value = self._parse_number("a number")
        if self.word in ("and", "or"):
            raise self.error("a position must stand in brackets of its own", self.at)
        if self.kind != "]":
            raise self.error(self._complaint_behind("a position", "]"), self.at)
        self.next()
        if test.kind is ATTRIBUTE:
            raise self.error("attributes have no position", opening)
        return normal.position(operator, value)

    def _parse_position_call(self) -> None:
        self.expect("name", "position()")
        self.expect("(", "( behind position")
        self.expect(")", ") behind position(")

    def _parse_predicate(self, test: NodeTest) -> Condition:
        self._enter(self.at)
        self.next()
        if self._at_position(self.at):
            raise self.error("a position must be the first predicate of its step", self.at)
        condition = self._parse_either(test)
        if self.kind != "]":
            raise self.error(self._complaint_behind("a condition", "]"), self.at)
        self.next()
        self._depth -= 1
        return condition

    def _complaint_behind(self, what: str, closing: str = "the end") -> str:
        kind, word = self.kind, self.word
        if kind == "end":
            return f"{closing} is missing"
        if word in _ARITHMETIC:
            return f"arithmetic ({word}) is not supported"
        if kind == "|":
            return "a union (|) within a predicate is not supported; write or"
        if kind == "[":
            return "a predicate must stand behind a step"
        if kind in MIRRORED:
            return "a comparison belongs into a predicate, between a path and one constant"
        return f"{word!r} is not expected behind {what}"

    # The conditions below are built negated where an odd number of `not` stands around them, so
    # that each is brought into normal form once, however deep they are nested.

    def _parse_either(self, test: NodeTest, negated: bool = False) -> Condition:
        first = self._parse_both(test, negated)
        if self.kind != "name" or self.word != "or":
            return first
        members = [first]
        while self.kind == "name" and self.word == "or":
            self.next()
            members.append(self._parse_both(test, negated))
        return normal.both(members) if negated else normal.either(members)

    def _parse_both(self, test: NodeTest, negated: bool) -> Condition:
        first = self._parse_single(test, negated)
        if self.kind != "name" or self.word != "and":
            return first
        members = [first]
        while self.kind == "name" and self.word == "and":
            self.next()
            members.append(self._parse_single(test, negated))
        return normal.either(members) if negated else normal.both(members)

    def _parse_single(self, test: NodeTest, negated: bool) -> Condition:
        """One condition, or its negation, at a node that passes ``test``."""
        at = self.at
        if self.kind == "(":
            self.next()
            return self._parse_enclosed(at, test, negated)
        if self.kind == "name" and self.ahead() == "(" and self.word == "not":
            self.next()
            self.next()
            return self._parse_enclosed(at, test, not negated)
        condition = self._parse_plain(test)
        return normal.negation(condition) if negated else condition

    def _parse_plain(self, test: NodeTest) -> Condition:
        """A path, a comparison or a function at a node that passes ``test``."""
        at = self.at
        if self.kind == "name" and self.ahead() == "(":
            if self.word in FUNCTIONS:
                return self._parse_string_function(test)
            if self.word == "position":
                raise self.error("a position must stand in brackets of its own", at)
        left = self._parse_operand(test)
        if self.kind not in MIRRORED:
            if isinstance(left, list):
                return _exists(left, ALWAYS)
            raise self.error("a constant alone is not a condition", at)
        self._count(self.at)
        operator = self.next()
        right_at = self.at
        right = self._parse_operand(test)
        if isinstance(left, list):
            if isinstance(right, list):
                raise self.error("a comparison of two paths is not supported", right_at)
            return self._compared(left, operator, right, right_at)
        if isinstance(right, list):
            return self._compared(right, MIRRORED[operator], left, at)
        raise self.error("a comparison of two constants is not supported", at)

    def _parse_enclosed(self, at: int, test: NodeTest, negated: bool) -> Condition:
        self._enter(at)
        condition = self._parse_either(test, negated)
        if self.kind != ")":
            raise self.error(self._complaint_behind("a condition", ")"), self.at)
        self.next()
        self._depth -= 1
        return condition

    def _parse_operand(self, test: NodeTest) -> _Path | str | float:
        at = self.at
        if self.kind == "string":
            return self.next()[1:-1]
        if self.kind in ("number", "-"):
            return self._parse_number("a number behind -")
        path = self._parse_relative_path()
        if path and test.kind is not ELEMENT:
            raise self.error(f"nothing lies below {_called(test)}", at)
        return path

    def _parse_number(self, what: str) -> float:
        sign = -1.0 if self.take("-") else 1.0
        if self.kind == "name" and self.ahead() == "(":
            raise self.error(f"the function {self.word}() is not supported", self.at)
        at = self.at
        value = float(self.expect("number", what))
        if math.isinf(value):
            raise self.error("this number is too large", at)
        return sign * value

    def _parse_string_function(self, test: NodeTest) -> Condition:
        self._count(self.at)
        function = self.next()
        self.next()
        at = self.at
        path = self._parse_operand(test)
        if not isinstance(path, list):
            raise self.error(f"{function}() takes a path or . first", at)
        self.expect(",", f"a comma behind the path of {function}()")
        literal = self.expect("string", "a string in quotes")[1:-1]
        self.expect(")", f") behind {function}(")
        steps: list[Step] = []
        for axis, step_test, position, brackets in path:
            conditions = normal.conjunction(brackets)
            if conditions is None:
                # The path selects nothing, which XPath takes for an empty string.
                return ALWAYS if literal == "" else NEVER
            steps.append(Step(axis, step_test, position, conditions))
        return normal.first_node(steps, function, literal)

    def _compared(self, path: _Path, operator: str, operand: str | float, at: int) -> Condition:
        try:
            test = normal.value_test(operator, operand)
        except ValueError as error:
            raise self.error("this number is too large", at) from error
        if test is NEVER:
            texts = [f"{each}()" if each in FUNCTIONS else each for each in TEXT_OPERATORS]
            reason = (
                f"this comparison never holds: {operator} compares numbers, as in XPath 1.0, and "
                f"{operand!r} is no number; {', '.join(texts)} compare texts"
            )
            self._warn(reason, at)
        return _exists(path, test)

    def _warn(self, reason: str, at: int) -> None:
        """Note what looks like a mistake at a token."""
        self.warnings.append(SubscriptionWarning(reason, self.text, self.starts[at]))


def _exists(path: _Path, last: Condition) -> Condition:
    """The condition that the path selects a node where ``last`` holds."""
    condition = last
    for axis, test, position, conditions in reversed(path):
        if condition is not ALWAYS:
            conditions.append(condition)
        condition = normal.branch(axis, test, position, conditions)
    return condition


def _name_or_any(word: str) -> str | None:
    return None if word == "*" else word


def _called(test: NodeTest) -> str:
    return "an attribute" if test.kind is ATTRIBUTE else "a text node"
