"""The DeepSea study: bsuite's score on recorded data, and what is run and shown."""

import json
from pathlib import Path

import numpy as np
import pytest

from countless.analysis.charts import Mark
from countless.analysis.plots_deepsea import episode_charts, solved_chart, success_chart
from countless.cli.main import main
from countless.experiments import deepsea
from countless.experiments.bsuite_score import (
    beats_dithering,
    logged_episodes,
    solution,
    solution_of_wins,
)
from countless.experiments.deepsea import (
    EXPERIMENT,
    EXTENTS,
    ROWS,
    Extent,
    cell_job,
    outcome,
    success,
)
from countless.experiments.experiment import DIFFERS, OPEN, REPRODUCED, Plan, run, show
from countless.runs.engine import LocalEngine
from countless.runs.job import Stopped

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "bsuite_deep_sea.json").read_text())


def test_bsuite_looks_at_the_same_episodes():
    assert logged_episodes().tolist() == RECORDED["analysis"]["logged"]


@pytest.mark.parametrize("one", RECORDED["analysis"]["runs"], ids=lambda one: str(one["size"]))
def test_solved_and_score_are_bsuites(one):
    at = solution(one["bad"])
    assert (at is not None) == one["solved"]
    assert at in (one["episode"], None)
    assert beats_dithering(one["size"], at) == bool(one["score"])


def test_the_score_of_all_sizes_is_bsuites():
    runs = RECORDED["analysis"]["runs"]
    ours = np.mean([beats_dithering(one["size"], solution(one["bad"])) for one in runs])
    assert ours == pytest.approx(RECORDED["analysis"]["score"])


def wins_from(start, end):
    return np.arange(1, end + 1) >= start


def test_a_run_that_was_ended_counts_at_the_next_look():
    wins = wins_from(1071, 1191)  # 121 of 1,191: enough, but bsuite looks at 1,200 next
    assert solution_of_wins(wins, 10_000, solved=True) == 1_200
    assert solution_of_wins(wins, 10_000, solved=False) is None
    assert solution_of_wins(wins, 1_191, solved=True) is None
    assert solution_of_wins(wins_from(1071, 10_000), 10_000, solved=False) == 1_200


def test_the_outcome_of_a_seed():
    returns = np.where(wins_from(301, 500), 0.99, -0.005)
    told = outcome(returns, 10, 3_000)
    assert (told.first_win, told.stable, told.wins, told.episodes) == (301, 390, 200, 500)
    assert told.bsuite == 400
    assert told.beats_dithering
    nothing = outcome(np.full(3_001, -0.005), 10, 3_000)
    assert (nothing.first_win, nothing.stable, nothing.bsuite) == (None, None, None)
    assert nothing.episodes == 3_000
    assert not nothing.beats_dithering


def test_the_charts_are_medians_of_the_seeds_that_got_there():
    agents = {"a": {10: ([30, 10, 20], 5), 14: ([], 5)}, "b": {10: ([], 0), 14: ([7], 1)}}
    rows = solved_chart("t", agents, "episodes").rows
    assert rows["a"]["N = 10"] == Mark(20.0, (10, 30), "3 of 5")
    assert rows["a"]["N = 14"].note == "0 of 5"
    assert np.isnan(rows["a"]["N = 14"].value)
    assert list(rows["b"]) == ["N = 14"]
    first, second, random = episode_charts({"t": agents}, (10, 14), 3_000)[0].series
    assert (first.x, first.y, second.x, second.y) == ([10], [20.0], [14], [7.0])
    assert random.y == pytest.approx(2.0**random.x)


def found_of(**stable):
    """Outcomes of five seeds at N = 10 and 20: so many of them are stable at 20, all at 10."""
    won, lost = (deepsea.Outcome(at, at, at, bool(at), 0, 3_000) for at in (500, None))
    names = {"plain": deepsea.PLAIN, "centred": "ℓ2, centred bonus"}
    names |= {name: f"DQN_e^MMC+SR ℓ{name[1]}" for name in ("l1", "l2")}
    found = {(row.label, env): [] for row in ROWS for env in PAIR.games}
    for name, count in stable.items():
        found[names[name], PAIR.games[0]] = [won] * 5
        found[names[name], PAIR.games[1]] = [won] * count + [lost] * (5 - count)
    return found


PAIR = Plan(scale="laptop", games=("bsuite-deepsea-10", "bsuite-deepsea-20"))


@pytest.mark.parametrize(
    ("stable", "verdict"),
    [
        ({"plain": 0, "l2": 5}, REPRODUCED),
        ({"plain": 0, "l2": 4}, REPRODUCED),
        ({"plain": 0, "l1": 0, "l2": 4, "centred": 1}, OPEN),  # chance has had three tries
        ({"plain": 0, "l2": 3}, OPEN),
        ({"plain": 0, "l2": 0}, OPEN),
        ({"plain": 3, "l2": 3}, DIFFERS),
        ({"plain": 4, "l2": 1}, DIFFERS),
    ],
)
def test_the_claim_is_read_off_the_seeds(stable, verdict):
    (claim,) = deepsea.claims(found_of(**stable), PAIR)
    assert claim.verdict == verdict
    assert f"N = 20: {stable['l2']} of 5" in claim.ours
    assert f"{stable['plain']} of 5 without" in claim.ours


def test_without_a_pair_to_compare_there_is_no_claim():
    assert deepsea.claims(found_of(plain=1), PAIR) == ()
    found = found_of(plain=0, l2=5)
    found[deepsea.PLAIN, "bsuite-deepsea-20"] = []  # not run yet: the size before is compared
    (claim,) = deepsea.claims(found, PAIR)
    assert "N = 10" in claim.ours


def test_the_names_of_the_claim_are_those_of_the_rows():
    assert {deepsea.PLAIN, *deepsea.LEARNED, *deepsea.STORY} <= {row.label for row in ROWS}


def test_curves_begin_with_the_few_that_tell_the_story():
    lines = {row.label: np.zeros((2, 3)) for row in ROWS}
    chart = deepsea.told(success_chart("t", np.arange(3), lines))
    assert [line.label for line in chart.series if not line.hidden] == list(deepsea.STORY)
    alone = success_chart("t", np.arange(3), {"DQN": np.zeros((2, 3))})
    assert deepsea.told(alone) == alone  # never an empty chart


def test_success_is_of_the_last_hundred_episodes_and_stays_where_a_run_ends():
    returns = np.concatenate([np.zeros(100), np.ones(150)])
    at = np.array([50, 100, 150, 200, 250, 3_000])
    assert success(returns, at).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("scale", EXTENTS)
def test_the_protocol(scale):
    games = EXPERIMENT.games_at(scale)
    assert set(games) <= set(EXPERIMENT.games)
    for row in ROWS:
        job = cell_job(row, games[-1], 0, Plan(scale=scale))
        assert job.until == deepsea.STABLE
        size = deepsea.size_of(games[-1])
        assert job.frames // size == EXTENTS[scale].episodes + 1
    assert EXPERIMENT.games_at("paper") == tuple(f"bsuite-deepsea-{n}" for n in range(10, 51, 2))


def test_the_study_runs_once_and_is_shown(monkeypatch, tmp_path):
    tiny = {"warmup": 30, "width": 0.1, "epsilon_steps": 20, "replay": 500}
    monkeypatch.setitem(deepsea.EXTENTS, "smoke", Extent(5, (10,), tiny))
    monkeypatch.setattr(LocalEngine, "_run_workers", lambda *_: None)  # all in this process
    plan = Plan(scale="smoke", games=("bsuite-deepsea-10",), seeds=(0,))
    section = run(EXPERIMENT, plan, tmp_path, LocalEngine()).section
    size, summary = section.tables
    assert [row[0] for row in size.rows] == [row.label for row in ROWS]
    assert all(row[1] == "0 of 1" for row in size.rows)
    assert [row[1] for row in summary.rows if str(row[0]).startswith("published")] == [20, 30]
    assert (tmp_path / "experiments" / "deepsea" / "episodes.svg").is_file()
    solved, curves = section.panels  # nobody has found the treasure: there are no episodes to show
    (chart,) = solved.charts
    assert [mark["N = 10"].note for mark in chart.rows.values()] == ["0 of 1"] * len(ROWS)
    (chart,) = curves.charts
    assert [series.label for series in chart.series] == [row.label for row in ROWS]
    assert all(np.all(np.asarray(series.y) == 0.0) for series in chart.series)
    monkeypatch.setattr("countless.agents.dqn.trainer.Trainer.turn", None)
    again = run(EXPERIMENT, plan, tmp_path, LocalEngine()).section
    assert again.tables == section.tables


def test_an_interrupted_study_shows_what_is_done(monkeypatch, tmp_path):
    tiny = {"warmup": 30, "width": 0.1, "epsilon_steps": 20, "replay": 500}
    monkeypatch.setitem(deepsea.EXTENTS, "smoke", Extent(5, (10,), tiny))
    monkeypatch.setattr(LocalEngine, "_run_workers", lambda *_: None)  # all in this process
    plan = Plan(scale="smoke", games=("bsuite-deepsea-10",), seeds=(0,))
    wanted = cell_job(ROWS[1], "bsuite-deepsea-10", 0, plan)
    whole = LocalEngine.run

    def some(engine, jobs, store):
        whole(engine, [wanted], store)
        raise Stopped

    monkeypatch.setattr(LocalEngine, "run", some)
    with pytest.raises(Stopped):
        run(EXPERIMENT, plan, tmp_path, LocalEngine())
    finished = show(EXPERIMENT, tmp_path)
    size, summary = finished.section.tables
    assert [row[1] for row in size.rows if row[1] is not None] == ["0 of 1"]
    assert finished.section.words[0].startswith(f"1 of {len(ROWS)} runs are finished")
    assert finished.made["jobs"] == 1
    assert summary.rows[1][0] == ROWS[1].label


def test_a_study_without_a_finished_run_has_no_figures(monkeypatch, tmp_path):
    def none(engine, jobs, store):
        raise Stopped

    monkeypatch.setattr(LocalEngine, "run", none)
    plan = Plan(scale="smoke", games=("bsuite-deepsea-10",), seeds=(0,))
    with pytest.raises(Stopped):
        run(EXPERIMENT, plan, tmp_path, LocalEngine())
    section = show(EXPERIMENT, tmp_path).section
    assert section.figures == ()
    assert section.words[0].startswith(f"0 of {len(ROWS)} runs are finished")


def test_sizes_that_are_not_there(tmp_path, capsys):
    argv = ["reproduce", "deepsea", "--games", "bsuite-deepsea-11", "-o", str(tmp_path)]
    assert main(argv) == 2
    assert "the games of deepsea are bsuite-deepsea-10" in capsys.readouterr().err
