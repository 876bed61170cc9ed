"""Montezuma's Revenge: what is planned, what is read off the records, and what is shown."""

import numpy as np
import pyarrow

from countless.experiments import montezuma
from countless.experiments.experiment import Plan, run
from countless.experiments.montezuma import EXPERIMENT, ROWS, Outcome, outcome, surveyed
from countless.runs.dqn import make_job
from countless.runs.engine import LocalEngine
from countless.runs.job import Outcome as JobOutcome
from countless.runs.job import job_id
from countless.runs.store import Store, StoredJob


def test_the_laptop_plan_is_two_million_frames_of_seven_agents():
    plan = Plan(scale="laptop", games=EXPERIMENT.games_at("laptop"), seeds=(0, 1))
    (jobs,) = montezuma.jobs(plan, None)
    assert len({job_id(job) for job in jobs}) == len(jobs) == 14
    assert {job.frames for job in jobs} == {2_000_000}
    silent = next(job for job in jobs if not job.config.architecture.encoder_bias)
    assert silent.config.architecture.norm == 2.0
    assert silent.config.losses.sr_terminal == "continue"


def episodes(cells, keys, returns):
    n = len(cells)
    return pyarrow.table(
        {
            "frames": 100 * np.arange(1, n + 1),
            "return": np.array(returns, float),
            "rooms": pyarrow.array([None if c is None else 1 + c // 10 for c in cells]),
            "cells": pyarrow.array(cells),
            "key": pyarrow.array(keys, pyarrow.bool_()),
        }
    )


def kept(records):
    return StoredJob({}, {}, None, JobOutcome(records, None, {}))


def test_what_a_seed_came_to():
    table = episodes([4, 9, 12, 12], [False, False, True, True], [0, 0, 100, 0])
    assert outcome(surveyed(kept(table))) == Outcome(2, 12, 300, 100.0)
    assert outcome(table.slice(0, 2)) == Outcome(1, 9, None, 0.0)


def test_records_that_do_not_say_what_was_seen_are_left_out():
    table = episodes([None, None, 7], [None, None, False], [0, 0, 0])
    assert outcome(surveyed(kept(table))) == Outcome(1, 7, None, 0.0)
    assert surveyed(kept(table.slice(0, 2))) is None
    assert surveyed(kept(table.drop_columns(["rooms", "cells", "key"]))) is None


def test_it_runs_and_is_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(montezuma, "ROWS", (ROWS[0], ROWS[2]))
    monkeypatch.setitem(montezuma.LENGTHS, "smoke", 1_500)
    plan = Plan(scale="smoke", games=EXPERIMENT.games, seeds=(0,))
    shown = run(EXPERIMENT, plan, tmp_path, LocalEngine())
    (table,) = shown.section.tables
    for _, rooms, cells, per_seed, keys, _, best in table.rows:
        assert rooms >= 1
        assert cells == float(per_seed) > 1
        assert keys in ("0 of 1", "1 of 1")
        assert best >= 0.0
    (figure,) = shown.section.figures
    assert figure.stem.with_suffix(".png").stat().st_size > 5_000


def test_coverage_is_the_same_after_going_on(tmp_path):
    """A run that stopped and went on has seen the same cells as one that did not."""

    def cells(folder, *lengths):
        store = Store(tmp_path / folder)
        for frames in lengths:
            job = make_job(
                "dqn-mmc", "MontezumaRevenge", frames=frames, scale="smoke", device="cpu"
            )
            LocalEngine().run([job], store)
        return store.find(job).records["cells"].to_pylist()

    assert cells("went on", 900, 1_500) == cells("at once", 1_500)
