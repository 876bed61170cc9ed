"""What made a record."""

import subprocess
from datetime import datetime

from countless.core import provenance


def test_versions_name_what_matters():
    assert {"python", "countless", "numpy", "numba"} <= set(provenance.versions())


def test_everything_is_told():
    told = provenance.provenance("countless run")
    assert set(told) == {"command", "date", "versions", "commit", "machine"}
    assert datetime.fromisoformat(told["date"]).utcoffset().total_seconds() == 0
    assert "cores" in told["machine"]


def test_no_commit_where_git_does_not_answer(monkeypatch):
    def refuse(*args, **kwargs):
        raise subprocess.TimeoutExpired("git", 5)

    monkeypatch.setattr(provenance.subprocess, "run", refuse)
    assert provenance.commit.__wrapped__() is None
