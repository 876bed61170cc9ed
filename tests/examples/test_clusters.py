"""The examples for Slurm, executed without Slurm: runs that are stopped are queued again and go on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from countless.runs.store import Store
from small_runs import TINY, children, deep_job, episodes, execute, kept_counters, wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"
FRAMES = 2000
OPTIONS = [
    word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))
]
AGENT = ["dqn-mmc-sr", "deepsea-5", *OPTIONS, "--device", "cpu", "--frames", str(FRAMES)]


def assert_whole(job, tmp_path):
    """The run has the records of one that was never stopped."""
    alone = execute(job, tmp_path / "alone")
    assert Store(tmp_path / "store").find(job).records.equals(alone.records)


def test_the_batch_script_queues_a_stopped_run_again(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    queued = tmp_path / "queued"
    for name, line in (
        ("scontrol", f'echo "$@" >> {queued}'),
        ("countless", f'exec {sys.executable} -m countless "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_JOB_ID": "42",
        "OMP_NUM_THREADS": "1",
    }
    script = ["bash", str(EXAMPLES / "slurm.sbatch"), *AGENT, "--out", str(tmp_path / "store")]

    def start():
        return subprocess.Popen(
            script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    job = deep_job(seed=3, frames=FRAMES)
    folder = Store(tmp_path / "store").place(job)
    shell = start()
    wait_for(lambda: episodes(folder))
    os.kill(shell.pid, signal.SIGUSR1)  # to the batch shell alone, as B:USR1 asks for
    _, err = shell.communicate(timeout=60)
    assert shell.returncode == 75, err
    assert "stopped by SIGUSR1" in err
    assert queued.read_text() == "requeue 42\n"
    assert 0 < kept_counters(folder)["frames"] < FRAMES
    again = start()
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert queued.read_text() == "requeue 42\n"
    assert_whole(job, tmp_path)


def test_submitit_queues_a_stopped_run_again(tmp_path):
    arguments = [*AGENT, "--out", str(tmp_path / "store")]
    options = ["--cluster", "local", "--seeds", "3", "--logs", str(tmp_path / "logs")]
    example = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "submitit_seeds.py"), *options, "--", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    job = deep_job(seed=3, frames=FRAMES)
    folder = Store(tmp_path / "store").place(job)
    wait_for(lambda: episodes(folder))
    (queue,) = children(example.pid)  # what stands for Slurm
    (task,) = children(queue)
    os.kill(task, signal.SIGUSR2)  # as Slurm does for submitit
    out, err = example.communicate(timeout=120)
    assert example.returncode == 0, err
    assert out == f"seed 3: {len(episodes(folder))} episodes, kept in {folder}\n"
    (log,) = (tmp_path / "logs").glob("*.err")
    for text in ("this job is preempted", "stopped by SIGUSR1"):
        assert log.read_text().count(text) == 1
    assert_whole(job, tmp_path)
