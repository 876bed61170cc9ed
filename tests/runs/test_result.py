"""Results: one type for runs, sweeps and folders; numbers that can be trusted, or none."""

import builtins
import dataclasses
import json

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

import countless
from countless.core.errors import BadInput
from countless.runs import tabular
from countless.runs.groups import label_groups, partial_words
from small_runs import TINY, deep_job, execute


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def run(agent="sarsa-sr", env="riverswim", **more):
    return countless.run(agent, env, progress=False, **({"runs": 6, "steps": 50} | more))


def deep(out, **more):
    options = {"frames": 60, "device": "cpu", "seeds": [0, 1], "out": out} | TINY | more
    return countless.run("dqn", "deepsea-5", progress=False, **options)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Two seeds of a deep agent, executed here."""
    out = tmp_path_factory.mktemp("seeds")
    for seed in (0, 1):
        execute(deep_job("dqn", seed=seed, frames=60), out)
    return deep(out)


def test_summary_and_returns_of_one_group():
    result = run()
    assert result.returns.shape == (6,)
    assert result.summary.mean == pytest.approx(result.returns.mean())
    assert result.summary.sd == pytest.approx(result.returns.std(ddof=1))
    assert result.config["beta"] == 100.0
    assert (
        repr(result)
        == f"Result(sarsa-sr in riverswim: 6 runs of 50 steps, mean return {result.summary.mean:.4g})"
    )


def test_the_return_of_a_deep_run_is_that_of_its_last_episodes(seeds):
    assert seeds.returns.shape == (2,)
    for job, value in zip(seeds.jobs, seeds.returns, strict=True):
        assert value == pytest.approx(job.records["return"].to_numpy()[-100:].mean())
    assert repr(seeds).startswith("Result(dqn in deepsea-5: 2 runs of 60 frames, mean return ")
    assert "\n" not in repr(seeds)


def test_ranking_is_by_mean_return():
    result = countless.sweep(
        "sarsa", "riverswim", grid={"alpha": [0.01, 0.2, 0.5], "epsilon": [0.1, 0.9]},
        runs=5, steps=200, progress=False,
    )  # fmt: skip
    means = [group.summary.mean for group in result.ranking]
    assert means == sorted(means, reverse=True)
    assert repr(result) == "Result(1 job, 6 groups of runs)"
    with pytest.raises(BadInput, match=r"holds 6 groups of runs, not one: use \.groups, \.ranking"):
        result.summary  # noqa: B018
    assert len(result.table().rows) == 6
    labels = [row[0] for row in result.table().texts()]
    assert "sarsa (alpha 0.01, epsilon 0.1)" in labels


def test_no_interval_below_five_runs():
    four, five = run(runs=4), run(runs=5)
    assert four.to_json()["returns"]["ci95"] is None
    low, high = five.to_json()["returns"]["ci95"]
    assert low <= five.summary.mean <= high
    assert run(runs=1).to_json()["returns"]["sd"] is None


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_few_runs_show_no_false_precision(runs):
    html = run(runs=runs)._repr_html_()
    assert "±" not in html
    assert "nan" not in html


def test_html_is_a_table_with_the_numbers_of_the_summary():
    result = run(runs=8, steps=500)
    html = result._repr_html_()
    assert html.startswith('<div class="scroll"')
    assert html.count("<table>") == 1
    assert "sarsa-sr" in html
    assert "500 steps" in html
    assert result.table().texts()[0][4] in html


def test_plots_are_axes(seeds, monkeypatch):
    curves = run().plot()
    assert isinstance(curves, Axes)
    assert curves.get_xlabel() == "steps"
    (line,) = curves.lines
    assert line.get_ydata()[-1] == pytest.approx(run().summary.mean)
    assert curves.collections  # the band
    episodes = seeds.plot()
    assert (episodes.get_xlabel(), isinstance(episodes, Axes)) == ("frames", True)
    monkeypatch.setattr(tabular, "CURVE_STEPS", 0)  # as for a long job
    distribution = run().plot()
    assert isinstance(distribution, Axes)
    assert "% of runs" in distribution.get_ylabel()
    _, own = plt.subplots()
    assert run().plot(own) is own


def test_a_sweep_is_plotted_as_distributions():
    result = countless.sweep(
        "sarsa", "riverswim", grid={"alpha": [0.1, 0.2]}, runs=5, steps=50, progress=False
    )
    axes = result.plot()
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        "sarsa (alpha 0.1)", "sarsa (alpha 0.2)",
    }  # fmt: skip


def test_to_pandas_without_pandas_says_what_to_do(monkeypatch):
    imported = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    result = run()
    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(BadInput, match="to_pandas needs pandas: pip install pandas"):
        result.to_pandas()


def test_to_pandas_where_it_is_there():
    pandas = pytest.importorskip("pandas")
    frame = run(runs=3).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 3


def test_load_is_one_table_of_everything_below(tmp_path, seeds):
    run(out=tmp_path / "a")
    run(norm=float("inf"), out=tmp_path / "a")
    run("rmax", out=tmp_path / "b" / "c")
    execute(deep_job("dqn", frames=40), tmp_path / "deep")
    loaded = countless.load(tmp_path)
    assert [job.state for job in loaded.jobs] == ["finished"] * 4
    table = loaded.to_arrow()
    assert set(table["agent"].to_pylist()) == {"sarsa-sr", "rmax", "dqn"}
    assert table.num_rows == 3 * 6 + 8
    assert float("inf") in table["norm"].to_pylist()
    assert len(loaded.groups) == 4
    labels = [row[0] for row in loaded.table().rows]
    assert len(set(labels)) == 4
    assert repr(countless.load(tmp_path / "b")).startswith("Result(rmax in riverswim: 6 runs")
    assert countless.load(str(seeds.folders[0].parent)).returns.tolist() == seeds.returns.tolist()


def test_load_shows_what_is_whole_of_a_damaged_store(tmp_path):
    (torn,) = run(out=tmp_path).folders
    run(seed=1, out=tmp_path)
    (torn / "job.json").write_text("{")
    loaded = countless.load(tmp_path)
    assert len(loaded.groups) == 1
    assert sorted(job.state for job in loaded.jobs) == ["damaged", "finished"]


def test_a_missing_folder_says_so(tmp_path):
    with pytest.raises(BadInput, match="there is no folder"):
        countless.load(tmp_path / "nowhere")


def test_a_smaller_budget_is_what_the_result_says(tmp_path, seeds):
    fewer = deep(seeds.folders[0].parent, frames=30)
    document = fewer.to_json()
    assert document["frames"] == 30
    assert [one["episodes"] for one in document["runs"]] == [6, 6]
    assert "30 frames" in repr(fewer)


def test_numbers_are_the_same_in_memory_and_from_disk(tmp_path):
    kept = run(out=tmp_path)
    for other in (run(), run(out=tmp_path), countless.load(tmp_path)):
        np.testing.assert_array_equal(other.returns, kept.returns)
        np.testing.assert_array_equal(other.group.curve.y, kept.group.curve.y)
    document = json.loads(json.dumps(countless.load(tmp_path).to_json(), allow_nan=False))
    assert document["per_run"] == kept.returns.tolist()


def test_a_folder_without_jobs_says_so(tmp_path):
    with pytest.raises(BadInput, match="holds no jobs"):
        countless.load(tmp_path)


def test_out_must_be_a_folder():
    with pytest.raises(BadInput, match="out must be the name of a folder, not 3"):
        countless.run("sarsa", "riverswim", runs=2, steps=5, out=3, progress=False)


def test_groups_are_told_apart_by_what_differs(tmp_path):
    run(out=tmp_path)
    run(runs=4, out=tmp_path)
    assert set(label_groups(countless.load(tmp_path).groups)) == {
        "sarsa-sr, 6 runs", "sarsa-sr, 4 runs"
    }  # fmt: skip
    run(seed=1, out=tmp_path)
    assert set(label_groups(countless.load(tmp_path).groups)) == {
        "sarsa-sr, 6 runs, seed 0", "sarsa-sr, 4 runs, seed 0", "sarsa-sr, 6 runs, seed 1"
    }  # fmt: skip


def test_many_parameters_leave_those_out_that_are_as_most():
    grid = {"alpha": 0.1, "epsilon": 0.2, "gamma": 0.3, "beta": 0.4, "eta": 0.5}
    configs = [grid, grid, grid | {"eta": 0.6}, dict.fromkeys(grid, 0.7)]
    job = run().groups[0]
    groups = [dataclasses.replace(job, config=config) for config in (configs[0], *configs[2:])]
    labels = label_groups(groups)
    assert labels[0] == "sarsa-sr (eta 0.5)"
    assert labels[1] == "sarsa-sr (eta 0.6)"
    assert len(set(labels)) == 3


def test_a_job_that_was_interrupted_says_how_far_it_came(tmp_path):
    (folder,) = run(out=tmp_path).folders
    (group,) = countless.load(tmp_path).groups
    assert partial_words(group) == ""
    (folder / "finished.json").unlink()
    about = json.loads((folder / "job.json").read_text())
    (group,) = countless.load(tmp_path).groups
    asked = dict(group.jobs[0].about) | {"budget": about["budget"] | {"runs": 2_000}}
    partial = dataclasses.replace(group.jobs[0], about=asked)
    assert partial_words(dataclasses.replace(group, jobs=(partial,))) == "partial: 6 of 2,000 runs"
