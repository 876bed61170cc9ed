"""The video of an agent."""

import cv2
import gymnasium
import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.deep.agents import make_config
from countless.deep.device import Device
from countless.deep.trainer import Trainer
from countless.deep.watch import draw, play, write_video
from countless.envs.games import make_game


def trainer(env, agent="dqn-mmc-sr", **parameters):
    config = make_config(agent, parameters={"width": 0.0625, "replay": 200} | parameters)
    return Trainer([make_game(env, 0)], config, Device(), 0)


@pytest.mark.parametrize("env", ["MontezumaRevenge", "deepsea-5"])
def test_a_video_has_a_picture_a_step(env, tmp_path):
    path = tmp_path / "watch.mp4"
    count = write_video(path, play(trainer(env), 0.5, 12, 0), env, 0.05, 12.0, 12)
    video = cv2.VideoCapture(str(path))
    assert 1 <= count <= 12
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == count
    assert video.read()[1].std() > 10


def test_vectors_that_cannot_be_drawn_are_refused(monkeypatch):
    def render():
        raise gymnasium.error.DependencyNotInstalled("no pygame")

    watched = trainer("CartPole-v1")
    monkeypatch.setattr(watched.actors[0].game._env, "render", render)
    with pytest.raises(BadInput, match="CartPole-v1 cannot be drawn: no pygame"):
        next(play(watched, 0.0, 1, 0))


def test_the_scenes_are_those_of_the_game():
    scenes = list(play(trainer("deepsea-5"), 0.0, 50, 0))
    assert [scene.step for scene in scenes] == [1, 2, 3, 4, 5]
    assert all(scene.view.sr_norm > 0 for scene in scenes)
    assert scenes[0].prediction.shape == (5, 5)


def test_an_agent_without_prediction_and_bonus():
    scene = next(play(trainer("deepsea-5", "dqn-mmc"), 0.0, 1, 0))
    assert scene.prediction is None
    with_curves = draw(scene, [0.1, 0.3], [], "title")
    assert with_curves.dtype == np.uint8
    assert with_curves.shape[0] < draw(scene, [0.1, 0.3], [1.0], "title").shape[0]
