"""Nothing that is read is ever executed: malicious files in every place."""

import contextlib
import io
import json
import os
import pickle
import shutil
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch

import countless
from countless.bonuses.storage import load_state, read_entry
from countless.cli.main import main
from countless.core.errors import BadInput, CountlessError
from countless.core.records import read_json, write_json
from countless.core.snapshots import SCHEMA, last_snapshot
from countless.envs.mdp_file import read_mdp
from countless.experiments.experiment import Plan, run, show
from countless.experiments.figure2 import EXPERIMENT as FIGURE_2
from countless.runs.dqn import open_run
from countless.runs.engine import LocalEngine
from countless.runs.store import read_job
from countless.runs.sweep import read_grid
from small_runs import deep_job, execute

PLANTED = "planted-by-a-pickle"


class Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, where):
        self.where = where

    def __reduce__(self):
        return os.mkdir, (self.where,)


@pytest.fixture
def trap(tmp_path):
    return Trap(str(tmp_path / PLANTED))


def traps(trap):
    """A pickle as it is, as torch saves it, as NumPy does, and in an archive."""
    plain = pickle.dumps(trap)
    saved = io.BytesIO()
    torch.save(trap, saved)
    array = io.BytesIO()
    np.save(array, np.array([trap], dtype=object), allow_pickle=True)
    archive = io.BytesIO()
    np.savez(archive, network=np.array([trap], dtype=object))
    return {"pickle": plain, "torch": saved.getvalue(), "npy": array.getvalue(),
            "npz": archive.getvalue()}  # fmt: skip


def test_the_trap_works(trap):
    pickle.loads(pickle.dumps(trap))
    assert Path(trap.where).is_dir()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    store = tmp_path_factory.mktemp("made")
    execute(deep_job(frames=40), store)
    assert (
        main(["run", "sarsa", "riverswim", "--runs", "3", "--steps", "50", "-o", str(store)]) == 0
    )
    run(FIGURE_2, Plan(runs=10, seed=1), store, LocalEngine())
    return store


def plant(path, content):
    """Put `content` in the place of a file; a manifest that names the file vouches for it."""
    path.write_bytes(content)
    if path.parent.name == "checkpoint" and path.name != "state.json":
        kept = last_snapshot(path.parent)
        files = {what: [one.name, one.size, one.crc32] for what, one in kept.files.items()}
        for entry in files.values():
            if entry[0] == path.name:
                entry[1:] = len(content), zlib.crc32(content)
        write_json(path.parent / "state.json", {**kept.content, "schema": SCHEMA, "files": files})


def test_a_pickle_in_every_file_of_a_store(made, tmp_path, trap, capsys):
    kinds = list(traps(trap).values())
    names = [path.relative_to(made) for path in sorted(made.rglob("*")) if path.is_file()]
    assert len(names) > 15
    for number, name in enumerate(names):
        store = tmp_path / str(number)
        shutil.copytree(made, store)
        plant(store / name, kinds[number % len(kinds)])
        assert main(["status", str(store)]) == 0
        assert main(["status", str(store), "--verify"]) in (0, 1)
        if name.name == "plan.json":
            with pytest.raises(CountlessError, match=r"plan\.json is damaged"):
                show(FIGURE_2, store)
        if name.parts[0].startswith("dqn") and name.parts[1] != "events":
            with contextlib.suppress(BadInput):  # a checkpoint that does not fit
                open_run(store / name.parts[0])
            with contextlib.suppress(BadInput):
                execute(deep_job(frames=45), store)
        assert not Path(trap.where).exists(), name
        shutil.rmtree(store)
    assert "Traceback" not in capsys.readouterr().err


def test_a_pickle_in_every_other_file(tmp_path, trap):
    for kind, content in traps(trap).items():
        path = tmp_path / kind
        path.write_bytes(content)
        for read in (read_mdp, read_grid, load_state, lambda path: read_entry(path, "bonus")):
            with pytest.raises(BadInput):
                read(path)
        with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
            archive.writestr("network.npy", content)
        with pytest.raises(BadInput, match="is not the state of a bonus"):
            load_state(tmp_path / "archive")
    assert not Path(trap.where).exists()


def test_a_type_that_would_be_unpickled_in_a_table(made, tmp_path, trap):
    """Arrow once unpickled Python types that a file named."""
    shutil.copytree(made, tmp_path / "store")
    path = next((tmp_path / "store").glob("sarsa*/records/*.parquet"))
    field = pyarrow.field("return", pyarrow.float64(), metadata={
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(trap),
    })  # fmt: skip
    table = pyarrow.table([pyarrow.array([1.0])], schema=pyarrow.schema([field]))
    pyarrow.parquet.write_table(table, path)
    assert read_job(path.parent.parent).state == "damaged"
    countless.load(tmp_path / "store").to_arrow()
    assert not Path(trap.where).exists()


def npy(shape, content=b""):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + content


@pytest.mark.parametrize("shape", [(10**15,), (2**62, 4), (10**9, 10**9), (3,)])
def test_a_header_that_promises_more_than_there_is(tmp_path, shape):
    path = tmp_path / "bonus.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("counts.npy", npy(shape, b"12345678"))
    with pytest.raises(BadInput, match="does not have the bytes that are there"):
        load_state(path)


def test_an_archive_that_would_not_fit_into_memory(tmp_path, monkeypatch):
    path = tmp_path / "bonus.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("counts.npy", npy((10**6,), bytes(8 * 10**6)))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("countless.bonuses.storage.available_memory", lambda: 1e6)
    with pytest.raises(BadInput, match=r"it would take 0\.0 GB"):
        load_state(path)
    with pytest.raises(BadInput, match="holds no bonus"):
        read_entry(path, "counts.npy")


def test_one_line_does_not_take_the_memory_of_ten_million_states(tmp_path):
    path = tmp_path / "x.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 0, 1\n1, 0, 9999999, 1, 1\nstart, 0, 1\n")
    with pytest.raises(BadInput, match="state 2 has no action; every state needs at least one"):
        read_mdp(path)


@pytest.mark.parametrize("name", ["../../secret", "/etc", "a/b", ".."])
def test_a_plan_cannot_lead_out_of_the_store(made, tmp_path, name, capsys):
    shutil.copytree(made, tmp_path / "store")
    path = tmp_path / "store" / "experiments" / "figure2" / "plan.json"
    write_json(path, read_json(path) | {"jobs": [name]})
    assert main(["report", str(tmp_path / "store"), "-o", str(tmp_path / "report")]) == 1
    assert "plan.json is damaged" in capsys.readouterr().err


def test_a_description_of_another_form_is_damage(made, tmp_path, capsys):
    about = read_json(next(made.glob("sarsa*/job.json")))
    nested = {"identity": {**about["identity"], "settings": [{"alpha": []}]}}
    forms = (
        {"budget": []}, {"identity": {"settings": 3}}, {"seed": "0"}, {"agent": None},
        {"engine": "dqn"}, nested,
    )  # fmt: skip
    for number, change in enumerate(forms):
        store = tmp_path / str(number)
        shutil.copytree(made, store)
        path = next(store.glob("sarsa*/job.json"))
        write_json(path, about | change)
        capsys.readouterr()
        assert main(["status", str(store), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["states"]["damaged"] == 1
        assert main(["status", str(store), "--verify"]) == 1
