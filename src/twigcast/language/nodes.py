"""The nodes of a pattern tree: what a subscription asks for.

A subscription asks one question of a document, yes or no, so the path that XPath selects along
and the paths in its predicates are alike: all are branches that must be present.  ``/a[b]/c`` is

        (document)
            │ /
            a            one Step for each element, attribute or text node asked for;
         / ╱ ╲ /         the edge to it carries the axis, `/` or `//`
          b   c

A :class:`Step` holds its own conditions, all of which must hold at the node it stands for:

=================== =============================================== ==========================
condition           holds at a node when                            spelling
=================== =============================================== ==========================
:class:`Step`       a node below it (or an attribute of it) fits    ``[b]``, ``[.//b]``, ``/b``
:class:`ValueTest`  its string-value compares as asked              ``[. > 5]``
:class:`FirstNode`  the first node of a path passes a ValueTest     ``[contains(b, "x")]``
:class:`Either`     one of several conditions holds                 ``[b or c]``
:class:`Both`       all of several hold (only within an Either)     ``[b and c or d]``
:class:`Negation`   a condition does not hold                       ``[not(b)]``
:class:`Residual`   an expression that no other kind says is true   ``[count(b) > 2]``
=================== =============================================== ==========================

``price > 5`` is the Step ``price`` with the ValueTest ``. > 5``: XPath compares existentially.
``contains(price, "5")`` is not that: XPath 1.0 looks at the first ``price`` only; hence FirstNode.

Every node is immutable and carries its canonical ``text``, made when it is built from the texts of
its parts.  The text is injective, so equality, hash and order are those of the text.  Only the
functions of :mod:`twigcast.language.normal` build nodes: what they return is in normal form.  A
linear path whose text is in normal form needs no more work (:mod:`twigcast.language.linear`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from twigcast.language.numbers import number_text
from twigcast.language.operators import FUNCTIONS, NUMBER_OPERATORS, Operator, operator_of

if TYPE_CHECKING:
    from twigcast.language.expressions import Expression

_set = object.__setattr__


class Axis(Enum):
    """How a step is reached from the node above it.

    ``DESCENDANT`` is XPath's ``//``: a child (or attribute, or text) of the node above or of any
    of its descendants.  So ``.//b`` are the proper descendants, ``.//@b`` includes the node's own.
    """

    CHILD = "/"
    DESCENDANT = "//"


class Kind(Enum):
    """What sort of node a test accepts; a :class:`Step` stands for one of the first three.

    Only expressions name the others.  ``NODE`` is ``node()``, which any node passes.
    """

    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"
    COMMENT = "comment"
    INSTRUCTION = "processing-instruction"
    NAMESPACE = "namespace"
    NODE = "node"
    DOCUMENT = "document-node"


# Looking a member up in its enumeration costs more than comparing it: the code that is run for
# every step uses these.
CHILD, DESCENDANT = Axis
ELEMENT, ATTRIBUTE, TEXT, *_ = Kind
_NAMED = frozenset({ELEMENT, ATTRIBUTE, Kind.NAMESPACE})


class Spelled:
    """What all parts of a tree, and all expressions, share: identity is the canonical text.

    Each class sets it when a node is built, the one time that a frozen object is written to.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def text(self) -> str: ...

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is type(self) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodeTest(Spelled):
    """The kind of a node and its name.

    ``namespace`` is None for any namespace and ``""`` for none; ``local`` is None for any name.
    Both are None for nodes without a name.  Of a processing instruction, ``local`` is the target.
    """

    kind: Kind
    namespace: str | None
    local: str | None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        kind = self.kind
        if kind in _NAMED:
            text = name_text(self.namespace, self.local)
            _set(self, "text", "@" + text if kind is ATTRIBUTE else text)
        else:
            target = "" if self.local is None else quote(self.local)
            _set(self, "text", f"{kind.value}({target})")

    @property
    def is_wildcard(self) -> bool:
        """Whether this is ``*``: an element of any name."""
        return self.kind is ELEMENT and self.namespace is None and self.local is None

    def accepts(self, namespace: str, local: str) -> bool:
        """Whether a node of this kind with that expanded name passes."""
        return (self.local is None or self.local == local) and (
            self.namespace is None or self.namespace == namespace
        )

    def overlaps(self, other: NodeTest) -> bool:
        """Whether some node passes both."""
        return (
            self.kind is other.kind
            and (self.local is None or other.local is None or self.local == other.local)
            and (
                self.namespace is None
                or other.namespace is None
                or self.namespace == other.namespace
            )
        )

    def covers(self, other: NodeTest) -> bool:
        """Whether every node that passes ``other`` passes this."""
        return (
            self.kind is other.kind
            and (self.local is None or self.local == other.local)
            and (self.namespace is None or self.namespace == other.namespace)
        )


@lru_cache(maxsize=65_536)
def node_test(kind: Kind, namespace: str | None = None, local: str | None = None) -> NodeTest:
    """The test of that kind and name; the same object each time, as patterns share few names."""
    return NodeTest(kind, namespace, local)


@lru_cache(maxsize=65_536)
def element_test(local: str) -> NodeTest:
    """The test of an element of that name in no namespace, by far the most frequent one."""
    return node_test(ELEMENT, "", local)


def name_text(namespace: str | None, local: str | None) -> str:
    """The canonical spelling of a name test."""
    if namespace is None:
        return "*" if local is None else f"*:{local}"
    if namespace == "" and local is not None:
        return local
    return f"Q{{{namespace}}}{'*' if local is None else local}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Position(Spelled):
    """Which of the siblings that pass the same test: ``=``, ``!=``, ``<=`` or ``>=`` a count."""

    operator: str
    value: int
    text: str = field(init=False)

    def __post_init__(self) -> None:
        prefix = "" if self.operator == "=" else f"position(){self.operator}"
        _set(self, "text", f"{prefix}{self.value}")

    def accepts(self, index: int) -> bool:
        """Whether the sibling with that 1-based index is asked for."""
        return NUMBER_OPERATORS[self.operator].passes(index, self.value)


class Condition(Spelled):
    """Something that holds, or not, at a node of a document."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueTest(Condition):
    """A comparison of a node's string-value with a constant.

    ``operator`` is a spelling of :data:`twigcast.language.operators.OPERATORS`; some take a string
    and some a number.
    """

    operator: str
    operand: str | float
    text: str = field(init=False)

    def __post_init__(self) -> None:
        operand = self.operand
        literal = quote(operand) if isinstance(operand, str) else number_text(operand)
        spelling = (
            f"{self.operator}(.,{literal})" if self.is_function else f".{self.operator}{literal}"
        )
        _set(self, "text", spelling)

    @property
    def is_function(self) -> bool:
        """Whether the operator is a string function, such as ``contains``."""
        return self.operator in FUNCTIONS

    @property
    def comparison(self) -> Operator:
        """What the table of operators says of this test; ValueError where it has no such one."""
        return operator_of(self.operator, self.operand)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Step(Condition):
    """A node that must be there, the edge to it, and what must hold at it."""

    axis: Axis
    test: NodeTest
    position: Position | None
    conditions: tuple[Condition, ...]
    text: str

    # Written out, since nothing else is built as often.
    def __init__(
        self,
        axis: Axis,
        test: NodeTest,
        position: Position | None = None,
        conditions: tuple[Condition, ...] = (),
    ) -> None:
        _set(self, "axis", axis)
        _set(self, "test", test)
        _set(self, "position", position)
        _set(self, "conditions", conditions)
        slashes = "/" if axis is CHILD else "//"
        head = test.text if position is None else f"{test.text}[{position.text}]"
        _set(self, "text", slashes + head + _tail(conditions) if conditions else slashes + head)

    @property
    def is_wildcard(self) -> bool:
        """Whether this is a ``*`` that any sibling position fits."""
        return self.position is None and self.test.is_wildcard

    @property
    def only_branch(self) -> Step | None:
        """The one condition of this step where that is a step."""
        if len(self.conditions) == 1 and isinstance(self.conditions[0], Step):
            return self.conditions[0]
        return None

    @property
    def compared(self) -> ValueTest | None:
        """The comparison that is this step's one condition, as in ``price > 5``."""
        if len(self.conditions) == 1:
            condition = self.conditions[0]
            if isinstance(condition, ValueTest) and not condition.is_function:
                return condition
        return None

    @property
    def relative_text(self) -> str:
        """The spelling within a predicate: ``b``, ``.//b``, ``b>5``."""
        compared = self.compared
        if compared is None:
            return self.text[1:] if self.axis is CHILD else "." + self.text
        prefix = "" if self.axis is CHILD else ".//"
        return prefix + self._head() + compared.text.removeprefix(".")

    @property
    def bracketed_text(self) -> str:
        """The spelling within a longer path, every condition in brackets of its own."""
        slashes = "/" if self.axis is CHILD else "//"
        return slashes + self._head() + _bracketed(self.conditions)

    def _head(self) -> str:
        if self.position is None:
            return self.test.text
        return f"{self.test.text}[{self.position.text}]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FirstNode(Condition):
    """The first node, in document order, that a path selects exists and passes a test.

    The steps of ``path`` hold their predicates only; each is reached from the one before.
    """

    path: tuple[Step, ...]
    test: ValueTest
    text: str = field(init=False)

    def __post_init__(self) -> None:
        path = self.path_text
        spelling = path[1:] if self.path[0].axis is CHILD else "." + path
        _set(self, "text", self.spelled(spelling))

    @property
    def path_text(self) -> str:
        """The path with its first slashes, as it is spelled from the root."""
        return "".join(step.bracketed_text for step in self.path)

    def spelled(self, path: str) -> str:
        """The test of the first node of a path that is spelled so."""
        test = self.test
        if test.is_function:
            return f"{test.operator}({path}{test.text.removeprefix(test.operator + '(.')}"
        function = "string" if isinstance(test.operand, str) else "number"
        return f"{function}({path}){test.text.removeprefix('.')}"

    def as_branch(self) -> Step:
        """A branch that is there wherever this holds: the path with the test at its end."""
        below: Condition = self.test
        for step in reversed(self.path):
            below = Step(step.axis, step.test, step.position, (*step.conditions, below))
        assert isinstance(below, Step)
        return below


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Either(Condition):
    """A disjunction of at least two conditions; of none, it is the condition that never holds."""

    members: tuple[Condition, ...]
    text: str = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "text", " or ".join(map(condition_text, self.members)) or "not(.)")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Both(Condition):
    """A conjunction of at least two conditions; of none, it is the condition that always holds."""

    members: tuple[Condition, ...]
    text: str = field(init=False)

    def __post_init__(self) -> None:
        spelled = (
            f"({member.text})" if isinstance(member, Either) else condition_text(member)
            for member in self.members
        )
        _set(self, "text", " and ".join(spelled) or ".")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Negation(Condition):
    """The negation of a condition that is not itself a negation, an Either or a Both."""

    condition: Condition
    text: str = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "text", f"not({condition_text(self.condition)})")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Residual(Condition):
    """An expression whose effective boolean value, with the node as the context item, is true.

    It depends on the node alone, never on ``position()`` or ``last()``, and its value is no number
    (a number would be a position).  ``is_version_2`` chooses the rules of XPath 2.0 for it instead
    of those of XPath 1.0.
    """

    expression: Expression
    is_version_2: bool = False
    text: str = field(init=False)

    def __post_init__(self) -> None:
        expression = self.expression
        spelled = (
            f"{VERSION_2}({expression.text})" if self.is_version_2 else expression.operand_text
        )
        _set(self, "text", spelled)

    @property
    def never_fails(self) -> bool:
        """Whether the expression has a value at every node; where it has none, is an error."""
        from twigcast.language.analysis import always_has_value  # which looks into expressions

        return not self.is_version_2 and always_has_value(self.expression)

    @property
    def implied(self) -> Condition:
        """What must hold at the node wherever this holds, as far as a pattern can say it."""
        from twigcast.language.lowering import implied_by  # which builds conditions

        return implied_by(self)


def may_fail(condition: Condition) -> bool:
    """Whether an expression within the condition may have no value, and so neither may this."""
    match condition:
        case Residual():
            return not condition.never_fails
        case Step(conditions=within) | Either(members=within) | Both(members=within):
            return any(map(may_fail, within))
        case FirstNode(path=path):
            return any(map(may_fail, path))
        case ValueTest():
            return False
        case _:  # a negation, or a condition that looks upwards
            return may_fail(condition.condition)  # type: ignore[attr-defined]


VERSION_2 = "xpath-2.0"
"""Stands before an expression, in parentheses, that follows the rules of XPath 2.0."""


def condition_text(condition: Condition) -> str:
    """The spelling of a condition within a predicate."""
    return condition.relative_text if isinstance(condition, Step) else condition.text


def document_text(condition: Condition) -> str:
    """The spelling of a condition at the document node, where every path has a first slash."""
    match condition:
        case Step(text=text):
            return text
        case FirstNode():
            return condition.spelled(condition.path_text)
        case Either(members=members):
            return " or ".join(map(document_text, members)) or condition.text
        case Both(members=members):
            return " and ".join(
                f"({document_text(member)})"
                if isinstance(member, Either)
                else document_text(member)
                for member in members
            )
        case Negation(condition=inner):
            return f"not({document_text(inner)})"
        case _:
            return condition.text


def quote(value: str) -> str:
    """``value`` as an XPath 1.0 literal, which cannot hold both kinds of quote."""
    if '"' not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    raise ValueError(f"a literal cannot hold both kinds of quote: {value}")


def _tail(conditions: tuple[Condition, ...]) -> str:
    """What stands behind a step's name: a lone branch goes on with the path, others in brackets."""
    if not conditions:
        return ""
    if len(conditions) == 1 and isinstance(conditions[0], Step) and conditions[0].compared is None:
        return conditions[0].text
    return _bracketed(conditions)


def _bracketed(conditions: tuple[Condition, ...]) -> str:
    return "".join(f"[{condition_text(condition)}]" for condition in conditions)


NEVER = Either(())
ALWAYS = Both(())
