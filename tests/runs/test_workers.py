"""Several deep jobs at once: memory, failures, and processes that die."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from countless.core.errors import BadInput, CountlessError, naming_options
from countless.core.progress import SILENT
from countless.runs import dqn_resources, engine, messages, workers
from countless.runs.engine import LocalEngine
from countless.runs.job import Stopped
from countless.runs.lock import is_locked
from countless.runs.store import Store
from small_runs import (
    Listener,
    checkpoint_bytes,
    deep_job,
    episodes,
    execute,
    kept_counters,
    wait_for,
)

ENDLESS = 10_000_000


def jobs(frames=60, **more):
    return [deep_job(seed=seed, frames=frames, **more) for seed in (0, 1)]


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(engine, "usable_cores", lambda: 2)


@pytest.fixture
def started(monkeypatch):
    """The worker processes, as they are started."""
    processes = []
    original = workers.subprocess.Popen

    def popen(*args, **kwargs):
        processes.append(original(*args, **kwargs))
        return processes[-1]

    monkeypatch.setattr(workers.subprocess, "Popen", popen)
    return processes


def test_jobs_survive_the_way_to_a_worker(tmp_path):
    job = deep_job(norm=float("inf"), sticky=0.0)
    with naming_options():
        message = messages.describe(job, Store(tmp_path, "command"))
    same, store = messages.read(json.loads(json.dumps(message)))
    assert same == job
    assert (store.folder, store.command) == (tmp_path, "command")
    assert message["names_options"] is True


def test_a_worker_has_the_threads_of_its_job(monkeypatch, tmp_path):
    given = []

    def popen(*args, env, **kwargs):
        given.append(env)
        raise OSError("no process today")

    monkeypatch.setattr(workers.subprocess, "Popen", popen)
    with pytest.raises(OSError, match="no process today"), ExitStack() as tasks:
        workers.Workers(jobs(), Store(tmp_path, "command"), 2, SILENT, tasks).run(lambda: False)
    assert [given[0][name] for name in messages.THREAD_VARIABLES] == ["1"] * 3


def test_runs_at_once_must_fit_into_memory_together(monkeypatch, two_cores, tmp_path):
    monkeypatch.setattr(dqn_resources, "available_memory", lambda: 2.5e9)
    with pytest.raises(
        BadInput, match=r"2 runs at once need 3\.0 GB of memory, 2\.5 GB are free; one"
    ):
        LocalEngine().run(jobs(), Store(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_one_of_them_cannot_run_stops_all_before_they_begin(two_cores, started, tmp_path):
    bad = [*jobs(), deep_job("dqn", env="NoSuchGame")]
    with pytest.raises(BadInput, match="NoSuchGame"):
        LocalEngine().run(bad, Store(tmp_path))
    assert (started, list(tmp_path.iterdir())) == ([], [])


def test_workers_give_the_bits_of_single_runs(two_cores, started, tmp_path):
    heard = Listener()
    ended = LocalEngine(reporter=heard).run(jobs(), Store(tmp_path / "workers", "a test"))
    assert len(started) == 2
    assert all(process.poll() == 0 for process in started)
    for stored, job in zip(ended, jobs(), strict=True):
        alone = execute(job, tmp_path / "alone")
        assert stored.records.equals(alone.records)
        assert checkpoint_bytes(stored.folder) == checkpoint_bytes(alone.folder)
        assert stored.about["command"] == "a test"
    labels = [label for label, _ in heard.tasks]
    assert "dqn-mmc-sr in deepsea-5, seed 1 (2 of 2)" in labels
    # Each worker's units once, and once more as found by the parent.
    assert sum(heard.advanced) == 2 * sum(job.units for job in jobs())


def test_a_worker_that_is_killed_is_noticed_at_once(two_cores, started, tmp_path):
    """While another one reports."""
    store = Store(tmp_path)
    places = [store.place(job) for job in jobs(ENDLESS)]
    killed_at = []

    def kill():
        wait_for(lambda: all(episodes(place) for place in places))
        killed_at.append(time.monotonic())
        os.kill(started[1].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(CountlessError, match=r"seed 1: its process died \(exit code -9\)") as error:
        LocalEngine().run(jobs(ENDLESS), store)
    killer.join()
    assert not isinstance(error.value, BadInput)
    assert time.monotonic() - killed_at[0] < 20  # until the other has written its checkpoint
    assert started[0].poll() == 0
    assert kept_counters(places[0])["step"] > 0
    assert not any(is_locked(place) for place in places)


def test_asked_to_stop_all_write_a_checkpoint(two_cores, started, tmp_path):
    store = Store(tmp_path)
    places = [store.place(job) for job in jobs(ENDLESS)]
    with pytest.raises(Stopped):
        LocalEngine(stop=lambda: all(map(episodes, places))).run(jobs(ENDLESS), store)
    for place in places:
        assert kept_counters(place)["step"] > 0
        assert not (place / "finished.json").exists()
    assert all(process.poll() == 0 for process in started)


def test_the_failure_of_a_worker_is_told_in_its_words(two_cores, tmp_path):
    wild = jobs(2000, learning_rate=1e30, w_reconstruction=1e30)
    with pytest.raises(CountlessError, match=r"seed \d: a loss is not finite .* at step \d+"):
        LocalEngine().run(wild, Store(tmp_path))


def test_a_process_that_cannot_start_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(workers.sys, "executable", "/bin/false")
    with pytest.raises(CountlessError, match=r"its process died \(exit code 1\)"):
        LocalEngine(reporter=SILENT).run(jobs(), Store(tmp_path))


PARENT = """
import sys
sys.path[:0] = sys.argv[2:]
from small_runs import deep_job
from countless.runs.engine import LocalEngine
from countless.runs.store import Store
LocalEngine().run([deep_job(seed=seed, frames=10_000_000) for seed in (0, 1)], Store(sys.argv[1]))
"""


def test_workers_stop_when_their_parent_is_killed(tmp_path):
    """And write their checkpoints."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), *filter(None, sys.path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    store = Store(tmp_path)
    places = [store.place(job) for job in jobs(ENDLESS)]
    try:
        wait_for(lambda: any(map(episodes, places)))
    finally:
        parent.kill()
    wait_for(lambda: not any(map(is_locked, places)), 60)
    _, err = parent.communicate(timeout=60)  # which the workers have let go of
    assert "Traceback" not in err
    begun = [place for place in places if episodes(place)]
    assert begun
    for place in begun:
        assert kept_counters(place)["step"] > 0
