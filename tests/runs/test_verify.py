"""`countless status --verify`: every file of a store."""

import json
import shutil
from pathlib import Path

import pytest

from countless.cli.main import main
from countless.core.errors import BadInput
from countless.runs.lock import locked
from countless.runs.verify import verify
from small_runs import deep_job, execute


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with a deep run and a table."""
    store = tmp_path_factory.mktemp("made")
    execute(deep_job(frames=40), store)
    assert (
        main(["run", "sarsa", "riverswim", "--runs", "3", "--steps", "50", "-o", str(store)]) == 0
    )
    return store


@pytest.fixture
def store(made, tmp_path):
    shutil.copytree(made, tmp_path / "store")
    return tmp_path / "store"


def sealed_files(store):
    return [
        path
        for path in store.rglob("*")
        if path.is_file() and path.suffix in (".json", ".parquet", ".safetensors")
    ]


def test_a_whole_store_is_whole(store, capsys):
    assert {verdict.state for verdict in verify(store)} == {"whole"}
    capsys.readouterr()
    assert main(["status", str(store), "--verify", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    # And the episodes that the checkpoint keeps.
    assert content["files"] == {
        "whole": len(sealed_files(store)) + 1, "unverified": 0, "damaged": 0,
    }  # fmt: skip


def test_every_file_is_looked_at(store, capsys):
    for path in sealed_files(store):
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
        (line,) = [line for verdict in verify(store) for line in verdict.damage]
        assert line.startswith(str(path.relative_to(store))), path
        path.write_bytes(content)
    path = next(store.rglob("job.json"))
    path.write_text("{")
    assert main(["status", str(store), "--verify"]) == 1
    said = capsys.readouterr()
    assert f"damaged: {path.relative_to(store)} is not as it was written" in said.out
    assert said.err.count("\n") == 1


def test_records_without_a_seal_are_unverified(store):
    for path in store.rglob("finished.json"):
        content = json.loads(path.read_text())
        del content["checksum"]
        path.write_text(json.dumps(content))
    assert [verdict.state for verdict in verify(store)] == ["unverified", "unverified"]


def test_what_runs_just_now_is_not_looked_at(store):
    folder = next(store.rglob("job.json")).parent
    (folder / "job.json").write_text("{")
    with locked(folder):
        assert sorted(verdict.state for verdict in verify(store)) == ["running", "whole"]


def test_a_job_without_a_description_is_told(store):
    next(store.rglob("job.json")).unlink()
    (line,) = [line for verdict in verify(store) for line in verdict.damage]
    assert line.endswith("has no job.json")


def test_no_store(tmp_path):
    with pytest.raises(BadInput, match="there is no folder"):
        verify(Path(tmp_path / "nowhere"))
