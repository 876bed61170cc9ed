"""Deep jobs and their folders: what lies there, how they go on, stop, fail."""

import shutil
import struct
from dataclasses import replace

import numpy as np
import pyarrow.compute
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from countless.agents.dqn import checkpoint, writers
from countless.core import memory
from countless.core.errors import BadInput, CountlessError, naming_options
from countless.core.records import read_json, write_json
from countless.runs import dqn, dqn_progress, dqn_resources
from countless.runs.dqn import make_job, make_trainer, open_run
from countless.runs.groups import performance
from countless.runs.job import Stopped, folder_name, job_id
from countless.runs.store import Store
from small_runs import (
    Listener,
    checkpoint_bytes,
    deep_job,
    episodes,
    execute,
    kept_counters,
    last_checkpoint,
    stop_after,
)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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


def returns(stored):
    return stored.records["return"].to_pylist()


@pytest.mark.parametrize("agent", ["dqn", "dqn-mmc", "dqn-mmc-sr"])
@pytest.mark.parametrize("env", ["deepsea-5", "CartPole-v1", "Venture"])
def test_every_agent_runs(tmp_path, agent, env):
    frames = 200 if env == "Venture" else 100
    stored = execute(deep_job(agent, env, frames=frames), tmp_path)
    assert stored.folder.parent == tmp_path
    assert stored.folder.name.startswith(f"{agent}-{env}-seed-0-")
    assert len(stored.records) > 0
    assert performance(stored) == pytest.approx(np.mean(returns(stored)[-100:]))
    counters = kept_counters(stored.folder)
    skip = 5 if env == "Venture" else 1
    assert counters["frames"] >= frames > counters["frames"] - skip
    assert counters["updates"] > 0


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
    one = deep_job(frames=60, **parameters)
    assert len(execute(one, tmp_path).records)
    again = execute(replace(one, frames=80), tmp_path)
    assert again.finished["steps_per_second"] is not None
    assert len(again.records) >= 12


def test_a_bonus_has_a_version_of_its_own():
    """Of what it computes from vectors and images: numbered states are a table."""
    jobs = {
        sees: deep_job(agent="dqn-mmc", bonus="sr-norm", bonus_sees=sees)
        for sees in ("vector", "number", "frames")
    }
    assert jobs["vector"].identity()["bonus_bits"] == 4
    assert "bonus_bits" not in jobs["number"].identity()
    assert jobs["frames"].identity()["bonus_images"]["tables"] == 64
    assert "bonus_images" not in jobs["vector"].identity()
    assert "bonus_bits" not in deep_job().identity()
    assert "bonus_bits" not in deep_job(agent="dqn-counts").identity()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_bits(tmp_path, threads):
    one = replace(
        deep_job(env="Freeway", frames=160, width=0.25, network="nature"), threads=threads
    )
    first, again = (execute(one, tmp_path / name) for name in ("first", "again"))
    assert checkpoint_bytes(first.folder) == checkpoint_bytes(again.folder)
    assert first.records.equals(again.records)
    other = execute(replace(one, seed=1), tmp_path / "first")
    assert checkpoint_bytes(other.folder) != checkpoint_bytes(first.folder)


def test_what_lies_in_the_folder(tmp_path):
    stored = execute(deep_job(frames=700), tmp_path)
    names = {path.name for path in stored.folder.iterdir()}
    assert names == {
        "job.json", "records", "episodes.jsonl", "events", "checkpoint", "progress.json",
        "finished.json", "lock",
    }  # fmt: skip
    about = read_json(stored.folder / "job.json")
    assert about["identity"]["config"]["width"] == 0.0625
    assert (about["agent"], about["env"], about["seed"]) == ("dqn-mmc-sr", "deepsea-5", 0)
    assert about["budget"] == {"frames": 700}
    assert about["command"] == "a test"
    assert about["versions"]["countless"]
    log = episodes(stored.folder)
    assert set(log[0]) == {
        "step", "total_frames", "env", "score", "steps", "frames", "bonus", "sr_norm",
    }  # fmt: skip
    assert len(log) == 140
    assert [episode["step"] for episode in log] == list(range(5, 701, 5))
    assert all(episode["bonus"] > 0 and episode["sr_norm"] > 0 for episode in log)
    assert performance(stored) == pytest.approx(np.mean([e["score"] for e in log[-100:]]))
    # The records say the same, and what they are.
    assert returns(stored) == [episode["score"] for episode in log]
    assert stored.records["frames"].to_pylist() == [episode["total_frames"] for episode in log]
    assert set(stored.records["beta"].to_pylist()) == {0.05}
    finished = read_json(stored.folder / "finished.json")
    assert finished["frames"] == 700
    assert finished["seconds"] > 0
    assert finished["features"]["of"] > 0


def test_tensorboard_events_have_cleanrls_keys(tmp_path, monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.trainer.UPDATES_PER_HEALTH", 100)
    stored = execute(deep_job(frames=820), tmp_path)
    found = scalars(stored.folder)
    assert set(found) == {
        "charts/episodic_return", "charts/episodic_length", "charts/SPS", "charts/epsilon",
        "losses/td_loss", "losses/q_values", "losses/td", "losses/sr", "losses/reconstruction",
        "bonus/mean", "bonus/sr_norm", "features/active", "features/ever_active",
        "features/spread", "features/rank", "features/bonus_cv",
    }  # fmt: skip
    log = episodes(stored.folder)
    told = found["charts/episodic_return"]
    assert [step for step, _ in told] == [episode["step"] for episode in log]
    np.testing.assert_allclose([x for _, x in told], returns(stored), rtol=1e-6)
    assert {x for _, x in found["charts/episodic_length"]} == {5.0}
    np.testing.assert_allclose(
        [x for _, x in found["bonus/mean"]], [e["bonus"] for e in log], rtol=1e-5
    )
    # Every hundredth update: one update in four steps.
    assert [step for step, _ in found["losses/td"]] == [400, 800]
    assert found["losses/td"] == found["losses/td_loss"]
    assert all(value > 0 for _, value in found["losses/reconstruction"] + found["charts/SPS"])


def test_agents_without_a_bonus_have_no_bonus_events(tmp_path):
    found = scalars(execute(deep_job("dqn", frames=420), tmp_path).folder)
    assert "losses/td" in found
    assert not {"bonus/mean", "bonus/sr_norm", "losses/sr", "losses/reconstruction"} & set(found)


def test_a_finished_run_is_not_run_again(tmp_path, monkeypatch):
    one = deep_job()
    first = execute(one, tmp_path)
    monkeypatch.setattr(dqn, "make_trainer", None)
    again = execute(one, tmp_path)
    assert again.records.equals(first.records)
    # Nor for fewer frames: what ended within them counts.
    fewer = execute(replace(one, frames=60), tmp_path)
    within = first.records.filter(pyarrow.compute.field("frames") <= 60)
    assert fewer.records.equals(within)
    assert 0 < len(fewer.records) < len(first.records)
    assert fewer.about["budget"] == {"frames": 60}


def test_a_finished_run_without_a_checkpoint_is_not_run_over(tmp_path):
    stored = execute(deep_job(frames=60), tmp_path)
    shutil.rmtree(stored.folder / "checkpoint")
    with pytest.raises(BadInput, match="holds a run of 60 frames, but no checkpoint to go on from"):
        execute(deep_job(frames=90), tmp_path)
    assert execute(deep_job(frames=60), tmp_path).records.equals(stored.records)


def test_spellings_of_a_game_are_one_run():
    spellings = ("Venture", "venture", "ALE/Venture-v5")
    assert len({folder_name(deep_job(env=env)) for env in spellings}) == 1


@pytest.mark.parametrize(("env", "frames"), [("deepsea-5", (70, 150)), ("Freeway", (200, 400))])
def test_more_frames_go_on_as_if_asked_for_at_once(tmp_path, env, frames):
    whole = execute(deep_job(env=env, frames=frames[1]), tmp_path / "whole")
    execute(deep_job(env=env, frames=frames[0]), tmp_path / "parts")
    parts = execute(deep_job(env=env, frames=frames[1]), tmp_path / "parts")
    assert parts.records.equals(whole.records)
    assert checkpoint_bytes(parts.folder) == checkpoint_bytes(whole.folder)


def test_going_further_keeps_the_earlier_command(tmp_path):
    for frames in (40, 60, 80):
        Store(tmp_path, f"command for {frames}").execute(deep_job(frames=frames), dqn.Execution())
    about = read_json(Store(tmp_path).place(deep_job()) / "job.json")
    assert (about["command"], about["budget"]) == ("command for 80", {"frames": 80})
    assert [(told["command"], told["budget"]) for told in about["before"]] == [
        ("command for 40", {"frames": 40}),
        ("command for 60", {"frames": 60}),
    ]
    assert all(told["date"] and told["versions"] for told in about["before"])


@pytest.mark.parametrize("turns", [10, 45, 60])
def test_stopped_and_started_again_is_never_stopped(tmp_path, turns):
    whole = execute(deep_job(envs=2), tmp_path / "whole")
    out = tmp_path / "stopped"
    with pytest.raises(Stopped):
        execute(deep_job(envs=2), out, stop=stop_after(turns))
    folder = Store(out).place(deep_job(envs=2))
    assert not (folder / "finished.json").exists()
    again = execute(deep_job(envs=2), out)
    assert again.folder == folder
    assert again.records.equals(whole.records)
    assert checkpoint_bytes(again.folder) == checkpoint_bytes(whole.folder)


def test_killed_after_a_checkpoint_is_never_killed(tmp_path, monkeypatch):
    whole = execute(deep_job(), tmp_path / "whole")
    # Saves twice; dies without a word at the 70th turn, its episodes logged up to there.
    saves = 0
    original = checkpoint.Checkpoints.save

    def save(*arguments):
        nonlocal saves
        saves += 1
        if saves in (40, 50):
            original(*arguments)
        if saves == 70:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoints, "save", save)
    with pytest.raises(KeyboardInterrupt):
        execute(replace(deep_job(), save_every=-1.0), tmp_path / "killed")
    monkeypatch.undo()
    folder = Store(tmp_path / "killed").place(deep_job())
    assert episodes(folder)[-1]["step"] > kept_counters(folder)["step"]
    again = execute(deep_job(), tmp_path / "killed")
    assert again.records.equals(whole.records)
    assert checkpoint_bytes(again.folder) == checkpoint_bytes(whole.folder)


def test_a_checkpoint_beyond_the_frames_is_enough(tmp_path):
    with pytest.raises(Stopped):
        execute(deep_job(frames=1000), tmp_path, stop=stop_after(200))
    fewer = execute(deep_job(frames=100), tmp_path)
    assert len(fewer.records) == 20
    # The episode log is whole, and the longer run still goes on.
    assert len(episodes(fewer.folder)) > 20
    assert len(execute(deep_job(frames=250), tmp_path).records) == 50


def test_a_half_written_line_of_the_log_is_played_again(tmp_path):
    whole = execute(deep_job(frames=150), tmp_path / "whole")
    folder = execute(deep_job(frames=100), tmp_path / "cut").folder
    with (folder / "episodes.jsonl").open("a") as file:
        file.write('{"step": 1')
    assert execute(deep_job(frames=150), tmp_path / "cut").records.equals(whole.records)


def test_records_that_are_torn_are_written_again(tmp_path):
    stored = execute(deep_job(frames=60), tmp_path)
    (stored.folder / "records" / "episodes.parquet").write_bytes(b"torn")
    with (stored.folder / "episodes.jsonl").open("a") as file:
        file.write('{"step": 61, "sco')
    again = execute(deep_job(frames=60), tmp_path)
    assert again.records.equals(stored.records)
    assert again.state == "finished"


def test_a_run_killed_before_its_first_checkpoint_starts_its_curves_again(tmp_path, monkeypatch):
    def never(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.Checkpoints, "save", never)
    with pytest.raises(KeyboardInterrupt):
        execute(deep_job(frames=60), tmp_path)
    monkeypatch.undo()
    stored = execute(deep_job(frames=60), tmp_path)
    purged = EventAccumulator(str(stored.folder / "events")).Reload()
    steps = [event.step for event in purged.Scalars("charts/episodic_return")]
    assert steps == stored.records["step"].to_pylist()


def test_what_rounds_otherwise_is_another_job():
    one = deep_job()
    others = [
        deep_job(beta=0.5),
        deep_job(norm=2.0),
        deep_job(variant="authors"),
        deep_job(seed=1),
        replace(one, threads=2),
        replace(one, device=replace(one.device, precision="bfloat16")),
        replace(one, device=replace(one.device, compile=True)),
    ]
    assert len({job_id(job) for job in (one, *others)}) == 8
    assert job_id(replace(one, frames=7, save_every=1.0)) == job_id(one)


def test_a_damaged_description_is_set_aside_and_written_again(tmp_path):
    folder = execute(deep_job(frames=40), tmp_path).folder
    (folder / "job.json").write_text("{")
    listener = Listener()
    again = execute(deep_job(frames=60), tmp_path, task=listener)
    assert again.about == read_json(folder / "job.json")
    assert (folder / "job.json.damaged").read_text() == "{"
    assert any("job.json was damaged" in warning for warning in listener.warnings)
    whole = execute(deep_job(frames=60), tmp_path / "whole")
    assert checkpoint_bytes(folder) == checkpoint_bytes(whole.folder)


@pytest.mark.parametrize("what", ["network.safetensors", "episodes.jsonl", "state.json"])
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(tmp_path, what):
    """And the run ends with the bits of one that met no damage."""
    whole = execute(deep_job(frames=90), tmp_path / "whole")
    execute(deep_job(frames=30), tmp_path)
    folder = execute(deep_job(frames=60), tmp_path).folder
    kept = last_checkpoint(folder)
    path = folder / "checkpoint" / (what if what == "state.json" else kept.files[what].name)
    flip(path)
    listener = Listener()
    again = execute(deep_job(frames=90), tmp_path, task=listener)
    (warning,) = listener.warnings
    assert path.name in warning
    assert "goes on from the one before" in warning
    assert path.with_name(path.name + ".damaged").exists()
    assert listener.advanced[0] == 30  # the frames of the one before
    assert again.records.equals(whole.records)
    assert checkpoint_bytes(folder) == checkpoint_bytes(whole.folder)


def test_damage_in_both_checkpoints_starts_afresh(tmp_path):
    whole = execute(deep_job(frames=90), tmp_path / "whole")
    folder = execute(deep_job(frames=60), tmp_path).folder
    for path in (folder / "checkpoint").glob("network.*"):
        flip(path)
    listener = Listener()
    again = execute(deep_job(frames=90), tmp_path, task=listener)
    assert len(listener.warnings) == 1  # there was only one
    assert again.records.equals(whole.records)
    assert checkpoint_bytes(folder) == checkpoint_bytes(whole.folder)


def test_a_checkpoint_of_another_format_is_left_alone(tmp_path):
    folder = execute(deep_job(frames=60), tmp_path).folder
    state = folder / "checkpoint" / "state.json"
    write_json(state, read_json(state) | {"schema": 99})
    before = state.read_bytes()
    with pytest.raises(BadInput, match="is of format 99, this version reads 4"):
        execute(deep_job(frames=90), tmp_path)
    assert state.read_bytes() == before


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_refused_run_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(dqn_resources, "available_memory", lambda: 2e9)
    large = deep_job(env="Freeway", replay=1_000_000)
    with pytest.raises(BadInput, match=r"a replay of 1,000,000 frames needs 8.6 GB") as error:
        execute(large, tmp_path)
    # What would fit is told, as it is written here, and does.
    assert "replay=70000 would fit" in str(error.value)
    with naming_options(), pytest.raises(BadInput, match="--replay 70000 would fit"):
        execute(large, tmp_path)
    with pytest.raises(BadInput):
        execute(deep_job(env="NoSuchGame"), tmp_path)
    with pytest.raises(BadInput, match="frames must be a whole number from 1"):
        replace(deep_job(), frames=0)
    assert list(tmp_path.iterdir()) == []
    make_trainer(deep_job(env="Freeway", replay=70_000))


def test_a_share_of_the_replay_must_hold_two_episodes(tmp_path):
    with pytest.raises(BadInput, match="less than two episodes of 3,600 steps"):
        execute(deep_job(env="Freeway", replay=20_000, envs=4, max_frames=18_000), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_too_small_for_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(
        dqn_resources.shutil, "disk_usage", lambda path: type("Disk", (), {"free": 1e6})
    )
    with pytest.raises(BadInput, match=r"checkpoints need up to .* GB in .* are free"):
        execute(deep_job(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_memory_is_found_out():
    assert 0 < memory.available_memory() <= memory._machine()


def test_a_checkpoint_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CountlessError, match=r"cannot write .*checkpoint"):
        checkpoint.Checkpoints(tmp_path / "file" / "checkpoint").save(make_trainer(deep_job()))


def test_a_loss_that_is_no_number_stops_and_says_where(tmp_path):
    wild = deep_job(frames=2000, learning_rate=1e30, w_reconstruction=1e30)
    with pytest.raises(CountlessError, match=r"a loss is not finite \(.*\) at step \d+") as error:
        execute(wild, tmp_path)
    assert not isinstance(error.value, BadInput)
    path = Store(tmp_path).place(wild) / "nonfinite_batch.npz"
    assert str(path) in str(error.value)
    with np.load(path, allow_pickle=False) as batch:
        assert batch["s_tm1"].shape == (8, 2, 5, 5)
        assert set(batch.files) == {
            "s_tm1", "s_t", "a_tm1", "r_t", "r_int_t", "g_tm1", "terminal_t",
        }  # fmt: skip
    assert not (path.parent / "finished.json").exists()


def test_notes_count_on_after_a_resume(tmp_path, monkeypatch):
    monkeypatch.setattr(dqn_progress, "EVERY", -1.0)
    first = Listener()
    one = deep_job(frames=100)
    execute(one, tmp_path, task=first)
    assert first.notes[:30] == [f"warm-up, {i} of 30 steps" for i in range(1, 31)]
    assert not any(first.advanced[:31])  # the warm-up is no part of what there is to do
    assert first.notes[-1].startswith("100 frames, ")
    assert ", 20 episodes, mean of last 100 " in first.notes[-1]
    assert ", bonus " in first.notes[-1]
    assert sum(first.advanced) == one.units == 100
    again, more = Listener(), deep_job(frames=110)
    execute(more, tmp_path, task=again)
    assert again.notes[0].startswith("101 frames, ")
    assert ", 20 episodes" in again.notes[0]
    assert ", 22 episodes" in again.notes[-1]
    assert "ε 0.10" in again.notes[-1]
    assert again.advanced[0] == 100
    assert sum(again.advanced) == more.units


def test_a_finished_run_is_all_done_for_a_bar(tmp_path):
    execute(deep_job(frames=40), tmp_path)
    seen = Listener()
    execute(deep_job(frames=40), tmp_path, task=seen)
    assert seen.advanced == [deep_job(frames=40).units]


def test_features_that_collapse_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.features.LEAST_RANK", 1e9)
    monkeypatch.setattr("countless.agents.dqn.trainer.UPDATES_PER_HEALTH", 5)
    seen = Listener()
    execute(deep_job(frames=60), tmp_path, task=seen)
    assert seen.warnings
    assert seen.warnings[0].startswith(
        "dqn-mmc-sr in deepsea-5, seed 0: the features have collapsed"
    )


def test_the_frames_of_a_scale_are_its_default():
    assert make_job("dqn", "Pong", scale="smoke", device="cpu").frames == 5_000
    assert make_job("dqn", "Pong", device="cpu").frames == 100_000_000


def test_events_of_a_turn_with_many_updates(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "UPDATES_PER_EVENT", 10)
    found = scalars(execute(deep_job(frames=180, envs=12, warmup=60), tmp_path).folder)
    # Three updates a turn: the 10th falls into the fourth turn, the 20th into the seventh, ...
    assert [step for step, _ in found["losses/td"]] == [12 * 4, 12 * 7, 12 * 10, 12 * 14]


def test_the_library_takes_the_default_device():
    made = make_job("dqn", "Pong")
    assert made.device.name in ("cpu", "mps") or made.device.name.startswith("cuda")
    with pytest.raises(BadInput, match="there is no device 'cuda:77' here; there is cpu"):
        make_job("dqn", "Pong", device="cuda:77")
    with pytest.raises(BadInput, match="precision must be one of float32, bfloat16"):
        make_job("dqn", "Pong", precision="float16")


def test_a_run_is_opened_as_its_checkpoint_left_it(tmp_path):
    stored = execute(deep_job(frames=40, norm=float("inf")), tmp_path)
    job, trainer = open_run(stored.folder)
    assert (job.agent, job.env, trainer.frames) == ("dqn-mmc-sr", "deepsea-5", 40)
    assert job.config.norm == float("inf")
    about = read_json(stored.folder / "job.json")
    about["identity"]["config"]["no_such_parameter"] = 1
    write_json(stored.folder / "job.json", about)
    with pytest.raises(BadInput, match="is not of this version"):
        open_run(stored.folder)
