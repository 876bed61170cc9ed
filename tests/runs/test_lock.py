"""Who may execute a job: on one machine, over a network folder, after a death."""

import json
import os
import subprocess
import sys
import time

import pytest

from countless.core.errors import BadInput
from countless.runs import lock
from countless.runs.lock import OWNER, is_locked, locked

HOLD = """
import sys, time
from pathlib import Path
from countless.runs.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def no_system_locks(monkeypatch):
    """A network folder on which the locks of the operating system are not shared, or not there."""

    def refuse(self, **options):
        raise NotImplementedError

    monkeypatch.setattr(lock.FileLock, "acquire", refuse)


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def write_owner(folder, **change):
    there = lock.asdict(lock.this_process()) | change
    (folder / OWNER).write_text(json.dumps(there))
    return folder / OWNER


def test_the_message_names_the_process(tmp_path, holder):
    with (
        pytest.raises(BadInput, match=rf"another process is executing.*\(process {holder.pid} on "),
        locked(tmp_path),
    ):
        pass


def test_without_locks_of_the_system_the_owner_is_asked_for(tmp_path, no_system_locks, holder):
    with pytest.raises(BadInput, match=f"process {holder.pid} on"), locked(tmp_path):
        pass
    assert is_locked(tmp_path)
    holder.kill()  # and not waited for: what it left is a zombie
    deadline = time.monotonic() + 10
    while is_locked(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    with locked(tmp_path):
        assert json.loads((tmp_path / OWNER).read_text())["pid"] == os.getpid()
    assert not (tmp_path / OWNER).exists()


def test_a_number_that_another_process_has_now_is_not_the_owner(tmp_path):
    write_owner(tmp_path, started="1")
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)


@pytest.mark.parametrize("written", ["elsewhere", "torn"])
def test_on_another_machine_a_process_lives_while_it_touches_its_file(tmp_path, written):
    path = write_owner(tmp_path, system="elsewhere", host="elsewhere")
    if written == "torn":
        path.write_text("")
    assert is_locked(tmp_path)
    with pytest.raises(BadInput, match="another process is executing"), locked(tmp_path):
        pass
    long_ago = time.time() - lock.DEAD - 1
    os.utime(path, (long_ago, long_ago))
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["lock"]


def test_the_file_is_touched_while_the_lock_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "BEAT", 0.01)
    with locked(tmp_path):
        os.utime(tmp_path / OWNER, (0, 0))
        deadline = time.monotonic() + 10
        while (tmp_path / OWNER).stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / OWNER).stat().st_mtime > 0


def test_of_two_that_find_a_dead_owner_one_takes_over(tmp_path, monkeypatch, no_system_locks):
    """The other had judged an owner that is not there any more."""
    write_owner(tmp_path, started="1")
    lives = lock._lives

    def judge_and_be_late(path):
        verdict = lives(path)
        monkeypatch.setattr(lock, "_lives", lives)
        write_owner(tmp_path)  # the quicker one
        return verdict

    monkeypatch.setattr(lock, "_lives", judge_and_be_late)
    with pytest.raises(BadInput, match="another process is executing"), locked(tmp_path):
        pass
    assert is_locked(tmp_path)
