"""The experiments end to end, on few runs: records, tables, words and figures."""

import json
import re

import numpy as np
import pytest

from countless.agents.catalogue import AGENTS
from countless.agents.tabular.simulate import NORM, STATE, trace_runs
from countless.analysis.plots_regret import FIRST_SEEN
from countless.analysis.tables import Estimate
from countless.core.errors import BadInput, CountlessError
from countless.envs.catalog import DOMAINS, make_mdp
from countless.envs.solve import optimal_gain
from countless.experiments import (
    conjecture,
    experiment,
    figure2,
    leaderboard,
    more_mdps,
    norm_exponents,
    regret,
    regret_plan,
    table2,
    table6,
    theorem1,
)
from countless.experiments.catalogue import EXPERIMENTS, GROUPS, members
from countless.experiments.experiment import Plan, Records, run, show
from countless.experiments.paper_and_ours import entry_job, pick
from countless.experiments.published import DOMAIN_LABELS, TABLE_1
from countless.experiments.report import finished_experiments, report_html
from countless.runs.engine import LocalEngine
from countless.runs.job import Execution, Stopped
from countless.runs.store import Store, stored_jobs
from countless.runs.tabular import TabularJob
from small_runs import Listener

PLAN = Plan(runs=30, seed=3)
LEADERBOARD_HALVES = leaderboard.HALVES
NAMES = [*GROUPS["tabular"], *GROUPS["beyond"]]
TABULAR = [EXPERIMENTS[name] for name in NAMES]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        # A small sweep in place of 4.5 billion steps: the code is the same.
        patch.setattr(table6, "SWEEP_RUNS", 2)
        patch.setattr(table6, "SHORTLIST", 4)
        patch.setattr(table6, "SHORTLIST_RUNS", 3)
        patch.setattr(table6, "default_steps", lambda mdp: 40)
        patch.setattr(table2, "default_steps", lambda mdp: 60)
        patch.setattr(norm_exponents, "default_steps", lambda mdp: 60)
        patch.setattr(more_mdps, "default_steps", lambda mdp: 30)
        patch.setattr(
            more_mdps, "environments", lambda: ("chain-20", "FrozenLake8x8-v1", "deepsea-13")
        )
        for module in (regret_plan, regret):
            patch.setattr(module, "STEPS", 300)
            patch.setattr(module, "FAMILIES", {"riverswim": (6, 7, 8), "deepsea": (2, 3, 15)})
        patch.setattr(regret, "DRAWN", {"riverswim": (6, 8), "deepsea": (2, 15)})
        patch.setattr(leaderboard, "HALVES", (("riverswim", "deepsea-3"), ("chain-4", "sixarms")))
        patch.setattr(leaderboard, "MOST_SETTINGS", 4)
        patch.setattr(leaderboard, "MOST_PLANNED", 3)
        patch.setattr(leaderboard, "default_steps", lambda mdp: 40)
        leaderboard.settings.cache_clear()
        patch.setattr(conjecture, "default_steps", lambda mdp: 200)
        patch.setattr(conjecture, "environments", lambda: ("riverswim", "sixarms", "deepsea-3"))
        for item in TABULAR:
            run(item, PLAN, folder, LocalEngine())
        yield folder
        leaderboard.settings.cache_clear()


def section(results, name):
    return show(EXPERIMENTS[name], results).section


def test_all_sections_show(results):
    finished = finished_experiments(results)
    assert [item.experiment.name for item in finished] == NAMES
    for item in finished:
        assert item.section.words
        name = item.experiment.name
        assert item.made["command"] == f"countless reproduce {name} --runs 30 --seed 3"
        assert item.made["seconds"] > 0
        assert item.made["jobs"] > 0
        assert item.made["machine"]
        for figure in item.section.figures:
            assert figure.stem.with_suffix(".png").is_file()
            assert figure.stem.with_suffix(".svg").is_file()


def test_numbers_are_numbers_in_json(results):
    for item in finished_experiments(results):
        document = json.loads(json.dumps(item.to_json(), allow_nan=False))
        for shown, table in zip(document["tables"], item.section.tables, strict=True):
            cells = [cell for row in shown["rows"] for cell in row[table.labels :]]
            assert not [c for c in cells if isinstance(c, str) and c != "not run"]
            assert any(isinstance(cell, float | int | dict) for cell in cells)


def test_table1_holds_paper_and_replay(results):
    shown = section(results, "table1")
    (table,) = shown.tables
    at = {name: i for i, name in enumerate(table.columns)}
    means = [(row[at["paper"]], round(row[at["replay"]])) for row in table.rows if row[2] == "mean"]
    assert means == [(24_770,) * 2, (1_213_544,) * 2, (247_977,) * 2, (1_052_934,) * 2]
    assert ("24,770", "24,770") in [texts[3:5] for texts in table.texts()]
    assert "to the last digit." in shown.words[0]


def test_table5_names_the_one_digit_that_is_off(results):
    words = section(results, "table5").words
    assert "the SD comes out as 507,178.44, the paper prints 507,179" in words[0]
    assert words[0].count("the paper prints") == 1


def test_two_numbers_of_one_setting_are_explained(results):
    assert "another seed" in " ".join(section(results, "table1").words)
    assert any("another seed" in table.note for table in section(results, "table6").tables)


def test_table2_has_every_agent_and_what_was_printed(results):
    river, arms, *ablation = section(results, "table2").tables
    assert [row[0] for row in river.rows] == list(table2.ROWS)
    printed = {row[0]: row[1:3] for row in arms.texts()}
    assert printed["MBIE"] == ("9.3", "9.20")
    assert printed["E3"] == ("1.8", "1.63")
    assert all(len(table.rows) == 6 for table in ablation)
    # Three runs: a mean, and no interval.
    (mean,) = (row[3] for row in river.rows if row[0] == "R-Max")
    assert isinstance(mean, Estimate)
    assert np.isnan(mean.half)
    assert not any("±" in cell for row in river.texts() for cell in row)


def test_the_figure_of_table2_is_of_the_runs_in_the_table(results, monkeypatch, tmp_path):
    drawn = {}
    monkeypatch.setattr(table2, "draw_curves", lambda stem, panels: drawn.update(panels))
    monkeypatch.setattr(table2, "default_steps", lambda mdp: 60)
    records = Records(Store(results))
    tables = table2.render(PLAN, records, tmp_path).tables
    assert list(drawn) == list(DOMAIN_LABELS.values())
    for (env, domain), table in zip(DOMAIN_LABELS.items(), tables, strict=False):
        assert list(drawn[domain]) == list(table2.ROWS)
        for label, mean in ((row[0], row[3].mean) for row in table.rows):
            agent, curve = drawn[domain][label]
            assert agent == table2.ROWS[label].agent
            returns = records.returns(table2.row_job(table2.ROWS[label], env, PLAN))[0]
            np.testing.assert_array_equal(curve.y[:, -1], returns)
            assert curve.y[:, -1].mean() / 1e6 == pytest.approx(mean)


def test_more_mdps_marks_what_was_not_run(results):
    chain, lake, deep = section(results, "more-mdps").tables
    assert all(row[2] != "not run" for row in chain.rows)
    left_out = {
        label for label, row in more_mdps.AGENTS.items() if row.agent in ("psrl", "ucrl2", "essr")
    }
    assert {row[0] for row in deep.rows if row[2] == "not run"} == left_out
    assert "at best" in chain.title
    assert "at best" not in lake.title  # its episodes have a limit


def test_two_runs_have_no_interval_and_no_minus_zero(results):
    for table in section(results, "more-mdps").tables:
        for row in table.texts():
            assert "±" not in row[2]
            assert not any(cell.startswith("-0.0") for cell in row)


def tabular_agents():
    return {name for name, entry in AGENTS.items() if entry.engine == "tabular"}


def test_regret_has_every_agent_and_marks_what_was_not_run(results):
    *tables, runs = section(results, "regret").tables
    assert len(tables) == 8
    for table in tables:
        assert {str(row[0]).split(", ")[0] for row in table.rows} == tabular_agents()
    labels = [row[0] for row in runs.rows]
    assert "sarsa-sr, preset" in labels
    assert "rmax, preset" not in labels  # which is its default
    assert "sarsa-sr, no bonus" in labels
    no_bonus = regret_plan.Row("sarsa-sr", regret_plan.NO_BONUS)
    (plain,) = regret_plan.row_job(no_bonus, "deepsea", 3, PLAN).settings
    assert plain.beta == 0.0
    assert plain.initial_value == 1.0
    at = runs.columns.index("DeepSea 15")
    cells = {row[0]: row[at] for row in runs.rows}
    assert {label for label, cell in cells.items() if cell == "not run"} == {"essr", "psrl"}
    assert cells["sarsa"] == cells["mbie"] == 2
    assert cells["sarsa-sr, preset"] is None


def test_regret_is_what_the_best_average_would_have_brought(results):
    lost, *_ = section(results, "regret").tables
    records = Records(Store(results))
    row = regret_plan.Row("sarsa-sr", regret_plan.PRESET)
    job = regret_plan.row_job(row, "riverswim", 7, PLAN)
    assert job.settings[0].beta == 100.0
    assert job.settings[0].gamma == regret_plan.GAMMA
    best = 300 * optimal_gain(job.mdp)
    expected = 100 * (1 - records.returns(job)[0].mean() / best)
    shown = next(cells for cells in lost.rows if cells[0] == row.label)
    assert shown[lost.columns.index("N = 7")].mean == pytest.approx(expected)


def test_regret_of_the_optimal_agent_is_no_more_than_chance(results):
    _, _, _, _, lost, exponent, settled, _, _ = section(results, "regret").tables
    (row,) = (row for row in lost.rows if row[0] == "optimal")
    assert all(abs(cell.mean) < 4 for cell in row[1:])  # 300 steps are no whole number of dives
    (row,) = (row for row in settled.rows if row[0] == "optimal")
    assert row[1:] == (2, 3, 15)  # the first dive
    (row,) = (row for row in exponent.rows if row[0] == "random")
    assert row[3].mean == pytest.approx(1.0, abs=0.05)


def test_every_domain_is_on_the_leaderboard():
    stems = {"riverswim", "sixarms", "sixarms-1660", "fourrooms"}
    halves = LEADERBOARD_HALVES
    envs = [env for half in halves for env in half]
    assert len(set(envs)) == len(envs)
    found = {env if env in stems else re.sub(r"-\d+$", "-N", env) for env in envs}
    assert found == {domain.form for domain in DOMAINS}
    kinds = [{env.removeprefix("bsuite-").split("-")[0] for env in half} for half in halves]
    assert not kinds[0] & kinds[1]


def test_leaderboard_ranks_every_agent(results):
    ranking, by_mdp, _, settings = section(results, "leaderboard").tables
    assert {row[0] for row in ranking.rows} == tabular_agents()
    scores = [row[2].mean for row in ranking.rows]
    assert scores == sorted(scores, reverse=True)
    assert [row[1] for row in ranking.rows] == list(range(1, len(scores) + 1))
    random = next(row for row in by_mdp.rows if row[0] == "random")
    optimal = next(row for row in by_mdp.rows if row[0] == "optimal")
    assert all(mine > theirs for mine, theirs in zip(optimal[1:4], random[1:4], strict=True))
    assert {row[0] for row in settings.rows} == tabular_agents() - {"random", "optimal"}


def test_what_is_tuned_on_one_half_is_scored_on_the_other(results):
    records = Records(Store(results))
    for name, most in (("sarsa-sr", 4), ("mbie", 3)):
        tried = leaderboard.settings(name)
        assert len(tried) == 1 + most
        means = [
            leaderboard.normalised(leaderboard.tuning_job(name, env, PLAN), records).mean(axis=1)
            for env in ("chain-4", "sixarms")
        ]
        best = tried[int(np.argmax(np.mean(means, axis=0)))]
        assert leaderboard.tuned_for(name, "deepsea-3", PLAN, records) == best
        job = leaderboard.score_job(name, best, "deepsea-3", PLAN)
        table = section(results, "leaderboard").tables[1]
        shown = next(row for row in table.rows if row[0] == name)
        random, most = leaderboard.scale("deepsea-3", 40)
        expected = (records.returns(job)[0].mean() - random) / (most - random)
        assert shown[table.columns.index("deepsea-3")] == pytest.approx(expected)


def test_bonuses_of_the_leaderboard_are_in_units_of_the_rewards():
    setting = {"alpha": 0.1, "beta": 100.0}
    river = leaderboard.made("sarsa-sr", setting, make_mdp("riverswim"))
    chain = leaderboard.made("sarsa-sr", setting, make_mdp("chain-4"))
    assert (river.beta, river.alpha) == (100.0, 0.1)
    assert (chain.beta, chain.alpha) == (0.01, 0.1)
    assert leaderboard.made("sarsa-sr", {}, make_mdp("riverswim")).beta is None  # no preset


def test_conjecture_against_true_counts(results):
    verdicts, river, _, deep = section(results, "conjecture").tables
    exact = [row for row in verdicts.rows if row[0] == conjecture.EXACT.label]
    assert [row[1:] for row in exact] == [
        (label, 2, 2, 0, 0, 0) for label in conjecture.AGENTS.values()
    ]
    assert len(river.rows) == 3 * (1 + len(conjecture.STUDIED))
    assert len(deep.rows) == 3 * (1 + len(conjecture.EVERYWHERE))
    rows = {row[:2]: row[2:] for row in river.rows}
    for label in conjecture.AGENTS.values():
        mean, minus, error, part, at_step = rows[label, "ssr, γ 0.3"]
        assert minus.mean == pytest.approx(mean.mean - rows[label, "true"][0].mean)
        assert error > rows[label, "ssr, γ 0.001"][2]
        assert part == 1.0
        assert 1 <= at_step <= 200
        assert rows[label, conjecture.EXACT.label][3:] == (0.0, None)


def test_conjecture_measures_what_the_runs_did(results):
    """Errors and partings by hand, from the traces of both runs and the norm's own formula."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conjecture, "default_steps", lambda mdp: 200)
        source = conjecture.Source("ssr", 0.1)
        ours = conjecture.agent_job("mbie-eb", "riverswim", source, PLAN)
        theirs = conjecture.agent_job("mbie-eb", "riverswim", conjecture.TRUE, PLAN)
        job = conjecture.error_job("mbie-eb", "riverswim", source, PLAN)
        table = Records(Store(results))[job].records
    run = table["run"].to_numpy() == 1
    step, error = table["step"].to_numpy()[run], table["error"].to_numpy()[run]
    mine, other = (
        trace_runs(one.settings[0], one.mdp, runs=1, steps=200, seed=3, first_run=1)[0]
        for one in (ours, theirs)
    )
    first = next(t for t in range(200) if tuple(mine[t, :2]) != tuple(other[t, :2]))
    assert set(table["parted_at"].to_numpy()[run]) == {first + 1}
    seen, errors = {}, []
    for row in mine:
        pair = tuple(row[:2])
        n = seen[pair] = seen.get(pair, 0) + 1
        gap = 1.1 - row[NORM]
        read = 0.1 / gap - 1 if gap > 0 else np.inf
        errors.append(1 - min(read, n) / max(read, n))
    assert step[0] == 10
    assert step[-1] == 200
    for low, high, mean in zip([0, *step[:-1]], step, error, strict=True):
        assert mean == pytest.approx(np.mean(errors[low:high]))


def test_the_charts_of_regret_show_what_the_tables_say(results):
    shown = section(results, "regret")
    (panels,) = shown.panels
    assert {chart.log for chart in panels.charts} == {"xy"}
    charts = {chart.title: chart for chart in panels.charts}
    settled = next(table for table in shown.tables if "until the median run" in table.title)
    rows = {row[0]: row[1:] for row in settled.rows}
    for line in charts["RiverSwim: steps until settled"].series:
        assert list(line.y) == [cell for cell in rows[line.label] if cell is not None]
        assert line.hidden == (line.label not in FIRST_SEEN)
    lost = next(row for row in shown.tables[0].rows if row[0] == "random")
    (random,) = (s for s in charts["RiverSwim, N = 8"].series if s.label == "random")
    at = shown.tables[0].columns.index("N = 8")
    assert random.y[-1] == pytest.approx(300 * lost[at].mean / 100)


def test_the_chart_of_the_leaderboard_is_its_table(results):
    shown = section(results, "leaderboard")
    (ranking,), (profiles,) = (panels.charts for panels in shown.panels)
    table = shown.tables[0]
    assert list(ranking.rows) == [row[0] for row in table.rows]
    marks = [next(iter(marks.values())) for marks in ranking.rows.values()]
    assert [mark.value for mark in marks] == [row[2].mean for row in table.rows]
    assert sum(not line.hidden for line in profiles.series) == 8
    (optimal,) = (line for line in profiles.series if line.label == "optimal")
    assert optimal.y[0] > 50


def test_the_charts_of_exponents_show_what_the_tables_say(results):
    shown = section(results, "norm-exponents")
    lines, clouds = shown.panels
    first = lines.charts[0]
    rows = {(row[0], float(row[1])): row for row in shown.tables[0].rows}
    for line in first.series[:-2]:  # without the paper's two laws
        discount = line.label.removeprefix("γ_SR = ")
        for eta, exponent in zip(line.x, line.y, strict=True):
            cell = rows[discount, eta][2]
            assert np.isnan(cell.mean) if np.isnan(exponent) else cell.mean == exponent
    assert {series.points for chart in clouds.charts for series in chart.series} == {"only"}


def test_theorem1_breaks_no_bound(results):
    shown = section(results, "theorem1")
    for chart in shown.panels[0].charts:
        states = chart.series[0]
        assert len(states.x) <= theorem1.MOST_POINTS
        assert np.all(states.y <= states.x + 1e-9)
    assert all(row[2:4] == (0, 0) for row in shown.tables[0].rows)
    assert "; 0 break a bound." in shown.words[0]


def test_norm_exponents_of_a_norm_in_closed_form():
    """Without a discount the norm is 1 - (1 - eta)^n: from n at first to a constant."""
    for eta, expected in ((1e-6, (1.0, 1.0, 1.0)), (1.0, (0.0, 0.0, 0.0))):
        visits = np.arange(1, 1001)
        norms = 1.0 - (1.0 - eta) ** visits
        found = norm_exponents.exponents(np.zeros(1000), norms)
        np.testing.assert_allclose(found, expected, atol=1e-3)
    n = np.arange(1.0, 1001.0)
    np.testing.assert_allclose(norm_exponents.exponents(np.ones(1000), 3.0 * n**0.7), [0.7] * 3)
    for point in norm_exponents.POINTS_OF_PLANE:
        norm, norms = 0.0, []
        for _ in n:
            norm += point.eta * (1.0 + point.gamma_sr * norm - norm)
            norms.append(norm)
        by_hand = norm_exponents.exponents(np.zeros(1000), np.array(norms))
        np.testing.assert_allclose(norm_exponents.law(point), by_hand, atol=1e-9)
    # Two states in turn, 50 visits each: the mean of both, and no decade that neither covers.
    states, both = np.tile([0, 1], 50), np.repeat(np.arange(1.0, 51.0), 2)
    found = norm_exponents.exponents(states, np.where(states == 0, both, both**0.5))
    np.testing.assert_allclose(found, [0.75, np.nan, np.nan])


def test_norm_exponents_are_those_of_traced_runs(results):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(norm_exponents, "default_steps", lambda mdp: 60)
        table = Records(Store(results))[norm_exponents.exponent_job("riverswim", PLAN)].records
    rows = {name: table[name].to_numpy() for name in ("eta", "gamma_sr", "from_visit", "exponent")}
    still = (rows["eta"] == 0.25) & (rows["gamma_sr"] == 0.0) & (rows["from_visit"] == 1)
    n = np.array([1, 2, 3, 4, 5, 6, 8, 10])  # evenly over the logarithms, rounded
    slope = np.polyfit(np.log(n), np.log(1 - 0.75**n), 1)[0]
    np.testing.assert_allclose(rows["exponent"][still], slope)
    tables = section(results, "norm-exponents").tables
    assert [len(table.rows) for table in tables] == [50, 50, 4]


def test_default_representation_holds_published_and_replay(results):
    shown = section(results, "default-representation")
    rows = {row[:2]: row[2:6] for row in shown.tables[0].texts()}
    assert rows["RiverSwim", "Sarsa+DR"] == ("2,964,000", "252,000", "2,964,409", "252,468")
    assert rows["SixArms", "Sarsa+DR"] == ("3,518,000", "4,571,000", "3,518,019", "4,571,405")
    assert "to the digits printed." in shown.words[0]


def test_running_again_runs_nothing(results):
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.parquet")}
    dates = {job.folder: job.about["date"] for job in stored_jobs(results)}
    heard = Listener()
    for name in ("table1", "figure2", "theorem1"):
        first = show(EXPERIMENTS[name], results).made
        assert run(EXPERIMENTS[name], PLAN, results, LocalEngine(reporter=heard)).made == first
    assert before == {path: path.stat().st_mtime_ns for path in results.rglob("*.parquet")}
    assert {job.folder: job.about["date"] for job in stored_jobs(results)} == dates
    assert len(heard.advanced) == len(heard.tasks)  # each all at once
    assert "(1 of 8)" in heard.tasks[0][0]


def test_what_is_missing_is_told(results, tmp_path):
    place = tmp_path / experiment.FOLDER / "theorem1"
    place.mkdir(parents=True)
    plan = (results / experiment.FOLDER / "theorem1" / "plan.json").read_text()
    (place / "plan.json").write_text(plan)
    with pytest.raises(CountlessError, match="lacks theorem1 in random counts; run the experiment"):
        show(EXPERIMENTS["theorem1"], tmp_path)
    page, shown = report_html(tmp_path)  # what is there is shown all the same
    assert shown == ["theorem1"]
    assert "lacks theorem1 in random counts; run the experiment again" in page


def test_a_report_tells_of_an_interrupted_experiment(tmp_path):
    class Interrupted:
        def run(self, jobs, store):
            raise Stopped

    with pytest.raises(Stopped):
        run(EXPERIMENTS["theorem1"], PLAN, tmp_path, Interrupted())
    page, shown = report_html(tmp_path)
    assert shown == ["theorem1"]
    assert "run the experiment again to complete it.</p>" in page
    assert "countless reproduce theorem1 --runs 30 --seed 3" in page


def short_job(runs, steps):
    job = entry_job(TABLE_1[1], runs=runs, seed=1)
    return TabularJob(job.settings, job.mdp, runs, steps, 1)


def test_figure2_chunks_change_nothing(monkeypatch):
    whole = figure2.measure(short_job(5, 100), Execution())
    monkeypatch.setattr(figure2, "CHUNK_RUNS", 2)
    cut = figure2.measure(short_job(5, 100), Execution())
    for name, values in whole.items():
        np.testing.assert_allclose(cut[name], values, atol=1e-6)


def test_figure2_means_over_the_runs_that_get_there():
    job = short_job(7, 300)
    columns = figure2.measure(job, Execution())
    trace = trace_runs(job.settings[0], job.mdp, runs=7, steps=300, seed=1)
    for s in range(6):
        visits = [run[run[:, STATE] == s, NORM] for run in trace]
        for n in (1, 5, 40):
            reached = [norms[n - 1] for norms in visits if len(norms) >= n]
            (at,) = np.nonzero((columns["state"] == s) & (columns["visits"] == n))
            assert (len(at) == 1) == (len(reached) > 1)
            if len(at):
                assert columns["norm"][at[0]] == pytest.approx(np.mean(reached))
                half = 1.96 * np.std(reached, ddof=1) / np.sqrt(len(reached))
                assert columns["half_ci95"][at[0]] == pytest.approx(half, abs=1e-6)
                assert columns["runs"][at[0]] == len(reached)


def test_report_is_one_whole_page(results):
    html, sections = report_html(results)
    assert sections == NAMES  # every job belongs to an experiment
    assert html.count("<section") == len(sections)
    assert html.count("data:image/svg+xml") == 1  # the map of Sarsa's sweep
    charts = [json.loads(text) for text in re.findall(r'json">(.*?)</script>', html)]
    assert [chart["kind"] for chart in charts].count("explorer") == 1
    assert [chart["kind"] for chart in charts].count("intervals") == 1
    assert all(chart["series"] for chart in charts if chart["kind"] == "lines")
    assert len({item.name for one in TABULAR for item in section(results, one.name).panels}) == (
        html.count('<figure id="')
    )
    assert "countless reproduce table6 --runs 30 --seed 3" in html
    assert 'src="http' not in html
    assert ">nan<" not in html


def test_claims_are_read_off_the_numbers(results):
    shown = {item.experiment.name: item.section.claims for item in finished_experiments(results)}
    digits, riverswim, sixarms = shown["table1"]
    assert (digits.ours, digits.verdict) == (
        "4 of 4 to the last digit, with the released code's random draws",
        experiment.REPRODUCED,
    )
    assert (riverswim.paper, sixarms.paper) == ("49.0 × Sarsa's", "4.2 × Sarsa's")
    assert riverswim.verdict == experiment.REPRODUCED
    assert [claim.paper for claim in shown["table2"]][:2] == ["3.1 M", "7.3 M"]
    (bounds,) = shown["theorem1"]
    assert bounds.ours.startswith("0 of ")
    assert len(shown["table6"]) == 6
    assert len(shown["conjecture"]) == 3
    verdicts = {claim.verdict for claims in shown.values() for claim in claims}
    assert verdicts <= {experiment.REPRODUCED, experiment.DIFFERS, experiment.OPEN}
    html, _ = report_html(results)
    assert html.index('id="scoreboard"') < html.index("<nav")
    assert html.count('scope="row"><a href="#') == sum(map(len, shown.values()))


def test_rows_are_picked_by_name():
    from countless.experiments.paper_and_ours import Compared

    compared = [Compared(entry, np.zeros(1), np.zeros(1)) for entry in TABLE_1]
    assert pick(compared, "sixarms", "Sarsa+SR ℓ1").entry.mean == 1_052_934


def test_names():
    assert [item.name for item in members("tabular")] == list(GROUPS["tabular"])
    assert {item.engine for item in members("beyond")} == {"tabular"}
    assert not set(GROUPS["beyond"]) & set(GROUPS["tabular"])
    assert {name for group in GROUPS.values() for name in group} == set(EXPERIMENTS)
    deep = [
        "table3", "table4", "ablations", "deepsea", "figure2-deep", "minigrid", "montezuma", "beta",
        "harm",
    ]  # fmt: skip
    assert [item.name for item in members("deep")] == deep
    with pytest.raises(BadInput, match="unknown experiment 'table9'; did you mean"):
        members("table9")


def test_nothing_to_show(tmp_path):
    with pytest.raises(CountlessError, match="holds no results"):
        report_html(tmp_path)
    with pytest.raises(CountlessError, match="holds no finished results"):
        show(EXPERIMENTS["table1"], tmp_path)
