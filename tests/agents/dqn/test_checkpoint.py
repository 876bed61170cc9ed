"""Killed and resumed is never killed, to the bit; a damaged checkpoint is bad input."""

import json
import shutil

import numpy as np
import pytest
import torch

from countless.agents.dqn import checkpoint
from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import Device
from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput, CountlessError
from countless.envs.make import make_frame_env
from oracles.replay import Script

TINY = {
    "width": 0.0625, "history": 2, "replay": 400, "warmup": 30, "target_period": 40,
    "epsilon_steps": 60, "max_frames": 100, "learning_rate": 0.001, "batch": 8,
}  # fmt: skip


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
    for name, array in one.replay.arrays().items():
        np.testing.assert_array_equal(array, other.replay.arrays()[name], err_msg=name)
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
    checkpoint.save(tmp_path / "checkpoint", killed)
    del killed
    resumed = make(env, **parameters)
    checkpoint.load(tmp_path / "checkpoint", resumed)
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
    checkpoint.save(tmp_path / "checkpoint", trainer)
    resumed = made()
    checkpoint.load(tmp_path / "checkpoint", resumed)
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
    folder = tmp_path / "checkpoint"
    checkpoint.save(folder, trainer)
    return folder


def test_what_lies_in_it(saved):
    names = {path.name for path in saved.iterdir()}
    assert names == {
        "network.safetensors", "target.safetensors", "optimiser.safetensors", "state.json",
        "env.0.npz", "bonus.npz",
    } | {
        f"replay.{name}.npy"
        for name in (
            "frames", "actions", "flags", "extrinsic", "intrinsic", "returns", "written", "opened",
        )
    }  # fmt: skip
    state = checkpoint.read_state(saved)
    assert state["schema"] == checkpoint.SCHEMA
    assert state["counters"]["step"] == 30
    assert set(state["files"]) == names - {"state.json"}


def test_nothing_in_it_is_a_pickle(saved):
    for path in saved.iterdir():
        if path.suffix == ".npy":
            np.load(path, allow_pickle=False)
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert all(arrays[name].dtype != object for name in arrays.files)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        else:
            assert path.suffix == ".safetensors"
            assert path.read_bytes()[8:9] == b"{"


@pytest.mark.parametrize(
    "name", ["network.safetensors", "replay.frames.npy", "env.0.npz", "bonus.npz"]
)
def test_a_changed_file_is_noticed(saved, name):
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(content)
    trainer = make()
    before = trainer.counters()
    with pytest.raises(BadInput, match=rf"is damaged: {name} has changed"):
        checkpoint.load(saved, trainer)
    assert trainer.counters() == before


def test_a_missing_file_is_noticed(saved):
    (saved / "target.safetensors").unlink()
    with pytest.raises(BadInput, match=r"cannot be read .*target.safetensors"):
        checkpoint.load(saved, make())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"schema": 3, "files": 3}', "cannot be read"),
        ('{"files": {}}', "cannot be read"),
        ('{"schema": 99, "files": {}}', "is of format 99, this version reads 3"),
        ('{"schema": 3, "files": {}}', "does not fit this agent"),
    ],
)
def test_a_state_of_another_form(saved, text, message):
    (saved / "state.json").write_text(text)
    with pytest.raises(BadInput, match=message) as error:
        checkpoint.load(saved, make())
    assert "remove the folder to start afresh" in str(error.value)


def test_a_checkpoint_of_another_agent(saved):
    with pytest.raises(BadInput, match="does not fit this agent"):
        checkpoint.load(saved, make(width=0.125))


def fail(*_, **__):
    raise OSError("no space left")


def test_an_error_while_writing_leaves_the_one_before(saved, monkeypatch):
    trainer = make()
    play(trainer, 70)
    monkeypatch.setattr(checkpoint.np, "savez", fail)
    with pytest.raises(CountlessError, match="no space left"):
        checkpoint.save(saved, trainer)
    assert checkpoint.find(saved) == saved
    assert checkpoint.read_state(saved)["counters"]["step"] == 30


def test_between_the_renames_the_one_before_is_found(saved, monkeypatch):
    trainer = make()
    play(trainer, 70)
    renamed = []
    original = checkpoint.Path.rename

    def rename(path, to):
        renamed.append(path.name)
        return fail() if len(renamed) == 2 else original(path, to)

    monkeypatch.setattr(checkpoint.Path, "rename", rename)
    with pytest.raises(CountlessError, match="no space left"):
        checkpoint.save(saved, trainer)
    assert renamed == ["checkpoint", "checkpoint.new"]
    assert not saved.exists()
    found = checkpoint.find(saved)
    assert found == saved.with_name("checkpoint.old")
    # Twice in a row does no harm either.
    renamed[:] = ["before"]
    with pytest.raises(CountlessError, match="no space left"):
        checkpoint.save(saved, trainer)
    assert checkpoint.find(saved) == found
    monkeypatch.undo()
    resumed = make()
    checkpoint.load(found, resumed)
    assert resumed.step == 30
    # The next one leaves only itself.
    checkpoint.save(saved, trainer)
    assert [path.name for path in saved.parent.iterdir()] == ["checkpoint"]
    assert checkpoint.read_state(saved)["counters"]["step"] == 40


def test_no_checkpoint(tmp_path):
    assert checkpoint.find(tmp_path / "checkpoint") is None
    (tmp_path / "checkpoint").mkdir()
    assert checkpoint.find(tmp_path / "checkpoint") is None


def test_reading_does_not_write(saved):
    copy = saved.with_name("copy")
    shutil.copytree(saved, copy)
    checkpoint.load(saved, make())
    for path in copy.iterdir():
        assert path.read_bytes() == (saved / path.name).read_bytes()
