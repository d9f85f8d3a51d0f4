"""What a scenario came to: a run for each strategy, and all of it as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twigcast import __version__
from twigcast.simulation.scenario.run import Setting, StrategyRun
from twigcast.simulation.scenario.workload import SimulatedWorkload


@dataclass(frozen=True)
class ScenarioResult:
    """The runs of all strategies, and the workload that they share."""

    workload: SimulatedWorkload
    setting: Setting
    runs: Sequence[StrategyRun]
    options: Mapping[str, Any]
    """The fields of the scenario that the figures depend on."""

    @property
    def is_right(self) -> bool:
        """Whether every document went once to exactly those who want it and can be reached."""
        return not any(run.wrong for run in self.runs)

    def as_json(self) -> dict[str, Any]:
        """Everything that was counted, and with which options, made of what JSON can hold."""
        workload = self.workload
        patterns = workload.patterns
        return {
            "twigcast": __version__,
            "options": dict(self.options),
            "brokers": list(workload.overlay),
            "links": [str(link) for link in workload.overlay.links],
            "parts": len(workload.overlay.parts()),
            "producers": {client.name: client.broker for client in workload.producers},
            "subscribers": {client.name: client.broker for client in workload.subscribers},
            "subscriptions": len(patterns),
            "distinct_subscriptions": len(set(patterns)),
            "documents": len(workload.documents),
            "faults": [str(fault) for fault in self.setting.faults],
            "strategies": [_run_as_json(run) for run in self.runs],
            "is_right": self.is_right,
        }


def _run_as_json(run: StrategyRun) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(run.summary.as_json())
    summary["tables"]["at_producers"] = run.at_producers
    return summary | {
        "expected_deliveries": run.expected,
        "unreachable_deliveries": run.unreachable,
        "missed": run.missed,
        "repeated": run.repeated,
        "wrong": run.wrong,
        "processor_seconds": run.processor_seconds,
    }
