"""Tabular jobs: parts, how they go on after a stop, and what is refused."""

import json

import numpy as np
import pytest

from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import REWARD, trace_runs
from countless.core.errors import CountlessError
from countless.core.records import read_json, read_table
from countless.envs import make_mdp
from countless.runs import tabular
from countless.runs.job import Execution, Stopped, folder_name, job_id
from countless.runs.result import Result
from countless.runs.store import Store, read_job
from countless.runs.tabular import TabularJob
from small_runs import Listener, execute, stop_after

MDP = make_mdp("riverswim")
SETTINGS = (SarsaSR(), SarsaSR(beta=1), SarsaSR(norm=2))


def small_job(runs=6, seed=0, settings=SETTINGS):
    return TabularJob(settings, MDP, runs, 50, seed)


def returns(job, out=None, **how):
    """(settings, runs)."""
    return np.array([group.returns for group in Result([execute(job, out, **how)]).groups])


@pytest.fixture
def tiny_parts(monkeypatch):
    monkeypatch.setattr(tabular, "PART_STEPS", 100)


def test_parts_tile_the_job(tiny_parts):
    job = small_job(runs=5)
    seen = np.zeros((3, 5), dtype=int)
    for part in job.parts():
        seen[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop] += 1
    assert (seen == 1).all()
    assert len(job.parts()) == 9


def interrupt_at(monkeypatch, call):
    calls = 0
    original = tabular.simulate

    def failing(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(tabular, "simulate", failing)


def test_interrupted_and_resumed_is_never_interrupted(tmp_path, tiny_parts, monkeypatch):
    job = small_job()
    whole = returns(job)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            execute(job, tmp_path)
    folder = Store(tmp_path).place(job)
    assert Store(tmp_path).find(job) is None
    assert read_job(folder).state == "partial"
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("part-*")}
    assert len(kept) == 2
    resumed = execute(job, tmp_path)
    np.testing.assert_array_equal(Result([resumed]).groups[2].returns, whole[2])
    assert resumed.finished["simulated_steps"] == job.units - 2 * 100
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())
    monkeypatch.setattr(tabular, "simulate", None)
    np.testing.assert_array_equal(returns(job, tmp_path), whole)
    np.testing.assert_array_equal(
        [group.returns for group in Result([read_job(folder)]).groups], whole
    )


def test_asked_to_stop_it_keeps_its_parts_and_goes_on_to_the_same_bits(tmp_path, tiny_parts):
    job = small_job(settings=SETTINGS[:1])  # keeps curves
    whole = execute(job, None)
    with pytest.raises(Stopped):
        execute(job, tmp_path, stop=stop_after(2))
    assert 0 < len(list(tmp_path.rglob("records/part-*"))) < 3
    resumed = execute(job, tmp_path)
    assert resumed.records.equals(whole.records)
    assert resumed.curves.equals(whole.curves)


def test_a_part_without_its_curves_is_run_again(tmp_path, tiny_parts):
    job = small_job(settings=SETTINGS[:1])
    whole = execute(job, tmp_path)
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"torn")):
        damage(whole.folder / "curves" / "part-00001.parquet")
        again = execute(job, tmp_path)
        assert again.curves.equals(whole.curves)
        assert again.finished["simulated_steps"] == 2 * 50


def test_parts_and_threads_change_no_bit(monkeypatch):
    job = small_job()
    whole = returns(job)
    monkeypatch.setattr(tabular, "PART_STEPS", 100)
    for threads in (1, 2):
        np.testing.assert_array_equal(returns(job, threads=threads), whole)
    assert len(np.unique(whole[0])) > 1


def test_a_part_of_other_runs_is_not_taken(tmp_path, tiny_parts):
    job = small_job()
    whole = returns(job, tmp_path)
    first, second = sorted(tmp_path.rglob("part-*"))[:2]
    first.write_bytes(second.read_bytes())
    np.testing.assert_array_equal(returns(job, tmp_path), whole)
    second.unlink()
    np.testing.assert_array_equal(returns(job, tmp_path), whole)


def test_a_broken_part_is_run_again(tmp_path, tiny_parts):
    job = small_job()
    whole = returns(job, tmp_path)
    next(tmp_path.rglob("part-*")).write_bytes(b"torn")
    np.testing.assert_array_equal(returns(job, tmp_path), whole)
    assert read_job(Store(tmp_path).place(job)).state == "finished"


def test_names_tell_jobs_apart():
    names = {folder_name(small_job(**more)) for more in ({}, {"seed": 1}, {"runs": 7})}
    assert len(names) == 3
    assert folder_name(small_job()) == folder_name(small_job())


def test_raising_the_version_of_the_bits_makes_another_job(monkeypatch):
    before = job_id(small_job())
    monkeypatch.setattr(SarsaSR, "bits", SarsaSR.bits + 1)
    assert job_id(small_job()) != before


def test_replayed_runs_stay_together(tiny_parts):
    job = TabularJob((Sarsa(),), MDP, 10, 50, 0, "authors")
    assert len(job.parts()) == 1


def test_records_hold_every_parameter_of_every_setting(tmp_path):
    settings = (SarsaSR(beta=1.0), SarsaSR(beta=2.0, norm=float("inf")))
    stored = execute(small_job(runs=3, settings=settings), tmp_path)
    rows = read_table(stored.folder / "records" / "part-00000.parquet").to_pylist()
    assert [(row["setting"], row["run"]) for row in rows] == [
        (setting, run) for setting in range(2) for run in range(3)
    ]
    assert [row["beta"] for row in rows] == [1.0] * 3 + [2.0] * 3
    assert [row["norm"] for row in rows] == [1.0] * 3 + [float("inf")] * 3
    assert {row["agent"] for row in rows} == {"sarsa-sr"}


def test_curves_end_at_the_return_and_only_short_jobs_have_them(monkeypatch):
    stored = execute(small_job(settings=SETTINGS[:1]), None)
    curve = Result([stored]).group.curve
    assert curve.x[-1] == 50
    np.testing.assert_array_equal(curve.y[:, -1], stored.records["return"].to_numpy())
    assert (np.diff(curve.y, axis=1) >= 0).all()  # rewards are not negative here
    assert execute(small_job(), None).curves is None  # a sweep
    monkeypatch.setattr(tabular, "CURVE_STEPS", 299)
    assert execute(small_job(settings=SETTINGS[:1]), None).curves is None


def test_marks_at_octaves(monkeypatch, tmp_path):
    monkeypatch.setattr(tabular, "CURVE_STEPS", 0)  # kept however long a job is
    job = TabularJob(SETTINGS[:1], MDP, 3, 200, 0, marks=tabular.OCTAVES)
    stored = execute(job, tmp_path)
    curve = Result([stored]).group.curve
    assert {200, 100, 50, 25, 141, 168} <= set(curve.x)
    trace = trace_runs(SETTINGS[0], MDP, runs=3, steps=200, seed=0)
    so_far = trace[:, :, REWARD].cumsum(axis=1)
    np.testing.assert_array_equal(curve.y, so_far[:, curve.x.astype(int) - 1])
    assert Store(tmp_path).find(job) is not None
    even = TabularJob(SETTINGS[:1], MDP, 3, 200, 0)
    assert job_id(even) != job_id(job)
    assert "marks" not in even.identity()  # as before there was a choice
    np.testing.assert_array_equal(returns(even)[0], stored.records["return"].to_numpy())


def test_progress_adds_up_to_all_units(tmp_path, tiny_parts):
    for _ in range(2):  # the second time it is all there
        seen = Listener()
        execute(small_job(), tmp_path, task=seen)
        assert sum(seen.advanced) == small_job().units


def test_seconds_count_on_over_stops_and_are_kept(tmp_path, tiny_parts, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 4)
        with pytest.raises(KeyboardInterrupt):
            execute(small_job(), tmp_path)
    folder = Store(tmp_path).place(small_job())
    before = read_json(folder / "progress.json")["seconds"]
    first = execute(small_job(), tmp_path)
    assert first.seconds >= before > 0
    again = execute(small_job(), tmp_path)
    assert (again.seconds, again.about) == (first.seconds, first.about)


def test_parts_that_are_executed_elsewhere_are_collected(monkeypatch, tmp_path):
    monkeypatch.setattr(tabular, "PART_STEPS", 400)
    job = TabularJob(SETTINGS[:1], MDP, 10, 100, 0)
    assert len(job.parts()) == 3
    store = Store(tmp_path / "spread")
    asked = []

    def scatter(job, numbers):
        """As an engine does: others get the job as plain data, and end in any order."""
        asked.append(list(numbers))
        same = tabular.read_job(json.loads(json.dumps(job.to_message())))
        for number in reversed(numbers):
            same.execute_parts(store.place(job), [number], Execution())

    alone = Store(tmp_path / "alone").execute(job, Execution())
    spread = store.execute(job, Execution(scatter=scatter))
    assert asked == [[0, 1, 2]]
    assert spread.records.equals(alone.records)
    assert spread.curves.equals(alone.curves)
    assert store.find(job) is not None
    with pytest.raises(CountlessError, match="part 0 was not written to"):
        Store(tmp_path / "lost").execute(job, Execution(scatter=lambda job, numbers: None))
