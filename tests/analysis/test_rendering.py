import re

import numpy as np

from countless.analysis.html import contents, figure_html, page, paragraph, table_html
from countless.analysis.plots import (
    Axis,
    NormCurve,
    Sensitivity,
    draw_heatmaps,
    draw_norms,
    draw_sensitivity,
    short,
)
from countless.analysis.tables import Table, number

PNG = b"\x89PNG"


def test_numbers():
    assert number(0.0) == "0"
    assert number(-1234.5) == "-1,234"
    assert number(12.0) == "12"
    assert number(0.000123456) == "0.0001235"
    assert [short(v) for v in (1.25e6, 250e3, 40, 0.95)] == ["1.25M", "250k", "40", "0.95"]


def test_html_is_escaped_and_whole():
    table = Table("a < b", ("x", "y"), (("<i>", "1"),), note="n & m")
    html = page("t", "l & m", [contents([("s", "S")])], [table_html(table), paragraph("<script>!")])
    assert "<script>!" not in html
    assert "l &amp; m" in html
    assert "&lt;i&gt;" in html
    assert "a &lt; b" in html
    assert "n &amp; m" in html
    assert html.startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']?http""", html)  # nothing is fetched


def test_figures_are_drawn(tmp_path):
    x = np.arange(1.0, 50.0)
    curves = [NormCurve(x, np.sqrt(x) * (s + 1), x / 100, np.full(49, 10.0)) for s in range(6)]
    draw_norms(tmp_path / "norms", {"a": curves, "b": curves}, 0.19, 0.006)
    levels = np.array([0.1, 1.0, 10.0])
    axis = Axis("α", levels, [np.array([1.0, 2.0, 3.0])] * 3, np.array([1.0, 2.0, 1.0]), 1.0)
    draw_sensitivity(tmp_path / "sensitivity", [Sensitivity("D", [axis, axis])])
    panel = {
        "x": levels[:2],
        "y": levels[:2],
        "values": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "published": (0.1, 0.1),
        "best": (1.0, 1.0),
    }
    draw_heatmaps(tmp_path / "heat", {"D": panel})
    for name in ("norms", "sensitivity", "heat"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
        assert "data:image/svg+xml;base64" in figure_html(tmp_path / name, "c")
    assert not list(tmp_path.glob(".*"))


def test_drawing_twice_gives_the_same_file(tmp_path):
    x = np.arange(1.0, 20.0)
    curves = [NormCurve(x, x, x / 10, np.full(19, 10.0)) for _ in range(6)]
    for name in ("a", "b"):
        draw_norms(tmp_path / name, {"t": curves}, 0.19, 0.006)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
