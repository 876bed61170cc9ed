"""Tables hold numbers; what is shown is written once, without false precision."""

import json
import math

import pytest

from countless.analysis.tables import Estimate, Table, interval, number, text

TABLE = Table(
    "t",
    ("agent", "runs", "mean ± 95% CI", "SD"),
    (
        ("a", 10_000, Estimate(3.049, 0.021), 1.5),
        ("b", 2, Estimate(-0.001), math.nan),
        ("c", None, "not run", None),
    ),
    formats={"mean ± 95% CI": ".2f", "SD": ".1f"},
)


def test_numbers_are_shown_as_their_column_says():
    assert TABLE.texts() == [
        ("a", "10,000", "3.05 ± 0.02", "1.5"),
        ("b", "2", "0.00", "-"),
        ("c", "-", "not run", "-"),
    ]


def test_numbers_stay_numbers_in_json():
    rows = json.loads(json.dumps(TABLE.to_json(), allow_nan=False))["rows"]
    assert rows == [
        ["a", 10_000, {"mean": 3.049, "half_ci95": 0.021}, 1.5],
        ["b", 2, {"mean": -0.001, "half_ci95": None}, None],
        ["c", None, "not run", None],
    ]


@pytest.mark.parametrize(
    ("value", "spec", "shown"),
    [
        (-0.0, "", "0"),
        (-0.04, ".1f", "0.0"),
        (-0.06, ".1f", "-0.1"),
        (-0.001, ".0%", "0%"),
        (math.inf, ".1f", "inf"),
        (-1234.5, "", "-1,234"),
        (Estimate(1.0, 0.0), ".1f", "1.0 ± 0.0"),
        (Estimate(math.nan), ".1f", "-"),
    ],
)
def test_no_minus_zero(value, spec, shown):
    assert text(value, spec) == shown


def test_intervals():
    assert interval((1.0, 2500.4)) == "[1, 2,500]"
    assert interval((math.nan, math.nan)) == "-"
    assert number(-0.0) == "0"


def test_a_table_is_printed_in_columns():
    table = Table("Runs", ("agent", "mean"), (("sarsa", 1234.5), ("rmax", None)), note="Two runs.")
    assert str(table).splitlines() == [
        "Runs",
        "agent   mean",
        "sarsa  1,234",
        "rmax       -",
        "Two runs.",
    ]
