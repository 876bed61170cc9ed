"""Several deep runs at once: memory, locks, failures."""

import signal

import pytest
from countless.runs.deep import make_job, make_trainer, run_deep
from countless.runs.deep_folder import locked

from countless.agents.dqn import checkpoint
from countless.core.errors import BadInput, CountlessError
from countless.runs import jobs

TINY = {"width": 0.0625, "history": 2, "replay": 500, "warmup": 30, "batch": 8}


def job(env="deepsea-5", **parameters):
    return make_job("dqn-mmc-sr", env, frames=60, device="cpu", parameters=TINY | parameters)


def test_runs_at_once_must_fit_into_memory_together(monkeypatch, tmp_path):
    monkeypatch.setattr(jobs, "available_memory", lambda: 2.5e9)
    monkeypatch.setattr(jobs.os, "cpu_count", lambda: 2)
    with pytest.raises(BadInput, match=r"2 runs at once need 3\.0 GB of memory, 2\.5 GB are free"):
        jobs.run_jobs([job(), job()], tmp_path)


def test_a_folder_belongs_to_one_process(tmp_path):
    one = job()
    folder = one.folder(tmp_path)
    folder.mkdir(parents=True)
    with locked(folder), pytest.raises(BadInput, match="another process is running in"):
        run_deep(one, tmp_path)
    assert run_deep(one, tmp_path).performance is not None


def test_a_share_of_the_replay_must_hold_two_episodes():
    with pytest.raises(BadInput, match="less than two episodes of 3,600 steps"):
        make_trainer(job("Freeway", replay=20_000, envs=4))


def test_a_checkpoint_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CountlessError, match="cannot write the checkpoint"):
        checkpoint.save(tmp_path / "file" / "checkpoint", make_trainer(job()))


class Started:
    """A process that notes which signals wait while it is started: its child inherits that."""

    def start(self):
        self.waiting = signal.pthread_sigmask(signal.SIG_BLOCK, []) & jobs.SIGNALS


def test_signals_wait_until_a_child_knows_what_to_do_with_them():
    process = Started()
    jobs._start(process)
    assert process.waiting == jobs.SIGNALS
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & jobs.SIGNALS
