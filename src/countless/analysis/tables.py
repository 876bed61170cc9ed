"""Tables as data: numbers stay numbers until they are shown in a terminal, in HTML or in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A mean and the half width of its 95% interval; NaN where there are too few runs for one."""

    mean: float
    half: float = math.nan


Cell = str | int | float | None | Estimate


@dataclass(frozen=True)
class Table:
    """Cells under headings; the first `labels` columns are names, the rest numbers.

    `formats` says how the numbers of a column are shown, as in `format(value, ",.2f")`; without one
    they are shown as `number` does.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    labels: int = 1
    note: str = ""
    formats: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> list[tuple[str, ...]]:
        """The rows as people read them."""
        specs = [self.formats.get(column, "") for column in self.columns]
        return [
            tuple(text(cell, spec) for cell, spec in zip(row, specs, strict=True))
            for row in self.rows
        ]

    def __str__(self) -> str:
        """In columns, for `print`: names to the left, numbers to the right."""
        lines = [self.columns, *self.texts()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            "  ".join(
                f"{text:<{width}}" if i < self.labels else f"{text:>{width}}"
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )
        return "\n".join((self.title, *aligned, *([self.note] if self.note else [])))

    def to_json(self) -> dict[str, Any]:
        rows = [[_plain(cell) for cell in row] for row in self.rows]
        return {"title": self.title, "columns": self.columns, "rows": rows, "note": self.note}


def text(cell: Cell, spec: str = "") -> str:
    """A cell as people write it; a dash for what is not known.

    >>> text(Estimate(3.049, 0.021), ".2f"), text(-0.001, ".1f"), text(None), text("R-Max")
    ('3.05 ± 0.02', '0.0', '-', 'R-Max')
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Estimate):
        mean = text(cell.mean, spec)
        return mean if math.isnan(cell.half) else f"{mean} ± {text(cell.half, spec)}"
    if cell is None or math.isnan(cell):
        return "-"
    if not spec:
        return number(cell)
    shown = format(cell, spec)
    return shown.lstrip("-") if not any(c in "123456789" for c in shown) else shown


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Estimate):
        return {"mean": _plain(cell.mean), "half_ci95": _plain(cell.half)}
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return cell


def number(value: float) -> str:
    """A number as people write it: 1,213,544 or 0.9876; a dash for what is not known.

    >>> number(1213544.1), number(0.98765), number(float("nan")), number(-0.0)
    ('1,213,544', '0.9877', '-', '0')
    """
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000 or value == round(value):
        return f"{value + 0.0:,.0f}"  # no minus zero
    return f"{value:.4g}"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2_000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def interval(ends: tuple[float, float]) -> str:
    """An interval, or a dash."""
    return "-" if math.isnan(ends[0]) else f"[{number(ends[0])}, {number(ends[1])}]"
