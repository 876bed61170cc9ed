"""Killed and resumed is never killed, to the bit; a damaged checkpoint is bad input."""

from pathlib import Path

import numpy as np
import pytest
import torch

from countless.agents.dqn import replay
from countless.agents.dqn.agents import make_config
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.device import Device
from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput, CountlessError
from countless.core.records import read_json, write_json
from countless.core.snapshots import SCHEMA, Damaged, check_snapshots, last_snapshot
from countless.envs.make import make_frame_env
from oracles.replay import Script
from small_runs import replay_arrays

TINY = {
    "width": 0.0625, "history": 2, "replay": 400, "warmup": 30, "target_period": 40,
    "epsilon_steps": 60, "max_frames": 100, "learning_rate": 0.001, "batch": 8,
}  # fmt: skip


EPISODE = {"step": 5, "score": 0.99}


def make(env="deepsea-5", *, variant="paper", **parameters):
    config = make_config("dqn-mmc-sr", variant=variant, parameters=TINY | parameters)
    options = {
        name: getattr(config, name)
        for name in ("sticky", "frame_skip", "max_frames", "resize", "past_end")
    }
    games = [make_frame_env(env, seed=7 + i, **options) for i in range(config.envs)]
    return Trainer(games, config, Device(), seed=3)


def play(trainer, turns):
    """What the loop told in these turns."""
    told = []
    for _ in range(turns):
        record = trainer.turn()
        losses = record.losses or {}
        told.append(
            (
                record.step, record.frames, record.epsilon,
                [(one.episode, one.step, one.env) for one in record.finished],
                {name: value.item() for name, value in losses.items()},
            )
        )  # fmt: skip
    return told


def assert_same(one, other):
    kept, again = one.learner.tensors_to_keep(), other.learner.tensors_to_keep()
    for part, tensors in kept.items():
        for name, value in tensors.items():
            assert torch.equal(value, again[part][name]), (part, name)
    for name, array in replay_arrays(one.replay).items():
        np.testing.assert_array_equal(array, replay_arrays(other.replay)[name], err_msg=name)
    for actor, same in zip(one.actors, other.actors, strict=True):
        for name, array in actor.get_state().items():
            np.testing.assert_array_equal(array, same.get_state()[name], err_msg=name)
    assert one.counters() == other.counters()


@pytest.mark.parametrize(
    ("env", "turns", "parameters"),
    [
        ("Freeway", (20, 60), {}),
        ("Freeway", (55, 30), {"variant": "authors"}),
        ("Freeway", (25, 30), {"envs": 2}),
        ("CartPole-v1", (90, 200), {}),
        ("CartPole-v1", (41, 100), {"envs": 3, "stacks": "released"}),
        ("deepsea-5", (13, 150), {"time_limit": "truncation"}),
        ("deepsea-5", (300, 150), {"bonus_batch": 1}),
    ],
)
def test_killed_and_resumed_is_never_killed(tmp_path, env, turns, parameters):
    never, killed = make(env, **parameters), make(env, **parameters)
    play(never, turns[0])
    play(killed, turns[0])
    Checkpoints(tmp_path / "checkpoint").save(killed)
    del killed
    resumed = make(env, **parameters)
    Checkpoints(tmp_path / "checkpoint").load(resumed)
    assert_same(never, resumed)
    assert play(never, turns[1]) == play(resumed, turns[1])
    assert_same(never, resumed)


def test_bonuses_that_wait_are_kept(tmp_path):
    def made():
        config = make_config("dqn-mmc-sr", parameters=TINY | {"bonus_batch": 32})
        return Trainer([_KeptScript([60], [1.0], [False])], config, Device(), seed=0)

    trainer = made()
    play(trainer, 45)
    assert len(trainer.bonus.get_state()["slots"]) == 15
    Checkpoints(tmp_path / "checkpoint").save(trainer)
    resumed = made()
    Checkpoints(tmp_path / "checkpoint").load(resumed)
    assert play(trainer, 60) == play(resumed, 60)
    assert_same(trainer, resumed)
    assert (trainer.replay.intrinsic > 0).sum() == 60 + 45 - 30 - len(waiting(trainer))


def waiting(trainer):
    return trainer.bonus.get_state().get("slots", [])


class _KeptScript(Script):
    """A script whose place can be kept."""

    def get_state(self):
        return {"taken": np.array([len(one["actions"]) for one in self.episodes])}

    def set_state(self, state):
        self.episodes, self.shown = [], 0
        for taken in state["taken"]:
            self.reset()
            for _ in range(taken):
                self.step(0)


@pytest.fixture
def saved(tmp_path):
    trainer = make()
    play(trainer, 60)
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    checkpoints.save(trainer, [EPISODE])
    return checkpoints


def test_what_lies_in_it(saved):
    kept = last_snapshot(saved.folder)
    assert set(kept.files) == {
        "network.safetensors", "target.safetensors", "optimiser.safetensors", "env.0.safetensors",
        "bonus.safetensors", "replay.0.0.safetensors", "episodes.jsonl",
    }  # fmt: skip
    names = {path.name for path in saved.folder.iterdir()}
    assert names == {"state.json"} | {one.name for one in kept.files.values()}
    assert kept.content["counters"]["step"] == 30
    assert kept.content["schema"] == SCHEMA
    assert saved.load(make()) == [EPISODE]


def test_nothing_in_it_is_a_pickle(saved):
    for path in saved.folder.glob("*.safetensors"):
        assert path.read_bytes()[8:9] == b"{"
    assert {path.suffix for path in saved.folder.iterdir()} == {".safetensors", ".json", ".jsonl"}


@pytest.mark.parametrize("what", ["network", "replay.0.0", "env.0", "bonus"])
def test_a_changed_file_is_noticed(saved, what):
    path = saved.folder / f"{what}.1.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match=rf"{path.name} has changed since it was written"):
        saved.load(make())
    assert [damage.path for damage in check_snapshots(saved.folder).damage] == [path]


def test_a_missing_or_torn_file_is_noticed(saved):
    path = saved.folder / "target.1.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Damaged, match=r"target.1.safetensors has [\d,]+ bytes, not the"):
        saved.load(make())
    path.unlink()
    with pytest.raises(Damaged, match=r"target.1.safetensors cannot be read: No such file"):
        saved.load(make())


@pytest.mark.parametrize("text", ["{", "", "[]", '{"schema": 4, "files": 3}', '{"files": {}}'])
def test_a_torn_manifest_is_noticed(saved, text):
    (saved.folder / "state.json").write_text(text)
    with pytest.raises(Damaged, match=r"state.json (cannot be read|is no manifest)"):
        saved.load(make())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "is of format 99, this version reads 4"),
        ({"files": {}}, "does not fit this agent .*names no network"),
        ({"counters": {}}, "does not fit this agent"),
        (
            {"replay": {"written": [10**9], "opened": [0]}},
            "does not fit this agent .*names no replay",
        ),
        ({"replay": {"written": [-1], "opened": [0]}}, "counters of the replay do not fit"),
        ({"replay": {"written": [[1]], "opened": "x"}}, "does not fit this agent"),
    ],
)
def test_a_manifest_of_another_form(saved, change, message):
    path = saved.folder / "state.json"
    write_json(path, read_json(path) | change)
    with pytest.raises(BadInput, match=message) as error:
        saved.load(make())
    assert not isinstance(error.value, Damaged)


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/b", "..", "", ".hidden", "a\nb"])
def test_a_name_cannot_lead_out_of_the_folder(saved, name):
    path = saved.folder / "state.json"
    content = read_json(path)
    content["files"]["network.safetensors"][0] = name
    write_json(path, content)
    with pytest.raises(Damaged, match=r"says of 'network.safetensors' what no manifest says"):
        saved.load(make())


def test_a_file_that_is_too_large_is_not_read(saved, monkeypatch):
    path = saved.folder / "state.json"
    content = read_json(path)
    content["files"]["network.safetensors"][1] = 1 << 40
    write_json(path, content)
    with (saved.folder / "network.1.safetensors").open("r+b") as file:
        file.truncate(1 << 40)  # it takes no room on the disk
    with pytest.raises(BadInput, match=r"more than the .* that fit"):
        saved.load(make())


def test_a_checkpoint_of_another_agent(saved):
    with pytest.raises(BadInput, match="does not fit this agent") as error:
        saved.load(make(width=0.125))
    assert "to start afresh" in str(error.value)


def test_only_what_changed_is_written(tmp_path, monkeypatch):
    """Segments of finished episodes once; and what is loaded is what was saved, at every size."""
    monkeypatch.setattr(replay, "SEGMENT", 64)
    trainer = make()
    checkpoints = Checkpoints(tmp_path / "checkpoint")
    for turns in (10, 60, 1, 150, 150, 300, 20):  # 400 slots: it goes around once
        play(trainer, turns)
        before = {p: p.stat().st_mtime_ns for p in checkpoints.folder.glob("replay.*")}
        checkpoints.save(trainer)
        kept = last_snapshot(checkpoints.folder)
        again = {checkpoints.folder / one.name for one in kept.files.values()} & set(before)
        assert {path: path.stat().st_mtime_ns for path in again} == {p: before[p] for p in again}
        files = [one.name for name, one in kept.files.items() if name.startswith("replay.")]
        written = [name for name in files if checkpoints.folder / name not in before]
        assert len(written) <= turns // 64 + 2 + 1  # and an end frame each five steps
        resumed = make()
        other = Checkpoints(checkpoints.folder)
        other.load(resumed)
        assert_same(trainer, resumed)
        if turns == 150:  # the one that was resumed goes on, and keeps what is final
            trainer, checkpoints = resumed, other
    assert again, "some segments were kept"
    assert trainer.replay.written[0] > 400


def test_the_one_before_stays(saved):
    trainer = make()
    play(trainer, 70)
    saved.save(trainer)
    assert last_snapshot(saved.folder).content["counters"]["step"] == 40
    saved.set_aside(Damaged(saved.folder / "network.2.safetensors", "is torn"))
    resumed = make()
    assert saved.load(resumed) == [EPISODE]
    assert resumed.step == 30
    # The next one leaves only itself, the one before, and what was set aside.
    saved.save(trainer)
    saved.save(trainer)
    names = {path.name.split(".")[1] for path in saved.folder.glob("network.*")}
    assert names == {"2", "3", "4"}
    assert (saved.folder / "network.2.safetensors.damaged").exists()


def fail(*_, **__):
    raise OSError(28, "No space left on device")


def test_an_error_while_writing_leaves_the_one_before_and_no_litter(saved, monkeypatch):
    trainer = make()
    play(trainer, 70)
    before = {path.name: path.read_bytes() for path in saved.folder.iterdir()}
    written = 0
    original = Path.write_bytes

    def write(path, content):
        nonlocal written
        written += 1
        return fail() if written == 4 else original(path, content)

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(CountlessError, match=r"cannot write .*: No space left on device; what"):
        saved.save(trainer)
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in saved.folder.iterdir()} == before


def test_no_checkpoint(tmp_path):
    assert Checkpoints(tmp_path / "checkpoint").load(make()) is None
    assert not (tmp_path / "checkpoint").exists()


def test_reading_does_not_write(saved):
    before = {path.name: path.read_bytes() for path in saved.folder.iterdir()}
    saved.load(make())
    assert {path.name: path.read_bytes() for path in saved.folder.iterdir()} == before
