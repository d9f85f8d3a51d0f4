"""From tokens to expression: recursive descent over the whole grammar.

    expression     := single (',' single)*
    single         := operand (operator operand)*         by the strength of the operators
    operand        := ('for' | 'let' | 'some' | 'every') bindings … | 'if' … | '-' operand | path
    path           := ('/' | '//')? step (('/' | '//') step)*
    step           := (axis test | primary) ('[' expression ']')*

The grammar is that of XPath 1.0 with what XPath 2.0 and 3.1 add to it.  Where the two disagree
about strength, XPath 1.0 holds: ``-a|b`` is ``-(a|b)``, and comparisons may be chained.

Names are expanded, ``//`` is put as ``descendant::`` where that means the same, and variables of
the subscriber become constants.  A relative path of the whole expression is anchored here: it may
begin anywhere (``a`` is ``//a``), or at the document node where ``relative_to`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final, Literal, get_args

from twigcast.language.analysis import is_anywhere, is_position_free
from twigcast.language.expressions import (
    CONTEXT,
    EMPTY,
    ROOT,
    STRENGTHS,
    TYPED_STRENGTH,
    Along,
    AxisName,
    Binding,
    BindingKind,
    Call,
    Conditional,
    Constant,
    ContextItem,
    Expression,
    Filter,
    Operation,
    Path,
    Root,
    Typed,
    TypedKind,
    Variable,
    walk_expression,
)
from twigcast.language.functions import BY_NAME, REGULAR, Function
from twigcast.language.grammar_reader import KIND_TESTS, GrammarReader
from twigcast.language.nodes import (
    Kind,
    node_test,
)
from twigcast.language.regular import compile_regular

_AXES: Final = frozenset(get_args(AxisName))
_ANYWHERE: Final = Along("descendant-or-self", node_test(Kind.NODE))
_MOST_DIGITS: Final = 38
"""Of a literal that is exact; one with more is a double."""
_BINDERS: Final = ("some", "every", "for", "let")
_TYPED: Final[dict[str, TypedKind]] = {kind: kind for kind in get_args(TypedKind)}
_JOINED: Final = ("and", "or", "|")
_EQUALITY: Final = STRENGTHS["="]
# XPath 1.0 has two levels of comparisons, of which `=` is the weaker one.
_STRENGTHS: Final = {
    operator: strength + (strength >= _EQUALITY and operator not in ("=", "!=", "eq", "ne", "is"))
    for operator, strength in STRENGTHS.items()
    if operator != ","
}
_TYPED_STRENGTH: Final = TYPED_STRENGTH + 1


class Grammar(GrammarReader):
    """One reading of an expression.

    Afterwards ``deepest`` is how far it was nested, ``prefixes`` and ``variables`` are the bindings
    that it used.
    """

    # --- expressions ------------------------------------------------------------------------

    def parse(self) -> Expression:
        """The whole text."""
        expression = self._parse_expression()
        if self.kind != "end":
            raise self.error(self._complaint("the end"), self.at)
        return expression

    def _parse_expression(self) -> Expression:
        first = self._parse_operators()
        if self.kind != ",":
            return first
        members = [first]
        while self.take(","):
            members.append(self._parse_operators())
        return Operation(",", tuple(members))

    def _parse_operators(self, weakest: int = 0) -> Expression:
        """Operands joined by operators of that strength or more: precedence climbing.

        One call for a level of parentheses, however many levels of operators there are.
        """
        kind = self.kind
        if kind in ("-", "+"):
            left = self._parse_sign()
        elif kind == "name" and self.ahead() == "$" and self.word in _BINDERS:
            left = self._parse_binding()
        elif kind == "name" and self.ahead() == "(" and self.word == "if":
            left = self._parse_conditional()
        else:
            left = self._parse_path()
        while True:
            operator, strength = self._operator()
            if not operator or strength < weakest:
                return left
            if operator in _TYPED:
                left = self._parse_type(_TYPED[operator], left)
                continue
            at = self.at
            if operator in _JOINED:
                left = self._parse_joined(left, operator, strength)
                continue
            self._count(at)
            self.next()
            if operator == "!":
                self._within += 1
            constant = self.at if not isinstance(left, Constant) else at - 1
            left = Operation(operator, (left, self._parse_operators(strength + 1)))
            self._begin(left, constant)
            if operator == "!":
                self._within -= 1

    def _operator(self) -> tuple[str, int]:
        """The operator that is next, and its strength; an empty text where none is."""
        word = self.word
        if self.kind == "name":
            if word == "union":
                word = "|"
            elif word in ("instance", "treat", "castable", "cast"):
                word = f"{word} {self.words[self.at + 1]}"
                return (word, _TYPED_STRENGTH) if word in _TYPED else ("", 0)
        elif self.kind != word:
            return "", 0
        strength = _STRENGTHS.get(word)
        return ("", 0) if strength is None else (word, strength)

    def _parse_joined(self, first: Expression, operator: str, strength: int) -> Expression:
        """``and``, ``or`` and ``|`` with all their operands."""
        members = [first]
        while self._operator()[0] == operator:
            self.next()
            members.append(self._parse_operators(strength + 1))
        return Operation(operator, tuple(members))

    def _parse_sign(self) -> Expression:
        self._enter(self.at)
        self._count(self.at)
        sign = self.next()
        # Of XPath 1.0, a union is stronger than a sign; of XPath 2.0, `cast as` is weaker.
        operand = self._parse_operators(_STRENGTHS["!"])
        if self._operator()[0] == "|":
            operand = self._parse_joined(operand, "|", _STRENGTHS["!"] - 1)
        negative = Operation("-", (operand,))
        self._depth -= 1
        return negative if sign == "-" else Operation("-", (negative,))

    def _parse_binding(self) -> Expression:
        self._enter(self.at)
        self._count(self.at)
        kind: BindingKind = self.next()  # type: ignore[assignment]  # one of _BINDERS
        bound: list[tuple[str, Expression]] = []
        while True:
            self.expect("$", "$ and the name of a variable")
            name = self._parse_variable_name()
            if kind == "let":
                self.expect(":=", ":= behind the variable")
            else:
                self._expect_word("in", "behind the variable")
            bound.append((name, self._parse_operators()))
            self._in_scope.append(name)
            if not self.take(","):
                break
        self._expect_word("satisfies" if kind in ("some", "every") else "return", "here")
        body = self._parse_operators()
        for name, source in reversed(bound):
            self._in_scope.pop()
            body = Binding(kind, name, source, body)
        self._depth -= 1
        return body

    def _parse_conditional(self) -> Expression:
        self._enter(self.at)
        self._count(self.at)
        self.next()
        self.next()
        condition = self._parse_expression()
        self._close(")", "the condition")
        self._expect_word("then", "behind the condition")
        then = self._parse_operators()
        self._expect_word("else", "behind the first value")
        otherwise = self._parse_operators()
        self._depth -= 1
        return Conditional(condition, then, otherwise)

    # --- types ------------------------------------------------------------------------------

    def _parse_type(self, kind: TypedKind, operand: Expression) -> Expression:
        self._count(self.at)
        self.next()
        self.next()
        at = self.at
        if self.kind == "name" and self.ahead() == "(":
            name = self.next()
            self.next()
            self.expect(")", f") behind {name}(")
            if name not in ("item", "empty-sequence", *KIND_TESTS) or "cast" in kind:
                raise self.error(f"the type {name}() is not known here", at)
            name = f"{name}()"
        else:
            name = self._parse_type_name()
        occurrence: Literal["", "?", "*", "+"] = ""
        if self.kind in ("?", "*", "+") and (self.kind == "?" or "cast" not in kind):
            occurrence = self.next()  # type: ignore[assignment]  # one of the three
        if name == "empty-sequence()":
            return Call("empty", (operand,))
        return Typed(kind, operand, name, occurrence)

    # --- paths ------------------------------------------------------------------------------

    def _parse_path(self) -> Expression:
        outer_depth = self._depth
        at = self.at
        slash = self.take("/", "//")
        if slash:
            if slash == "/" and not self._at_step():
                return ROOT
            steps = self._parse_steps([ROOT, _ANYWHERE] if slash == "//" else [ROOT])
        else:
            first = self._parse_step()
            if self.kind not in ("/", "//"):
                self._depth = outer_depth
                return self._anchored([first]) if self._is_relative(first) else first
            steps = self._anchor(first) if self._is_relative(first) else [first]
            steps = self._parse_more(steps)
        self._depth = outer_depth
        return _make_path(steps, lambda: self.error("a path was expected here", at))

    def _is_relative(self, first: Expression) -> bool:
        """Whether a path that begins so belongs to the whole expression and has no begin."""
        return not self._within and isinstance(first, Along | ContextItem)

    def _anchor(self, first: Expression) -> list[Expression]:
        if self._relative_to == "document":
            return [ROOT, first]
        return [ROOT, _ANYWHERE, first]

    def _anchored(self, steps: list[Expression]) -> Expression:
        return _make_path(self._anchor(steps[0]), AssertionError)

    def _at_step(self) -> bool:
        return self.kind in ("name", "braced", "*", "@", ".", "..", "(", "$", "string", "number")

    def _parse_steps(self, steps: list[Expression]) -> list[Expression]:
        self._within += 1
        steps.append(self._parse_step())
        self._within -= 1
        return self._parse_more(steps)

    def _parse_more(self, steps: list[Expression]) -> list[Expression]:
        self._within += 1
        while self.kind in ("/", "//"):
            if self.next() == "//":
                steps.append(_ANYWHERE)
            steps.append(self._parse_step())
        self._within -= 1
        return steps

    def _parse_step(self) -> Expression:
        at = self.at
        kind = self.kind
        if kind != ".":
            self._enter(at)
        if kind == "name":
            following = self.ahead()
            if following == "::":
                return self._parse_along(self.word)
            if following == "(":
                if self.word in KIND_TESTS and self.word not in BY_NAME:
                    return self._along("attribute" if self.word == "attribute" else "child")
                return self._parse_call()
            if following == ":" and self._is_call():
                return self._parse_call()
            return self._along("child")
        if kind in ("braced", "*"):
            return self._along("child")
        if kind == "@":
            self.next()
            if self.kind not in ("name", "braced", "*"):
                raise self.error("the name of an attribute was expected here", self.at)
            return self._along("attribute")
        if kind == "..":
            self._count(at)
            self.next()
            return Along("parent", node_test(Kind.NODE), self._parse_predicates())
        if kind == "(" and self.ahead() != ")":
            self.next()
            inner = self._parse_expression()
            self._close(")", "an expression")
        else:
            inner = self._parse_primary()
        return self._filtered(inner)

    def _is_call(self) -> bool:
        """Whether a prefix, a local name and an opening parenthesis are next."""
        kinds = self.kinds
        return kinds[self.at + 2] == "name" and kinds[self.at + 3 : self.at + 4] == ["("]

    def _parse_along(self, axis: str) -> Expression:
        if axis not in _AXES:
            raise self.error(f"there is no axis {axis}::", self.at)
        self.next()
        self.next()
        return self._along(axis)  # type: ignore[arg-type]  # one of _AXES

    def _along(self, axis: AxisName) -> Expression:
        self._count(self.at)
        return Along(axis, self._parse_test(axis), self._parse_predicates())

    def _parse_predicates(self) -> tuple[Expression, ...]:
        if self.kind != "[":
            return ()
        predicates = []
        self._within += 1
        while self.kind == "[":
            opening = self.at
            self._enter(opening)
            self.next()
            predicates.append(self._parse_expression())
            self._begin(predicates[-1], opening)
            self._close("]", "a condition")
            self._depth -= 1
        self._within -= 1
        return tuple(predicates)

    # --- primaries --------------------------------------------------------------------------

    def _filtered(self, base: Expression) -> Expression:
        predicates = self._parse_predicates()
        return Filter(base, predicates) if predicates else base

    def _parse_primary(self) -> Expression:
        at, kind = self.at, self.kind
        if kind == "string":
            return Constant(self._literal())
        if kind == "number":
            return Constant(_number(self.next()))
        if kind == ".":
            self.next()
            return CONTEXT
        if kind == "$":
            self.next()
            return self._parse_variable()
        if kind == "(":
            self.next()
            self.next()
            return EMPTY
        if kind == "end":
            raise self.error("an expression was expected here", at)
        reason = f"{self.word!r} is not expected here; an expression was{self._remedy()}"
        raise self.error(reason, at)

    def _parse_variable(self) -> Expression:
        at = self.at
        name = self._parse_variable_name()
        if name in self._in_scope:
            return Variable(name)
        value = self._variables.get(name)
        if value is None:
            remedy = f"bind it (variables={{{name!r}: …}}; ${name} = … in a file)"
            raise self.error(f"the variable ${name} is not bound; {remedy}", at - 1)
        self.variables.add(name)
        self._count_value(value, at)
        return value

    def _count_value(self, value: Expression, at: int) -> None:
        """Each member counts as a comparison, and each character as one of the expression."""
        for each in walk_expression(value):
            if each is not value:
                self._count(at)
            if isinstance(each, Constant):
                self._length += len(str(each.value))
                if self._length > self._limits.length:
                    most = self._limits.length
                    reason = f"with its variables, the expression is longer than {most} characters"
                    raise self.error(reason, at - 1)

    def _parse_call(self) -> Expression:
        at = self.at
        name = self._parse_function_name()
        if name != "not":
            self._count(at)
        self.next()
        arguments: list[Expression] = []
        begins: list[int] = []
        if not self.take(")"):
            while True:
                begins.append(self.at)
                arguments.append(self._parse_operators())
                if not self.take(","):
                    break
            self._close(")", "an argument")
        function = BY_NAME.get(name)
        if function is not None and not function.least <= len(arguments) <= function.most:
            raise self.error(f"{name}() takes {_arity(function)}", at)
        if name in REGULAR and len(arguments) > 1:
            self._check_regular(name, arguments, begins)
        return self._filtered(Call(name, tuple(arguments)))

    def _check_regular(self, name: str, arguments: list[Expression], begins: list[int]) -> None:
        """Refuse a regular expression that is none, or that only a document would say."""
        texts: list[str] = []
        for at in (1, REGULAR[name])[: 2 if len(arguments) > REGULAR[name] else 1]:
            given = arguments[at]
            if not isinstance(given, Constant) or not isinstance(given.value, str):
                what = "a regular expression" if at == 1 else "the flags"
                raise self.error(f"{what} must be a text in quotes or a variable", begins[at])
            texts.append(given.value)
        try:
            compile_regular(*texts)
        except ValueError as error:
            reason, offset = error.args
            where = f" (character {offset + 1})"
            raise self.error(f"in the regular expression{where}, {reason}", begins[1]) from None

    # --- complaints -------------------------------------------------------------------------


def _make_path(steps: list[Expression], error: Callable[[], Exception]) -> Expression:
    """The path of these steps, spelled in one way."""
    flat: list[Expression] = []
    for step in steps:
        for each in step.steps if isinstance(step, Path) else (step,):
            if flat and isinstance(each, ContextItem):
                continue  # `/.` leads nowhere
            if flat and isinstance(each, Root):
                raise error()
            joined = _below_anywhere(flat, each)
            if joined is not None:
                flat[-1] = joined
            elif len(flat) == 1 and isinstance(flat[0], ContextItem):
                flat[0] = each
            else:
                flat.append(each)
    return flat[0] if len(flat) == 1 else Path(tuple(flat))


def _below_anywhere(before: list[Expression], step: Expression) -> Expression | None:
    """``descendant-or-self::node()/child::b`` as ``descendant::b``, where nothing is counted."""
    if not before or not isinstance(step, Along) or not is_anywhere(before[-1]):
        return None
    if is_anywhere(step):
        return step
    if step.axis in ("child", "descendant") and all(map(is_position_free, step.predicates)):
        return Along("descendant", step.test, step.predicates)
    return None


def _number(word: str) -> int | Decimal | float:
    """The value of a numeric literal, of the type that XPath 2.0 gives it."""
    mantissa, exponent, power = word.lower().partition("e")
    if exponent or len(mantissa) > _MOST_DIGITS:
        return float(f"{mantissa}e{power}" if power.strip("+-") else mantissa)
    return Decimal(mantissa) if "." in mantissa else int(mantissa)


def _arity(function: Function) -> str:
    least, most = function.least, function.most
    if least == most:
        return f"{least} argument{'' if least == 1 else 's'}" if least else "no arguments"
    return f"{least} to {most} arguments" if most < 10 else f"at least {least} arguments"
