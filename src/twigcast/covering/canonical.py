"""The canonical documents of a twig: documents that hold it and little else.

``*`` becomes an element of a name that nobody uses, a ``//`` is stretched by such elements, and a
value is one of each region that the constants of both patterns cut out::

    /a[@x>5]//b     <a x="6"><b/></a>     <a x="5.5"><?><b/></?></a>     …

Every node of the twig is a slot here; a document is made by choosing, for each slot, how far its
edge is stretched and which value it has.  Two attributes of one name that come to stand at one
element are one, so they must have one value.

Cost: linear in the document that is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from twigcast.covering.conditions import implied
from twigcast.covering.models import DOCUMENT, Model, Name
from twigcast.covering.regions import UNKNOWN, representatives
from twigcast.covering.splitting import Twig
from twigcast.covering.survey import Survey, tests_at
from twigcast.language import (
    Axis,
    Condition,
    Kind,
    Negation,
    NodeTest,
    Position,
    Step,
    ValueTest,
    node_test,
    passes,
)


@dataclass(slots=True)
class Slot:
    """A node of the twig, and what may be chosen for it.

    ``stretches`` are the numbers of elements that may stand between it and its parent.  ``values``
    are its values; for an element, texts put right into it.  ``is_compared`` says whether the
    value of an element matters to either pattern.
    """

    parent: int
    test: NodeTest
    name: Name
    position: Position | None
    stretches: Sequence[int]
    values: Sequence[str]
    is_compared: bool
    below: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Variant:
    """What a document has beside the twig, or elsewhere in it.

    A sibling before each element; more text; the text of an element within another one in it;
    other branches.
    """

    siblings: bool = False
    text: bool = False
    inner_text: bool = False
    branches: tuple[Step, ...] = ()


class Canonical:
    """The documents of one twig, made so that few twigs of ``asked`` match them."""

    def __init__(self, twig: Twig, asked: Survey) -> None:
        self.asked = asked
        self.own = Survey((twig,))
        names = [step.test for step in (*asked.steps, *self.own.steps)]
        self._namespace = _unused("urn:unknown", {test.namespace for test in names})
        self._local = _unused("unknown", {test.local for test in names})
        self._numbers = count()
        self.stranger: Name = (self._namespace, self._local)
        root = NodeTest(Kind.ELEMENT, None, None)
        self.slots = [Slot(-1, root, ("", ""), None, (0,), ("",), is_compared=False)]
        self._add(_as_branch(twig), DOCUMENT)
        self._choose_values_of_outer_elements()

    def _add(self, step: Step, parent: int) -> None:
        """Make slots of a branch."""
        longest = self.asked.longest_run + 1
        least = 1 if parent == DOCUMENT and step.test.kind is not Kind.ELEMENT else 0
        # The longest first, as it refutes most coverings.
        stretches = (longest, *range(least, longest)) if step.axis is Axis.DESCENDANT else (0,)
        name = self._name(step.test)
        tests = self._tests_of(step, name)
        index = len(self.slots)
        self.slots[parent].below.append(index)
        self.slots.append(
            Slot(
                parent,
                step.test,
                name,
                step.position,
                stretches,
                self._values(step, tests),
                step.test.kind is Kind.ELEMENT and bool(tests),
            )
        )
        for condition in step.conditions:
            for each in (condition, *implied(condition)):
                if isinstance(each, Step):
                    self._add(each, index)

    def _name(self, test: NodeTest) -> Name:
        """A name that passes the test and as few others as possible."""
        namespace, local = test.namespace, test.local
        if test.kind is Kind.TEXT:
            return "", ""
        # No two attributes of an element have one name, so each gets its own.
        number = str(next(self._numbers)) if test.kind is Kind.ATTRIBUTE else ""
        return (
            self._namespace + number if namespace is None else namespace,
            self._local + number if local is None else local,
        )

    def _tests_of(self, step: Step, name: Name) -> list[ValueTest]:
        """The comparisons that either pattern may make of the step's node."""
        tests = [*self.asked.tests_of(step.test.kind, name), *tests_at(step)]
        if step.test.kind is Kind.ATTRIBUTE:
            # It may be the same attribute as that of another slot.
            tests += self.own.tests_of(Kind.ATTRIBUTE, name)
        return tests

    def _values(self, step: Step, tests: Sequence[ValueTest]) -> list[str]:
        kind = step.test.kind
        if not tests:
            return [""] if kind is Kind.ELEMENT else [UNKNOWN]
        texts = representatives(tests)
        if kind is Kind.ELEMENT and self.asked.asks_for_text and "" not in texts:
            texts.append("")
        if kind is Kind.TEXT and "" in texts:
            texts.remove("")
        return [text for text in texts if _may_have(step.conditions, text)]

    def _choose_values_of_outer_elements(self) -> None:
        """Let elements that have the text of others in them have little of their own, or any."""
        for index, slot in enumerate(self.slots):
            if slot.is_compared and self._has_text_below(index):
                tests = self.asked.tests_of(Kind.ELEMENT, slot.name)
                slot.values = list(dict.fromkeys(["", *slot.values, *representatives(tests)]))

    def _has_text_below(self, index: int) -> bool:
        waiting = list(self.slots[index].below)
        while waiting:
            slot = self.slots[waiting.pop()]
            if slot.is_compared or slot.test.kind is Kind.TEXT:
                return True
            waiting.extend(slot.below)
        return False

    @property
    def doubt(self) -> str | None:
        """Why values cannot be chosen one by one, where they cannot."""
        compared = [index for index, slot in enumerate(self.slots) if slot.is_compared]
        if self.asked.tests_of(Kind.ELEMENT, self.stranger) and any(
            len(slot.stretches) > 1 for slot in self.slots
        ):
            return "the value of any element, and //"
        if compared and (self.asked.asks_for_text or self.own.asks_for_text):
            return "text() beside the values of elements"
        if any(self._has_text_below(index) for index in compared):
            return "values of elements within each other"
        return None

    def document(
        self, stretches: Sequence[int], values: Sequence[str], variant: Variant
    ) -> Model | None:
        """The document of a choice for each slot; None where there is no such document."""
        model = Model()
        return model if _Writing(self, model, stretches, values, variant).fill(0, 0) else None


class _Writing:
    """One document in the making."""

    def __init__(
        self,
        plan: Canonical,
        model: Model,
        stretches: Sequence[int],
        values: Sequence[str],
        variant: Variant,
    ) -> None:
        self.slots = plan.slots
        self.stranger = plan.stranger
        self.model = model
        self.stretches = stretches
        self.values = values
        self.variant = variant

    def fill(self, index: int, node: int) -> bool:
        """Put into a node what the slots below its own ask for."""
        model, values = self.model, self.values
        below = self.slots[index].below
        near = [each for each in below if not self.stretches[each]]
        for each in near:
            slot = self.slots[each]
            if slot.test.kind is Kind.ATTRIBUTE and not model.add_attribute(
                node, slot.name, values[each]
            ):
                return False
        if node != DOCUMENT:
            self._add_denied_attributes(node)
            if values[index]:
                inner = self.variant.inner_text
                holder = model.add_element(node, self.stranger) if inner else node
                model.add_text(holder, values[index])
        for each in near:
            if self.slots[each].test.kind is Kind.TEXT:
                model.add_text(node, values[each])
        for each in sorted(below, key=self._wanted_index):
            if not self._append(each, node):
                return False
        if node != DOCUMENT:
            self._add_more(index, node)
        return True

    def _wanted_index(self, index: int) -> int:
        position = self.slots[index].position
        return 0 if position is None else position.value

    def _append(self, index: int, node: int) -> bool:
        """Put an element, or anything further below, behind what is in a node already."""
        slot, model = self.slots[index], self.model
        if not self.stretches[index] and slot.test.kind is not Kind.ELEMENT:
            return True  # it is there already
        for _ in range(self.stretches[index]):
            node = model.add_element(node, self.stranger)
        if slot.test.kind is Kind.ATTRIBUTE:
            return model.add_attribute(node, slot.name, self.values[index])
        if slot.test.kind is Kind.TEXT:
            model.add_text(node, self.values[index])
            return True
        wanted = self._siblings_before(slot, node)
        if node == DOCUMENT and wanted:
            return False
        for _ in range(wanted):
            model.add_element(node, slot.name)
        return self.fill(index, model.add_element(node, slot.name))

    def _siblings_before(self, slot: Slot, node: int) -> int:
        """How many siblings must be added so that the next element is at the position asked for."""
        position = slot.position
        if position is None:
            return 1 if self.variant.siblings and node != DOCUMENT else 0
        index = 1 + sum(
            parent == node and kind is Kind.ELEMENT and slot.test.accepts(*name)
            for parent, kind, name in zip(
                self.model.parents, self.model.kinds, self.model.names, strict=True
            )
        )
        added = 0
        while not position.accepts(index + added) and index + added <= position.value:
            added += 1
        return added

    def _add_denied_attributes(self, node: int) -> None:
        for branch in self.variant.branches:
            if branch.test.kind is Kind.ATTRIBUTE:
                name = (branch.test.namespace or "", branch.test.local or self.stranger[1])
                self.model.add_attribute(node, name, _some_value(branch))

    def _add_more(self, index: int, node: int) -> None:
        """Put in what the variant has beside the twig."""
        for branch in self.variant.branches:
            if branch.test.kind is not Kind.ATTRIBUTE:
                self._graft(branch, node)
        if self.variant.text and not self.slots[index].is_compared:
            self.model.add_text(node, UNKNOWN)

    def _graft(self, branch: Step, node: int) -> None:
        """Put in a branch as it is written, its ``//`` as short as can be."""
        value = _some_value(branch)
        if branch.test.kind is Kind.TEXT:
            self.model.add_text(node, value or UNKNOWN)
            return
        namespace, local = branch.test.namespace, branch.test.local
        name = (
            self.stranger[0] if namespace is None else namespace,
            self.stranger[1] if local is None else local,
        )
        wanted = 0 if branch.position is None else branch.position.value
        for _ in range(max(1, wanted)):
            element = self.model.add_element(node, name)
        below = [condition for condition in branch.conditions if isinstance(condition, Step)]
        for step in below:
            if step.test.kind is Kind.ATTRIBUTE:
                attribute = (step.test.namespace or "", step.test.local or self.stranger[1])
                self.model.add_attribute(element, attribute, _some_value(step))
        if value and any(isinstance(c, ValueTest) for c in branch.conditions):
            self.model.add_text(element, value)
        for step in below:
            if step.test.kind is not Kind.ATTRIBUTE:
                self._graft(step, element)


def _as_branch(twig: Twig) -> Step:
    """One branch that holds what the branches of a twig ask for, all below one root."""
    known = [each for condition in twig for each in (condition, *implied(condition))]
    branches = [each for each in known if isinstance(each, Step)]
    if len(branches) == 1:
        return branches[0]
    roots = [each for each in branches if each.axis is Axis.CHILD]
    test = roots[0].test if roots else node_test(Kind.ELEMENT)
    below = [each for each in branches if each.axis is Axis.DESCENDANT]
    conditions = (*(c for root in roots for c in root.conditions), *below)
    return Step(Axis.CHILD, test, None, conditions)


def _may_have(conditions: Sequence[Condition], text: str) -> bool:
    """Whether a node of that value passes the comparisons among its conditions."""
    for condition in conditions:
        denied = isinstance(condition, Negation)
        test = condition.condition if isinstance(condition, Negation) else condition
        if isinstance(test, ValueTest) and passes(text, test) is denied:
            return False
    return True


def _some_value(step: Step) -> str:
    """A value that the step's node may have."""
    texts = representatives(tests_at(step))
    return next((text for text in texts if _may_have(step.conditions, text)), UNKNOWN)


def _unused(start: str, used: set[str | None]) -> str:
    """A text that begins none of those in use."""
    while any(text is not None and text.startswith(start) for text in used):
        start += "-"
    return start
