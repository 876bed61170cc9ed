"""Charts as data: what a page draws, and what its reader can download."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.curves import PALETTE, Curve, band, styles

LEVELS = 160  # points of a distribution
DIGITS = 5  # that a page needs of a number
MAP_DIGITS = 3  # a colour tells less


@dataclass(frozen=True)
class Series:
    """One line: y over x, with a band from `low` to `high` where there is one."""

    label: str
    x: Sequence[float] | NDArray[Any]
    y: Sequence[float] | NDArray[Any]
    low: Sequence[float] | NDArray[Any] | None = None
    high: Sequence[float] | NDArray[Any] | None = None
    style: tuple[str, str] = ("#0072B2", "-")  # a colour, and a dash of Matplotlib

    def to_json(self) -> dict[str, Any]:
        lines = {"x": self.x, "y": self.y, "low": self.low, "high": self.high}
        kept = {name: compact(line) for name, line in lines.items() if line is not None}
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

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "lines",
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "steps": self.steps,
            "series": [series.to_json() for series in self.series],
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
    charts: tuple[Chart | Explorer | MapChart, ...]


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


def line_styles(labels: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """A style for each label -> agent: no dashes where colours are enough to tell lines apart."""
    chosen = styles(labels.items())
    if len(labels) > len(PALETTE):
        return chosen
    free = list(PALETTE)
    solid = {}
    for label, (colour, _) in chosen.items():
        own = colour if colour in free else free[0]
        free.remove(own)
        solid[label] = (own, "-")
    return solid


def curve_chart(title: str, curves: Mapping[str, tuple[str, Curve]]) -> Chart:
    """Mean return with its 95% band over the runs, one line for each label -> (agent, curve)."""
    chosen = line_styles({label: agent for label, (agent, _) in curves.items()})
    series, unit = [], "steps"
    for label, (_, curve) in curves.items():
        mean, half = band(curve.y)
        known, unit = np.isfinite(mean), curve.unit
        shown = np.isfinite(half).any()
        series.append(
            Series(
                label,
                curve.x[known],
                mean[known],
                (mean - half)[known] if shown else None,
                (mean + half)[known] if shown else None,
                chosen[label],
            )
        )
    y = "reward so far" if unit == "steps" else "return of an episode"
    return Chart(title, unit, y, tuple(series))


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


def profile_chart(title: str, scores: Mapping[str, Sequence[NDArray[Any]]], x: str) -> Chart:
    """Performance profiles: the share of runs with at least a score in percent, averaged over the
    tasks (Agarwal et al. 2021)."""
    chosen = line_styles({label: label for label in scores})
    levels = np.linspace(0.0, 1.0, 101)
    series = tuple(
        Series(
            label,
            100.0 * levels,
            100.0 * np.mean([(task[:, None] >= levels).mean(axis=0) for task in tasks], axis=0),
            style=chosen[label],
        )
        for label, tasks in scores.items()
    )
    return Chart(title, x, "runs with at least that (%)", series, steps=-1)
