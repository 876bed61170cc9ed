"""The command line: what it prints, how it fails, how it stops."""

import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

import countless
from countless.cli.main import main
from countless.cli.output import print_table
from countless.cli.parser import parse
from countless.cli.status import job_table
from countless.core.cores import usable_cores
from countless.core.errors import install_hint
from countless.envs.catalog import OTHER_FORMS
from countless.experiments.catalogue import EXPERIMENTS, GROUPS
from countless.runs.lock import locked

COMMANDS = (
    "list", "run", "sweep", "status", "diagnose", "reproduce", "report", "watch", "lab", "doctor",
)  # fmt: skip


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Commands keep their records in `results`, of a folder of their own here."""
    monkeypatch.chdir(tmp_path)


def call(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def document(capsys, *argv):
    code, out, _ = call(capsys, *argv, "--json")
    assert code == 0
    assert out.count("\n") == 1
    return json.loads(out)


def test_the_papers_number(capsys):
    code, out, err = call(
        capsys, "run", "sarsa-sr", "riverswim", "--rng", "authors", "--seed", "2", "--runs", "100"
    )
    assert code == 0
    assert "1,213,544" in out
    assert "540,454" in out
    assert "the paper's Table 6" in out
    assert "countless:" not in err  # progress may be there on a slow machine


def test_run_json(capsys):
    content = document(
        capsys, "run", "sarsa-sr", "sixarms", "--runs", "3", "--steps", "50", "--beta", "7"
    )
    assert content["config"]["beta"] == 7.0
    assert content["config"]["gamma_sr"] == 0.99
    assert content["steps"] == 50
    assert len(content["per_run"]) == 3
    assert set(content) >= {
        "agent", "env", "runs", "steps", "seed", "config", "returns", "seconds",
        "steps_per_second", "per_run",
    }  # fmt: skip
    assert set(content["returns"]) == {"mean", "sd", "median", "iqm", "ci95", "min", "max"}


def test_every_agent_from_the_command_line(capsys):
    for agent in ("sarsa", "sarsa-sr", "sarsa-counts", "random", "optimal"):
        content = document(capsys, "run", agent, "riverswim", "--runs", "2", "--steps", "20")
        assert content["agent"] == agent


def test_run_out_is_kept(capsys, tmp_path):
    arguments = ("run", "sarsa", "riverswim", "--runs", "5", "--steps", "50", "-o", str(tmp_path))
    first = document(capsys, *arguments)
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = document(capsys, *arguments)
    assert again == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == stamps
    _, out, _ = call(capsys, *arguments)
    assert f"kept in {first['folder']}" in out


def test_where_each_value_comes_from_is_told(capsys):
    _, out, _ = call(capsys, "run", "sarsa-sr", "chain-5", "--alpha", "0.3", "--runs", "2")
    lines = out.splitlines()
    assert "given: alpha 0.3" in lines
    assert any("times the range of the rewards: beta" in line for line in lines)
    assert any(line.startswith("default: ") for line in lines)


def test_sweep(capsys, tmp_path):
    grid = tmp_path / "grid.toml"
    grid.write_text("alpha = [0.1, 0.2]\nepsilon = [0.1, 0.2, 0.3]\n")
    arguments = ("sweep", "sarsa", "riverswim", "--grid", str(grid), "--runs", "2", "--steps", "30")
    content = document(capsys, *arguments, "-o", str(tmp_path / "out"))
    assert len(content["settings"]) == 6
    code, out, _ = call(capsys, *arguments, "--top", "3", "-o", str(tmp_path / "out"))
    assert code == 0
    assert "the best 3 of 6 settings" in out
    assert set(content) >= {"agent", "env", "folder", "seconds", "settings"}
    assert set(content["settings"][0]) >= {"config", "mean", "sd", "median"}


def test_list(capsys):
    content = document(capsys, "list")
    assert {entry["name"] for entry in content["agents"]} >= {"sarsa-sr", "optimal"}
    assert {entry["name"] for entry in content["envs"]} >= {"riverswim", "deepsea-N"}
    assert {entry["name"] for entry in content["bonuses"]} >= {"sr-norm", "ssr", "counts"}
    assert {entry["name"] for entry in content["experiments"]} == {
        *EXPERIMENTS,
        *GROUPS,
    }
    (entry,) = (entry for entry in content["agents"] if entry["name"] == "sarsa-sr")
    assert entry["grid"]["source"] == "the paper's sweep"
    assert {preset["source"] for preset in entry["presets"]} == {"the paper's Table 6"}
    _, out, _ = call(capsys, "list", "agents")
    assert "riverswim" not in out


def test_reproduce_and_report(capsys, tmp_path):
    results = str(tmp_path / "results")
    content = document(capsys, "reproduce", "figure2", "--runs", "20", "-o", results)
    assert content["sections"][0]["name"] == "figure2"
    _, out, _ = call(capsys, "report", results, "-o", str(tmp_path / "report"))
    path = tmp_path / "report" / "report.html"
    assert str(path) in out
    assert "Figure 2" in path.read_text()


def test_diagnose(capsys, tmp_path):
    arguments = ("diagnose", "sr-norm", "fourrooms", "--steps", "300", "-o", str(tmp_path))
    content = document(capsys, *arguments, "--set", "eta=0.05", "--set", "norm=2")
    assert content["parameters"] == {"eta": 0.05, "norm": 2.0}
    assert content["rank_correlation"]["states"] > 0.8
    assert len(content["visits"]) == len(content["bonuses"]) == 104
    assert (tmp_path / "sr-norm-fourrooms-eta=0.05-norm=2.png").is_file()
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "rank correlation of bonus and rarity" in out
    assert str(tmp_path / "sr-norm-fourrooms.png") in out
    assert (tmp_path / "sr-norm-fourrooms.png").is_file()


def test_diagnose_over_several_seeds(capsys, tmp_path):
    told = "diagnose rnd chain-5 --view states --steps 300 --set warm_up=20 -o"
    arguments = (*told.split(), str(tmp_path))
    both = document(capsys, *arguments, "--seeds", "3", "4")["seeds"]
    assert document(capsys, *arguments, "--seeds", "3-4")["seeds"] == both
    alone = document(capsys, *arguments, "--seed", "4")
    assert [walk["seed"] for walk in both] == [3, 4]
    assert both[1] == {"seed": 4, **alone["rank_correlation"]}
    assert both[0]["walk"] != both[1]["walk"]
    code, out, _ = call(capsys, *arguments, "--seeds", "3", "4")
    assert code == 0
    mean = (both[0]["walk"] + both[1]["walk"]) / 2
    assert f"{mean:.3f}" in next(line for line in out.splitlines() if "mean" in line)


def test_an_infinite_parameter_is_a_word_in_json(capsys, tmp_path):
    told = "diagnose pixelcnn chain-3 --steps 10 --set most=inf --set size=4 --set maps=2 -o"
    assert document(capsys, *told.split(), str(tmp_path))["parameters"]["most"] == "inf"


def test_doctor_tells_what_is_here_and_how_fast_it_is(capsys, monkeypatch):
    content = document(capsys, "doctor")
    facts = content["facts"]
    # Interpreted Python takes about a million steps a second; a core cannot do ten billion.
    assert 2e6 < content["steps_per_second"] < 1e10
    assert facts["sarsa-sr in riverswim"] == (
        f"{content['steps_per_second'] / 1e6:.0f} million steps/s"
    )
    assert facts["python"] == platform.python_version()
    assert facts["countless"] == countless.__version__
    assert facts["cores"] == usable_cores()
    assert re.fullmatch(r"\d+ GB free", facts["memory"])
    low, high = map(int, re.match(r"about (\d+) to (\d+) s", facts["the published sweep"]).groups())
    assert low == pytest.approx(4.5e9 / content["steps_per_second"], abs=1)
    assert high == pytest.approx(3 * low, abs=2)
    assert re.match(r"on cpu.*; the paper's replay of 7\.1 GB", facts["deep agents"])

    monkeypatch.setattr(
        "countless.agents.dqn.agents.find_spec", lambda name: None if name == "torch" else object()
    )
    monkeypatch.setattr("countless.cli.doctor.PROBE_RUNS", 10)
    code, out, _ = call(capsys, "doctor")
    assert code == 0
    told = " ".join(out.split())  # a narrow terminal breaks lines
    assert "deep agents need torch, which is not installed: " in told
    assert install_hint("deep") in told
    assert "[deep]'" in out  # brackets are no markup


def test_version_and_help(capsys):
    code, out, _ = call(capsys, "--version")
    assert (code, out.strip()) == (0, "0.1.0")
    code, out, _ = call(capsys)
    assert code == 0
    assert "countless run sarsa-sr riverswim" in out
    assert max(map(len, out.splitlines())) <= 80
    for command in ("run", "sweep", "status", "diagnose", "reproduce", "report", "list", "doctor"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert "--json" in capsys.readouterr().out


def helped(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([*argv, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_fits_the_terminal(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    out = helped(capsys, *command)
    assert max(map(len, out.splitlines())) <= 80
    assert "PER_JOB" not in out
    monkeypatch.setenv("COLUMNS", "60")
    out = helped(capsys, *command)
    prose = [line for line in out.splitlines() if not line.startswith("  countless")]
    assert max(map(len, prose)) <= 60


@pytest.mark.parametrize("width", [60, 80])
def test_the_first_steps_fit_the_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = call(capsys)
    assert max(map(len, out.splitlines())) <= width
    for command in ("lab", "watch RUN", "run dqn-mmc-sr deepsea-6 --scale smoke"):
        assert f"  countless {command}" in out


@pytest.mark.parametrize("width", [60, 80])
def test_lists_and_notes_fit_the_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = call(capsys, "list")
    assert max(map(cell_len, out.splitlines())) <= width
    assert OTHER_FORMS in " ".join(out.split())
    _, out, _ = call(capsys, "run", "sarsa-sr", "chain-5", "--runs", "2", "--steps", "20")
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize("agent", ["sarsa-sr", "rmax", "dqn-mmc-sr", "dqn"])
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_help_about_one_agent_is_about_that_agent(capsys, monkeypatch, agent, command):
    monkeypatch.setenv("COLUMNS", "80")
    out = helped(capsys, command, agent)
    assert out.startswith(f"usage: countless {command} {agent} ENV [options]\n")
    assert "AGENT" not in out
    examples = [line.split() for line in out.splitlines() if line.startswith("  countless ")]
    assert examples
    for words in examples:
        assert words[1:3] == [command, agent]
        parse(words[1:])
    assert max(map(len, out.splitlines())) <= 80
    deep = agent.startswith("dqn")
    assert ("--gpus-per-job N" in out) == deep
    assert ("deep" in out.replace("deepsea", "")) == deep
    assert ("--scale smoke|small|laptop|paper" in out) == deep


def test_an_interrupt_that_a_package_turned_into_its_own_error(monkeypatch, capsys):
    def importing(argv):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("half imported")

    monkeypatch.setattr("countless.cli.main._dispatch", importing)
    assert call(capsys)[::2] == (130, "countless: interrupted\n")
    monkeypatch.setattr("countless.cli.main._dispatch", lambda argv: __import__("no_such_module"))
    with pytest.raises(ImportError):
        main([])


def test_help_does_not_wait_for_slow_packages():
    code = (
        "import sys\nfrom countless.cli.main import main\n"
        "try:\n    main(['run', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'numba', 'torch', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_names_every_experiment(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    out = capsys.readouterr().out
    named = " ".join(out.split("EXPERIMENT ")[1].split("options:")[0].split())
    assert named.replace("- ", "-").split(", ") == [*EXPERIMENTS, *GROUPS]  # lines end in hyphens


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonsense"], "unknown command 'nonsense'. Known: list, run, sweep, status"),
        (["repoduce", "table1"], "unknown command 'repoduce'; did you mean 'reproduce'?"),
        (["list", "agent"], "unknown list 'agent'; did you mean 'agents'?"),
        (["run"], "the following arguments are required: AGENT, ENV"),
        (["run", "sarsa-rs", "riverswim"], "unknown agent 'sarsa-rs'; did you mean 'sarsa-sr'"),
        (["run", "sarsa", "rivrswim"], "unknown environment 'rivrswim'; did you mean 'riverswim'"),
        (
            ["run", "sarsa", "riverswim", "--bata", "1"],
            "unknown argument '--bata' of countless run; did you mean --beta?",
        ),
        (["run", "sarsa", "riverswim", "--beta", "1"], "sarsa has no parameter --beta"),
        (["run", "sarsa", "riverswim", "--alpha", "0"], "--alpha must lie in (0, 1], not 0"),
        (["run", "sarsa", "riverswim", "--alpha", "nan"], "--alpha must lie in (0, 1], not nan"),
        (
            ["run", "sarsa", "riverswim", "--alpha", "x"],
            "--alpha must be a number, not 'x'",
        ),
        (["run", "sarsa", "riverswim", "--gamma", "1"], "--gamma must lie in [0, 1), not 1"),
        (
            ["run", "sarsa", "riverswim", "--epsilon", "-0.5"],
            "--epsilon must lie in [0, 1], not -0.5",
        ),
        (["run", "sarsa", "riverswim", "--runs", "0"], "--runs must be a whole number from 1"),
        (
            ["run", "sarsa", "riverswim", "--runs", "1.5"],
            "--runs must be a whole number, not '1.5'",
        ),
        (["run", "sarsa", "riverswim", "--rng", "x"], "--rng must be one of countless, authors"),
        (
            ["run", "sarsa", "riverswim", "--threads", "0"],
            "--threads must be a whole number from 1",
        ),
        (["run", "sarsa", "no.mdp"], "no.mdp: cannot be read"),
        (["run", "random", "riverswim", "--rng", "authors"], "--rng authors replays"),
        (["sweep", "sarsa", "riverswim", "--grid", "no.toml"], "no.toml: cannot be read"),
        (
            ["sweep", "optimal", "riverswim"],
            "optimal has no grid: give one with --grid",
        ),
        (
            ["sweep", "rmax", "riverswim", "--grid", "paper"],
            "the paper has no grid for rmax: leave --grid out for ours, or name a file",
        ),
        (["sweep", "sarsa", "riverswim", "--top", "0"], "--top must be a whole number"),
        (["reproduce", "table99"], "unknown experiment 'table99'"),
        (["reproduce", "table1", "--runs", "0"], "--runs must be a whole number"),
        (["report", "no-such-folder"], "no folder no-such-folder"),
        (["list", "zzz"], "unknown list 'zzz'. Known: agents, envs, bonuses, experiments"),
        (["status", "no-such-folder"], "there is no folder no-such-folder"),
        (["diagnose", "cuonts", "fourrooms"], "unknown bonus 'cuonts'; did you mean 'counts'?"),
        (["diagnose", "counts", "fourrooms", "--set", "beta"], "--set takes NAME=VALUE"),
        (["diagnose", "counts", "fourrooms", "--set", "beta=x"], "beta must be a number"),
        (["diagnose", "counts", "fourrooms", "--set", "b=1"], "counts has no parameter 'b'"),
        (["diagnose", "ssr", "fourrooms", "--set", "form=x"], ": form must be one of shifted"),
        (["diagnose", "counts", "fourrooms", "--seed", "-1"], "--seed must be a whole number"),
        (["diagnose", "counts", "fourrooms", "--seeds", "-1"], "--seeds must be a whole number"),
        (["diagnose", "counts", "fourrooms", "--seeds", "0", "0"], "--seeds names a seed twice"),
        (["diagnose", "counts", "fourrooms", "--seeds", "0-2", "1"], "names a seed twice: 0 1 2 1"),
        (["diagnose", "counts", "fourrooms", "--seeds", "3-1"], "from a smaller to a larger seed"),
        (["diagnose", "counts", "fourrooms", "--seeds", "0-x"], "'0-x' must be a whole number"),
        (["diagnose", "counts", "fourrooms", "--seeds", "0.5"], "or a range as in 0-19"),
        (["run", "sarsa", "riverswim", "--seed", str(2**63)], "from 0 to 2^63 - 1, not"),
        (
            ["reproduce", "beta", "--scale", "smoke", "--seeds", str(2**32), "--estimate"],
            "--seed must be a whole number from 0 to 2^32 - 1, not 4294967296",
        ),
        (["run", "sarsa", "riverswim", "eta"], "unknown argument 'eta' of countless run; see"),
        (["run", "dqn", "deepsea-4", "--sr", "maybe"], ": --sr must be on or off, not 'maybe'"),
        (["run", "dqn", "deepsea-4", "--frames", "x"], ": --frames must be a whole number"),
        (
            ["run", "e3", "riverswim", "--counts", "ssr", "--gamma-ssr", "0.5"],
            "--gamma-ssr must be below 0.5 for --counts ssr, not 0.5: Theorem 1's lower bound",
        ),
        (
            ["run", "rmax", "riverswim", "--counts", "ssr", "--gamma-ssr", "1e-9"],
            "--gamma-ssr must lie in [1e-06, 1), not 1e-09",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, argv, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *argv)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("countless: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_counts_that_the_norm_overstates_are_told(capsys, tmp_path):
    words = ["run", "rmax", "riverswim", "--counts", "ssr", "--runs", "2", "--steps", "10"]
    place = ["--out", str(tmp_path)]
    code, out, err = call(capsys, *words, "--gamma-ssr", "0.05", "--json", *place)
    assert code == 0
    assert json.loads(out)
    assert "countless: --gamma-ssr 0.05 is above 1/m² = 0.003906: the norm overstates" in err
    assert "overstates" not in call(capsys, *words, *place)[2]


def test_a_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    for argv in (
        ["run", "sarsa", "riverswim", "--runs", "1", "--steps", "1"],
        ["sweep", "sarsa", "riverswim"],
        ["reproduce", "table1"],
    ):
        code, _, err = call(capsys, *argv, "-o", str(tmp_path / "file" / "x"))
        assert code == 2
        assert "cannot write to the folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_failure_while_running_is_exit_1(capsys, tmp_path):
    code, _, err = call(capsys, "report", str(tmp_path), "-o", str(tmp_path / "report"))
    assert code == 1
    assert "holds no results; make some with `countless run`" in err


def test_status(capsys, tmp_path):
    code, out, _ = call(capsys, "status", str(tmp_path))
    assert (code, "holds no jobs" in out) == (0, True)
    done = document(capsys, "run", "sarsa", "riverswim", "--runs", "4", "--steps", "50")
    for seed in ("1", "2", "3"):
        document(
            capsys, "run", "sarsa", "riverswim", "--runs", "4", "--steps", "50", "--seed", seed
        )
    partial, damaged, running = (
        next(Path("results").glob(f"sarsa-riverswim-seed-{seed}-*")) for seed in (1, 2, 3)
    )
    (partial / "finished.json").unlink()
    (damaged / "job.json").write_text("{")
    with locked(running):
        content = document(capsys, "status")
        _, out, _ = call(capsys, "status", "results")
    assert content["states"] == {"finished": 1, "partial": 1, "damaged": 1, "running": 1}
    by_state = {job["state"]: job for job in content["jobs"]}
    finished = by_state["finished"]
    assert (finished["done"], finished["of"], finished["unit"]) == (4, 4, "runs")
    assert finished["mean_return"] == done["returns"]["mean"]
    assert finished["folder"] == Path(done["folder"]).name
    assert by_state["partial"]["folder"] == partial.name
    assert by_state["running"]["folder"] == running.name
    assert by_state["damaged"]["folder"] == damaged.name
    assert by_state["damaged"]["agent"] is None
    assert out.startswith("4 jobs: 1 finished, 1 partial, 1 running, 1 damaged\n")
    assert "AGENT-ENV-seed-SEED-ID" in out
    row = next(line.split() for line in out.splitlines() if " finished " in line)
    assert row[:7] == [
        "sarsa",
        "riverswim",
        "0",
        Path(done["folder"]).name[-10:-4],
        "finished",
        "4",
        "runs",
    ]
    assert len(row[7].replace(",", "").strip("0")) <= 3  # digits of the return that count


@pytest.mark.parametrize("width", [60, 80, 120])
def test_status_fits_the_terminal_and_breaks_no_word(capsys, monkeypatch, width):
    jobs = [
        {"folder": f"{agent}-{env}-seed-{seed}-8b879c8b9e", "agent": agent, "env": env, "seed": seed,
         "state": "finished", "done": 100_000, "of": 100_000, "unit": "frames", "mean_return": mean,
         "settings": ["bonus sr-norm", "view pictures", "norm 2", "beta 0.3", "gamma 0.9"][:seed]}
        for agent in ("dqn", "sr-norm-and-visits", "dqn-mmc-sr")
        for env, seed, mean in [("bsuite-deepsea-10", 0, -0.000107), ("fourrooms", 12, 2_533.7)]
    ]  # fmt: skip
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(job_table(jobs, Path("evidence"), width))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 jobs: 6 finished"
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert {"-0.0001", "2,530", "100,000", "finished", "fourrooms"} <= words
    assert words & {"bsuite-deepsea-10", "deepsea-10", "deepsea-"}  # broken after hyphens
    assert ("settings" in words) == (width == 120)
    assert ({"sr-norm,", "pictures,", "2", "more"} <= words) == (width == 120)
    assert "0.3" not in words


def test_the_report_shows_runs_of_ones_own(capsys, tmp_path):
    run = ("riverswim", "--runs", "6", "--steps", "50")
    for agent in ("sarsa", "rmax"):
        document(capsys, "run", agent, *run)
    grid = tmp_path / "grid.toml"
    grid.write_text("alpha = [0.1, 0.2]\n")
    document(capsys, "sweep", "sarsa", *run, "--grid", str(grid))
    document(capsys, "run", "random", "chain-5", "--runs", "2", "--steps", "50")
    content = document(capsys, "report")
    assert content["sections"] == ["runs-chain-5", "runs-riverswim"]
    html = Path(content["report"]).read_text()
    for text in ("rmax", "alpha 0.1", "alpha 0.2", "Runs in chain-5", '"kind":"lines"'):
        assert text in html
    chain = html[html.index('id="runs-chain-5"') : html.index('id="runs-riverswim"')]
    assert "range " in chain[chain.index("<tbody>") : chain.index("</tbody>")]  # two runs
    assert "the range from the lowest to the highest run" in chain
    river = html[html.index('id="runs-riverswim"') :]
    assert "range " not in river[river.index("<tbody>") : river.index("</tbody>")]
    assert "What was run here: 4 jobs of random, rmax and sarsa in chain-5 and riverswim." in html
    assert "beside what the paper" not in html
    assert "parameters of rmax" in html


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_stopped_sweep_keeps_what_is_finished_and_goes_on(tmp_path, number, expected):
    grid = tmp_path / "grid.toml"
    grid.write_text(f"alpha = {[i / 100 for i in range(1, 61)]}\n")
    command = [
        sys.executable, "-m", "countless", "sweep", "sarsa-sr", "riverswim", "--grid", str(grid),
        "--norm", "2", "--runs", "1000", "-o", str(tmp_path / "out"), "--json",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("out/*/records/part-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == expected, err
    assert out == ""
    assert "Traceback" not in err
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/records/part-*.parquet")}
    assert kept
    assert not list(tmp_path.glob("out/**/.*"))
    assert "what is finished is kept in" in err
    assert not list(tmp_path.glob("out/*/finished.json"))
    grown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert len(json.loads(grown.stdout)["settings"]) == 60
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())


@pytest.mark.parametrize("option", ["--seeds", "--frames"])
def test_tabular_agents_refuse_options_of_deep_ones(capsys, option):
    code, _, err = call(capsys, "run", "sarsa", "riverswim", option, "1")
    assert code == 2
    assert "sarsa is a tabular agent: it takes --runs, --steps, --rng, --seed, not" in err
