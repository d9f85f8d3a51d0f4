"""Why an expression is true at a node, or is not: the values of its parts.

    count(b)>2 fails              ◄─ the expression of a residual
      = count(b) is 1             ◄─ each part that has a say, with its value at that node
        = b is 1 node: …

Parts are evaluated again, one by one, as the reference would: of ``and`` and ``or`` those up to the
one that decides, of ``some`` and ``every`` the item that decides, of ``if`` the branch that is
taken.  Constants are left out.  A part without a value says why.

Each part of the expression stands in the result once, with few witnesses, so the size is that of
the expression.  The time is that of the reference for each level of nesting, charged to one budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from twigcast.language import (
    ROOT,
    Binding,
    Call,
    Conditional,
    Constant,
    Expression,
    Filter,
    Operation,
    Path,
    Residual,
    parts_of_expression,
)
from twigcast.matching.explanation import (
    ConditionKind,
    Finding,
    Outcome,
    Progress,
    Witness,
    listed,
    shorten,
    visible,
)
from twigcast.matching.locations import Locations
from twigcast.matching.reference import (
    Atomic,
    DynamicError,
    Evaluation,
    Focus,
    Item,
    Node,
    Sequence,
    effective_boolean,
    to_text,
)

_MOST_SHOWN: Final = 3
_LONGEST_TEXT: Final = 60
_LONGEST_SPELLING: Final = 1_000


class ExpressionExplainer:
    """Explains the expressions of one pattern on one document, by the rules of one version."""

    def __init__(self, evaluation: Evaluation, locations: Locations) -> None:
        self._evaluation = evaluation
        self._locations = locations

    def residual(self, condition: Residual, node: Node) -> Finding:
        """The finding on a residual at a node."""
        finding = self._condition(condition.expression, Focus(node))
        text = shorten(condition.text, _LONGEST_SPELLING)
        return replace(finding, kind=ConditionKind.RESIDUAL, text=text)

    def _condition(self, expression: Expression, focus: Focus) -> Finding:
        """An expression that is asked for yes or no."""
        finding = Finding(ConditionKind.EXPRESSION, _spell(expression), Outcome.FAILS, asked=1)
        try:
            items = self._evaluation.evaluate(expression, focus)
            holds = effective_boolean(items)
        except DynamicError as error:
            return self._without_value(finding, error, expression, focus)
        outcome = Outcome.HOLDS if holds else Outcome.FAILS
        finding = replace(finding, outcome=outcome, parts=self._parts(expression, focus, holds))
        return finding if _is_boolean(items) else self._with_items(finding, items)

    def _value(self, expression: Expression, focus: Focus) -> Finding:
        """An expression whose value is used."""
        finding = Finding(ConditionKind.EXPRESSION, _spell(expression), Outcome.IS, asked=1)
        try:
            items = self._evaluation.evaluate(expression, focus)
        except DynamicError as error:
            return self._without_value(finding, error, expression, focus)
        if _is_boolean(items):
            return self._condition(expression, focus)
        finding = replace(finding, parts=self._parts(expression, focus, None))
        finding = self._with_items(finding, items)
        if isinstance(expression, Path):
            return replace(finding, progress=self._progress(expression, focus))
        return finding

    def _without_value(
        self, finding: Finding, error: DynamicError, expression: Expression, focus: Focus
    ) -> Finding:
        """The parts that have no value themselves say more than the whole."""
        parts = self._parts(expression, focus, None)
        blamed = any(part.outcome is Outcome.NO_VALUE for part in parts)
        detail = "" if blamed else visible(shorten(str(error)))
        return replace(finding, outcome=Outcome.NO_VALUE, detail=detail, parts=parts)

    def _parts(
        self, expression: Expression, focus: Focus, holds: bool | None
    ) -> tuple[Finding, ...]:
        """The findings on the parts that have a say; ``holds`` is the answer, if there is one."""
        match expression:
            case Operation(operator="and" | "or" as operator, operands=operands):
                return tuple(self._until_decided(operands, focus, operator == "or"))
            case Call(name="not" | "boolean", arguments=arguments):
                return tuple(self._condition(each, focus) for each in arguments)
            case Conditional():
                return tuple(self._of_conditional(expression, focus))
            case Binding():
                return tuple(self._of_binding(expression, focus, holds))
            case Operation(operator="!" | "," | "|") | Path() | Filter():
                return ()
            case Operation() | Call():
                parts = parts_of_expression(expression)
                return tuple(self._value(p, focus) for p in parts if not _is_constant(p))
            case _:
                return ()

    def _until_decided(
        self, operands: tuple[Expression, ...], focus: Focus, decides: bool
    ) -> Iterator[Finding]:
        is_decided = False
        for operand in operands:
            if is_decided:
                yield Finding(ConditionKind.EXPRESSION, _spell(operand), Outcome.NOT_REACHED)
                continue
            finding = self._condition(operand, focus)
            yield finding
            is_no_value = finding.outcome is Outcome.NO_VALUE
            is_decided = is_no_value or (finding.outcome is Outcome.HOLDS) is decides

    def _of_conditional(self, expression: Conditional, focus: Focus) -> Iterator[Finding]:
        condition = self._condition(expression.condition, focus)
        yield condition
        if condition.outcome is not Outcome.NO_VALUE:
            is_true = condition.outcome is Outcome.HOLDS
            yield self._value(expression.then if is_true else expression.otherwise, focus)

    def _of_binding(
        self, expression: Binding, focus: Focus, holds: bool | None
    ) -> Iterator[Finding]:
        """What the variable was bound to, and the condition at the item that decided."""
        source = self._value(expression.source, focus)
        yield source
        if expression.kind not in ("some", "every") or source.outcome is Outcome.NO_VALUE:
            return
        wanted = {True: Outcome.HOLDS, False: Outcome.FAILS, None: Outcome.NO_VALUE}[holds]
        last: Finding | None = None
        for item in self._evaluation.evaluate(expression.source, focus):
            inner = replace(focus, variables={**focus.variables, expression.name: [item]})
            last = self._condition(expression.body, inner)
            if last.outcome is wanted:
                break
        if last is not None:
            yield last

    def _progress(self, path: Path, focus: Focus) -> tuple[Progress, ...]:
        """How many items each step reached, up to the first that reached none."""
        progress: list[Progress] = []
        for count in range(1, len(path.steps) + 1):
            steps = path.steps[:count]
            reached = len(self._evaluation.evaluate(_path(steps), focus))
            if steps[-1] != ROOT:
                progress.append(Progress(_spell(steps[-1]), reached))
            if not reached:
                break
        return tuple(progress)

    def _with_items(self, finding: Finding, items: Sequence) -> Finding:
        """The finding with the value in words, and the nodes in it as witnesses."""
        shown = items[:_MOST_SHOWN]
        more = len(items) - len(shown)
        witnesses = tuple(self._witness(item) for item in shown if isinstance(item, Node))
        return replace(finding, detail=self._spell_items(items), witnesses=witnesses, more=more)

    def _spell_items(self, items: Sequence) -> str:
        if not items:
            return "empty"
        shown = [self._spell_item(item) for item in items[:_MOST_SHOWN]]
        row = listed(shown, len(items) - len(shown))
        if len(items) == 1:
            return row
        what = "nodes" if all(isinstance(item, Node) for item in items) else "values"
        return f"{len(items):,} {what}: {row}"

    def _spell_item(self, item: Item) -> str:
        if isinstance(item, Node):
            witness = self._witness(item)
            text = witness.text or ""
            after = "…" if len(text) < witness.length else ""
            return f'"{visible(text)}"{after} at {shorten(witness.location)}'
        return _spell_value(item, is_version_2=self._evaluation.setting.is_version_2)

    def _witness(self, node: Node) -> Witness:
        self._evaluation.setting.charge([node])
        text = node.string_value()
        return Witness(self._locations.location(node), text[:_LONGEST_TEXT], 0, len(text))


def _spell_value(value: Atomic, *, is_version_2: bool) -> str:
    text = to_text(value, is_version_2=is_version_2)
    if not isinstance(value.value, str):
        return text
    after = "…" if len(text) > _LONGEST_TEXT else ""
    return f'"{visible(text[:_LONGEST_TEXT])}"{after}'


def _spell(expression: Expression) -> str:
    return shorten(expression.text, _LONGEST_SPELLING)


def _is_boolean(items: Sequence) -> bool:
    return len(items) == 1 and isinstance(items[0], Atomic) and items[0].type == "xs:boolean"


def _is_constant(expression: Expression) -> bool:
    """Whether a part says nothing about the document."""
    if isinstance(expression, Constant):
        return True
    is_closed = isinstance(expression, Operation) or (
        isinstance(expression, Call) and bool(expression.arguments)
    )
    return is_closed and all(map(_is_constant, parts_of_expression(expression)))


def _path(steps: tuple[Expression, ...]) -> Expression:
    return steps[0] if len(steps) == 1 else Path(steps)
