"""The video of an agent."""

import base64
import io
import json
import re

import av
import cv2
import gymnasium
import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import Device
from countless.agents.dqn.film import Video, WatchPage, draw, record
from countless.agents.dqn.trainer import Trainer
from countless.agents.dqn.watch import AT_ONCE, play
from countless.core.errors import BadInput
from countless.envs.make import make_frame_env


def trainer(env, agent="dqn-mmc-sr", **parameters):
    config = make_config(agent, parameters={"width": 0.0625, "replay": 200} | parameters)
    return Trainer([make_frame_env(env, 0)], config, Device(), 0)


@pytest.mark.parametrize("env", ["MontezumaRevenge", "deepsea-5", "riverswim"])
def test_a_video_has_a_picture_a_step(env, tmp_path):
    path = tmp_path / "watch.mp4"
    count = record(play(trainer(env), 0.5, 12, 0), [Video(path, env, 12.0)], 12)
    video = cv2.VideoCapture(str(path))
    assert 1 <= count <= 12
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == count
    assert video.read()[1].std() > 10


def test_browsers_play_it(tmp_path):
    path = tmp_path / "watch.mp4"
    record(play(trainer("deepsea-5"), 0.0, 3, 0), [Video(path, "title", 12.0)], 3)
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


def watched_data(path):
    """What the page has to show, and the pictures of its film."""
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="watched">(.*?)</script>', text)
    data = json.loads(found)
    with av.open(io.BytesIO(base64.b64decode(data.pop("film")))) as film:
        return data, [frame.to_ndarray(format="bgr24") for frame in film.decode(video=0)]


def test_a_page_has_the_same_steps(tmp_path):
    path = tmp_path / "watch.html"
    scenes = list(play(trainer("deepsea-5"), 0.0, 7, 0))
    assert record(iter(scenes), [WatchPage(path, "a <title>", 12.0)], 7) == 7
    data, pictures = watched_data(path)
    assert data["episode"] == [1, 1, 1, 1, 1, 2, 2]
    assert data["score"] == pytest.approx([scene.score for scene in scenes], rel=1e-4)
    value, norm, bonus = data["curves"]
    assert value["y"] == pytest.approx([scene.value for scene in scenes], rel=1e-4)
    assert norm["y"] == pytest.approx([scene.norm for scene in scenes], rel=1e-4)
    assert bonus["y"] == pytest.approx([scene.bonus for scene in scenes], rel=1e-4)
    assert len(pictures) == 7
    assert "a &lt;title&gt;" in path.read_text(encoding="utf-8")


def test_predictions_and_bonuses_are_of_their_own_step():
    """They are computed for many steps at once."""
    steps = AT_ONCE + 3
    watched = trainer("deepsea-5")
    found = list(play(watched, 0.5, steps, 1))
    again = trainer("deepsea-5")
    actor, random = again.actors[0], np.random.default_rng(1)
    actor.begin()
    for scene in found:
        values = again.learner.values(actor.stack)
        action = int(random.integers(2)) if random.random() < 0.5 else int(values.argmax())
        seen = actor.stack[None].copy()
        step = actor.act(action)
        (frame,) = again.learner.predictions(seen, np.array([action]))
        np.testing.assert_allclose(scene.prediction, frame.clip(0, 255).astype(np.uint8), atol=1)
        assert scene.bonus == pytest.approx(again.bonuses_at(seen)[0], rel=1e-5)
        assert scene.norm == pytest.approx(float(1 / again.learner.sr_bonuses(seen)[0]), rel=1e-5)
        if step.terminated:
            actor.begin()
    assert [scene.step for scene in found] == list(range(1, steps + 1))


def test_stopped_on_the_way_the_video_so_far_is_whole(tmp_path):
    def some():
        yield from play(trainer("deepsea-5"), 0.0, 3, 0)
        raise KeyboardInterrupt

    path, page = tmp_path / "watch.mp4", tmp_path / "watch.html"
    with pytest.raises(KeyboardInterrupt):
        record(some(), [Video(path, "title", 12.0), WatchPage(page, "title", 12.0)], 12)
    assert len(watched_data(page)[1]) == 3
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
    assert scene.norm is None
    with_curve = draw(scene, {"value": [0.1, 0.3]}, "title")
    assert with_curve.dtype == np.uint8
    more = draw(scene, {"value": [0.1, 0.3], "bonus": [1.0]}, "title")
    assert with_curve.shape[0] < more.shape[0]
