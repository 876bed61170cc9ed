"""countless run with a deep agent: what it prints, how it fails, how it stops."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from countless.runs.deep import Status, make_job, read_episodes, run_deep

from countless.agents.dqn import checkpoint
from countless.cli import deep
from countless.cli.main import main

TINY = {
    "width": 0.0625, "history": 2, "replay": 500, "warmup": 30, "target_period": 40,
    "epsilon_steps": 100, "max_frames": 150, "batch": 8,
}  # fmt: skip
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


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def contents(folder):
    """A checkpoint's bytes, but for zip files, which hold the time."""
    state = checkpoint.read_state(folder / "checkpoint")
    names = [name for name in state["files"] if not name.endswith(".npz")]
    return {name: (folder / "checkpoint" / name).read_bytes() for name in names}


def test_a_run_and_the_same_again(capsys, tmp_path):
    arguments = [*RUN, "--frames", "100", "-o", str(tmp_path)]
    code, out, err = call(capsys, *arguments)
    assert code == 0, err
    assert "dqn-mmc-sr in deepsea-5: 100 frames, variant paper" in out
    assert "mean of last 100" in out
    folder = tmp_path / "dqn-mmc-sr" / "deepsea-5" / "seed-0"
    assert (folder / "finished.json").exists()
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "done before" in out
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == stamps


def test_json_is_one_document(capsys, tmp_path):
    code, out, _ = call(capsys, *RUN, "--frames", "1e2", "-o", str(tmp_path), "--json")
    assert code == 0
    assert out.count("\n") == 1
    (run,) = json.loads(out)["runs"]
    assert (run["agent"], run["env"], run["seed"], run["frames"]) == (
        "dqn-mmc-sr", "deepsea-5", 0, 100,
    )  # fmt: skip
    assert run["episodes"] == 20
    assert run["config"]["width"] == 0.0625
    assert run["config"]["beta"] == 0.05
    assert run["performance"] is not None


def test_an_infinite_norm_survives_json(capsys, tmp_path):
    arguments = [*RUN, "--frames", "40", "--norm", "inf", "-o", str(tmp_path), "--json"]
    for _ in range(2):
        code, out, err = call(capsys, *arguments)
        assert code == 0, err
        assert json.loads(out)["runs"][0]["config"]["norm"] == "inf"


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
        config = json.loads(out)["runs"][0]["config"]
        assert {name: config[name] for name in changed} == changed


def test_without_a_folder_other_settings_have_their_own(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = ["run", "dqn-mmc-sr", "deepsea-5", "--scale", "smoke", "--frames", "20"]
    for options, name in (
        ([], "dqn-mmc-sr"),
        (["--norm", "2"], "dqn-mmc-sr-norm=2"),
        (["--bonus", "off", "--norm", "2"], "dqn-mmc-sr-bonus=off-norm=2"),
    ):
        code, out, err = call(capsys, *short, *options)
        assert code == 0, err
        assert f"results/deep/smoke/{name}/deepsea-5/seed-0" in out


@pytest.mark.parametrize(
    ("frames", "told"), [(3_736, "3,736 frames"), (12_345_678, "12.3M frames")]
)
def test_how_a_run_stands_fits_a_narrow_terminal(frames, told):
    job = make_job("dqn-mmc-sr", "deepsea-5", device="cpu", parameters=TINY)
    status = Status(job, 30, frames, 862.4, 6_240, -0.005873, 0.1, 0.3456)
    words = deep._words(status, 30, narrow=True)
    assert words == f"{told} 862/s 6240 ep. mean -0.00587 ε 0.10 bonus 0.35"
    assert len(f"seed 0  12% {words} 06:33") <= 80
    assert f"{frames:,} frames" in deep._words(status, 30)


def test_features_that_collapsed_are_told(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.features.COLLAPSED", 1e9)
    arguments = (*RUN, "--frames", "40", "-o", str(tmp_path))
    _, out, _ = call(capsys, *arguments)
    assert "the features have collapsed (effective rank" in out
    monkeypatch.undo()
    monkeypatch.setattr("countless.agents.dqn.features.COLLAPSED", 0.0)
    assert "have collapsed" not in call(capsys, *arguments, "--seed", "1")[1]


def test_help_of_one_agent_shows_its_own_options(capsys):
    def shown(agent):
        with pytest.raises(SystemExit):
            main(["run", agent, "--help"])
        return " ".join(capsys.readouterr().out.split())

    deep, tabular = shown("dqn"), shown("sarsa")
    assert "--alpha" in tabular
    assert "--alpha" not in deep
    assert "--tau TAU weight of the Monte-Carlo return in the error; [0, 1] (default: 0)" in deep
    assert "--tau" not in tabular
    assert "--device" not in tabular


def test_more_frames_go_on(capsys, tmp_path):
    out = str(tmp_path)
    assert call(capsys, *RUN, "--frames", "60", "-o", out)[0] == 0
    assert call(capsys, *RUN, "--frames", "90", "-o", out)[0] == 0
    folder = tmp_path / "dqn-mmc-sr" / "deepsea-5" / "seed-0"
    assert len(read_episodes(folder)) == 18


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["dqn-mmc-sr", "MontezumasRevenge"], "did you mean MontezumaRevenge"),
        (["dqn-mmc-sr", "Freway"], "did you mean Freeway"),
        (["dqn", "deepsea-x"], "needs a size"),
        (["dqn", "Pendulum-v1"], "actions must be discrete"),
        (["dqn-mcc", "Freeway"], "unknown agent 'dqn-mcc'; did you mean 'dqn-mmc'"),
        (["dqn", "Freeway", "--runs", "3"], "dqn is a deep agent: give --frames and --seeds"),
        (["dqn", "Freeway", "--steps", "3"], "dqn is a deep agent: give --frames and --seeds"),
        (["dqn", "Freeway", "--rng", "authors"], "--rng authors is for tabular agents"),
        (["dqn", "Freeway", "--device", "cuda:77"], "there is no device 'cuda:77' here"),
        (["dqn", "Freeway", "--device", "abacus"], "there is no device 'abacus' here"),
        (["dqn", "Freeway", "--precision", "float8"], "precision must be one of"),
        (["dqn", "Freeway", "--replay", "1e15"], "a replay of 1,000,000,000,000,000 frames needs"),
        (["dqn", "Freeway", "--replay", "7"], "replay must lie in [8, inf), not 7"),
        (["dqn", "Freeway", "--frames", "0"], "frames must be at least 1, not 0"),
        (["dqn", "Freeway", "--frames", "1.5"], "argument --frames: invalid number value"),
        (["dqn", "Freeway", "--seed", "-1"], "seed must be a whole number"),
        (["dqn", "Freeway", "--seeds", "1", "1"], "--seeds names a seed twice"),
        (["dqn", "Freeway", "--seed", "1", "--seeds", "2"], "give --seed or --seeds, not both"),
        (["sarsa", "riverswim", "--scale", "smoke"], "--scale is for deep agents"),
        (["dqn", "Freeway", "--threads", "0"], "threads must be a whole number from 1, not 0"),
        (["dqn", "Freeway", "--scale", "huge"], "scale must be one of smoke, laptop, paper"),
        (["dqn", "Freeway", "--variant", "ours"], "variant must be one of paper, authors"),
        (["dqn", "Freeway", "--alpha", "0.1"], "dqn has no parameter 'alpha'"),
        (["dqn", "Freeway", "--gamma", "1"], "gamma must lie in [0, 1), not 1"),
        (["dqn-mmc-sr", "Freeway", "--sr", "off"], "the bonus of the SR needs the SR"),
        (["dqn", "Freeway", "--network", "tiny"], "network must be one of auto, auto-nature, oh"),
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


def test_another_configuration_is_named(capsys, tmp_path):
    out = str(tmp_path)
    assert call(capsys, *RUN, "--frames", "20", "-o", out)[0] == 0
    code, _, err = call(capsys, *RUN, "--frames", "40", "--beta", "0.5", "-o", out)
    assert code == 2
    assert "holds a run of another configuration (beta 0.05, now 0.5)" in err
    assert err.count("\n") == 1


def test_a_corrupted_checkpoint(capsys, tmp_path):
    out = str(tmp_path)
    assert call(capsys, *RUN, "--frames", "20", "-o", out)[0] == 0
    (tmp_path / "dqn-mmc-sr/deepsea-5/seed-0/checkpoint/replay.flags.npy").write_bytes(b"")
    code, _, err = call(capsys, *RUN, "--frames", "40", "-o", out)
    assert code == 2
    assert "replay.flags.npy has changed since it was written" in err


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
    assert err.count("\n") == 1


def test_missing_packages_are_named(capsys, monkeypatch):
    monkeypatch.setattr(
        "countless.agents.dqn.agents.find_spec", lambda name: None if name == "ale_py" else object()
    )
    code, _, err = call(capsys, "run", "dqn", "Freeway")
    assert code == 2
    assert "deep agents need ale_py, which is not installed: pip install 'countless[deep]'" in err


STOPPED = [*RUN, "--frames", "3000"]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    job = make_job("dqn-mmc-sr", "deepsea-5", frames=3000, device="cpu", parameters=TINY)
    torch.set_num_threads(1)
    return run_deep(job, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_stopped_by_a_signal_it_goes_on_later(tmp_path, capsys, never_stopped, number, expected):
    folder = tmp_path / "dqn-mmc-sr" / "deepsea-5" / "seed-0"
    running = process(*STOPPED, "-o", str(tmp_path))
    wait_for(lambda: read_episodes(folder))
    os.kill(running.pid, number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == expected, err
    assert out == ""
    assert "Traceback" not in err
    assert "the same command goes on from there" in err
    assert 0 < checkpoint.read_state(folder / "checkpoint")["counters"]["frames"] < 3000
    assert not (folder / "finished.json").exists()
    code, _, err = call(capsys, *STOPPED, "-o", str(tmp_path))
    assert code == 0, err
    assert read_episodes(folder) == never_stopped.episodes
    assert contents(folder) == contents(never_stopped.folder)


def test_several_seeds_are_single_runs_at_once(tmp_path, capsys):
    arguments = [*RUN, "--frames", "100"]
    running = process(*arguments, "--seeds", "0", "1", "-o", str(tmp_path / "both"), "--json")
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert [run["seed"] for run in json.loads(out)["runs"]] == [0, 1]
    for seed in (0, 1):
        code, _, err = call(capsys, *arguments, "--seed", str(seed), "-o", str(tmp_path / "single"))
        assert code == 0, err
        one, same = (
            tmp_path / name / "dqn-mmc-sr" / "deepsea-5" / f"seed-{seed}"
            for name in ("both", "single")
        )
        assert read_episodes(one) == read_episodes(same)
        assert contents(one) == contents(same)


def test_a_signal_to_all_processes_of_several_seeds(tmp_path):
    arguments = [*RUN, "--frames", "1e7", "--seeds", "0", "1", "-o", str(tmp_path)]
    running = process(*arguments)
    folders = [tmp_path / "dqn-mmc-sr" / "deepsea-5" / f"seed-{seed}" for seed in (0, 1)]
    wait_for(lambda: all(read_episodes(folder) for folder in folders))
    os.killpg(running.pid, signal.SIGTERM)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 75, err
    assert "Traceback" not in err
    for folder in folders:
        assert checkpoint.read_state(folder / "checkpoint")["counters"]["step"] > 0


def test_bad_input_of_a_seed_among_several(tmp_path, capsys):
    assert call(capsys, *RUN, "--frames", "20", "--seed", "1", "-o", str(tmp_path))[0] == 0
    changed = [*RUN, "--frames", "40", "--beta", "0.5", "--seeds", "0", "1", "-o", str(tmp_path)]
    running = process(*changed)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, "")
    assert "seed-1 holds a run of another" in err
    assert "another configuration (beta 0.05, now 0.5)" in err
    assert "Traceback" not in err
    assert not (tmp_path / "dqn-mmc-sr/deepsea-5/seed-0").exists()  # nothing was begun


def test_help_tells_of_deep_agents(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    out = capsys.readouterr().out
    for option in ("--frames", "--seeds", "--scale", "--device", "--w-sr", "--bonus"):
        assert option in out
