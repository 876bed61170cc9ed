"""Charts as data: what a page draws, and what its reader can download."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.curves import PALETTE, Curve, Styles, band, line_styles, spread
from countless.analysis.statistics import profile

LEVELS = 160  # points of a distribution
DIGITS = 5  # that a page needs of a number
MAP_DIGITS = 3  # a colour tells less
MARK_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00")
GREY = "#808080"  # of what is there to compare with; told from both papers


@dataclass(frozen=True)
class Series:
    """One line: y over x, with a band from `low` to `high` where there is one."""

    label: str
    x: Sequence[float] | NDArray[Any]
    y: Sequence[float] | NDArray[Any]
    low: Sequence[float] | NDArray[Any] | None = None
    high: Sequence[float] | NDArray[Any] | None = None
    style: tuple[str, str] = ("#0072B2", "-")  # a colour, and a dash of Matplotlib
    points: str = ""  # "only": no line through the points; "too": both
    hidden: bool = False  # until its reader asks for it

    def to_json(self) -> dict[str, Any]:
        lines = {"x": self.x, "y": self.y, "low": self.low, "high": self.high}
        kept: dict[str, Any] = {
            name: compact(line) for name, line in lines.items() if line is not None
        }
        kept |= {"points": self.points} if self.points else {}
        kept |= {"hidden": True} if self.hidden else {}
        colour, dash = self.style
        return {"label": self.label, "colour": colour, "dash": dash, **kept}


@dataclass(frozen=True)
class Chart:
    """Lines in one pair of axes."""

    title: str
    x: str  # what is measured, with its unit
    y: str
    series: tuple[Series, ...]
    steps: int = 0  # 1: a value holds until the next point; -1: from the point before; 0: neither
    log: str = ""  # axes that are logarithmic, "x", "y" or "xy"; what is not above 0 is not drawn
    ticks: Sequence[float] = ()  # on the axis of x, where they are not left to the page
    span: tuple[float, float] | None = None  # of y, where it is the same for several charts

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "lines",
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "steps": self.steps,
            "log": self.log,
            "ticks": list(self.ticks),
            "span": self.span,
            "series": [series.to_json() for series in self.series],
        }


@dataclass(frozen=True)
class Mark:
    """A value with its interval, and a few words on it; NaN for what is not known."""

    value: float
    ends: tuple[float, float] = (math.nan, math.nan)
    note: str = ""

    def to_json(self) -> list[Any]:
        return [*compact((self.value, *self.ends)), *([self.note] if self.note else [])]


@dataclass(frozen=True)
class Intervals:
    """One row per label with a mark for each name: points and intervals under one another."""

    title: str
    label: str  # what a row is: "agent"
    x: str  # what is measured, with its unit
    rows: Mapping[str, Mapping[str, Mark]]
    log: bool = False

    def to_json(self) -> dict[str, Any]:
        names = list(dict.fromkeys(name for marks in self.rows.values() for name in marks))
        return {
            "kind": "intervals",
            "title": self.title,
            "label": self.label,
            "x": self.x,
            "log": self.log,
            "names": names,
            "colours": MARK_COLOURS[: len(names)],
            "rows": [
                [label, [marks[name].to_json() if name in marks else None for name in names]]
                for label, marks in self.rows.items()
            ],
        }


@dataclass(frozen=True)
class Sweep:
    """The settings of a sweep: each parameter's value in every setting, and the mean return."""

    parameters: Mapping[str, Sequence[float]]
    means: Sequence[float] | NDArray[Any]
    marked: int | None = None  # the published setting

    def to_json(self) -> dict[str, Any]:
        levels = {name: sorted(set(values)) for name, values in self.parameters.items()}
        return {
            "names": list(levels),
            "levels": [compact(values) for values in levels.values()],
            "settings": [
                [levels[name].index(value) for value in values]
                for name, values in self.parameters.items()
            ],
            "means": compact(self.means),
            "marked": self.marked,
        }


@dataclass(frozen=True)
class Explorer:
    """Sweeps to look into: the mean return against each parameter, for all settings of one or for
    those that a reader picks."""

    title: str
    y: str
    sweeps: Mapping[str, Sweep]

    def to_json(self) -> dict[str, Any]:
        sweeps = {title: sweep.to_json() for title, sweep in self.sweeps.items()}
        return {"kind": "explorer", "title": self.title, "y": self.y, "sweeps": sweeps}


@dataclass(frozen=True)
class MapLine:
    """The maps of one agent: of each quantity its values (times, states)."""

    label: str
    maps: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class MapChart:
    """Maps over time, with a slider: one row per agent, one column per quantity."""

    title: str
    layout: NDArray[np.int64]  # (rows, columns): the state of each cell, -1 for a wall
    unit: str  # of the times
    times: NDArray[np.int64]
    rows: tuple[MapLine, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "maps",
            "title": self.title,
            "layout": self.layout.tolist(),
            "unit": self.unit,
            "times": self.times.tolist(),
            "rows": [
                {
                    "label": row.label,
                    "maps": {
                        name: [compact(at, MAP_DIGITS) for at in values]
                        for name, values in row.maps.items()
                    },
                }
                for row in self.rows
            ],
        }


@dataclass(frozen=True)
class Panels:
    """Charts that are read together, and what they show in a sentence."""

    name: str  # unique on a page
    caption: str
    charts: tuple[Chart | Explorer | Intervals | MapChart, ...]


def compact(
    values: Sequence[float] | NDArray[Any], digits: int = DIGITS
) -> list[float | int | None]:
    """Numbers with as many digits as a picture needs; null for what is not known.

    >>> compact([1 / 3, 1213544.1, float("nan"), 2.0])
    [0.33333, 1213500, None, 2]
    """
    short: list[float | int | None] = []
    for value in np.asarray(values, np.float64).tolist():
        if not math.isfinite(value):
            short.append(None)
            continue
        rounded = float(f"{value:.{digits}g}")
        short.append(int(rounded) if rounded.is_integer() else rounded)
    return short


def banded(label: str, x: NDArray[Any], y: NDArray[Any], style: tuple[str, str]) -> Series:
    """The mean of y (runs, points) where some run is known, with what `spread` says of it."""
    mean, _ = band(y)
    low, high = spread(y)
    known = np.isfinite(mean)
    if not np.isfinite(low).any():
        return Series(label, x[known], mean[known], style=style)
    return Series(label, x[known], mean[known], low[known], high[known], style)


def curve_chart(
    title: str, curves: Mapping[str, tuple[str, Curve]], chosen: Styles | None = None
) -> Chart:
    """Mean return over the runs with its band, one line for each label -> (agent, curve).

    `chosen` has the styles of the labels, where other charts have lines of the same names.
    """
    chosen = chosen or line_styles({label: agent for label, (agent, _) in curves.items()})
    units = [curve.unit for _, curve in curves.values()]
    unit = units[-1] if units else "steps"
    series = tuple(
        banded(label, curve.x, curve.y, chosen[label]) for label, (_, curve) in curves.items()
    )
    y = "reward so far" if unit == "steps" else "return of an episode"
    return Chart(title, unit, y, series)


def distribution_chart(
    title: str,
    returns: Mapping[str, NDArray[Any]],
    x: str = "return of a run",
    agents: Mapping[str, str] | None = None,
) -> Chart:
    """The share of runs that reach at least a return: all runs are seen, not only their mean."""
    known = {label: values[np.isfinite(values)] for label, values in returns.items()}
    every = np.concatenate([*known.values(), np.empty(0)])
    levels = np.unique(np.quantile(every, np.linspace(0.0, 1.0, LEVELS))) if len(every) else every
    chosen = line_styles({label: (agents or {}).get(label, label) for label in known})
    series = tuple(
        Series(
            label,
            levels,
            100.0 * (1.0 - np.searchsorted(np.sort(values), levels, side="left") / len(values)),
            style=chosen[label],
        )
        for label, values in known.items()
        if len(values)
    )
    return Chart(title, x, "runs with at least that (%)", series, steps=-1)


def profile_chart(
    title: str,
    scores: Mapping[str, Sequence[NDArray[Any]]],
    x: str,
    most: int = len(PALETTE),
    chosen: Styles | None = None,
) -> Chart:
    """Performance profiles with their 95% bands (Agarwal et al. 2021): the share of runs with at least
    a score in percent, averaged over the tasks. All but the first `most` wait to be asked for.
    `chosen` is as for `curve_chart`."""
    chosen = chosen or line_styles({label: label for label in scores})
    levels = np.linspace(0.0, 1.0, 101)
    series = []
    for i, (label, tasks) in enumerate(scores.items()):
        share, low, high = (100.0 * line for line in profile(tasks, levels))
        line = Series(label, 100.0 * levels, share, style=chosen[label], hidden=i >= most)
        series.append(replace(line, low=low, high=high) if np.isfinite(low).any() else line)
    return Chart(title, x, "runs with at least that (%)", tuple(series), steps=-1)
