"""Every agent of the catalogue: run, store, load, status, report, and a sweep that goes on."""

import json

import pyarrow.parquet
import pytest

import countless
from countless.agents.catalogue import AGENTS
from countless.cli.main import main
from countless.core.records import SCHEMA

TABULAR = {"runs": 3, "steps": 50}
DEEP = {
    "scale": "smoke", "frames": 150, "seed": 0, "device": "cpu", "network": "mlp", "history": 1,
    "replay": 500, "warmup": 60,
}  # fmt: skip
OPTIONS = {"tabular": ("riverswim", TABULAR), "dqn": ("deepsea-4", DEEP)}


def run(name, out):
    env, options = OPTIONS[AGENTS[name].engine]
    return countless.run(name, env, out=out, progress=False, **options)


def document(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", AGENTS)
def test_run_store_load_status_report(name, tmp_path, capsys):
    entry, out = AGENTS[name], tmp_path / "store"
    env, _ = OPTIONS[entry.engine]
    result = run(name, out)
    assert result.group.agent == name

    # The records say what they are, without this package.
    (folder,) = result.folders
    paths = sorted(folder.rglob("*.parquet"))
    assert paths
    for path in paths:
        table = pyarrow.parquet.read_table(path)
        about = json.loads(table.schema.metadata[b"PANDAS_ATTRS"])
        assert about["schema"] == SCHEMA
        assert about["command"].startswith(f"countless.run('{name}'")
        assert about["versions"]["countless"]
        assert (about["agent"], about["env"], about["seed"]) == (name, env, 0)
        for column, value in {"agent": name, "env": env, "seed": 0}.items():
            assert set(table[column].to_pylist()) == {value}
        assert set(entry.parameters) | {"return"} <= set(table.column_names)
        for column, value in result.config.items():
            expected = float("inf") if value == "inf" else value
            assert set(table[column].to_pylist()) == {expected}

    loaded = countless.load(out)
    assert loaded.to_arrow().equals(result.to_arrow())
    assert loaded.returns.tolist() == result.returns.tolist()
    assert loaded.to_json()["returns"] == result.to_json()["returns"]

    status = document(capsys, "status", str(out))
    assert status["states"] == {"finished": 1}
    (job,) = status["jobs"]
    assert (job["agent"], job["env"], job["seed"], job["state"]) == (name, env, 0, "finished")
    assert job["done"] == job["of"] == (3 if entry.engine == "tabular" else 150)
    assert job["mean_return"] == pytest.approx(result.summary.mean)

    told = document(capsys, "report", str(out), "-o", str(tmp_path / "report"))
    assert told["sections"] == [f"runs-{env}"]
    with open(told["report"], encoding="utf-8") as page:
        html = page.read()
    assert f">{name}<" in html
    assert '"kind":"lines"' in html  # its learning curve


@pytest.mark.parametrize("name", AGENTS)
def test_a_sweep_goes_on(name, tmp_path, monkeypatch):
    entry, out = AGENTS[name], tmp_path / "store"
    env, options = OPTIONS[entry.engine]
    first = run(name, out)
    grid = {"gamma": [first.config["gamma"], 0.5]} if "gamma" in entry.parameters else {}

    def sweep():
        return countless.sweep(name, env, grid=grid, out=out, progress=False, **options)

    result = sweep()
    assert len(result.groups) == (2 if grid else 1)
    assert result.groups[0].returns.tolist() == first.returns.tolist()
    assert result.ranking[0].summary.mean == max(g.summary.mean for g in result.groups)
    # A second time nothing is executed.
    for kind in ("countless.runs.tabular.TabularJob", "countless.runs.dqn.DqnJob"):
        monkeypatch.setattr(f"{kind}.execute", None)
    again = sweep()
    assert again.to_arrow().equals(result.to_arrow())
    assert again.seconds == result.seconds
