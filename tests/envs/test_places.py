"""Where the player is: read from the running game, and remembered over a run."""

import json
from pathlib import Path

from countless.envs.atari import AtariFrameEnv
from countless.envs.make import make_frame_env
from countless.envs.places import Coverage, Place, Survey

# Actions that lead to the first key of Montezuma's Revenge when none sticks.
TO_THE_KEY = Path(__file__).parent.parent / "data" / "montezuma_key.json"


def test_the_key_of_the_first_room_is_seen_when_it_pays():
    game = AtariFrameEnv("MontezumaRevenge", seed=0, sticky=0.0)
    game.reset()
    assert game.place() == Place(room=1, column=9, row=29, key=False)
    rooms, keys, rewards = [], [], []
    for action in json.loads(TO_THE_KEY.read_text()):
        rewards.append(game.step(action).reward)
        place = game.place()
        rooms.append(place.room)
        keys.append(place.key)
    assert rewards == [0.0] * (len(rewards) - 1) + [100.0]
    assert keys == [False] * (len(keys) - 1) + [True]
    assert set(rooms) == {1}


def test_other_environments_have_no_places():
    assert AtariFrameEnv("Freeway", seed=0).place() is None
    assert make_frame_env("fourrooms", 0).place() is None


def test_a_survey_counts_each_cell_once_and_a_key_in_its_own_episode():
    survey = Survey(lanes=2)
    for column in (3, 4, 3):
        survey.look(0, Place(1, column, 7, key=column == 4))
    survey.look(1, Place(2, 3, 7, key=False))
    kept = json.loads(json.dumps(survey.get_state()))
    assert survey.end(0) == Coverage(rooms=2, cells=3, key=True)
    assert survey.end(1) == Coverage(rooms=2, cells=3, key=False)
    assert survey.end(0) == Coverage(rooms=2, cells=3, key=False)
    restored = Survey(lanes=2)
    restored.set_state(kept)
    restored.look(0, Place(1, 3, 7, key=False))
    assert restored.end(0) == Coverage(rooms=2, cells=3, key=True)
