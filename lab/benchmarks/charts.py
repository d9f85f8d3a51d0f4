"""Line charts as PNG and SVG files: panels side by side, one legend.

Matplotlib is imported when something is drawn.  Lines differ in dash and marker, so nothing depends
on colour.  Points that somebody else published are hollow and joined by dots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK: Final = "#003f5c"
MIDDLE: Final = "#3f83b5"
WARM: Final = "#d55e00"
GREY: Final = "#666666"
LIGHT: Final = "#cccccc"

SETTINGS: Final[dict[Any, Any]] = {
    "font.size": 12,
    "axes.titlesize": 14,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "twigcast",
}
_STYLES: Final[tuple[dict[str, Any], ...]] = (
    {"color": DARK, "marker": "o", "linestyle": "-", "linewidth": 2.2},
    {"color": MIDDLE, "marker": "s", "linestyle": "--", "linewidth": 2.0},
    {"color": WARM, "marker": "^", "linestyle": "-.", "linewidth": 2.0},
    {"color": "#2b8a3e", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "linewidth": 2.0},
    {"color": "#7048e8", "marker": "v", "linestyle": (0, (7, 2)), "linewidth": 2.0},
    {"color": "#8a5a00", "marker": "P", "linestyle": (0, (2, 1)), "linewidth": 2.0},
)
_MARK: Final = {"markersize": 7}
_PUBLISHED: Final[dict[str, Any]] = {
    "linestyle": ":",
    "linewidth": 1.4,
    "markerfacecolor": "white",
    "markeredgewidth": 1.6,
}
_WIDTHS: Final = {1: 10.0, 2: 14.0}
"""Inches for so many panels; of more, each is narrower, or letters would be too small to read."""
_MOST_TICKS: Final = 6
_STEPS: Final = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Line:
    """Points that belong together; lines of one ``style`` look alike in all panels."""

    label: str
    points: Sequence[tuple[float, float]]
    style: int
    published: bool = False
    """Whether the points come from a paper."""


@dataclass(frozen=True, slots=True)
class Level:
    """A line across a panel."""

    label: str
    height: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    """What the horizontal axis shows."""
    upward: str
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    log_across: bool = False
    """Whether the axis is logarithmic; otherwise it begins at 0."""
    log_upward: bool = False
    ticks: Sequence[str] = ()
    """Names for 1, 2, … on the horizontal axis; the points then stand unjoined."""


def draw_panels(panels: Sequence[Panel], folder: Path, name: str, note: str = "") -> list[Path]:
    """The panels side by side, with a legend above and a note below."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(_WIDTHS.get(len(panels), 5.6 * len(panels)), 6.4))
        figure.set_layout_engine("constrained", w_pad=0.14)
        legend: dict[str, Any] = {}
        for number, panel in enumerate(panels, 1):
            axes = figure.add_subplot(1, len(panels), number)
            for artist in _fill(axes, panel):
                legend.setdefault(str(artist.get_label()), artist)
        columns = min(4 if len(panels) > 1 else 3, len(legend))
        figure.legend(
            legend.values(),
            legend.keys(),
            frameon=False,
            loc="outside upper center",
            ncols=columns,
            columnspacing=1.8,
            handlelength=3.2,
            fontsize=13,
        )
        sign(figure, note)
        return save(figure, folder, name)


def _fill(axes: Axes, panel: Panel) -> list[Any]:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    drawn: list[Any] = []
    for line in panel.lines:
        if line.points:
            style = _STYLES[line.style] | _MARK | (_PUBLISHED if line.published else {})
            xs, ys = zip(*line.points, strict=True)
            if panel.ticks:
                style |= {"linestyle": "none", "markersize": 11}
            drawn += axes.plot(xs, ys, label=line.label, **style)
    for level in panel.levels:
        drawn.append(
            axes.axhline(level.height, color=GREY, linestyle=":", linewidth=2, label=level.label)
        )
    if panel.log_across:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, steps=_STEPS))
    if panel.log_upward:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_major_formatter(plain)
    if panel.ticks:
        axes.set_xlim(0.5, len(panel.ticks) + 0.5)
        numbers = range(1, len(panel.ticks) + 1)
        axes.set_xticks(numbers, panel.ticks, rotation=25, ha="right")
    axes.yaxis.set_major_formatter(plain)
    axes.set_xlabel(panel.across, labelpad=6)
    axes.set_ylabel(panel.upward, labelpad=8)
    axes.set_title(panel.title)
    axes.grid(which="major", color="#dddddd")
    axes.set_axisbelow(True)
    return drawn


def sign(figure: Figure, note: str) -> None:
    """Write under the plot where it comes from."""
    if note:
        figure.text(1.0, -0.01, note, ha="right", va="top", fontsize=9, color=GREY)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write both files."""
    paths = [folder / f"{name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        # Without the date, the same figures give the same SVG.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=140, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    return paths
