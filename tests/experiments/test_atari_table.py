"""Tables 3 and 4 and the ablations: what runs, what is not run again, what is shown."""

import json

import pytest

from countless.agents.dqn import agents
from countless.cli.main import main
from countless.experiments import atari_table
from countless.experiments.atari_published import GAMES
from countless.experiments.catalogue import EXPERIMENTS
from countless.experiments.experiment import Plan
from countless.experiments.report import finished_experiments
from countless.runs.engine import LocalEngine
from countless.runs.job import job_id

TABLES = ("table3", "table4", "ablations")


@pytest.fixture
def tiny(monkeypatch):
    """A scale of seconds, no measuring of the paper's, and jobs one after the other, so that the
    tiny scale is theirs too."""
    scale = {
        "network": "auto-nature", "width": 0.0625, "replay": 500, "warmup": 30,
        "target_period": 50, "epsilon_steps": 50, "max_frames": 150, "batch": 4,
    }  # fmt: skip
    monkeypatch.setitem(agents.SCALES, "smoke", scale)
    monkeypatch.setitem(agents.FRAMES, "smoke", 400)
    monkeypatch.setattr(
        atari_table,
        "measure_costs",
        lambda columns, execution: {
            "label": [column.label for column in columns],
            "here": [0.1] * len(columns),
            "accelerator": [0.005] * len(columns),
        },
    )
    monkeypatch.setattr(LocalEngine, "_run_workers", lambda self, jobs, store: None)


def test_the_ablations_run_once_and_are_shown(tiny, monkeypatch, tmp_path, capsys):
    argv = ["reproduce", "ablations", "--scale", "smoke", "-o", str(tmp_path), "--json"]
    assert main(argv) == 0
    section = json.loads(capsys.readouterr().out)["sections"][0]
    (table,) = section["tables"]
    assert [row[0] for row in table["rows"]] == [
        "DQN_e^MMC+SR", "without reconstruction", "without SR and bonus",
    ]  # fmt: skip
    # Numbers, not text.
    assert table["columns"] == ["agent", "paper", "paper's SD", "ours", "our SD", "seeds"]
    assert table["rows"][0][1:3] == [1395.4, 1121.8]
    assert all(row[5] == 1 for row in table["rows"])
    assert all(row[4] is None for row in table["rows"])  # no SD of one seed
    assert all(isinstance(row[3], float) for row in table["rows"])
    assert "23.1 days here, about 28 hours on a GPU" in " ".join(section["words"])
    monkeypatch.setattr(
        "countless.agents.dqn.trainer.Trainer.turn", None
    )  # a second time nothing is played
    assert main(argv) == 0
    again = json.loads(capsys.readouterr().out)["sections"][0]
    assert again == section
    (item,) = finished_experiments(tmp_path)
    assert item.experiment.name == "ablations"
    (chart,) = item.section.panels[0].charts
    assert [series.label for series in chart.series] == [row[0] for row in table["rows"]]
    assert (chart.title, chart.x) == ("MontezumaRevenge", "frames")


def test_only_the_games_that_were_asked_for_are_shown(tiny, tmp_path, capsys):
    argv = ["reproduce", "table4", "--scale", "smoke", "-o", str(tmp_path), "--games", "venture"]
    assert main([*argv, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("table4 at --scale smoke: 2 jobs of 2 to do\n")
    section = json.loads(said.out)["sections"][0]
    assert [table["title"] for table in section["tables"]] == ["Venture"]
    assert section["made"]["command"] == (
        "countless reproduce table4 --scale smoke --games Venture --seeds 0"
    )


def test_a_cell_is_of_one_configuration():
    """Runs in another precision, compiled, or of another width are other jobs."""
    plan = Plan(scale="smoke", games=("Venture",))
    job = atari_table.cell_job(atari_table.SR, "Venture", 0, plan)
    assert (job.device.name, job.device.precision, job.device.compile) == ("cpu", "float32", False)
    laptop = Plan(scale="laptop", games=("Venture",))
    ids = {
        job_id(atari_table.cell_job(column, "Venture", seed, p))
        for column in (atari_table.SR, atari_table.SR_L2)
        for seed in (0, 1)
        for p in (plan, laptop)
    }
    assert len(ids) == 8


def test_tables_share_the_runs_of_the_papers_agent():
    plan = Plan(scale="smoke", games=("MontezumaRevenge",))
    asked = [
        {job_id(job) for job in next(iter(EXPERIMENTS[name].jobs(plan, None)))} for name in TABLES
    ]
    assert len(set.intersection(*asked)) == 1


def test_every_column_is_an_agent_of_the_library():
    for columns in ((atari_table.DQN, atari_table.MMC, atari_table.CTS, atari_table.PIXELCNN),
                    (atari_table.RND, atari_table.SR, atari_table.SR_L2),
                    (atari_table.NO_RECONSTRUCTION, atari_table.NO_BONUS)):  # fmt: skip
        for column in columns:
            config = agents.make_config(column.agent, parameters=column.parameters)
            assert config.variant == "paper"
            assert set(column.paper) <= set(GAMES)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["table3", "--games", "Pong"], "the games of table3 are Freeway"),
        (["table3", "--games", "Pongg"], "the games of table3 are Freeway, Gravitar"),
        (["ablations", "--games", "Venture"], "the games of ablations are MontezumaRevenge, not V"),
        (["table3", "--scale", "huge"], "--scale must be one of smoke, laptop, paper"),
        (["table3", "--seeds", "-1"], "--seeds must be a whole number"),
        (["table3", "--seeds", "1", "1"], "--seeds names a seed twice: 1 1"),
        (["table3", "--runs", "100"], "table3 takes --scale, --games, --seeds, not --runs"),
        (["table1", "--games", "Venture"], "table1 takes --runs, --seed, not --games"),
    ],
)
def test_bad_input(argv, message, tmp_path, capsys):
    assert main(["reproduce", *argv, "-o", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
