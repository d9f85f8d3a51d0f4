"""Looks for a history of a network of brokers whose outcome is wrong.

    python tools/fuzz_routing.py --seconds 60 --seed 1

Work is done in rounds.  Each is a random history: clients come and go, subscribe, advertise and
publish, links are cut and brokers crash, and messages arrive in any order that links allow.  In one
of three the brokers are in units.  It is held against an observer who knows everything
(``lab.histories``): where documents go, over which links, what stands in every table, and that
nothing is left in the end.

Rounds run in a process of their own, so that a crash or a hang is a finding too.  A round depends
on nothing but the seed and its number: ``--round`` repeats one.  A finding is printed as a short
script that shows it, found by leaving out whatever is not needed; the exit code is then 1.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import fuzz_rounds
from fuzz_matcher import shrink

from lab.histories.drawn import draw_history
from lab.histories.running import run_history
from lab.histories.steps import Advertise, History, Publish
from twigcast.errors import OverlayError


def judge(history: History, order: int) -> str | None:
    """What goes wrong."""
    return run_history(history, order).wrong


def reduce_history(history: History, order: int) -> History:
    """Fewer steps, links and brokers with which something still goes wrong."""

    def is_wrong(some: History) -> bool:
        try:
            return judge(some, order) is not None
        except OverlayError:  # a broker was left out, and not its links
            return False

    def with_fewer(some: History, name: str) -> History:
        def made(parts: list[Any]) -> History:
            chosen: dict[str, Any] = {name: tuple(parts)}
            return replace(some, **chosen)

        return made(shrink(list(getattr(some, name)), lambda parts: is_wrong(made(parts))))

    before = None
    while history != before:
        before = history
        for name in ("steps", "links", "brokers"):
            history = with_fewer(history, name)
    promised = {step.promise for step in history.steps if isinstance(step, Advertise)}
    promised.update(*(step.promises for step in history.steps if isinstance(step, Publish)))
    return replace(history, schemas=tuple(each for each in history.schemas if each[0] in promised))


def reproduction(history: History, order: int, wrong: str) -> str:
    """A script that shows the finding."""
    lines = [f"# {line}" for line in wrong.splitlines()]
    lines += [
        "from lab.histories.steps import *",
        "from lab.histories.running import run_history",
        "",
        "history = History(",
        f"    brokers={history.brokers!r},",
        f"    links={history.links!r},",
        f"    strategy={history.strategy!r},",
        "    steps=(",
        *(f"        {step!r}," for step in history.steps),
        "    ),",
        f"    schemas={history.schemas!r},",
        f"    is_late={history.is_late!r},",
        f"    in_slices={history.in_slices!r},",
        f"    gateways={history.gateways!r},",
        f"    most_patterns={history.most_patterns!r},",
        ")",
        f"print(run_history(history, {order}).wrong)",
    ]
    return "\n".join(lines)


def run_round(seed: int, number: int) -> str | None:
    """Run one history; the script of the finding, if there is one."""
    history = draw_history(seed, number, in_units=number % 3 == 0)
    if judge(history, number) is None:
        return None
    reduced = reduce_history(history, number)
    return reproduction(reduced, number, judge(reduced, number) or "")


if __name__ == "__main__":
    about = "look for a history of a network that goes wrong"
    sys.exit(fuzz_rounds.main(__file__, about, run_round))
