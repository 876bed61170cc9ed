"""A write that dies at any of its steps leaves what was there, or what was to be there."""

import copy
import json
import os
import shutil
import signal
import warnings
from pathlib import Path

import pyarrow
import pytest

from countless.agents.dqn import replay
from countless.agents.dqn.checkpoint import Checkpoints
from countless.core import durable
from countless.core.records import read_json, read_table, write_json, write_table
from countless.core.snapshots import check_snapshots
from countless.runs.dqn import make_trainer
from small_runs import deep_job, replay_arrays


class Deadly:
    """Counts the steps of writing files; the process dies before step `at`, or half-way through it."""

    def __init__(self, at=None, halfway=False):
        self.at, self.halfway, self.steps = at, halfway, []

    def install(self, patch):
        for owner, name in (
            (Path, "write_bytes"), (durable, "sync"), (Path, "replace"), (Path, "unlink"),
        ):  # fmt: skip
            patch.setattr(owner, name, self._wrap(name, getattr(owner, name)))

    def _wrap(self, name, original):
        def step(path, *arguments, **options):
            if len(self.steps) == self.at:
                if self.halfway:
                    original(path, arguments[0][: len(arguments[0]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            self.steps.append(name)
            return original(path, *arguments, **options)

        return step


def steps_of(work):
    """The steps of a piece of work, which is done here."""
    deadly = Deadly()
    with pytest.MonkeyPatch.context() as patch:
        deadly.install(patch)
        work()
    return deadly.steps


def die_in(work, at, halfway):
    """Do the work in a copy of this process, which dies at a step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the copy has one thread, and only writes files
        pid = os.fork()
    if pid == 0:
        try:
            Deadly(at, halfway).install(pytest.MonkeyPatch())
            work()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def deaths(steps):
    """Every step, and half-way through every write."""
    for at, name in enumerate(steps):
        yield at, False
        if name == "write_bytes":
            yield at, True


def episode(step):
    return {"step": step, "score": 0.0}


def play(trainer, turns):
    for _ in range(turns):
        trainer.turn()
    return trainer


def test_a_checkpoint(tmp_path, monkeypatch, long_form):
    """The long form dies at every step, the short one at every third."""
    monkeypatch.setattr(replay, "SEGMENT", 32)
    before, after = play(make_trainer(deep_job()), 60), play(make_trainer(deep_job()), 95)
    first = Checkpoints(tmp_path / "first")
    first.save(play(make_trainer(deep_job()), 20), [episode(0)])
    first.save(before, [episode(1)])

    def copied(name):
        shutil.copytree(first.folder, tmp_path / name)
        checkpoints = copy.copy(first)
        checkpoints.folder = tmp_path / name
        return checkpoints

    counted = copied("counted")
    steps = steps_of(lambda: counted.save(after, [episode(2)]))
    assert 6 + 2 < steps.count("replace") <= 6 + 3 + 2  # files, segments that changed, manifests
    seen = set()
    for number, (at, halfway) in enumerate(list(deaths(steps))[:: 1 if long_form else 3]):
        checkpoints = copied(str(number))
        die_in(lambda kept=checkpoints: kept.save(after, [episode(2)]), at, halfway)
        resumed = make_trainer(deep_job())
        kept = Checkpoints(checkpoints.folder).load(resumed)
        expected = [None, before, after][kept[0]["step"]]
        assert resumed.counters() == expected.counters()
        for name, array in replay_arrays(expected.replay).items():
            assert (replay_arrays(resumed.replay)[name] == array).all(), name
        assert check_snapshots(checkpoints.folder).damage == ()
        seen.add(kept[0]["step"])
        # The next one removes what this one left.
        Checkpoints(checkpoints.folder).save(after, [episode(3)])
        assert not list(checkpoints.folder.glob(".*"))
        numbers = {path.name.split(".")[-2] for path in checkpoints.folder.glob("network.*")}
        assert len(numbers) == 2
    assert seen == {1, 2}
    print(json.dumps({"what": "deaths within one checkpoint", "deaths": number + 1}))


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_record(tmp_path, kind):
    def write(path, value):
        if kind == "json":
            write_json(path, {"value": value})
        else:
            write_table(path, pyarrow.table({"value": [value]}))

    def read(path):
        return read_json(path)["value"] if kind == "json" else read_table(path)["value"][0].as_py()

    steps = steps_of(lambda: write(tmp_path / "counted", 0))
    assert steps == ["write_bytes", "sync", "replace", "sync", "unlink"]
    seen = []
    for number, (at, halfway) in enumerate(deaths(steps)):
        path = tmp_path / f"{number}.{kind}"
        write(path, 1)
        die_in(lambda path=path: write(path, 2), at, halfway)
        seen.append(read(path))
    assert seen == [1, 1, 1, 1, 2, 2]  # before, half-way, before the sync and the rename; after it
