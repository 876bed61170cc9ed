"""The video of an agent."""

import av
import cv2
import gymnasium
import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import Device
from countless.agents.dqn.trainer import Trainer
from countless.agents.dqn.watch import draw, play, write_video
from countless.core.errors import BadInput
from countless.envs.make import make_frame_env


def trainer(env, agent="dqn-mmc-sr", **parameters):
    config = make_config(agent, parameters={"width": 0.0625, "replay": 200} | parameters)
    return Trainer([make_frame_env(env, 0)], config, Device(), 0)


@pytest.mark.parametrize("env", ["MontezumaRevenge", "deepsea-5", "riverswim"])
def test_a_video_has_a_picture_a_step(env, tmp_path):
    path = tmp_path / "watch.mp4"
    count = write_video(path, play(trainer(env), 0.5, 12, 0), env, 12.0, 12)
    video = cv2.VideoCapture(str(path))
    assert 1 <= count <= 12
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == count
    assert video.read()[1].std() > 10


def test_browsers_play_it(tmp_path):
    path = tmp_path / "watch.mp4"
    write_video(path, play(trainer("deepsea-5"), 0.0, 3, 0), "title", 12.0, 3)
    with av.open(str(path)) as video:
        (stream,) = video.streams
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"


def test_vectors_that_cannot_be_drawn_are_refused(monkeypatch):
    def render():
        raise gymnasium.error.DependencyNotInstalled("no pygame")

    watched = trainer("CartPole-v1")
    monkeypatch.setattr(watched.actors[0].game._env, "render", render)
    with pytest.raises(BadInput, match="CartPole-v1 cannot be drawn: no pygame"):
        next(play(watched, 0.0, 1, 0))


def test_stopped_on_the_way_the_video_so_far_is_whole(tmp_path):
    def some():
        yield from play(trainer("deepsea-5"), 0.0, 3, 0)
        raise KeyboardInterrupt

    path = tmp_path / "watch.mp4"
    with pytest.raises(KeyboardInterrupt):
        write_video(path, some(), "title", 12.0, 12)
    assert cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT) == 3


def test_the_scenes_are_those_of_the_game():
    scenes = list(play(trainer("deepsea-5"), 0.0, 12, 0))
    assert [scene.step for scene in scenes] == list(range(1, 13))
    # Episodes of five steps, one after the other: the score begins anew.
    assert scenes[5].score == scenes[0].score
    assert scenes[10].score == scenes[0].score
    assert scenes[0].prediction.shape == (5, 5)


def test_the_bonus_is_what_the_reward_gets():
    watched = trainer("deepsea-5", beta=0.3)
    watched.actors[0].begin()
    norm = float(watched.learner.target.sr_norm(seen(watched))[0])
    assert next(play(watched, 0.0, 1, 0)).bonus == pytest.approx(min(1.0, 0.3 / norm))
    with torch.no_grad():
        for weight in watched.learner.target.sr_head.parameters():
            weight.zero_()
    assert next(play(watched, 0.0, 1, 0)).bonus == 1.0  # the limit, where psi is zero


@pytest.mark.parametrize("agent", ["dqn-counts", "dqn-rnd"])
def test_a_bonus_of_the_registry_is_shown_and_learns_nothing(agent):
    watched = trainer("deepsea-5", agent, beta=0.5, bonus_limit=100.0)
    for _ in range(9):
        watched.bonus.observe(watched.actors)
    before = {name: value.copy() for name, value in watched.bonus.get_state().items()}
    bonus = next(play(watched, 0.0, 1, 0)).bonus
    assert bonus == pytest.approx(0.5 * watched.bonus.compute(first(watched).stack[None])[0])
    if agent == "dqn-counts":
        assert bonus == pytest.approx(0.5 / 10**0.5)
    for name, value in watched.bonus.get_state().items():
        np.testing.assert_array_equal(value, before[name])


def first(watched):
    """The actor at the beginning of an episode."""
    watched.actors[0].begin()
    return watched.actors[0]


def seen(watched):
    return watched.learner.device.observations(watched.actors[0].stack[None])


@pytest.mark.parametrize("parameters", [{}, {"sr": True, "reconstruction": False}])
def test_an_agent_without_prediction_and_bonus(parameters):
    scene = next(play(trainer("deepsea-5", "dqn-mmc", **parameters), 0.0, 1, 0))
    assert scene.prediction is None
    assert scene.bonus is None
    with_curves = draw(scene, [0.1, 0.3], [], "title")
    assert with_curves.dtype == np.uint8
    assert with_curves.shape[0] < draw(scene, [0.1, 0.3], [1.0], "title").shape[0]
