"""Durable delivery under every fault: the machine of a broker, with simulated disks and links."""

from __future__ import annotations

from twigcast.simulation.delivery.calm_histories import CalmHistory
from twigcast.simulation.delivery.drawn_worlds import draw_flat, draw_units
from twigcast.simulation.delivery.errors import HistoryError
from twigcast.simulation.delivery.histories import History
from twigcast.simulation.delivery.model_store import ModelStore

__all__ = ["CalmHistory", "History", "HistoryError", "ModelStore", "draw_flat", "draw_units"]
