"""Why a subscription matches a document, or does not.

The definitions of :mod:`twigcast.matching.reference` decide; this module asks them again along each
path and keeps what they saw.  A condition that holds is followed at one node to the node that
fulfils it.  A condition that fails is followed at *all* nodes where it was asked at once:

    //Stock[Symbol="GHI"][Price>15]      2 Stock found, none passes
        Symbol="GHI"                     holds at the first, fails at the second
        Price>15                         fails at the first: Price is 12

Of several conditions some hold here, some there; what is shown are the *nearest* nodes, those with
the most equalities fulfilled, then the most conditions.  They are what a reader would point at.

Each condition of the pattern is followed once, so the result has the size of the pattern.  Answers
of the definitions are remembered, so the time is |pattern| × |document| × the depth of the document
at worst.  Recursion goes along the pattern only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, assert_never

from twigcast.documents import DEFAULT_LIMITS, Document, DocumentLimits, Source, read_document
from twigcast.errors import ExplanationBudgetError
from twigcast.language import (
    Anchor,
    Axis,
    Both,
    Condition,
    FirstNode,
    Kind,
    Pattern,
    Residual,
    Step,
    ValueTest,
    parts,
    require_pattern,
)
from twigcast.matching.explain_expression import ExpressionExplainer
from twigcast.matching.explanation import (
    ConditionKind,
    Explanation,
    Finding,
    Outcome,
    Progress,
    Witness,
    chain,
    kind_of,
    listed,
    lone_test,
    shorten,
    spell,
    spell_at_document,
    spell_compared,
    spell_name,
    spell_step,
    visible,
)
from twigcast.matching.locations import Locations
from twigcast.matching.reference import (
    Budget,
    BudgetExceededError,
    DynamicError,
    Node,
    NodeTree,
    Setting,
    document_order,
    passing,
)
from twigcast.matching.remembered import RememberedDefinitions, all_owners

_MOST_WITNESSES: Final = 3
_LONGEST_TEXT: Final = 60
_NAMED: Final = (Kind.ELEMENT, Kind.ATTRIBUTE)
_BUDGET: Final = 2_000_000
"""Nodes and items that the expressions of a pattern may look at: some seconds of work."""
_MOST_COMPARED: Final = 1_000
"""How many nodes are looked at for texts that differ."""


def explain(
    pattern: Pattern, document: Source | Document, limits: DocumentLimits | None = None
) -> Explanation:
    """Which steps, values and texts make the document match the pattern, or fail.

    Raises :class:`twigcast.errors.DocumentError` for a document that is not well-formed, and
    :class:`twigcast.errors.ExplanationBudgetError` if the expressions in the pattern take too long
    on the document.
    """
    require_pattern(pattern)
    if not isinstance(document, Document):
        document = read_document(document, DEFAULT_LIMITS if limits is None else limits)
    explainer = _Explainer(document)
    try:
        alternatives = tuple(map(explainer.alternative, pattern.alternatives))
    except BudgetExceededError:
        raise ExplanationBudgetError(str(pattern), _BUDGET) from None
    matches = any(finding.outcome is Outcome.HOLDS for finding in alternatives)
    return Explanation(str(pattern), matches, alternatives)


class _Explainer:
    """Follows the conditions of a pattern through one document."""

    def __init__(self, document: Document) -> None:
        tree = NodeTree(document)
        self._top = tree.top
        self._definitions = RememberedDefinitions(Setting(tree, budget=Budget(_BUDGET)))
        self._locations = Locations()
        self._expressions = {
            is_version_2: ExpressionExplainer(evaluation, self._locations)
            for is_version_2, evaluation in self._definitions.evaluations.items()
        }

    def alternative(self, condition: Condition) -> Finding:
        """The finding on a condition at the document node."""
        return self._explain(condition, [self._top])

    def _holds(self, condition: Condition, node: Node) -> bool:
        """Whether a condition holds; where an expression has no value, nothing holds."""
        try:
            return self._definitions.visit(condition, node)
        except DynamicError:
            return False

    def _explain(self, condition: Condition, nodes: list[Node]) -> Finding:
        """The finding on a condition at nodes where it has the same outcome."""
        text = spell_at_document(condition) if nodes == [self._top] else spell(condition)
        if isinstance(condition, Step):
            return self._path(condition, nodes, text)
        holds = self._holds(condition, nodes[0])
        nodes = nodes[:1] if holds else nodes
        if isinstance(condition, Residual):
            return self._residual(condition, nodes)
        finding = Finding(kind_of(condition), text, _outcome(holds), asked=len(nodes))
        if isinstance(condition, ValueTest):
            return self._with_texts(finding, nodes, condition)
        if isinstance(condition, FirstNode):
            try:
                return self._with_first_node(finding, nodes, condition)
            except DynamicError as error:
                return replace(finding, detail=visible(shorten(str(error))))
        asked = nodes
        if isinstance(condition, Both):
            asked, _ = self._nearest(condition.members, nodes)
        detail = f"at each of {len(nodes):,} nodes" if len(nodes) > 1 else ""
        return replace(finding, detail=detail, parts=self._explain_all(parts(condition), asked))

    def _explain_all(
        self, conditions: Iterable[Condition], nodes: list[Node]
    ) -> tuple[Finding, ...]:
        return tuple(self._explain(condition, nodes) for condition in conditions)

    def _residual(self, condition: Residual, nodes: list[Node]) -> Finding:
        """The values of an expression at the first of the nodes."""
        finding = self._expressions[condition.is_version_2].residual(condition, nodes[0])
        if len(nodes) == 1:
            return finding
        first = shorten(self._locations.location(nodes[0]))
        where = f"at {first} and {len(nodes) - 1:,} more"
        detail = "; ".join(filter(None, (finding.detail, where)))
        return replace(finding, asked=len(nodes), detail=detail)

    def _path(self, step: Step, nodes: list[Node], text: str) -> Finding:
        holds = self._holds(step, nodes[0])
        nodes = nodes[:1] if holds else nodes
        finding = Finding(ConditionKind.PATH, text, _outcome(holds), asked=len(nodes))
        if holds:
            return self._along(finding, nodes[0], chain(step))
        return self._as_far_as_possible(finding, nodes, chain(step))

    def _along(self, finding: Finding, node: Node, steps: list[Step]) -> Finding:
        """The finding on a path that can be followed to its end."""
        for step in steps:
            node = next(self._definitions.select(step, node))
        test = lone_test(steps[-1])
        if test is not None:
            return self._with_texts(finding, [node], test)
        witness = self._witness(node)
        return replace(
            finding,
            detail=f"found at {shorten(witness.location)}",
            witnesses=(witness,),
            parts=self._explain_all(steps[-1].conditions, [node]),
        )

    def _as_far_as_possible(
        self, finding: Finding, nodes: list[Node], steps: list[Step]
    ) -> Finding:
        """The finding on a path that ends early, or where what is asked at its end fails."""
        progress: list[Progress] = []
        last = steps[-1]
        test = lone_test(last)
        for step in steps:
            reached, row = self._reach(step, nodes)
            progress.append(Progress(spell_step(step), len(reached)))
            finding = replace(finding, progress=tuple(progress))
            if not reached:
                finding = replace(finding, parts=() if test else _unreached(last.conditions))
                if row:
                    return self._with_short_row(finding, step, row)
                return self._with_other_names(finding, step, nodes)
            nodes = reached
        if test is not None:
            return self._with_texts(finding, nodes, test)
        return self._with_nearest(finding, nodes, last)

    def _reach(self, step: Step, nodes: list[Node]) -> tuple[list[Node], list[Node]]:
        """The nodes of the step's name and position, and the longest row of its name."""
        reached: list[Node] = []
        longest: list[Node] = []
        for owner in all_owners(step.axis, nodes):
            row = passing(step.test, owner)
            longest = row if len(row) > len(longest) else longest
            reached.extend(
                node
                for index, node in enumerate(row, start=1)
                if step.position is None or step.position.accepts(index)
            )
        return sorted(reached, key=document_order), longest

    def _nearest(
        self, conditions: Sequence[Condition], nodes: list[Node]
    ) -> tuple[list[Node], int]:
        """The nodes that come nearest to fulfilling all, alike in which they do, and how many."""
        ranked = sorted(conditions, key=_is_equality, reverse=True)
        equalities = sum(map(_is_equality, ranked))
        best: tuple[int, int, list[bool]] = (-1, -1, [])
        nearest: list[Node] = []
        for node in nodes:
            fulfilled = [self._holds(condition, node) for condition in ranked]
            score = (sum(fulfilled[:equalities]), sum(fulfilled), fulfilled)
            if score > best:
                best, nearest = score, []
            if score == best:
                nearest.append(node)
        return nearest, best[1]

    def _with_nearest(self, finding: Finding, nodes: list[Node], step: Step) -> Finding:
        """Nodes of the step are there, but none fulfils all of its conditions."""
        conditions = step.conditions
        nearest, fulfilled = self._nearest(conditions, nodes)
        more = len(nearest) - 1
        witness = self._witness(nearest[0])
        location = shorten(witness.location)
        holding = f"{fulfilled} of {len(conditions)} conditions hold{'s' * (fulfilled == 1)}"
        detail = f"{len(nodes):,} {spell_step(step)} found"
        if len(nodes) == 1:
            lack = f"where {holding}" if len(conditions) > 1 else "which does not pass"
            detail += f" at {location}, {lack}"
        elif len(conditions) == 1:
            detail += f", none passes; the first is {location}"
        else:
            detail += f", none passes; {holding} at {listed([location], more)}"
        return replace(
            finding,
            detail=detail,
            witnesses=(witness,),
            more=more,
            parts=self._explain_all(conditions, nearest),
        )

    def _with_texts(self, finding: Finding, nodes: list[Node], test: ValueTest) -> Finding:
        """The texts that were compared: a few different ones stand for all."""
        texts: dict[str, Node] = {}
        for node in islice(nodes, _MOST_COMPARED):
            texts.setdefault(node.string_value(), node)
            if len(texts) == _MOST_WITNESSES:
                break
        witnesses = tuple(self._witness(node, text, test) for text, node in texts.items())
        more = len(nodes) - len(witnesses)
        detail = spell_compared(witnesses, more, test)
        return replace(finding, detail=detail, witnesses=witnesses, more=more)

    def _with_first_node(
        self, finding: Finding, nodes: list[Node], condition: FirstNode
    ) -> Finding:
        firsts = (self._definitions.first(condition.path, node) for node in nodes)
        there = [first for first in firsts if first is not None]
        if there:
            finding = self._with_texts(finding, there, condition.test)
            return replace(finding, detail=f"the first is {finding.detail}")
        for step in condition.path:
            selected = self._definitions.select_all(step, nodes)
            if not selected:
                return replace(finding, parts=(self._explain(step, nodes),))
            nodes = selected
        raise AssertionError("a path without a first node ends somewhere")

    def _with_short_row(self, finding: Finding, step: Step, row: list[Node]) -> Finding:
        """The position asked for is beyond every row of siblings."""
        assert step.position is not None
        witness = self._witness(row[-1])
        detail = (
            f"at most {len(row):,} {step.test.text} side by side, {step.position.value:,} needed; "
            f"the last is {shorten(witness.location)}"
        )
        return replace(finding, detail=detail, witnesses=(witness,))

    def _with_other_names(self, finding: Finding, step: Step, nodes: list[Node]) -> Finding:
        """Nothing has the name asked for; what has been seen instead."""
        seen = _other_names(step, nodes)
        witnesses = tuple(map(self._witness, seen[:_MOST_WITNESSES]))
        more = len(seen) - len(witnesses)
        names = [
            spell_name(node.name, attribute=node.kind is Kind.ATTRIBUTE)
            for node in seen[:_MOST_WITNESSES]
        ]
        if nodes == [self._top] and step.axis is Axis.CHILD:
            root = next(node for node in self._top.children if node.kind is Kind.ELEMENT)
            detail = f"the root element is {spell_name(root.name, attribute=False)}"
            if step.test.kind is not Kind.ELEMENT:
                detail = "nothing but the root element is at the top of a document"
        else:
            where = self._where(nodes, anywhere=step.axis is Axis.DESCENDANT)
            detail = f"no {step.test.text} {where}"
            if names:
                detail += f"; seen: {listed(names, more)}"
        return replace(finding, detail=detail, witnesses=witnesses, more=more)

    def _where(self, nodes: list[Node], *, anywhere: bool) -> str:
        if nodes == [self._top]:
            return "in the document"
        first = shorten(self._locations.location(nodes[0]))
        preposition = "anywhere in" if anywhere else "in"
        if len(nodes) == 1:
            return f"{preposition} {first}"
        return f"{preposition} any of {len(nodes):,} {_name_of(nodes)}, the first is {first}"

    def _witness(
        self, node: Node, text: str | None = None, test: ValueTest | None = None
    ) -> Witness:
        location = self._locations.location(node)
        if text is None:
            return Witness(location)
        start = 0
        if test is not None and isinstance(test.operand, str):
            start = _shown_from(text, test.comparison.anchor, test.operand)
        return Witness(location, text[start : start + _LONGEST_TEXT], start, len(text))


def _shown_from(text: str, anchor: Anchor, operand: str) -> int:
    """From which character on a long text is shown, so that what it was asked for can be seen."""
    match anchor:
        case "" | "start":
            return 0
        case "anywhere":
            middle = text.find(operand) - max(0, _LONGEST_TEXT - len(operand)) // 2
            return max(0, min(middle, len(text) - _LONGEST_TEXT))
        case "end":
            return max(0, len(text) - _LONGEST_TEXT)
        case _:
            assert_never(anchor)


def _outcome(holds: bool) -> Outcome:
    return Outcome.HOLDS if holds else Outcome.FAILS


def _name_of(nodes: list[Node]) -> str:
    """The name of elements that are all called alike."""
    names = {node.name for node in nodes}
    return spell_name(names.pop(), attribute=False) if len(names) == 1 else "elements"


def _unreached(conditions: Iterable[Condition]) -> tuple[Finding, ...]:
    return tuple(
        Finding(kind_of(condition), spell(condition), Outcome.NOT_REACHED)
        for condition in conditions
    )


def _is_equality(condition: Condition) -> bool:
    """Whether this names a value, as a key does: such a condition says which node is meant."""
    if isinstance(condition, Step):
        test = lone_test(chain(condition)[-1])
        return test is not None and test.operator == "="
    return isinstance(condition, ValueTest) and condition.operator == "="


def _other_names(step: Step, nodes: list[Node]) -> list[Node]:
    """A node for each name that is there instead, names that are nearly alike first.

    Those are alike but for case, namespace, or being an attribute.  Other names are given only of
    children, as a whole document has too many.
    """
    wanted = None if step.test.local is None else step.test.local.casefold()
    alike: dict[tuple[Kind | None, tuple[str, str]], Node] = {}
    others: dict[tuple[Kind | None, tuple[str, str]], Node] = {}
    for owner in all_owners(step.axis, nodes):
        for node in (*owner.attributes, *owner.children):
            if node.kind in _NAMED and node.name[1].casefold() == wanted:
                alike.setdefault((node.kind, node.name), node)
            elif node.kind is step.test.kind and step.axis is Axis.CHILD:
                others.setdefault((node.kind, node.name), node)
    return [*alike.values(), *others.values()]
