"""Workloads: subscriptions and documents generated from a schema, the same for the same seed.

    Schema ──elements──► what valid documents can hold
               │
               ├──drafts──► shape of a pattern ──predicates──► with a value ──normal form──► Pattern
               │                                    ▲
               │          Vocabulary ──values──► values of elements and attributes
               │                                    ▼
               └──sizes───► content models with expectations ──documents──► bytes of XML

:func:`generate_subscriptions` draws tree patterns with the parameters of XNET's generator
(:class:`TreeParameters`) or linear expressions with those of Li, Hou and Jacobsen
(:class:`PathParameters`); :class:`ValueParameters` adds comparisons with values.
:func:`generate_documents` draws valid documents (:class:`DocumentParameters`).  Both are endless
iterators that hold one thing at a time.  Where one :class:`Vocabulary` is given to both, as it is
by default, subscriptions compare with values that the documents hold.

Invariants: every pattern is matched by some valid document, and every document is valid and no
deeper than asked.  The thing with index i depends on schema, parameters, seed and i alone, on every
machine and version of Python; a :class:`SubscriptionPlan` or :class:`DocumentPlan` gives it without
the ones before.  The exception is distinctness, which needs the sequence.

Cost, in CPython on one core: some 20 microseconds a pattern; 100,000 distinct ones of a recursive
DTD take six to nine seconds, since by then most draws are repetitions.  A document of 4,000
characters takes less than a millisecond.
"""

from __future__ import annotations

from twigcast.workload.documents import DocumentParameters, DocumentPlan, generate_documents
from twigcast.workload.predicates import ValueParameters
from twigcast.workload.shapes import (
    PATHS,
    TREES,
    PathParameters,
    Shape,
    TreeParameters,
    pattern_parameters,
)
from twigcast.workload.subscriptions import SubscriptionPlan, generate_subscriptions
from twigcast.workload.vocabulary import Vocabulary

__all__ = [
    "PATHS",
    "TREES",
    "DocumentParameters",
    "DocumentPlan",
    "PathParameters",
    "Shape",
    "SubscriptionPlan",
    "TreeParameters",
    "ValueParameters",
    "Vocabulary",
    "generate_documents",
    "generate_subscriptions",
    "pattern_parameters",
]
