"""Subscriptions generated from a schema: satisfiable tree patterns and linear expressions.

A pattern is drawn (:mod:`twigcast.workload.drafts`), may get a value predicate
(:mod:`twigcast.workload.predicates`), and is brought into normal form.  The normal form drops what
it finds redundant (``a//*`` at a leaf is ``a/*``), so measured shares of ``//`` and of branches lie
slightly below those asked for.

For distinct patterns a draft is looked up before it is brought into normal form, and where most
drafts are repetitions, walks are sent deeper (:class:`_Goals`).

Cost: some ten microseconds to draw a pattern, some twenty to build it.  Memory does not grow, but
for an eight-byte digest in a set for each distinct pattern, and one more for each distinct draft
whose spelling is not the normal form.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, count

from twigcast.errors import WorkloadError
from twigcast.keywords import exact_keywords
from twigcast.language import Pattern, Step
from twigcast.schema import Schema
from twigcast.workload.chance import Draw, between, digest, stream
from twigcast.workload.drafts import Draft, Walker
from twigcast.workload.elements import UsableElements
from twigcast.workload.predicates import PredicatePlan, ValueParameters
from twigcast.workload.shapes import PathParameters, TreeParameters

_PREDICATE_TRIES = 64
_DISTINCT_TRIES = 100_000
_LEARNING = 0.02
_LEAST_RATE = 0.002
_ENOUGH = 0.25


class SubscriptionPlan:
    """Everything that does not change from one subscription to the next.

    ``plan.pattern(index)`` needs no other pattern, and a plan can be pickled; so parts of one
    sequence can be generated on different machines.  Distinctness is a property of a sequence, and
    :func:`generate_subscriptions` sees to it.
    """

    def __init__(
        self,
        schema: Schema,
        parameters: TreeParameters | PathParameters,
        *,
        seed: int,
        values: ValueParameters | None = None,
    ) -> None:
        # What is pickled: how to make the plan anew.
        self._again = partial(SubscriptionPlan, schema, parameters, seed=seed, values=values)
        self._seed = seed
        if isinstance(parameters, TreeParameters):
            self._lowest = self._highest = parameters.height
        else:
            self._highest = parameters.length
            self._lowest = parameters.shortest or parameters.length
        elements = UsableElements(schema)
        self._walker = Walker(
            elements,
            {name: schema.label(name) for name in elements.children},
            stream("ranks", seed),
            wildcard=parameters.wildcard,
            descendant=parameters.descendant,
            branching=parameters.branching if isinstance(parameters, TreeParameters) else 0.0,
            skew=parameters.skew,
            height=self._highest,
        )
        self._predicates = None if values is None else PredicatePlan(elements, values)

    def pattern(self, index: int) -> Pattern:
        """The subscription with that index, which may be equal to another one."""
        return _built(self._draft(index))

    def distinct(self) -> Iterator[Pattern]:
        """Subscriptions without end, none equal to an earlier one.

        The first ones are those of :meth:`pattern` without repetitions.  Raises WorkloadError
        after 100,000 repetitions in a row.
        """
        seen: set[int] = set()
        goals = _Goals(self._highest, stream("goals", self._seed))
        goal = drawn = repeated = 0
        for index in count():
            draft = self._draft(index, goal)
            spelling = digest(draft.spelling())
            if spelling not in seen:
                pattern = _built(draft)
                normal = digest(str(pattern))
                fresh = normal not in seen
                seen.add(spelling)
                if fresh:
                    seen.add(normal)
                    drawn += 1
                    repeated = 0
                    goal = goals.next(goal, success=True)
                    yield pattern
                    continue
            goal = goals.next(goal, success=False)
            repeated += 1
            if repeated == _DISTINCT_TRIES:
                raise WorkloadError(
                    f"these parameters give {drawn:,} distinct subscriptions, or hardly more: "
                    f"the last {repeated:,} drawn were all among them"
                )

    def _draft(self, index: int, goal: int = 0) -> Draft:
        draw = stream("subscription", self._seed, index)
        height = between(draw, max(self._lowest, goal), self._highest)
        predicates = self._predicates
        if predicates is None or draw() >= predicates.fraction:
            return self._walker.draw(draw, height, goal)
        on_attribute = draw() < predicates.attributes
        for kind in (on_attribute, not on_attribute):
            for _ in range(_PREDICATE_TRIES):
                draft = self._walker.draw(draw, height, goal)
                if predicates.attach(draw, draft, kind):
                    return draft
        return draft

    def __reduce__(self) -> tuple[object, ...]:
        return self._again, ()


class _Goals:
    """How deep the next walk must come, so that something new comes; 0 leaves it to chance.

    Patterns near the root are soon used up, and drawing them again and again until a deep one comes
    by chance would take nearly all the time: four million draws for 100,000 distinct paths of a
    recursive DTD of a hundred elements.  So once fewer than one in four walks that are left to
    chance give something new, others must come to a level, which is drawn in proportion to the
    recent successes with it.
    """

    def __init__(self, highest: int, draw: Draw) -> None:
        self._rates = [1.0] * (highest + 1)
        self._draw = draw

    def next(self, goal: int, *, success: bool) -> int:
        """The goal after a walk with ``goal`` that has, or has not, given something new."""
        rates, draw = self._rates, self._draw
        rates[goal] = max(_LEAST_RATE, rates[goal] + _LEARNING * (success - rates[goal]))
        if draw() * _ENOUGH < rates[0]:
            return 0
        bounds = list(accumulate(rates[1:]))
        return 1 + bisect_right(bounds, draw() * bounds[-1], 0, len(bounds) - 1)


@exact_keywords
def generate_subscriptions(
    schema: Schema,
    parameters: TreeParameters | PathParameters,
    *,
    seed: int,
    values: ValueParameters | None = None,
) -> Iterator[Pattern]:
    """Subscriptions without end; take as many as needed with ``itertools.islice``.

    Those of :meth:`SubscriptionPlan.pattern` in order of their index or, with ``distinct``, those
    of :meth:`SubscriptionPlan.distinct`, which raises WorkloadError once they are used up.
    """
    plan = SubscriptionPlan(schema, parameters, seed=seed, values=values)
    return plan.distinct() if parameters.distinct else map(plan.pattern, count())


def _built(draft: Draft) -> Pattern:
    step = draft.build()
    assert isinstance(step, Step)
    return Pattern((step,))
