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
    TEXT,
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    Residual,
    Step,
    ValueTest,
)
from twigcast.language.pattern import Pattern
from twigcast.language.visiting import Question, Rewrite


def relaxed(pattern: Pattern) -> Pattern:
    """The pattern that the skeleton of every matching document matches; ``/*`` at the weakest."""
    return Pattern(_relax_at_document(each) for each in pattern.alternatives)


def decided_by_paths(pattern: Pattern) -> bool:
    """Whether the pattern matches a document exactly when it matches its skeleton."""
    return all(map(_decided_at_document, pattern.alternatives))


def _relax_at_document(condition: Condition) -> Condition:
    match condition:
        case Step():
            return _relax_step(condition, at_document=True)
        case Both(members=members):
            return normal.both(map(_relax_at_document, members))
        case Negation() if _decided_at_document(condition):
            return condition
        case Residual(implied=implied):
            return _relax_at_document(implied)
        case FirstNode():
            return _relax_step(condition.as_branch(), at_document=True)
        case Either(members=members):
            return normal.either(map(_relax_at_document, members))
        case _:
            return ALWAYS


def _decided_at_document(condition: Condition) -> bool:
    """Like the root, the document node is one in the document and in the skeleton."""
    match condition:
        case Step():
            return _step_decided(condition, at_document=True)
        case Either(members=members) | Both(members=members):
            return all(map(_decided_at_document, members))
        case Negation(condition=inner):
            return _decided_at_document(inner)
        case _:
            return False


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

    def residual(self, condition: Residual, at_root: bool) -> Condition:
        return self.visit(condition.implied, at_root)


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

    def residual(self, condition: Residual, at_root: bool) -> bool:
        return False


_decided = _Decided().visit


def _step_decided(step: Step, *, at_document: bool = False) -> bool:
    at_root = at_document and step.axis is CHILD
    return (
        step.test.kind is not TEXT
        and step.position is None
        and (at_root or len(step.conditions) <= 1)
        and all(_decided(condition, at_root) for condition in step.conditions)
    )
