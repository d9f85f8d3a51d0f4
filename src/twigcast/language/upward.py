"""Conditions that look upwards, while a pattern is being built.

A pattern tree only looks down.  A predicate may look up: at the node itself (``self::b``,
``local-name() = 'b'``), at its parent (``../c``), at its ancestors, at the root (``//c``).  Such a
condition is an :class:`Upward` until the step that it belongs to is built; then :func:`branch`
moves it to where a pattern can say it:

    a[self::b]     no node is both            *[self::b]      →  b
    x/a[../c]      →  x[a][c]                 //a[../c]       →  //*[a][c], or at the root
    a[ancestor::c] →  c//a, or a below c above
    a[//c]         →  a, and //c at the document node

What is left when the document node is reached has its answer there (:func:`at_document`).  Where an
``or`` holds such a condition, its members become alternatives of the step.  Finished patterns hold
no :class:`Upward`.

Cost: the alternatives of a step multiply; past a bound the step is not built and
:class:`CannotLowerError` is raised, as for a condition without any such form (``not(self::b)``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import Final, TypeGuard

from twigcast.language import normal
from twigcast.language.expressions import (
    ROOT,
    Along,
    Binding,
    Call,
    Conditional,
    ContextItem,
    Expression,
    Filter,
    Operation,
    Path,
    Typed,
)
from twigcast.language.functions import BY_NAME
from twigcast.language.nodes import (
    ALWAYS,
    CHILD,
    DESCENDANT,
    ELEMENT,
    NEVER,
    TEXT,
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Position,
    Residual,
    Step,
    ValueTest,
    node_test,
)

_MOST_ALTERNATIVES: Final = 16
_LONGEST: Final = 5_000
"""Of conditions that are moved up, in characters; moving them may repeat them."""
_ANY_ELEMENT: Final = node_test(ELEMENT)
_set = object.__setattr__


class CannotLowerError(Exception):
    """No pattern says this; the expression around it becomes a residual."""


class Where(Enum):
    """Where a condition is to hold, as seen from a node."""

    SELF = "self"
    PARENT = "parent"
    ANCESTOR = "ancestor"
    ROOT = "root"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Upward(Condition):
    """A condition at a node above, or a test that the node itself must pass.

    ``at_top`` is its answer at the document node, which has nothing above it.
    """

    where: Where
    condition: Condition = ALWAYS
    test: NodeTest | None = None
    at_top: bool = False
    text: str = field(init=False)

    def __post_init__(self) -> None:
        test = self.test
        name = "" if test is None else f"{test.kind.value} {test.namespace!r} {test.local!r}"
        _set(self, "text", f"{self.where.value}({name},{self.at_top},{self.condition.text})")


def at_self(test: NodeTest) -> Condition:
    """The node itself passes the test; one of ``Kind.NODE`` asks for the name alone."""
    if test.kind is Kind.NODE and test.namespace is None and test.local is None:
        return ALWAYS
    return Upward(Where.SELF, test=test)


def above(where: Where, condition: Condition) -> Condition:
    """The condition holds there."""
    if where is Where.ROOT and condition in (ALWAYS, NEVER):
        return condition
    return NEVER if condition is NEVER else Upward(where, condition)


def negate(condition: Condition) -> Condition:
    """The condition does not hold."""
    match condition:
        case Upward(where=Where.PARENT | Where.ROOT):
            inner = negate(condition.condition)
            return Upward(condition.where, inner, at_top=not condition.at_top)
        case Upward():
            raise CannotLowerError
        case Either(members=members):
            return normal.both(map(negate, members))
        case Both(members=members):
            return normal.either(map(negate, members))
        case _:
            return normal.negation(condition)


_PLAIN: Final = frozenset({Step, ValueTest, FirstNode, Negation})
"""Conditions that neither look upwards nor need anything above their node."""


def branch(
    axis: Axis, test: NodeTest, position: Position | None, conditions: Iterable[Condition]
) -> Condition:
    """The condition that such a node is there; it may itself look upwards."""
    conditions = tuple(conditions)
    if all(type(each) in _PLAIN for each in conditions):  # most are; it is quick to see
        return _plain_branch(axis, test, position, conditions)
    needed = tuple(_needed_above(conditions))
    if needed:
        with suppress(CannotLowerError):  # it may be left out
            return _branch(axis, test, position, (*conditions, *needed))
    return _branch(axis, test, position, conditions)


def _branch(
    axis: Axis, test: NodeTest, position: Position | None, conditions: tuple[Condition, ...]
) -> Condition:
    if not any(map(looks_up, conditions)):
        return _plain_branch(axis, test, position, conditions)
    if sum(len(each.text) for each in conditions) > _LONGEST:
        raise CannotLowerError
    combinations = [(*each, *_needed_above(each)) for each in _alternatives(conditions)]
    if len(combinations) > _MOST_ALTERNATIVES:
        raise CannotLowerError
    return normal.either(_raised(axis, test, position, each) for each in combinations)


def _needed_above(conditions: Iterable[Condition]) -> Iterable[Condition]:
    """What residuals need above the node: said beside them, it is seen by indexes."""
    from twigcast.language.lowering import needed_above  # which builds branches

    for condition in conditions:
        for member in condition.members if isinstance(condition, Both) else (condition,):
            if isinstance(member, Residual):
                yield from needed_above(member)


def _plain_branch(
    axis: Axis, test: NodeTest, position: Position | None, conditions: Iterable[Condition]
) -> Condition:
    if test.kind is not ELEMENT:
        conditions = map(_at_leaf, conditions)
    return normal.branch(axis, test, position, conditions)


def _at_leaf(condition: Condition) -> Condition:
    """What a condition comes to at an attribute or a text node: nothing lies below it."""
    match condition:
        case Either(members=members):
            return normal.either(map(_at_leaf, members))
        case Both(members=members):
            return normal.both(map(_at_leaf, members))
        case Negation(condition=inner):
            return normal.negation(_at_leaf(inner))
        case ValueTest() | Residual():
            return condition
        case _:
            return NEVER


def looks_up(condition: Condition) -> bool:
    """Whether part of the condition must move up before a pattern can hold it."""
    match condition:
        case Upward():
            return True
        case Either(members=members) | Both(members=members):
            return any(map(looks_up, members))
        case _:
            return False


def _alternatives(conditions: Iterable[Condition]) -> Iterable[tuple[Condition, ...]]:
    """The conjunctions, free of ``or`` around upward conditions, one of which must hold."""
    choices: list[Sequence[tuple[Condition, ...]]] = []
    count = 1
    for condition in conditions:
        match condition:
            case Either(members=members) if looks_up(condition):
                choice = [part for member in members for part in _alternatives((member,))]
            case Both(members=members) if looks_up(condition):
                choice = list(_alternatives(members))
            case _:
                choice = [(condition,)]
        count *= len(choice)
        if count > _MOST_ALTERNATIVES:
            raise CannotLowerError
        choices.append(choice)
    return (sum(combination, ()) for combination in product(*choices))


def _raised(
    axis: Axis, test: NodeTest, position: Position | None, conditions: Iterable[Condition]
) -> Condition:
    """The branch, with what looks upwards moved up by one node."""
    plain: list[Condition] = []
    parent: list[Condition] = []
    ancestors: list[Condition] = []
    root: list[Condition] = []
    for condition in conditions:
        if not isinstance(condition, Upward):
            plain.append(condition)
        elif condition.where is Where.ROOT:
            root.append(condition)
        elif condition.where is Where.PARENT:
            parent.append(condition.condition)
        elif condition.where is Where.ANCESTOR:
            ancestors.append(condition.condition)
        else:
            assert condition.test is not None
            narrowed = _intersection(test, condition.test)
            if narrowed is None:
                return NEVER
            if position is not None and narrowed != test:
                raise CannotLowerError  # the position counts the nodes of the wider test
            test = narrowed
    if axis is DESCENDANT and parent:
        return normal.both([*root, _below_parent(test, position, plain, parent, ancestors)])
    if axis is DESCENDANT and len(ancestors) > 1:
        raise CannotLowerError
    present = _plain_branch(axis, test, position, plain)
    for ancestor in ancestors:
        here = normal.either([ancestor, above(Where.ANCESTOR, ancestor)])
        if axis is CHILD:
            present = normal.both([present, here])
        else:
            between = branch(DESCENDANT, _ANY_ELEMENT, None, [ancestor, present])
            present = normal.either([between, normal.both([present, here])])
    return normal.both([*root, *parent, present])


def _below_parent(
    test: NodeTest,
    position: Position | None,
    plain: list[Condition],
    parent: list[Condition],
    ancestors: list[Condition],
) -> Condition:
    """A node somewhere below whose parent, perhaps the context node, fulfils conditions."""
    child = _plain_branch(CHILD, test, position, plain)
    higher = [normal.either([each, above(Where.ANCESTOR, each)]) for each in ancestors]
    conditions = [child, *parent, *higher]
    return normal.either(
        [normal.both(conditions), branch(DESCENDANT, _ANY_ELEMENT, None, conditions)]
    )


def _intersection(first: NodeTest, second: NodeTest) -> NodeTest | None:
    """The test that exactly the nodes pass that pass both; None where no node does."""
    if second.kind is Kind.NODE and first.kind is not TEXT:
        second = node_test(first.kind, second.namespace, second.local)
    if not first.overlaps(second):
        return None
    return node_test(
        first.kind,
        second.namespace if first.namespace is None else first.namespace,
        second.local if first.local is None else first.local,
    )


# --- the document node ------------------------------------------------------------------------


def at_document(condition: Condition) -> Condition:
    """The condition at the document node, which has no value of its own and nothing above it."""
    match condition:
        case Upward(where=Where.ROOT, condition=inner):
            return at_document(inner)
        case Upward(at_top=at_top):
            return ALWAYS if at_top else NEVER
        case Either(members=members):
            return normal.either(map(at_document, members))
        case Both(members=members):
            return _with_one_root(normal.both(map(at_document, members)))
        case Negation(condition=inner):
            return negate(at_document(inner))
        case ValueTest():  # the text of the document is that of its root
            return normal.branch(CHILD, _ANY_ELEMENT, None, (condition,))
        case Residual(expression=expression, is_version_2=is_version_2):
            return normal.residual(from_root(expression), is_version_2)
        case Step():
            return _step_at_document(condition)
        case _:
            return condition


def _with_one_root(condition: Condition) -> Condition:
    """The conjunction at the document node, below which only one element lies."""
    if not isinstance(condition, Both):
        return condition
    roots = [each.test for each in condition.members if _is_root(each)]

    def excludes(step: Step) -> bool:
        return any(not test.overlaps(step.test) for test in roots)

    kept = []
    for member in condition.members:
        if _is_root(member) and excludes(member):
            return NEVER
        if not (
            isinstance(member, Negation)
            and _is_root(member.condition)
            and excludes(member.condition)
        ):
            kept.append(member)
    return normal.both(kept)


def _is_root(condition: Condition) -> TypeGuard[Step]:
    return isinstance(condition, Step) and condition.axis is CHILD


def _step_at_document(step: Step) -> Condition:
    """The document node has neither attributes nor text: ``/*//@a`` is ``//@a`` there."""
    below = step.only_branch
    if (
        step.is_wildcard
        and below is not None
        and below.axis is DESCENDANT
        and below.test.kind is not ELEMENT
    ):
        return below
    return step


def from_root(expression: Expression) -> Expression:
    """The expression with the document node in place of the context item."""
    match expression:
        case ContextItem():
            return ROOT
        case Along():
            return Path((ROOT, expression))
        case Path(steps=(first, *rest)):
            start = from_root(first)
            return Path((*(start.steps if isinstance(start, Path) else (start,)), *rest))
        case Filter(base=base, predicates=predicates):
            return Filter(from_root(base), predicates)
        case Call(name=name, arguments=arguments):
            moved = tuple(map(from_root, arguments))
            function = BY_NAME.get(name)
            if function is not None and function.uses_context and not moved and function.most:
                moved = (ROOT,)
            return Call(name, moved)
        case Operation(operator="!", operands=(first, *rest)):
            return Operation("!", (from_root(first), *rest))
        case Operation(operator=operator, operands=operands):
            return Operation(operator, tuple(map(from_root, operands)))
        case Binding(kind=kind, name=name, source=source, body=body):
            return Binding(kind, name, from_root(source), from_root(body))
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return Conditional(from_root(condition), from_root(then), from_root(otherwise))
        case Typed(kind=kind, operand=operand, type_name=type_name, occurrence=occurrence):
            return Typed(kind, from_root(operand), type_name, occurrence)
        case _:
            return expression
