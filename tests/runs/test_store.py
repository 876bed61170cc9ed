"""The store: what a job is called, what state it is in, who may execute it."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet
import pytest

from countless.agents import catalogue
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.core import provenance
from countless.core.errors import BadInput, naming_options
from countless.core.records import SCHEMA, read_json
from countless.envs import make_mdp
from countless.experiments.experiment import Plan, Records, run
from countless.experiments.figure2 import EXPERIMENT as FIGURE_2
from countless.experiments.paper_and_ours import entry_job
from countless.experiments.published import TABLE_1, TABLE_5
from countless.runs.engine import LocalEngine
from countless.runs.job import folder_name, job_id
from countless.runs.lock import is_locked, locked
from countless.runs.measurement import MeasurementJob
from countless.runs.store import Store, read_job, stored_jobs
from countless.runs.tabular import TabularJob
from small_runs import Listener, deep_job, execute, wait_for

MDP = make_mdp("riverswim")


def small_job(**more):
    return TabularJob((SarsaSR(),), MDP, **({"runs": 3, "steps": 50, "seed": 0} | more))


def measurement(size=4):
    return MeasurementJob(
        "squares", "", 0, size, {"size": size}, lambda execution: {"n": list(range(size))}
    )


def test_records_describe_themselves(tmp_path):
    for job in (small_job(), measurement()):
        stored = execute(job, tmp_path)
        for path in stored.folder.rglob("*.parquet"):
            table = pyarrow.parquet.read_table(path)
            about = json.loads(table.schema.metadata[b"PANDAS_ATTRS"])
            assert about["schema"] == SCHEMA
            assert about["command"] == "a test"
            assert about["id"] == job_id(job)
            assert {"python", "countless", "numpy"} <= set(about["versions"])
            assert {"agent", "env", "seed"} <= set(table.column_names)


def test_a_job_says_what_made_it(tmp_path):
    about = read_json(execute(small_job(), tmp_path).folder / "job.json")
    assert {"command", "date", "versions", "commit", "machine", "identity", "budget"} <= set(about)
    assert about["date"].endswith("+00:00")
    assert "cores" in about["machine"]


def test_an_upgrade_orphans_nothing(tmp_path, monkeypatch):
    jobs = [small_job(), deep_job(), measurement()]
    before = [job_id(job) for job in jobs]
    first = execute(small_job(), tmp_path)
    monkeypatch.setattr(provenance.metadata, "version", lambda package: "99.0")
    assert provenance.versions()["countless"] == "99.0"
    assert [job_id(job) for job in jobs] == before
    monkeypatch.setattr(TabularJob, "execute", None)
    again = execute(small_job(), tmp_path)
    assert again.about == first.about
    assert again.about["versions"]["countless"] != "99.0"


def test_raising_the_version_of_the_bits_makes_another_job(monkeypatch):
    before = job_id(deep_job())
    entry = catalogue.AGENTS["dqn-mmc-sr"]
    entry = replace(entry, bits=entry.bits + 1)
    monkeypatch.setitem(catalogue.AGENTS, "dqn-mmc-sr", entry)
    assert job_id(deep_job()) != before
    assert job_id(replace(measurement(), bits=2)) != job_id(measurement())


def test_folders_are_named_by_what_they_hold(tmp_path):
    assert folder_name(small_job(seed=7)).startswith("sarsa-sr-riverswim-seed-7-")
    path = tmp_path / "a b.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\nstart, 0, 1\n")
    job = TabularJob((Sarsa(),), make_mdp(str(path)), 1, 5, 0)
    assert re.fullmatch(r"sarsa-[\w.-]*a-b-seed-0-\w{10}", folder_name(job))
    assert len(execute(job, tmp_path / "out").records) == 1


def test_a_folder_of_another_job_is_refused(tmp_path):
    one, other = small_job(), small_job(seed=1)
    execute(one, tmp_path)
    Store(tmp_path).place(one).rename(Store(tmp_path).place(other))
    with pytest.raises(BadInput, match=r"job\.json is of another job; remove the folder"):
        execute(other, tmp_path)


def damage(name):
    def torn_records(folder):
        (folder / "records" / "part-00000.parquet").write_bytes(b"PAR1 torn")

    def cut_records(folder):
        path = folder / "records" / "part-00000.parquet"
        path.write_bytes(path.read_bytes()[:-100])

    def torn_curves(folder):
        (folder / "curves" / "part-00000.parquet").write_bytes(b"")

    def torn_description(folder):
        (folder / "job.json").write_text('{"schema": 2, "id"')

    def torn_end(folder):
        (folder / "finished.json").write_text("{")

    def no_records(folder):
        (folder / "records" / "part-00000.parquet").unlink()

    return locals()[name]


@pytest.mark.parametrize(
    "name",
    ["torn_records", "cut_records", "torn_curves", "torn_description", "torn_end", "no_records"],
)
def test_damage_is_told(tmp_path, name):
    folder = execute(small_job(), tmp_path).folder
    assert read_job(folder).state == "finished"
    damage(name)(folder)
    (stored,) = stored_jobs(tmp_path)
    assert stored.state == "damaged"
    assert Store(tmp_path).find(small_job()) is None
    listener = Listener()
    assert len(execute(small_job(), tmp_path, task=listener).records) == 3
    assert read_job(folder).state == "finished"
    if name != "no_records":  # what was damaged is named, and kept to look at
        (aside,) = folder.rglob("*.damaged")
        assert any(aside.name in warning for warning in listener.warnings)


def test_what_did_not_end_is_partial(tmp_path):
    folder = execute(small_job(), tmp_path).folder
    (folder / "finished.json").unlink()
    (stored,) = stored_jobs(tmp_path)
    assert stored.state == "partial"
    assert stored.seconds == read_json(folder / "progress.json")["seconds"] > 0.0


def test_a_lock_that_is_held_means_running(tmp_path):
    folder = execute(small_job(), tmp_path).folder
    assert not is_locked(folder)
    with locked(folder):
        assert is_locked(folder)
        assert read_job(folder).state == "running"
    assert read_job(folder).state == "finished"


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    folder = execute(small_job(), tmp_path).folder
    (folder / "finished.json").unlink()
    litter = [folder / ".job.json.1.tmp", folder / "records" / ".part-00000.parquet.1.tmp"]
    for path in litter:
        path.write_text("half")
    execute(small_job(), tmp_path)
    assert not any(path.exists() for path in litter)


def test_a_folder_belongs_to_one_process(tmp_path):
    """And the lock goes with the process that held it, however that ended."""
    job = small_job()
    place = Store(tmp_path).place(job)
    place.mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys, time\nfrom pathlib import Path\n"
         "from countless.runs.lock import locked\n"
         "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(600)",
         str(place)],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == "held\n"
        assert is_locked(place)
        with pytest.raises(BadInput, match=r"another process is executing the job in .* with out"):
            execute(job, tmp_path)
        with naming_options(), pytest.raises(BadInput, match="give another folder with --out"):
            execute(job, tmp_path)
    finally:
        holder.kill()
        holder.communicate()
    wait_for(lambda: not is_locked(place), 10)
    assert len(execute(job, tmp_path).records) == 3


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = execute(small_job(), None)
    assert (stored.state, stored.folder) == ("finished", None)
    assert list(tmp_path.iterdir()) == []


def test_there_is_no_store(tmp_path):
    with pytest.raises(BadInput, match="there is no folder"):
        stored_jobs(tmp_path / "nowhere")
    assert stored_jobs(tmp_path) == []


def test_two_experiments_share_a_job(tmp_path):
    shared = [
        next(e for e in entries if e.env == "riverswim" and e.norm == 1.0)
        for entries in (TABLE_1, TABLE_5)
    ]
    first, second = (entry_job(entry, runs=3, seed=0) for entry in shared)
    engine = LocalEngine()
    engine.run([first], Store(tmp_path, "table 1"))
    heard = Listener()
    (found,) = LocalEngine(reporter=heard).run([second], Store(tmp_path, "table 5"))
    assert found.about["command"] == "table 1"
    assert len(list(tmp_path.iterdir())) == 1
    assert heard.advanced == [second.units]
    assert Records(Store(tmp_path)).returns(second).shape == (1, 3)


def test_an_experiment_run_again_leaves_its_provenance(tmp_path, monkeypatch):
    plan = Plan(runs=10, seed=1)
    first = run(FIGURE_2, plan, tmp_path, LocalEngine())
    assert first.made["seconds"] > 0
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.json")}
    monkeypatch.setattr(MeasurementJob, "execute", None)
    again = run(FIGURE_2, plan, tmp_path, LocalEngine())
    assert again.made == first.made
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.json")} == stamps
