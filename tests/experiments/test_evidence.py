"""The records that the project keeps: all of them whole, each with the command that made it."""

from pathlib import Path

import pytest

from countless.core.records import read_json

EVIDENCE = Path(__file__).parents[2] / "evidence"
JOBS = sorted(path.parent for path in EVIDENCE.glob("*/job.json"))


def test_there_is_evidence():
    assert len(JOBS) > 300


@pytest.mark.parametrize("name", ["job.json", "finished.json"])
def test_no_record_is_damaged(name):
    assert [job.name for job in JOBS if read_json(job / name) is None] == []


def test_every_record_says_how_it_was_made():
    commands = {job.name: (read_json(job / "job.json") or {}).get("command") for job in JOBS}
    wrong = {
        name for name, command in commands.items() if not str(command).startswith("countless ")
    }
    assert wrong == set()
