"""Tables 3 and 4 and the ablations: what runs, what is skipped, what is shown."""

import json

import pytest
from countless.experiments.catalog import finished_sections
from countless.experiments.deep_catalog import DEEP_EXPERIMENTS
from countless.experiments.deep_published import GAMES

from countless.agents.dqn import agents
from countless.cli.main import main
from countless.experiments import deep_table


@pytest.fixture
def tiny(monkeypatch):
    """A scale of seconds, and no measuring of the paper's."""
    scale = {
        "network": "auto-nature", "width": 0.0625, "replay": 500, "warmup": 30,
        "target_period": 50, "epsilon_steps": 50, "max_frames": 150, "batch": 4,
    }  # fmt: skip
    monkeypatch.setitem(agents.SCALES, "smoke", scale)
    monkeypatch.setitem(agents.FRAMES, "smoke", 400)
    monkeypatch.setattr(
        deep_table,
        "_costs",
        lambda columns, reporter, stop: {
            column.label: {"here": 0.1, "accelerator": 0.005} for column in columns
        },
    )
    monkeypatch.setattr("countless.runs.jobs.os.cpu_count", lambda: 1)


def in_process(monkeypatch):
    """Jobs one after the other, so that the tiny scale is theirs too."""
    from countless.runs.deep import run_deep

    monkeypatch.setattr(
        "countless.runs.jobs.run_jobs",
        lambda jobs, out, report, stop: [run_deep(job, out, report=report) for job in jobs],
    )


def test_the_ablations_run_once_and_are_shown(tiny, monkeypatch, tmp_path, capsys):
    in_process(monkeypatch)
    argv = ["reproduce", "ablations", "-o", str(tmp_path), "--json"]
    assert main(argv) == 0
    section = json.loads(capsys.readouterr().out)["sections"][0]
    (table,) = section["tables"]
    assert [row[0] for row in table["rows"]] == [
        "DQN_e^MMC+SR", "without reconstruction", "without SR and bonus",
    ]  # fmt: skip
    assert table["rows"][0][1] == "1,395.4 (1,121.8)"
    assert all(row[4] == "1" for row in table["rows"])
    assert "23.1 days here, about 28 hours on a GPU" in " ".join(section["words"])
    monkeypatch.setattr(
        "countless.agents.dqn.trainer.Trainer.turn", None
    )  # a second time nothing is played
    assert main(argv) == 0
    assert json.loads(capsys.readouterr().out)["sections"][0]["tables"] == [table]
    assert [section.name for section in finished_sections(tmp_path)] == ["ablations"]


def test_cells_that_were_not_run_say_so(tiny, monkeypatch, tmp_path, capsys):
    in_process(monkeypatch)
    assert main(["reproduce", "table4", "-o", str(tmp_path), "--games", "venture", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["sections"][0]["tables"]
    assert [table["title"] for table in tables] == list(GAMES)
    ours = {table["title"]: [row[2] for row in table["rows"]] for table in tables}
    assert ours["Freeway"] == ["not run", "not run"]
    assert "not run" not in ours["Venture"]


def test_every_column_is_an_agent_of_the_library():
    for table in DEEP_EXPERIMENTS.values():
        for column in table.columns:
            config = agents.make_config(column.agent, parameters=column.parameters)
            assert config.variant == "paper"
            assert set(column.paper) <= set(table.games) | set(GAMES)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["table3", "--games", "Pong"], "the paper's games are Freeway"),
        (["table3", "--games", "Pongg"], "the paper's games are Freeway, Gravitar"),
        (["table3", "--scale", "huge"], "--scale must be one of smoke, laptop, paper"),
        (["table3", "--seeds", "-1"], "seed must be a whole number"),
    ],
)
def test_bad_input(argv, message, tmp_path, capsys):
    assert main(["reproduce", *argv, "-o", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
