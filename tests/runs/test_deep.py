"""Deep runs and their folders: what lies there, how they go on, stop, fail."""

import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from countless.agents.dqn import checkpoint, writers
from countless.core import memory
from countless.core.errors import BadInput, CountlessError
from countless.core.records import read_json
from countless.runs import deep
from countless.runs.deep import Stopped, make_job, make_trainer, read_episodes, run_deep

TINY = {
    "width": 0.0625, "history": 2, "replay": 500, "warmup": 30, "target_period": 40,
    "epsilon_steps": 100, "max_frames": 150, "batch": 8,
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def job(agent="dqn-mmc-sr", env="deepsea-5", *, seed=0, frames=120, **more):
    options = {name: more.pop(name) for name in ("variant", "device") if name in more}
    return make_job(
        agent, env, seed=seed, frames=frames, **({"device": "cpu"} | options),
        parameters=TINY | more,
    )  # fmt: skip


def tensors(folder):
    """Every file of a checkpoint that the next step depends on, to the byte."""
    state = checkpoint.read_state(folder / "checkpoint")
    return {
        name: (folder / "checkpoint" / name).read_bytes()
        for name in state["files"]
        if not name.endswith(".npz")  # zip files hold the time
    } | {"counters": state["counters"]}


def stop_after(turns):
    """A `stop` that says yes after so many questions."""
    asked = 0

    def stop():
        nonlocal asked
        asked += 1
        return asked >= turns

    return stop


def scalars(folder):
    """The TensorBoard events as {key: [(step, value), ...]}, read record by record."""
    from tensorboard.compat.proto.event_pb2 import Event

    found = {}
    for path in sorted((folder / "events").iterdir()):
        content = path.read_bytes()
        at = 0
        while at < len(content):
            (length,) = struct.unpack_from("<Q", content, at)
            event = Event.FromString(content[at + 12 : at + 12 + length])
            at += 12 + length + 4
            for value in event.summary.value:
                number = value.simple_value or (
                    value.tensor.float_val[0] if value.tensor.float_val else 0.0
                )
                found.setdefault(value.tag, []).append((event.step, number))
    return found


@pytest.mark.parametrize("agent", ["dqn", "dqn-mmc", "dqn-mmc-sr"])
@pytest.mark.parametrize("env", ["deepsea-5", "CartPole-v1", "Venture"])
def test_every_agent_runs(tmp_path, agent, env):
    frames = 200 if env == "Venture" else 100
    result = run_deep(job(agent, env, frames=frames), tmp_path)
    assert result.folder == tmp_path / agent / env / "seed-0"
    assert result.episodes
    assert result.performance == pytest.approx(np.mean(result.scores))
    state = checkpoint.read_state(result.folder / "checkpoint")
    skip = 5 if env == "Venture" else 1
    assert state["counters"]["frames"] >= frames > state["counters"]["frames"] - skip
    assert state["counters"]["updates"] > 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"variant": "authors"},
        {"reconstruction": False},
        {"bonus": "off"},
        {"norm": 2.0},
        {"norm": float("inf")},
        {"bonus_from": "sampled"},
        {"time_limit": "truncation", "envs": 2},
        {"beta": 0.0},
    ],
)
def test_every_variant_runs_and_goes_on(tmp_path, parameters):
    one = job("dqn-mmc-sr", "deepsea-5", frames=60, **parameters)
    assert run_deep(one, tmp_path).episodes
    again = run_deep(replace(one, frames=80), tmp_path)
    assert again.steps_per_second is not None
    assert len(again.episodes) >= 12


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_bits(tmp_path, threads):
    torch.set_num_threads(threads)
    one = job(env="Freeway", frames=160, width=0.25, network="nature")
    first, again = (run_deep(one, tmp_path / name) for name in ("first", "again"))
    assert tensors(first.folder) == tensors(again.folder)
    assert first.episodes == again.episodes
    other = run_deep(replace(one, seed=1), tmp_path / "first")
    assert tensors(other.folder) != tensors(first.folder)


def test_what_lies_in_the_folder(tmp_path):
    result = run_deep(job(frames=700), tmp_path)
    names = {path.name for path in result.folder.iterdir()}
    assert names == {
        "config.json",
        "episodes.jsonl",
        "events",
        "checkpoint",
        "finished.json",
        "lock",
    }
    config = read_json(result.folder / "config.json")
    assert config["config"]["width"] == 0.0625
    assert (config["agent"], config["env"], config["seed"]) == ("dqn-mmc-sr", "deepsea-5", 0)
    assert config["versions"]["countless"]
    lines = (result.folder / "episodes.jsonl").read_text().splitlines()
    episodes = [json.loads(line) for line in lines]
    assert set(episodes[0]) == {
        "step", "total_frames", "env", "score", "steps", "frames", "bonus", "sr_norm",
    }  # fmt: skip
    assert len(episodes) == 140
    assert [episode["step"] for episode in episodes] == list(range(5, 701, 5))
    assert all(episode["bonus"] > 0 and episode["sr_norm"] > 0 for episode in episodes)
    assert result.performance == pytest.approx(np.mean([e["score"] for e in episodes[-100:]]))
    content = result.to_json()
    assert content["performance"] == result.performance
    assert json.loads(json.dumps(content))["episodes"] == 140


def test_tensorboard_events_have_cleanrls_keys(tmp_path, monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.trainer.UPDATES_PER_HEALTH", 100)
    result = run_deep(job(frames=820), tmp_path)
    found = scalars(result.folder)
    assert set(found) == {
        "charts/episodic_return", "charts/episodic_length", "charts/SPS", "charts/epsilon",
        "losses/td_loss", "losses/q_values", "losses/td", "losses/sr", "losses/reconstruction",
        "bonus/mean", "bonus/sr_norm", "features/active", "features/ever_active",
        "features/spread", "features/rank", "features/bonus_cv",
    }  # fmt: skip
    episodes = result.episodes
    returns = found["charts/episodic_return"]
    assert [step for step, _ in returns] == [episode["step"] for episode in episodes]
    np.testing.assert_allclose([x for _, x in returns], result.scores, rtol=1e-6)
    assert {x for _, x in found["charts/episodic_length"]} == {5.0}
    np.testing.assert_allclose(
        [x for _, x in found["bonus/mean"]], [e["bonus"] for e in episodes], rtol=1e-5
    )
    # Every hundredth update: one update in four steps.
    assert [step for step, _ in found["losses/td"]] == [400, 800]
    assert found["losses/td"] == found["losses/td_loss"]
    assert all(value > 0 for _, value in found["losses/reconstruction"] + found["charts/SPS"])


def test_agents_without_a_bonus_have_no_bonus_events(tmp_path):
    found = scalars(run_deep(job("dqn", frames=420), tmp_path).folder)
    assert "losses/td" in found
    assert not {"bonus/mean", "bonus/sr_norm", "losses/sr", "losses/reconstruction"} & set(found)


def test_a_finished_run_is_not_run_again(tmp_path, monkeypatch):
    one = job()
    first = run_deep(one, tmp_path)
    monkeypatch.setattr(deep, "make_trainer", None)
    again = run_deep(one, tmp_path)
    assert again.episodes == first.episodes
    assert again.steps_per_second is None
    # Nor for fewer frames: what ended within them counts.
    fewer = run_deep(replace(one, frames=60), tmp_path)
    assert fewer.episodes == [e for e in first.episodes if e["total_frames"] <= 60]
    assert 0 < len(fewer.episodes) < len(first.episodes)


def test_a_finished_run_without_a_checkpoint_is_not_run_over(tmp_path):
    result = run_deep(job(frames=60), tmp_path)
    shutil.rmtree(result.folder / "checkpoint")
    with pytest.raises(BadInput, match="holds a run of 60 frames, but no checkpoint to go on from"):
        run_deep(job(frames=90), tmp_path)
    assert run_deep(job(frames=60), tmp_path).episodes == result.episodes


def test_spellings_of_a_game_are_one_run(tmp_path):
    spellings = ("Venture", "venture", "ALE/Venture-v5")
    assert len({job(env=env).folder(tmp_path) for env in spellings}) == 1


@pytest.mark.parametrize(("env", "frames"), [("deepsea-5", (70, 150)), ("Freeway", (200, 400))])
def test_more_frames_go_on_as_if_asked_for_at_once(tmp_path, env, frames):
    whole = run_deep(job(env=env, frames=frames[1]), tmp_path / "whole")
    run_deep(job(env=env, frames=frames[0]), tmp_path / "parts")
    parts = run_deep(job(env=env, frames=frames[1]), tmp_path / "parts")
    assert parts.episodes == whole.episodes
    assert tensors(parts.folder) == tensors(whole.folder)


@pytest.mark.parametrize("turns", [10, 45, 101])
def test_stopped_and_started_again_is_never_stopped(tmp_path, turns):
    whole = run_deep(job(envs=2), tmp_path / "whole")
    folder = tmp_path / "stopped"
    with pytest.raises(Stopped):
        run_deep(job(envs=2), folder, stop=stop_after(min(turns, 60)))
    assert not (job(envs=2).folder(folder) / "finished.json").exists()
    again = run_deep(job(envs=2), folder)
    assert again.episodes == whole.episodes
    assert tensors(again.folder) == tensors(whole.folder)


def test_killed_after_a_checkpoint_is_never_killed(tmp_path, monkeypatch):
    whole = run_deep(job(), tmp_path / "whole")
    # Saves twice; dies without a word at the 70th turn, its episodes logged up to there.
    saves = 0
    original = checkpoint.save

    def save(*arguments):
        nonlocal saves
        saves += 1
        if saves in (40, 50):
            original(*arguments)
        if saves == 70:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.raises(KeyboardInterrupt):
        run_deep(replace(job(), save_every=-1.0), tmp_path / "killed")
    monkeypatch.undo()
    folder = job().folder(tmp_path / "killed")
    assert (
        read_episodes(folder)[-1]["step"]
        > checkpoint.read_state(folder / "checkpoint")["counters"]["step"]
    )
    again = run_deep(job(), tmp_path / "killed")
    assert again.episodes == whole.episodes
    assert tensors(again.folder) == tensors(whole.folder)


def test_a_checkpoint_beyond_the_frames_is_enough(tmp_path):
    with pytest.raises(Stopped):
        run_deep(job(frames=1000), tmp_path, stop=stop_after(200))
    fewer = run_deep(job(frames=100), tmp_path)
    assert len(fewer.episodes) == 20
    # The episode log is whole, and the longer run still goes on.
    assert len(read_episodes(fewer.folder)) > 20
    assert len(run_deep(job(frames=250), tmp_path).episodes) == 50


def test_a_half_written_line_of_the_log_is_played_again(tmp_path):
    whole = run_deep(job(frames=150), tmp_path / "whole")
    folder = run_deep(job(frames=100), tmp_path / "cut").folder
    with (folder / "episodes.jsonl").open("a") as file:
        file.write('{"step": 1')
    assert run_deep(job(frames=150), tmp_path / "cut").episodes == whole.episodes


def test_a_finished_run_with_a_half_written_line_is_read(tmp_path):
    result = run_deep(job(frames=60), tmp_path)
    with (result.folder / "episodes.jsonl").open("a") as file:
        file.write('{"step": 61, "sco')
    assert run_deep(job(frames=60), tmp_path).episodes == result.episodes


def test_a_run_killed_before_its_first_checkpoint_starts_its_curves_again(tmp_path, monkeypatch):
    def never(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", never)
    with pytest.raises(KeyboardInterrupt):
        run_deep(job(frames=60), tmp_path)
    monkeypatch.undo()
    result = run_deep(job(frames=60), tmp_path)
    purged = EventAccumulator(str(result.folder / "events")).Reload()
    steps = [event.step for event in purged.Scalars("charts/episodic_return")]
    assert steps == [episode["step"] for episode in result.episodes]


def test_another_configuration_in_the_folder(tmp_path):
    run_deep(job(), tmp_path)
    for changes, named in (
        ({"beta": 0.5}, "beta 0.05, now 0.5"),
        ({"norm": 2.0}, "norm 1.0, now 2.0"),
        ({"variant": "authors"}, "variant paper, now authors"),
    ):
        with pytest.raises(BadInput, match="holds a run of another configuration") as error:
            run_deep(job(**changes), tmp_path)
        assert named in str(error.value)
    (job().folder(tmp_path) / "config.json").write_text("{")
    with pytest.raises(BadInput, match=r"config.json cannot be read"):
        run_deep(job(), tmp_path)


def test_a_corrupted_checkpoint_is_bad_input(tmp_path):
    folder = run_deep(job(), tmp_path).folder
    (folder / "checkpoint" / "network.safetensors").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match=r"network.safetensors has changed since it was written"):
        run_deep(job(frames=200), tmp_path)


def test_a_refused_run_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(deep, "available_memory", lambda: 2e9)
    with pytest.raises(BadInput, match=r"a replay of 1,000,000 frames needs 8.6 GB") as error:
        run_deep(job(env="Freeway", replay=1_000_000), tmp_path)
    # What would fit is told, and does.
    assert "--replay 70000 would fit" in str(error.value)
    for bad in (job(env="NoSuchGame"), replace(job(), frames=0)):
        with pytest.raises(BadInput):
            run_deep(bad, tmp_path)
    assert list(tmp_path.iterdir()) == []
    make_trainer(job(env="Freeway", replay=70_000))


def test_a_disk_too_small_for_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(deep.shutil, "disk_usage", lambda path: type("Disk", (), {"free": 1e6}))
    with pytest.raises(BadInput, match=r"checkpoints need up to .* GB in .* are free"):
        run_deep(job(), tmp_path)
    assert not list(tmp_path.rglob("config.json"))


def test_memory_is_found_out():
    assert 0 < memory.available_memory() <= memory._machine()


def test_a_loss_that_is_no_number_stops_and_says_where(tmp_path):
    wild = job(frames=2000, learning_rate=1e30, w_reconstruction=1e30)
    with pytest.raises(CountlessError, match=r"a loss is not finite \(.*\) at step \d+") as error:
        run_deep(wild, tmp_path)
    assert not isinstance(error.value, BadInput)
    path = wild.folder(tmp_path) / "nonfinite_batch.npz"
    assert str(path) in str(error.value)
    with np.load(path, allow_pickle=False) as batch:
        assert batch["s_tm1"].shape == (8, 2, 5, 5)
        assert set(batch.files) == {
            "s_tm1", "s_t", "a_tm1", "r_t", "r_int_t", "g_tm1", "terminal_t",
        }  # fmt: skip
    assert not (wild.folder(tmp_path) / "finished.json").exists()


def test_reports_count_on_after_a_resume(tmp_path, monkeypatch):
    monkeypatch.setattr(deep, "REPORT_EVERY", -1.0)
    seen = []
    run_deep(job(frames=100), tmp_path, report=seen.append)
    assert [status.warm for status in seen[:30]] == list(range(1, 31))
    assert (seen[-1].frames, seen[-1].episodes) == (100, 20)
    assert seen[-1].mean_score is not None
    assert seen[-1].bonus > 0
    again = []
    run_deep(job(frames=110), tmp_path, report=again.append)
    assert (again[0].frames, again[0].episodes) == (101, 20)
    assert again[-1].episodes == 22
    assert again[-1].epsilon == pytest.approx(0.1)


def test_the_frames_of_a_scale_are_its_default():
    assert make_job("dqn", "Pong", scale="smoke", device="cpu").frames == 5_000
    assert make_job("dqn", "Pong", device="cpu").frames == 100_000_000


def test_events_of_a_turn_with_many_updates(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "UPDATES_PER_EVENT", 10)
    found = scalars(run_deep(job(frames=180, envs=12, warmup=60), tmp_path).folder)
    # Three updates a turn: the 10th falls into the fourth turn, the 20th into the seventh, ...
    assert [step for step, _ in found["losses/td"]] == [12 * 4, 12 * 7, 12 * 10, 12 * 14]


def test_the_library_takes_the_default_device():
    made = make_job("dqn", "Pong")
    assert made.device.name in ("cpu", "mps") or made.device.name.startswith("cuda")
    with pytest.raises(BadInput, match="there is no device 'cuda:77' here; there is cpu"):
        make_job("dqn", "Pong", device="cuda:77")
    with pytest.raises(BadInput, match="precision must be one of float32, bfloat16"):
        make_job("dqn", "Pong", precision="float16")
    assert isinstance(made.folder(Path("x")), Path)
