"""Scenarios: strategies compared with one workload, every delivery checked.

A :class:`Scenario` says what to simulate; ``twigcast simulate`` has an option for each field, and a
TOML file a key.  ``run()`` gives a :class:`ScenarioResult`.
"""

from __future__ import annotations

from twigcast.simulation.scenario.result import ScenarioResult
from twigcast.simulation.scenario.run import Setting, StrategyRun
from twigcast.simulation.scenario.scenario import Scenario
from twigcast.simulation.scenario.workload import SimulatedWorkload

__all__ = ["Scenario", "ScenarioResult", "Setting", "SimulatedWorkload", "StrategyRun"]
