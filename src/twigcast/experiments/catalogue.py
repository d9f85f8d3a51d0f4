"""The experiments that can be run, by name."""

from __future__ import annotations

from typing import Final

from twigcast.experiments import (
    factorization_size,
    processing_time,
    routing_table_size,
    xsearch_time,
)
from twigcast.experiments.outcomes import Experiment

EXPERIMENTS: Final[dict[str, Experiment]] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (xsearch_time, factorization_size, routing_table_size, processing_time)
}
