"""Killed at any moment and started again is never killed: nothing lost, nothing doubled, same bits."""

import json
import signal
from itertools import count

import pytest

from countless.runs.store import Store
from faults.attempts import (
    Attempts,
    command_deep,
    execute_deep,
    execute_sweep,
    the_deep_job,
    the_sweep,
)
from small_runs import checkpoint_bytes, episodes, execute


@pytest.fixture(scope="module")
def whole_deep(tmp_path_factory):
    return execute(the_deep_job(), tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def whole_sweep(tmp_path_factory):
    return execute(the_sweep(), tmp_path_factory.mktemp("whole"), threads=1)


def kill_until(attempts, number, signals, tmp_path, check):
    """Send so many signals; each time the work comes to its end, check it and begin again."""
    for store in count():
        out = tmp_path / str(store)
        while attempts.landed < signals:
            if attempts.once(out, number):
                break
        else:
            while not attempts.once(out, 0):
                pass
        check(out)
        if attempts.landed >= signals:
            return


@pytest.mark.parametrize(
    ("work", "number"),
    [(execute_deep, signal.SIGKILL), (command_deep, signal.SIGTERM)],
    ids=["SIGKILL", "SIGTERM"],
)
def test_a_deep_run(tmp_path, whole_deep, long_form, work, number):
    def check(out):
        folder = Store(out).place(the_deep_job())
        assert episodes(folder) == episodes(whole_deep.folder)
        assert checkpoint_bytes(folder) == checkpoint_bytes(whole_deep.folder)
        assert Store(out).find(the_deep_job()).records.equals(whole_deep.records)

    attempts = Attempts(work, seed=1)
    kill_until(attempts, number, 200 if long_form else 6, tmp_path, check)
    tell(f"deep run, {number.name}", attempts)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_a_sweep(tmp_path, whole_sweep, long_form, number):
    def check(out):
        found = Store(out).find(the_sweep())
        places = list(zip(found.records["setting"].to_pylist(), found.records["run"].to_pylist(),
                          strict=True))  # fmt: skip
        assert sorted(places) == [(i, run) for i in range(50) for run in range(4)]
        order = ["setting", "run"]
        assert found.records.sort_by([(name, "ascending") for name in order]).equals(
            whole_sweep.records.sort_by([(name, "ascending") for name in order])
        )

    attempts = Attempts(execute_sweep, seed=2)
    kill_until(attempts, number, 200 if long_form else 6, tmp_path, check)
    tell(f"sweep, {number.name}", attempts)


def tell(what, attempts):
    """For the documentation; shown by `pytest -s`."""
    print(json.dumps({"what": what, "landed": attempts.landed, "runs ended": attempts.finished}))
