"""The experiments that can be run, by name."""

from __future__ import annotations

from typing import Final

from lab.experiments import (
    destination_skipping,
    factorization_size,
    false_positives,
    levels,
    network_traffic,
    notification_delay,
    processing_time,
    publication_routing,
    routing_table_size,
    xsearch_time,
)
from lab.experiments.outcomes import Experiment

EXPERIMENTS: Final[dict[str, Experiment]] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        xsearch_time,
        factorization_size,
        routing_table_size,
        processing_time,
        publication_routing,
        network_traffic,
        false_positives,
        notification_delay,
        destination_skipping,
        levels,
    )
}
