"""What the label paths of a document say about a pattern.

    //Stock[Price > 15][not(Halted)]   relaxed:  //Stock[Price]
    /feed[not(ad)]/item/@id            relaxed:  the same, and that decides it

The label paths of a document, written as a document, are its *skeleton*
(:func:`twigcast.matching.skeletons_of`).  :func:`relaxed` keeps of a pattern what must hold in the
skeleton of every document that matches: which paths are there.  What compares values, counts
siblings or asks for text goes; an ``or`` stays where something is left of each of its members.

The skeleton has one node where the document has many, so a negation goes too: among many nodes of a
path one may lack what another one has.  The root is one in both.  There a negation of what paths
decide stays, and several conditions may stand side by side without any loss.

Invariants: if ``pattern`` matches a document, ``relaxed(pattern)`` matches its skeleton; where
:func:`decided_by_paths` says so, the converse holds as well.  Cost: linear in the pattern, but for
what its normal form takes.
"""

from __future__ import annotations

from twigcast.language import normal
from twigcast.language.nodes import (
    ALWAYS,
    CHILD,
    ELEMENT,
    TEXT,
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    Step,
    ValueTest,
    node_test,
)
from twigcast.language.pattern import Pattern
from twigcast.language.visiting import Question, Rewrite


def relaxed(pattern: Pattern) -> Pattern:
    """The pattern that the skeleton of every matching document matches; ``/*`` at the weakest."""
    kept: list[Step] = []
    for alternative in pattern.alternatives:
        branch = _relax_step(alternative, at_document=True)
        if branch is ALWAYS:
            return Pattern((Step(CHILD, node_test(ELEMENT)),))
        if isinstance(branch, Step):
            kept.append(branch)
    return Pattern(tuple(kept))


def decided_by_paths(pattern: Pattern) -> bool:
    """Whether the pattern matches a document exactly when it matches its skeleton."""
    return all(_step_decided(branch, at_document=True) for branch in pattern.alternatives)


class _Relax(Rewrite[[bool]]):
    """A condition that holds at the skeleton's node wherever the given one holds at a node."""

    def step(self, step: Step, at_root: bool) -> Condition:
        return _relax_step(step)

    def value_test(self, test: ValueTest, at_root: bool) -> Condition:
        return ALWAYS

    def first_node(self, condition: FirstNode, at_root: bool) -> Condition:
        return _relax_step(condition.as_branch())

    def negation(self, condition: Negation, at_root: bool) -> Condition:
        return condition if _decided(condition, at_root) else ALWAYS


_relax = _Relax().visit


def _relax_step(step: Step, *, at_document: bool = False) -> Condition:
    if step.test.kind is TEXT:
        return ALWAYS
    at_root = at_document and step.axis is CHILD
    conditions = [_relax(condition, at_root) for condition in step.conditions]
    return normal.branch(step.axis, step.test, None, conditions)


class _Decided(Question[[bool]]):
    """Whether the condition holds at one of the nodes of a path exactly if at the skeleton's."""

    def step(self, step: Step, at_root: bool) -> bool:
        return _step_decided(step)

    def value_test(self, test: ValueTest, at_root: bool) -> bool:
        return False

    def first_node(self, condition: FirstNode, at_root: bool) -> bool:
        return False

    def either(self, condition: Either, at_root: bool) -> bool:
        return all(self.visit(member, at_root) for member in condition.members)

    def both(self, condition: Both, at_root: bool) -> bool:
        return at_root and super().both(condition, at_root)

    def negation(self, condition: Negation, at_root: bool) -> bool:
        return at_root and self.visit(condition.condition, at_root)


_decided = _Decided().visit


def _step_decided(step: Step, *, at_document: bool = False) -> bool:
    at_root = at_document and step.axis is CHILD
    return (
        step.test.kind is not TEXT
        and step.position is None
        and (at_root or len(step.conditions) <= 1)
        and all(_decided(condition, at_root) for condition in step.conditions)
    )
