"""Tables as data: made once, shown in a terminal, in HTML and in JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """Text cells under headings; the first `labels` columns are names, the rest numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "columns": self.columns, "rows": self.rows, "note": self.note}


def number(value: float) -> str:
    """A number as people write it: 1,213,544 or 0.9876; a dash for what is not known.

    >>> number(1213544.1), number(0.98765), number(float("nan"))
    ('1,213,544', '0.9877', '-')
    """
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000 or value == round(value):
        return f"{value + 0.0:,.0f}"  # no minus zero
    return f"{value:.4g}"


def interval(ends: tuple[float, float]) -> str:
    return "-" if math.isnan(ends[0]) else f"[{number(ends[0])}, {number(ends[1])}]"
