"""countless run with a deep agent: what it prints, how it fails, how it stops."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from countless.agents.dqn.cost import Cost
from countless.agents.dqn.device import Device
from countless.cli.main import main
from countless.cli.plan import _time, announce, announce_experiment
from countless.cli.run import what_to_do_next
from countless.core.errors import install_hint
from countless.experiments.catalogue import EXPERIMENTS
from countless.experiments.experiment import Plan, Records
from countless.runs.lock import is_locked
from countless.runs.store import Store
from small_runs import (
    TINY,
    checkpoint_bytes,
    children,
    deep_job,
    episodes,
    execute,
    kept_counters,
    wait_for,
)

OPTIONS = [
    word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))
]
RUN = ["run", "dqn-mmc-sr", "deepsea-5", *OPTIONS, "--device", "cpu"]


def call(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def process(*argv):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "countless", *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip


def place(out, **more):
    """The folder of the run in a store."""
    return Store(out).place(deep_job(**more))


def test_a_run_and_the_same_again(capsys, tmp_path):
    arguments = [*RUN, "--frames", "100", "-o", str(tmp_path)]
    code, out, err = call(capsys, *arguments)
    assert code == 0, err
    assert "dqn-mmc-sr in deepsea-5: 100 frames, variant paper" in out
    assert "mean of last 100" in out
    folder = place(tmp_path)
    assert str(folder) in out
    assert (folder / "finished.json").exists()
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert call(capsys, *arguments)[:2] == (0, out)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == stamps


def test_json_is_one_document(capsys, tmp_path):
    code, out, _ = call(capsys, *RUN, "--frames", "1e2", "-o", str(tmp_path), "--json")
    assert code == 0
    assert out.count("\n") == 1
    content = json.loads(out)
    (run,) = content["runs"]
    assert (content["agent"], content["env"], run["seed"], content["frames"]) == (
        "dqn-mmc-sr", "deepsea-5", 0, 100,
    )  # fmt: skip
    assert set(run) >= {
        "seed", "episodes", "performance", "last_scores", "steps_per_second", "features", "folder",
    }  # fmt: skip
    assert run["episodes"] == len(run["last_scores"]) == 20
    assert content["config"]["width"] == 0.0625
    assert content["config"]["beta"] == 0.05
    assert run["performance"] is not None
    assert run["folder"] == str(place(tmp_path))


def test_an_infinite_norm_survives_json(capsys, tmp_path):
    arguments = [*RUN, "--frames", "40", "--norm", "inf", "-o", str(tmp_path), "--json"]
    for _ in range(2):
        code, out, err = call(capsys, *arguments)
        assert code == 0, err
        assert json.loads(out)["config"]["norm"] == "inf"


def test_the_ablations_and_variants_from_the_command_line(capsys, tmp_path):
    for i, (options, changed) in enumerate(
        [
            (["--reconstruction", "off"], {"reconstruction": False, "sr": True}),
            (["--bonus", "off"], {"bonus": "off", "sr": False, "reconstruction": True}),
            (["--norm", "2"], {"norm": 2.0, "beta": 0.025}),
            (["--variant", "authors"], {"variant": "authors", "norm": 2.0, "sr_target": "next"}),
            (["--scale", "smoke"], {"width": 0.0625, "target_period": 40}),
        ]
    ):
        folder = str(tmp_path / str(i))
        code, out, err = call(capsys, *RUN, *options, "--frames", "20", "-o", folder, "--json")
        assert code == 0, err
        config = json.loads(out)["config"]
        assert {name: config[name] for name in changed} == changed


def test_without_a_folder_runs_are_kept_in_results(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ["run", "dqn-mmc-sr", "deepsea-5", "--scale", "smoke", "--frames", "20", "--json"]
    folders = set()
    for options in ([], ["--norm", "2"], ["--bonus", "off"]):
        code, out, err = call(capsys, *short, *options)
        assert code == 0, err
        folders.add(json.loads(out)["runs"][0]["folder"])
    assert len(folders) == 3  # other settings are other jobs
    assert all(f.startswith("results/dqn-mmc-sr-deepsea-5-seed-0-") for f in folders)


def test_features_that_collapsed_are_told(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.features.LEAST_RANK", 1e9)
    arguments = (*RUN, "--frames", "40", "-o", str(tmp_path))
    _, out, _ = call(capsys, *arguments)
    assert "the features have collapsed (effective rank" in out
    monkeypatch.undo()
    monkeypatch.setattr("countless.agents.dqn.features.LEAST_RANK", 0.0)
    assert "have collapsed" not in call(capsys, *arguments, "--seed", "1")[1]


def test_what_it_will_take_is_said_first(capsys, tmp_path):
    arguments = (*RUN, "--frames", "40", "--seeds", "0", "1", "-o", str(tmp_path))
    _, out, err = call(capsys, *arguments)
    assert "dqn-mmc-sr in deepsea-5: 40 frames per run, 2 runs to do" in err
    assert f"kept in {tmp_path}" in err
    lines = out.splitlines()  # none of these is broken: they are to be pasted
    assert f"  tensorboard --logdir {tmp_path}" in lines
    for seed in (0, 1):
        assert f"  countless watch {place(tmp_path, seed=seed)}" in lines
    assert "runs to do" not in call(capsys, *arguments)[2]  # all is done
    assert call(capsys, *arguments, "--json")[2] == ""


def test_the_first_of_many_runs_are_named_to_look_at():
    folders = [Path(f"my runs/dqn-seed-{seed}") for seed in range(5)]
    assert what_to_do_next(folders).splitlines() == [
        "To look at it:",
        "  tensorboard --logdir 'my runs'",
        *(f"  countless watch 'my runs/dqn-seed-{seed}'" for seed in range(3)),
        "and 2 more in my runs",
    ]
    assert "  tensorboard --logdir 'my runs/dqn-seed-0'" in what_to_do_next(folders[:1])


def test_the_time_of_a_long_run_is_measured(tmp_path):
    job = deep_job(frames=300_000)
    words = _time(job, Store(tmp_path))
    assert re.fullmatch(r"about .* per run: [\d,]+ steps per second, measured just now", words)


def test_the_time_is_told_on_any_device_from_a_minute_on(tmp_path, capsys, monkeypatch):
    asked = []

    def measured(env, config, device):
        asked.append(device.name)
        return Cost({"all": 0.01}, 1.0, 1)

    monkeypatch.setattr("countless.agents.dqn.cost.measure_cost", measured)
    monkeypatch.setattr("countless.runs.dqn.DqnJob.check", lambda job, folder: None)
    monkeypatch.setenv("COLUMNS", "80")
    announce([replace(deep_job(frames=20_000), device=Device("cuda"))], tmp_path)
    err = " ".join(capsys.readouterr().err.split())
    assert "about 3.3 minutes per run: 100 steps per second, measured" in err
    assert "it may take longer" in err
    announce([deep_job(frames=20_000)], tmp_path)
    err = " ".join(capsys.readouterr().err.split())
    assert err.endswith("100 steps per second, measured just now")
    announce([deep_job(frames=19_999)], tmp_path)
    assert "per second" not in capsys.readouterr().err
    assert asked == ["cuda", "cpu"]


def test_what_an_experiment_will_take_is_said_first(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    jobs = [deep_job(frames=frames, seed=seed) for seed, frames in enumerate((100, 200))]
    announce_experiment("table3", "paper", jobs, Store(tmp_path))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["table3 at --scale paper: 2 jobs of 2 to do", "  up to 200 frames per run"]
    assert re.fullmatch(r"  on cpu, 1 thread and \d+\.\d GB of memory per run", lines[2])
    assert lines[3].startswith(f"  kept in {tmp_path}, saved every ")
    assert lines[4].startswith("  `--estimate` says how long this takes. --scale smoke takes")
    assert max(len(line) for line in lines if "kept in" not in line) <= 80


@pytest.mark.parametrize("name", [e.name for e in EXPERIMENTS.values() if e.engine == "dqn"])
def test_every_deep_experiment_says_what_it_will_take(name, tmp_path, capsys):
    experiment = EXPERIMENTS[name]
    plan = Plan(scale="smoke", games=experiment.games_at("smoke"))
    store = Store(tmp_path)
    jobs = next(iter(experiment.jobs(plan, Records(store))))
    announce_experiment(name, "smoke", jobs, store)
    said = capsys.readouterr().err
    assert said.startswith(f"{name} at --scale smoke: ")
    assert f"kept in {tmp_path}" in said


def test_help_of_one_agent_shows_its_own_options(capsys):
    def shown(agent):
        with pytest.raises(SystemExit):
            main(["run", agent, "--help"])
        return " ".join(capsys.readouterr().out.split())

    deep, tabular = shown("dqn"), shown("sarsa")
    assert "--alpha" in tabular
    assert "--alpha" not in deep
    assert "--tau X weight of the Monte-Carlo return in the TD error; [0, 1] (default: 0)" in deep
    assert "--tau" not in tabular
    assert "--device" not in tabular
    assert "--w-sr" not in deep  # it has no successor features
    assert "--w-sr" in shown("dqn-mmc-sr")
    for part in ("network:", "losses:", "replay:", "exploration:", "environment:"):
        assert part in deep


def test_more_frames_go_on(capsys, tmp_path):
    out = str(tmp_path)
    assert call(capsys, *RUN, "--frames", "60", "-o", out)[0] == 0
    assert call(capsys, *RUN, "--frames", "90", "-o", out)[0] == 0
    assert len(episodes(place(tmp_path))) == 18


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["dqn-mmc-sr", "MontezumasRevenge"], "did you mean MontezumaRevenge"),
        (["dqn-mmc-sr", "Freway"], "did you mean Freeway"),
        (["dqn", "deepsea-x"], "needs a size"),
        (["dqn", "Pendulum-v1"], "actions must be discrete"),
        (["dqn-mcc", "Freeway"], "unknown agent 'dqn-mcc'; did you mean 'dqn-mmc'"),
        (
            ["dqn", "Freeway", "--runs", "3"],
            "dqn is a deep agent: it takes --seeds, --frames, --scale",
        ),
        (["dqn", "Freeway", "--steps", "3"], "--seed, not --steps"),
        (["dqn", "Freeway", "--rng", "authors"], "--seed, not --rng"),
        (["dqn", "Freeway", "--device", "cuda:77"], "there is no device 'cuda:77' here"),
        (["dqn", "Freeway", "--device", "abacus"], "there is no device 'abacus' here"),
        (["dqn", "Freeway", "--precision", "float8"], "--precision must be one of"),
        (["dqn", "Freeway", "--replay", "1e15"], "a replay of 1,000,000,000,000,000 frames needs"),
        (["dqn", "Freeway", "--replay", "7"], "--replay must lie in [8, inf), not 7"),
        (["dqn", "Freeway", "--frames", "0"], "--frames must be a whole number from 1"),
        (["dqn", "Freeway", "--frames", "1.5"], "--frames must be a whole number, not '1.5'"),
        (["dqn", "Freeway", "--seed", "-1"], "--seed must be a whole number"),
        (["dqn", "Freeway", "--seeds", "-1"], "--seeds must be a whole number"),
        (["dqn", "Freeway", "--seeds", "1", "1"], "--seeds names a seed twice"),
        (["dqn", "Freeway", "--seed", "1", "--seeds", "2"], "give --seed or --seeds, not both"),
        (
            ["sarsa", "riverswim", "--scale", "smoke"],
            "sarsa is a tabular agent: it takes --runs, --steps, --rng, --seed, not --scale",
        ),
        (["dqn", "Freeway", "--threads", "0"], "--threads must be a whole number from 1"),
        (["dqn", "Freeway", "--scale", "huge"], "--scale must be one of smoke, laptop, paper"),
        (["dqn", "Freeway", "--variant", "ours"], "--variant must be one of paper, authors"),
        (["dqn", "Freeway", "--alpha", "0.1"], "dqn has no parameter --alpha"),
        (["dqn", "Freeway", "--gamma", "1"], "--gamma must lie in [0, 1), not 1"),
        (["dqn-mmc-sr", "Freeway", "--sr", "off"], "the bonus of the SR needs the SR"),
        (["dqn", "Freeway", "--network", "tiny"], "--network must be one of auto, auto-nature, oh"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, argv, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "run", *argv)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("countless: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_not_there(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    code, _, err = call(capsys, "run", "dqn", "Freeway", "--device", "cuda", "-o", str(tmp_path))
    assert code == 2
    assert "there is no device 'cuda' here; there is cpu" in err


def test_a_corrupted_checkpoint(capsys, tmp_path):
    out = str(tmp_path)
    assert call(capsys, *RUN, "--frames", "20", "-o", out)[0] == 0
    (place(tmp_path) / "checkpoint" / "bonus.1.safetensors").write_bytes(b"")
    code, _, err = call(capsys, "status", out, "--verify")
    assert code == 1
    assert "bonus.1.safetensors has 0 bytes, not the" in err
    code, _, err = call(capsys, *RUN, "--frames", "40", "-o", out)
    assert code == 0
    assert "bonus.1.safetensors has 0 bytes, not the" in err
    assert "this checkpoint is set aside, and the run goes on" in err
    assert call(capsys, "status", out, "--verify")[0] == 0


def test_a_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = call(capsys, *RUN, "--frames", "20", "-o", str(tmp_path / "file" / "x"))
    assert code == 2
    assert "cannot write to the folder" in err


def test_a_loss_that_is_no_number_is_exit_1(capsys, tmp_path):
    wild = ["--learning-rate", "1e30", "--w-reconstruction", "1e30", "--frames", "2000"]
    code, out, err = call(capsys, *RUN, *wild, "-o", str(tmp_path))
    assert (code, out) == (1, "")
    assert "a loss is not finite" in err
    assert "nonfinite_batch.npz" in err
    assert len(err.splitlines()[3:]) == 1  # after what it will take


def test_missing_packages_are_named(capsys, monkeypatch):
    monkeypatch.setattr(
        "countless.agents.dqn.agents.find_spec", lambda name: None if name == "ale_py" else object()
    )
    code, _, err = call(capsys, "run", "dqn", "Freeway")
    assert code == 2
    assert f"deep agents need ale_py, which is not installed: {install_hint('deep')}" in err


STOPPED = [*RUN, "--frames", "3000"]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    return execute(deep_job(frames=3000), tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGUSR1, 75), (signal.SIGINT, 130)])
def test_stopped_by_a_signal_it_goes_on_later(tmp_path, capsys, never_stopped, number, expected):
    folder = place(tmp_path)
    running = process(*STOPPED, "-o", str(tmp_path))
    wait_for(lambda: episodes(folder))
    os.kill(running.pid, number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == expected, err
    assert out == ""
    assert "Traceback" not in err
    assert "the same command goes on from there" in err
    assert 0 < kept_counters(folder)["frames"] < 3000
    assert not (folder / "finished.json").exists()
    code, _, err = call(capsys, *STOPPED, "-o", str(tmp_path))
    assert code == 0, err
    assert episodes(folder) == episodes(never_stopped.folder)
    assert Store(tmp_path).find(deep_job(frames=3000)).records.equals(never_stopped.records)
    assert checkpoint_bytes(folder) == checkpoint_bytes(never_stopped.folder)


def test_several_seeds_are_single_runs_at_once(tmp_path, capsys):
    arguments = [*RUN, "--frames", "100"]
    running = process(*arguments, "--seeds", "0", "1", "-o", str(tmp_path / "both"), "--json")
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert [run["seed"] for run in json.loads(out)["runs"]] == [0, 1]
    for seed in (0, 1):
        code, _, err = call(capsys, *arguments, "--seed", str(seed), "-o", str(tmp_path / "single"))
        assert code == 0, err
        one, same = (place(tmp_path / name, seed=seed) for name in ("both", "single"))
        assert episodes(one) == episodes(same)
        assert checkpoint_bytes(one) == checkpoint_bytes(same)


@pytest.mark.parametrize("first", ["parent", "worker"])
def test_a_signal_to_the_processes_of_several_seeds(tmp_path, first):
    """A batch system may send it to the parent alone, or to all of them, a worker first."""
    arguments = [*RUN, "--frames", "1e7", "--seeds", "0", "1", "-o", str(tmp_path)]
    running = process(*arguments)
    folders = [place(tmp_path, seed=seed) for seed in (0, 1)]
    wait_for(lambda: all(episodes(folder) for folder in folders))
    pid = running.pid if first == "parent" else children(running.pid)[0]
    os.kill(pid, signal.SIGUSR1)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 75, err
    assert "Traceback" not in err
    for folder in folders:
        assert kept_counters(folder)["step"] > 0
        assert not is_locked(folder)


def test_an_experiment_that_is_stopped_keeps_its_checkpoints(tmp_path):
    running = process("reproduce", "deepsea", "--scale", "smoke", "-o", str(tmp_path))
    wait_for(lambda: list(tmp_path.glob("*/episodes.jsonl")))
    os.kill(running.pid, signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 75, err
    assert out == ""
    assert "stopped by SIGTERM" in err
    assert "Traceback" not in err
    for log in tmp_path.glob("*/episodes.jsonl"):
        assert (log.parent / "finished.json").exists() or kept_counters(log.parent)


def test_stopped_on_ray_it_goes_on_here(tmp_path, capsys, never_stopped):
    """Ctrl-C reaches all processes of the terminal, those of Ray too."""
    arguments = [*STOPPED, "-o", str(tmp_path)]
    folders = [place(tmp_path, seed=seed) for seed in (0, 1)]
    on_ray = ["--engine", "ray", "--memory-per-job", "0.1", "--json"]
    running = process(*arguments, *on_ray, "--seeds", "0", "1")
    wait_for(lambda: all(episodes(folder) for folder in folders))
    assert call(capsys, "status", str(tmp_path))[1].count("running") >= 2
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert "the same command goes on from there" in err
    for folder in folders:
        assert 0 < kept_counters(folder)["frames"] < 3000
        assert not is_locked(folder)
    code, _, err = call(capsys, *arguments, "--engine", "local")
    assert code == 0, err
    assert checkpoint_bytes(folders[0]) == checkpoint_bytes(never_stopped.folder)


def test_bad_input_of_a_seed_among_several(tmp_path):
    assert main([*RUN, "--frames", "20", "--seed", "0", "-o", str(tmp_path)]) == 0
    (place(tmp_path, seed=0)).rename(tmp_path / "x")
    (tmp_path / "x").rename(place(tmp_path, seed=1))
    running = process(*RUN, "--frames", "40", "--seeds", "0", "1", "-o", str(tmp_path))
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, "")
    assert "job.json is of another job" in err
    assert err.count("\n") == 1
    assert not place(tmp_path, seed=0).exists()  # nothing was begun


def test_status_and_report_of_deep_runs(tmp_path, capsys):
    out = str(tmp_path / "store")
    for seed in ("0", "1"):
        assert call(capsys, *RUN, "--frames", "60", "--seed", seed, "-o", out)[0] == 0
    (place(tmp_path / "store", seed=1) / "finished.json").unlink()
    code, printed, _ = call(capsys, "status", out, "--json")
    jobs = {job["seed"]: job for job in json.loads(printed)["jobs"]}
    assert (jobs[0]["state"], jobs[0]["done"], jobs[0]["of"]) == ("finished", 60, 60)
    assert (jobs[1]["state"], jobs[1]["done"], jobs[1]["unit"]) == ("partial", 60, "frames")
    code, printed, _ = call(capsys, "report", out, "-o", str(tmp_path / "report"), "--json")
    assert (code, json.loads(printed)["sections"]) == (0, ["runs-deepsea-5"])
    html = (tmp_path / "report" / "report.html").read_text()
    assert "dqn-mmc-sr" in html
    assert "60 frames" in html


def test_help_tells_of_deep_agents(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    out = capsys.readouterr().out
    for option in ("--frames", "--seeds", "--scale", "--device"):
        assert option in out
    assert "--w-sr" not in out  # the parameters of an agent are in its own help
    assert "countless run AGENT --help" in out
    assert len(out.splitlines()) < 70


def test_status_tells_settings_apart(tmp_path, capsys, monkeypatch):
    """In a wide terminal, those in which runs of one agent in one environment differ."""
    out, alike = str(tmp_path / "store"), str(tmp_path / "alike")
    assert call(capsys, *RUN, "--frames", "20", "-o", out)[0] == 0
    assert call(capsys, *RUN, "--frames", "20", "--beta", "0.7", "-o", out)[0] == 0
    assert call(capsys, *RUN, "--frames", "20", "--seeds", "0", "1", "-o", alike)[0] == 0
    told = [job["settings"] for job in json.loads(call(capsys, "status", out, "--json")[1])["jobs"]]
    assert sorted(words[0].split()[0] for words in told) == ["beta", "beta"]
    assert ["beta 0.7"] in told
    shown = {}
    for folder, width in ((out, "130"), (out, "80"), (alike, "130")):
        monkeypatch.setenv("COLUMNS", width)
        shown[folder, width] = call(capsys, "status", folder)[1]
    assert " beta 0.7 " in shown[out, "130"]
    assert " settings " not in shown[out, "80"]
    assert " settings " not in shown[alike, "130"]
