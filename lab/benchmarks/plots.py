"""A plot for every benchmark: figures against their goals, as bars.

Bars that miss their goal are hatched, and those whose goal is about another size say so: nothing
depends on colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lab.benchmarks.charts import LIGHT, MIDDLE, SETTINGS, WARM, save, sign
from lab.benchmarks.results import Result

_FARTHEST: Final = 1.6
"""The share of a goal up to which a bar is drawn; longer ones are cut and labelled."""


def draw_goals(
    results: Sequence[Result], folder: Path, note: str = "", name: str = "goals"
) -> list[Path]:
    """How much of what its goal allows each row uses up, as bars beside a line at the goal."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    judged = [(result, result.goal) for result in results if result.goal is not None]
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(11, 1.8 + 0.42 * len(judged)), layout="constrained")
        axes = figure.add_subplot()
        for row, (result, goal) in enumerate(judged):
            share = goal.share(result.value)
            missed = result.outcome == "missed"
            colour = (WARM if missed else MIDDLE) if goal.applies else LIGHT
            axes.barh(
                row,
                min(share, _FARTHEST),
                height=0.66,
                color=colour,
                edgecolor="black",
                linewidth=0.6,
                hatch="///" if missed else None,
            )
            cut = " (bar cut)" if share > _FARTHEST else ""
            words = f"{result.figure}, goal {goal}: {result.outcome}{cut}"
            if not goal.applies:
                words = f"{result.figure}; goal {goal} at full size{cut}"
            axes.annotate(
                words,
                (max(min(share, _FARTHEST), 1.0), row),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
            )
        axes.axvline(1.0, color="black", linewidth=1.6)
        axes.set_yticks(range(len(judged)), [result.work for result, _ in judged], fontsize=10)
        axes.set_ylim(len(judged) - 0.4, -0.6)
        axes.set_xlim(0, _FARTHEST + 0.9)
        axes.set_xticks([0, 0.5, 1.0])
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("share of what the goal allows (shorter is better)", loc="left")
        axes.set_title("Figures against their goals")
        axes.grid(axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        sign(figure, note)
        return save(figure, folder, name)
