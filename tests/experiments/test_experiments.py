"""The experiments end to end, on few runs: records, tables, words and figures."""

import numpy as np
import pytest
from countless.experiments.catalog import EXPERIMENTS, finished_sections, members
from countless.experiments.entries import entry_study
from countless.runs.study import Study

from countless.agents.tabular.simulate import NORM, STATE, trace_runs
from countless.core.errors import BadInput, CountlessError
from countless.core.progress import SILENT
from countless.experiments import elsewhere, figure2, table2, table6
from countless.experiments.published import TABLE_1
from countless.experiments.report import report_html


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
        patch.setattr(table2, "CURVE_RUNS", 2)
        patch.setattr(elsewhere, "default_steps", lambda mdp: 30)
        patch.setattr(
            elsewhere, "environments", lambda: ("chain-20", "FrozenLake8x8-v1", "deepsea-13")
        )
        for name, experiment in EXPERIMENTS.items():
            experiment.run(folder / name, 30, 3, SILENT)
        yield folder


def test_all_sections_show(results):
    sections = finished_sections(results)
    assert [section.name for section in sections] == list(EXPERIMENTS)
    for section in sections:
        assert section.words
        assert section.made["seed"] == 3
        assert section.made["command"] == f"countless reproduce {section.name} --runs 30 --seed 3"
        for figure in section.figures:
            assert figure.stem.with_suffix(".png").is_file()
            assert figure.stem.with_suffix(".svg").is_file()


def test_table1_holds_paper_and_replay(results):
    section = EXPERIMENTS["table1"].show(results / "table1")
    rows = section.tables[0].rows
    means = [row[3:5] for row in rows if row[2] == "mean"]
    assert means == [
        ("24,770", "24,770"),
        ("1,213,544", "1,213,544"),
        ("247,977", "247,977"),
        ("1,052,934", "1,052,934"),
    ]
    assert "to the last digit." in section.words[0]


def test_table5_names_the_one_digit_that_is_off(results):
    section = EXPERIMENTS["table5"].show(results / "table5")
    assert "the SD comes out as 507,178.44, the paper prints 507,179" in section.words[0]
    assert section.words[0].count("the paper prints") == 1


def test_table2_has_every_agent_and_what_was_printed(results):
    section = EXPERIMENTS["table2"].show(results / "table2")
    river, arms, *ablation = section.tables
    assert [row[0] for row in river.rows] == [row.label for row in table2.ROWS]
    printed = {row[0]: row[1:3] for row in arms.rows}
    assert printed["MBIE"] == ("9.3", "9.20")
    assert printed["E3"] == ("1.8 *", "1.63")
    assert all(len(table.rows) == 6 for table in ablation)


def test_elsewhere_marks_what_was_not_run(results):
    section = EXPERIMENTS["elsewhere"].show(results / "elsewhere")
    chain, lake, deep = section.tables
    assert all(row[2] != "not run" for row in chain.rows)
    assert [row[0] for row in deep.rows if row[2] == "not run"] == ["PSRL", "UCRL2"]
    assert "at best" in chain.title
    assert "at best" not in lake.title  # its episodes have a limit


def test_theorem1_breaks_no_bound(results):
    section = EXPERIMENTS["theorem1"].show(results / "theorem1")
    assert all(row[2:4] == ("0", "0") for row in section.tables[0].rows)
    assert "; 0 break a bound." in section.words[0]


def test_running_again_runs_nothing(results):
    before = {path: path.stat().st_mtime_ns for path in results.rglob("part-*.parquet")}
    EXPERIMENTS["table1"].run(results / "table1", 30, 3, SILENT)
    assert before == {path: path.stat().st_mtime_ns for path in results.rglob("part-*.parquet")}


def test_figure2_chunks_change_nothing(monkeypatch):
    study = entry_study(TABLE_1[1], runs=5, seed=1)
    short = Study(study.settings, study.mdp, 5, 100, 1)
    whole = figure2.norm_moments(short, SILENT, "")
    monkeypatch.setattr(figure2, "CHUNK_RUNS", 2)
    cut = figure2.norm_moments(short, SILENT, "")
    np.testing.assert_allclose(cut.total, whole.total)


def test_figure2_means_over_the_runs_that_get_there():
    study = entry_study(TABLE_1[1], runs=7, seed=1)
    short = Study(study.settings, study.mdp, 7, 300, 1)
    moments = figure2.norm_moments(short, SILENT, "")
    trace = trace_runs(short.settings[0], short.mdp, runs=7, steps=300, seed=1)
    for s in range(6):
        visits = [run[run[:, STATE] == s, NORM] for run in trace]
        curve = moments.curve(s)
        for n in (1, 5, 40):
            reached = [norms[n - 1] for norms in visits if len(norms) >= n]
            at = np.flatnonzero(curve.x == n)
            assert (len(at) == 1) == (len(reached) > 1)
            if len(at):
                assert curve.y[at[0]] == pytest.approx(np.mean(reached))
                half = 1.96 * np.std(reached, ddof=1) / np.sqrt(len(reached))
                assert curve.half[at[0]] == pytest.approx(half, abs=1e-6)
                assert curve.runs[at[0]] == len(reached)


def test_report_is_one_whole_page(results):
    html = report_html(finished_sections(results))
    assert html.count("<section") == len(EXPERIMENTS)
    assert html.count("data:image/svg+xml") == 7
    assert "countless reproduce table6 --runs 30 --seed 3" in html
    assert 'src="http' not in html


def test_names():
    assert set(members("tabular")) == set(EXPERIMENTS)
    with pytest.raises(BadInput, match="unknown experiment 'table9'"):
        members("table9")


def test_nothing_to_show(tmp_path):
    with pytest.raises(CountlessError, match="holds no finished experiment"):
        finished_sections(tmp_path)
    with pytest.raises(CountlessError, match="holds no finished results"):
        EXPERIMENTS["table1"].show(tmp_path / "table1")
