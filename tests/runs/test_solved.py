"""Runs that end where the task is solved."""

import numpy as np
import pytest

from countless.runs.dqn import make_job
from countless.runs.job import job_id
from countless.runs.messages import describe, read
from countless.runs.solved import Solved, SolvedWatch, first, read_solved
from countless.runs.store import Store
from small_runs import TINY, checkpoint_bytes, execute

EASY = Solved(least=-1.0, share=0.9, window=4, overall=0.0)  # every episode succeeds


def literal(rule, returns):
    for n in range(1, len(returns) + 1):
        recent = returns[max(0, n - rule.window) : n]
        wins = sum(value >= rule.least for value in returns[:n])
        held = sum(value >= rule.least for value in recent) >= rule.share * rule.window
        if n >= rule.window and held and wins > rule.overall * n:
            return n
    return None


@pytest.mark.parametrize("seed", range(20))
def test_the_criterion_and_the_watch_agree_with_the_words(seed):
    random = np.random.default_rng(seed)
    late = random.integers(60)
    returns = [float(random.random() < (0.05 if i < late else 0.9)) for i in range(100)]
    rule = Solved(0.5, 0.8, int(random.integers(1, 15)), 0.2)
    expected = literal(rule, returns)
    assert rule.episode(returns) == expected
    for known in (0, 10):
        watch = SolvedWatch(rule, returns[:known])
        at = known
        while not watch.solved and at < len(returns):
            watch.add(returns[at])
            at += 1
        assert (at if watch.solved else None) == (
            None if expected is None else max(expected, known)
        )


def test_too_few_episodes_solve_nothing():
    assert Solved(window=3).episode([]) is None
    assert Solved(window=3).episode([1.0, 1.0]) is None
    assert Solved(window=3).episode([1.0, 1.0, 1.0]) == 3
    assert first(np.zeros(3, bool)) is None
    watch = SolvedWatch(None, [1.0] * 200)
    watch.add(1.0)
    assert not watch.solved


def job(frames, until=None):
    return make_job(
        "dqn", "deepsea-5", seed=0, frames=frames, device="cpu", parameters=TINY, until=until
    )


def test_it_is_a_budget_and_no_part_of_the_identity():
    assert job_id(job(100)) == job_id(job(100, EASY))
    assert job(100).budget() == {"frames": 100}
    assert job(100, EASY).budget()["until"] == EASY.describe()
    assert read_solved(EASY.describe()) == EASY


def test_a_run_ends_when_solved_and_goes_on_to_the_same_bits(tmp_path):
    stopped = execute(job(200, EASY), tmp_path)
    assert len(stopped.records) == 4
    assert stopped.finished["frames"] < 200
    assert stopped.finished["solved"] == EASY.describe()
    store = Store(tmp_path, "a test")
    assert store.find(job(200, EASY)) is not None
    assert store.find(job(10_000, EASY)) is not None  # more frames would not be played
    assert store.find(job(200)) is None
    other = Solved(least=-1.0, share=0.9, window=6, overall=0.0)
    assert store.find(job(200, other)) is None
    assert len(execute(job(200, other), tmp_path).records) == 6
    execute(job(200), tmp_path)
    whole = execute(job(200), tmp_path / "at once")
    assert checkpoint_bytes(store.place(job(200))) == checkpoint_bytes(whole.folder)
    # Of a run that went further, the records until it was solved.
    assert store.find(job(200, EASY)).records.num_rows == 4


def test_without_success_it_ends_with_its_frames(tmp_path):
    never = Solved(least=2.0, window=4)
    ended = execute(job(60, never), tmp_path)
    assert ended.finished["frames"] == 60
    assert "solved" not in ended.finished
    assert Store(tmp_path, "").find(job(60, never)) is not None
    assert Store(tmp_path, "").find(job(90, never)) is None


def test_a_worker_is_told(tmp_path):
    import json

    for until in (None, EASY):
        told, _ = read(json.loads(json.dumps(describe(job(60, until), Store(tmp_path, "")))))
        assert told.until == until


def test_options_at_their_defaults_leave_the_ids_of_earlier_jobs():
    made = {
        agent: job_id(make_job(agent, "deepsea-5", device="cpu"))[:16]
        for agent in ("dqn", "dqn-mmc-sr", "dqn-counts")
    }
    assert made == {
        "dqn": "99c77dbb81a13474",
        "dqn-mmc-sr": "c6c926d24e706b5a",
        "dqn-counts": "e3932ef99ce59f97",
    }
    changed = make_job("dqn", "deepsea-5", device="cpu", parameters={"optimiser": "adam"})
    assert job_id(changed)[:16] != made["dqn"]
    assert changed.identity()["config"]["optimiser"] == "adam"
