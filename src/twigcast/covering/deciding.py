"""Deciding by documents what the homomorphism does not show.

A document that holds a twig of q and does not match p refutes the covering, whatever the patterns.
Where every canonical document of the twig matches p (:mod:`twigcast.covering.canonical`), the
covering is shown, provided that a document that refutes it always leads to a canonical one that
does.  That is so for elements, attributes, ``text()``, ``or`` and ``|``: p asks only for what is
there, so nothing beside the twig's own nodes is needed to refute it, and a stretch longer than
every run of ``*`` in p is as good as any longer one (Miklau and Suciu, *Containment and equivalence
for a fragment of XPath*, 2004).  It is so with comparisons too (``=``, ``!=``, ``<``, ``<=``,
``>``, ``>=``, also negated) where values can be chosen one by one:

* those of attributes and ``text()`` always, since they are theirs alone;
* those of elements, if neither p nor the twig asks for ``text()``, so that it does not matter where
  in an element its text stands, and no element that is compared, in q or possibly by p, lies within
  another, since the value of the outer one holds that of the inner one.

Elsewhere documents only refute, and more of them are tried: with a sibling before each element,
with what p denies by ``not()``, with more text, with text further down.  Expressions (residuals)
are not evaluated: a document refutes where p cannot match it, whatever its expressions say, and q
does.

Cost: the number of documents, exponential in the ``//`` and the compared nodes of the twig, times
that of an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from twigcast.covering.canonical import Canonical, Variant
from twigcast.covering.splitting import Twig, split
from twigcast.covering.survey import Survey
from twigcast.errors import CoveringBudgetError
from twigcast.language import Either, Pattern

DEFAULT_BUDGET = 20_000
_PLAIN = Variant()


def holds_in_documents(p: Pattern, q: Pattern, twigs: Sequence[Twig], budget: int) -> bool:
    """Whether p covers the twigs, which are of q, decided by up to ``budget`` documents of theirs.

    Raises CoveringBudgetError where they do not decide it.
    """
    asked = Survey(split(p))
    plans = [Canonical(twig, asked) for twig in twigs]
    doubts = [_doubt(plan) for plan in plans]
    left = budget
    undecided: str | None = None
    needed = sum(map(_count, plans))
    for plan, doubt in zip(plans, doubts, strict=True):
        variants = (_PLAIN,) if doubt is None else _variants(asked)
        for variant in variants:
            for stretches, values in _choices(plan):
                if not left:
                    break
                left -= 1
                model = plan.document(stretches, values, variant)
                if (
                    model is not None
                    and not model.may_have_one_of(asked.twigs)
                    and model.has_one_of(plan.own.twigs)
                ):
                    return False
        undecided = undecided or doubt
    if undecided is not None:
        reason = f"{undecided} prevents it, and no document tried matches only the second"
        remedy = "exact=False answers False here"
    elif needed > budget:
        reason = f"{needed} are needed"
        remedy = "raise the budget, or accept exact=False, which answers False here"
    else:
        return True
    raise CoveringBudgetError(str(p), str(q), budget, reason, remedy)


def _doubt(plan: Canonical) -> str | None:
    """What prevents a decision by the canonical documents; None where nothing does."""
    if any(isinstance(condition, Either) for condition in plan.own.conditions):
        return "the number of alternatives"
    return plan.asked.doubt or plan.own.doubt or plan.doubt


def _variants(asked: Survey) -> Iterator[Variant]:
    """What to put into documents beside the twig, so as not to match the other pattern."""
    yield _PLAIN
    yield Variant(siblings=True)
    yield Variant(text=True)
    yield Variant(inner_text=True)
    denied = tuple(asked.denied)
    for branch in denied:
        yield Variant(branches=(branch,))
    if len(denied) > 1:
        yield Variant(branches=denied)
    yield Variant(siblings=True, text=True, branches=denied)


def _choices(plan: Canonical) -> Iterator[tuple[Sequence[int], Sequence[str]]]:
    for stretches in product(*(slot.stretches for slot in plan.slots)):
        for values in product(*(slot.values for slot in plan.slots)):
            yield stretches, values


def _count(plan: Canonical) -> int:
    return prod(len(slot.stretches) * len(slot.values) for slot in plan.slots)
