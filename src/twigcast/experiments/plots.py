"""Plots of benchmarks, as PNG and SVG files.

matplotlib comes with the extra ``experiments`` and is imported when something is drawn.  Lines
differ in dash and marker and bars in hatching, so nothing depends on colour.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from twigcast.experiments.matching_bench import EXPAT
from twigcast.experiments.matching_growth import LXML_PATHS, PATHS, TREES
from twigcast.experiments.results import GrowthPoint, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DARK: Final = "#003f5c"
_MIDDLE: Final = "#3f83b5"
_WARM: Final = "#d55e00"
_GREY: Final = "#666666"

_LINES: Final[dict[str, dict[str, Any]]] = {
    PATHS: {"color": _DARK, "marker": "o", "linestyle": "-", "linewidth": 2.2},
    TREES: {"color": _MIDDLE, "marker": "s", "linestyle": "--", "linewidth": 2.0},
    LXML_PATHS: {"color": _WARM, "marker": "^", "linestyle": "-.", "linewidth": 2.0},
}
_SETTINGS: Final[dict[Any, Any]] = {
    "font.size": 12,
    "axes.titlesize": 14,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "twigcast",
}
_FARTHEST: Final = 1.6
"""The share of a goal up to which a bar is drawn; longer ones are cut and tell their length."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_growth(points: Sequence[GrowthPoint], folder: Path, note: str = "") -> list[Path]:
    """The time for a document against the number of subscriptions, both logarithmic."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(10, 6), layout="constrained")
        axes = figure.add_subplot()
        for way, style in _LINES.items():
            chosen = [point for point in points if point.way == way]
            counts = [point.subscriptions for point in chosen]
            if chosen:
                times = [point.seconds * 1e6 for point in chosen]
                axes.plot(counts, times, label=way, markersize=7, **style)
        yardstick = [point.seconds * 1e6 for point in points if point.way == EXPAT]
        if yardstick:
            level = statistics.median(yardstick)
            axes.axhline(
                level, color=_GREY, linestyle=":", linewidth=2, label=f"{EXPAT}: {level:,.0f} µs"
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel("subscriptions")
        axes.set_ylabel("microseconds a document")
        axes.set_title("Time to match a document of 4,000 bytes")
        axes.grid(which="major", color="#dddddd")
        axes.set_axisbelow(True)
        figure.legend(frameon=False, loc="outside upper center", ncols=4, columnspacing=1.4)
        _sign(figure, note)
        return _save(figure, folder, "growth")


def draw_goals(results: Sequence[Result], folder: Path, note: str = "") -> list[Path]:
    """How much of what its goal allows each row uses up, as bars beside a line at the goal."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    judged = [(result, result.goal) for result in results if result.goal is not None]
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(11, 1.8 + 0.42 * len(judged)), layout="constrained")
        axes = figure.add_subplot()
        for place, (result, goal) in enumerate(judged):
            share = goal.share(result.value)
            missed = result.verdict == "missed"
            axes.barh(
                place,
                min(share, _FARTHEST),
                height=0.66,
                color=_WARM if missed else _MIDDLE,
                edgecolor="black",
                linewidth=0.6,
                hatch="///" if missed else None,
            )
            cut = " (bar cut)" if share > _FARTHEST else ""
            words = f"{readable(result.value)} {result.unit}, goal {goal}: {result.verdict}{cut}"
            axes.annotate(
                words,
                (max(min(share, _FARTHEST), 1.0), place),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
            )
        axes.axvline(1.0, color="black", linewidth=1.6)
        axes.set_yticks(range(len(judged)), [result.work for result, _ in judged], fontsize=10)
        axes.set_ylim(len(judged) - 0.4, -0.6)
        axes.set_xlim(0, _FARTHEST + 0.9)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("share of what the goal allows (shorter is better)", loc="left")
        axes.set_title("Figures against their goals")
        axes.grid(axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        _sign(figure, note)
        return _save(figure, folder, "goals")


def readable(value: float) -> str:
    """A figure with three digits that count, and no more than two places after the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    )


def _sign(figure: Figure, note: str) -> None:
    """Write under the plot where it comes from."""
    if note:
        figure.text(1.0, -0.01, note, ha="right", va="top", fontsize=9, color=_GREY)


def _save(figure: Figure, folder: Path, name: str) -> list[Path]:
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        # Without the date, the same figures give the same SVG.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=140, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    return paths
