"""A bonus against true visit counts."""

from itertools import pairwise

import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.core.progress import SILENT
from countless.envs.catalog import make_mdp
from countless.experiments.diagnose import choose_view, diagnose, draw
from countless.experiments.walks import random_walk, render_states, state_layout, walk_game


def test_a_walk_is_a_walk():
    mdp = make_mdp("gridworld-3")
    walk = random_walk(mdp, 500, seed=1)
    assert walk[0, 0] == 0
    for (_, after, done), (state, _, _) in pairwise(walk):
        assert state == (0 if done else after)
    assert walk[:, 2].sum() > 0
    assert (walk[walk[:, 2] == 1, 1] == 8).all()
    np.testing.assert_array_equal(walk, random_walk(mdp, 500, seed=1))
    assert (walk != random_walk(mdp, 500, seed=2)).any()


def test_states_look_different():
    for name in ("fourrooms", "riverswim", "deepsea-5", "chain-7"):
        mdp = make_mdp(name)
        frames = render_states(mdp)
        assert frames.shape == (mdp.n_states, 84, 84)
        shown = np.unique(state_layout(mdp))
        assert len({frames[s].tobytes() for s in shown[shown >= 0]}) == (shown >= 0).sum()


@pytest.mark.parametrize(
    ("bonus", "least", "parameters"),
    [
        ("counts", 1.0, {}),
        ("sr-norm", 0.95, {"eta": 0.05}),
        ("ssr", 0.7, {}),
        ("cts", 0.7, {}),
        ("sr-norm", 0.8, {"form": "features"}),
    ],
)
def test_rare_states_are_paid_more(bonus, least, parameters):
    found = diagnose(bonus, "fourrooms", steps=2000, parameters=parameters)
    assert found.visits.sum() == 2000
    assert found.over_states >= least - 1e-9
    assert found.over_walk > 0.5


@pytest.mark.parametrize("bonus", ["rnd", "pixelcnn"])
def test_the_deep_ones_see_pictures(bonus, tmp_path):
    small = {"rnd": {"warm_up": 0, "features": 16, "size": 36}, "pixelcnn": {"size": 12, "maps": 4}}
    found = diagnose(bonus, "gridworld-3", steps=60, parameters=small[bonus])
    assert found.view == "image"
    assert np.isfinite(found.bonus).all()
    path = draw(found, tmp_path)
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_views():
    assert choose_view("sr-norm", "auto", {}) == "states"
    assert choose_view("sr-norm", "auto", {"form": "network"}) == "image"
    assert choose_view("cts", "auto", {}) == "image"
    assert diagnose("rnd", "riverswim", steps=20, view="vector").view == "vector"


def test_the_places_of_a_game(tmp_path):
    found = diagnose("cts", "ALE/MontezumaRevenge-v5", steps=120, parameters={"size": 12})
    assert (found.env, found.view) == ("MontezumaRevenge", "image")
    assert found.visits.sum() == 120
    assert found.over_walk > 0.5
    drawn = found.layout[found.layout >= 0]
    assert sorted(drawn) == list(range(len(found.visits)))
    assert draw(found, tmp_path).exists()


def test_a_walk_in_a_game_shows_what_it_says():
    walk = walk_game("MontezumaRevenge", 400, 1, SILENT)
    assert walk.ended.sum() >= 1
    np.testing.assert_array_equal(walk.shows[walk.seen], walk.states)
    # What follows a step is what the next one sees, but for the first of an episode.
    goes_on = ~walk.starts[1:]
    np.testing.assert_array_equal(walk.after[:-1][goes_on], walk.seen[1:][goes_on])
    assert (walk.after[:-1][~goes_on] + 1 == walk.seen[1:][~goes_on]).all()
    assert len(np.unique(walk.pictures, axis=0)) > len(walk.counted) / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bonus_name": "cts", "env": "Freeway"}, "Freeway does not say where its player is"),
        ({"bonus_name": "ssr", "env": "MontezumaRevenge"}, "ssr sees states, not image"),
        ({"bonus_name": "cts", "env": "MontezumaRevenge", "view": "vector"}, "a game is seen as"),
        ({"bonus_name": "ssr", "env": "fourrooms", "view": "image"}, "ssr sees states, not image"),
        ({"bonus_name": "ssr", "env": "fourrooms", "view": "x"}, "view must be one of"),
        (
            {"bonus_name": "ssr", "env": "fourrooms", "steps": 1},
            "steps must be a whole number from 10 to",
        ),
        ({"bonus_name": "ssr", "env": "chain-5000"}, "chain-5000 has 5,000 states; diagnose takes"),
        ({"bonus_name": "srr", "env": "fourrooms"}, "unknown bonus 'srr'"),
        ({"bonus_name": "ssr", "env": "CartPole-v1"}, "tabular agents and diagnose need `P`"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(BadInput, match=message):
        diagnose(**arguments)
