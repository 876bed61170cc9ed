"""A full disk, a limit on files, a folder that can only be read: one line, and nothing is lost."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from countless.core.errors import CountlessError
from countless.runs.verify import verify
from small_runs import checkpoint_bytes, deep_job, execute

HERE = Path(__file__).parent


def in_own_namespace(*command):
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", *command], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])},
    )  # fmt: skip


def test_a_disk_that_fills_up(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    tried = shutil.which("unshare") and in_own_namespace("mount", "-t", "tmpfs", "none", str(disk))
    if not tried or tried.returncode != 0:
        pytest.skip("no small disk can be mounted here: `unshare --map-root-user --mount` says no")
    ended = in_own_namespace(sys.executable, str(HERE / "small_disk.py"), str(disk))
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["first"] == [0, ""]
    assert told["refused"][0] == 2
    assert "checkpoints need up to" in told["refused"][1]
    for name in ("full", "full sweep"):
        code, said = told[name]
        assert code in (1, 2), said
        assert "No space left on device" in said
        assert "\n" not in said, said
    assert told["damage when full"] == []
    code, said = told["read-only"]
    assert code == 2
    assert "cannot write to the folder" in said
    assert "\n" not in said, said
    assert told["again"] == told["sweep again"] == [0, ""]
    assert told["damage"] == []
    whole = execute(deep_job(frames=90), tmp_path / "whole")
    assert told["episodes"] == (whole.folder / "episodes.jsonl").read_text()


def test_a_limit_on_files(tmp_path):
    """What a quota does: the write of a checkpoint fails in its middle."""
    whole = execute(deep_job(frames=90), tmp_path / "whole")
    before = checkpoint_bytes(execute(deep_job(frames=60), tmp_path).folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(CountlessError, match=r"cannot write .*: File too large; what was kept"):
            execute(deep_job(frames=90), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [line for verdict in verify(tmp_path) for line in verdict.damage] == []
    folder = next(tmp_path.glob("dqn*"))
    assert checkpoint_bytes(folder) == before
    again = execute(deep_job(frames=90), tmp_path)
    assert again.records.equals(whole.records)
    assert checkpoint_bytes(folder) == checkpoint_bytes(whole.folder)
