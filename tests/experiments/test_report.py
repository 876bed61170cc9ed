"""The report says what was run, what is unfinished, and with which parameters."""

import pytest

import countless
from countless.analysis.statistics import summarise
from countless.experiments.report import (
    _listed,
    band_words,
    day,
    ends_words,
    parameter_lines,
    report_html,
)


def run(agent="sarsa", **more):
    return countless.run(agent, "riverswim", runs=6, steps=40, progress=False, **more)


def test_a_page_without_claims_says_first_what_was_run(tmp_path):
    run(out=tmp_path)
    run("rmax", out=tmp_path)
    html, _ = report_html(tmp_path)
    said = "What was run here: 2 jobs of rmax and sarsa in riverswim."
    assert html.index(said) < html.index("<nav")
    assert "the paper says" not in html
    assert "scoreboard" not in html[html.index("<main>") : html.index("</main>")]


def test_a_job_that_did_not_end_is_marked(tmp_path):
    (folder,) = run(out=tmp_path).folders
    assert "partial" not in report_html(tmp_path)[0].split("<main>")[1].split("</main>")[0]
    (folder / "finished.json").unlink()
    html, _ = report_html(tmp_path)
    assert "sarsa (partial: 6 of 6 runs)</th>" in html
    assert "1 job of these did not run to the end." in html


def test_the_parameters_and_the_date_are_told(tmp_path):
    run(out=tmp_path, alpha=0.125)
    html, _ = report_html(tmp_path)
    assert "<dt>parameters of sarsa</dt><dd>alpha 0.125, " in html
    assert "UTC</dd>" in html
    assert day(None) == "not known"


def test_parameters_that_differ_come_first_and_the_rest_is_counted():
    many = {f"p{i}": i for i in range(20)}
    abouts = [
        {"agent": "a", "identity": {"config": many | {"p7": value}}} for value in (1, 2, 3, 4, 5, 6)
    ]
    (words,) = parameter_lines(abouts).values()
    assert words.startswith("p7 1 or 2 or 3 or 4 or 5 or ..., p0 0, ")
    assert words.endswith(", and 6 more in the job's job.json")
    measured = {"agent": "maps", "identity": {"parameters": {"of": "sarsa-sr", "beta": 0.5}}}
    assert parameter_lines([measured]) == {"parameters of sarsa-sr": "beta 0.5"}
    assert parameter_lines([{"agent": "a", "identity": {}}]) == {}


@pytest.mark.parametrize(
    ("returns", "said"),
    [([3.0], "one run"), ([1.0, 4.5], "range 1 to 4.5"), ([2.0] * 5, "2 to 2")],
)
def test_below_five_runs_there_is_a_range(returns, said):
    assert ends_words(summarise(returns)) == said


def test_the_caption_says_what_the_bands_are():
    assert "range" not in band_words({5, 10})
    assert "interval" not in band_words({2})
    assert band_words({1}) == "A single run has no band."
    both = band_words({2, 9})
    assert "interval" in both
    assert "range" in both


def test_long_lists_are_cut():
    assert _listed(["a"]) == "a"
    assert _listed(["a", "b", "c"]) == "a, b and c"
    assert _listed([str(i) for i in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"
