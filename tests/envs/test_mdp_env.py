"""Every registered environment keeps Gymnasium's contract and does what its MDP says."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from countless.core.errors import BadInput
from countless.envs import MDPEnv, build_mdp, make_mdp
from countless.envs.gymnasium_model import mdp_from_gymnasium
from countless.envs.mdp_env import REGISTERED

# Its newest version, whichever the installed Gymnasium has.
TAXI = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))


@pytest.mark.parametrize("name", list(REGISTERED))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_registered_environments_pass_the_checker(name):
    env = gymnasium.make(name)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.unwrapped.mdp.n_states == env.observation_space.n


@pytest.mark.parametrize("name", list(REGISTERED))
def test_same_seed_same_episode(name):
    def episode(seed):
        env = gymnasium.make(name)
        env.action_space.seed(seed)
        seen = [env.reset(seed=seed)[0]]
        for _ in range(50):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            seen += [observation, reward]
            if terminated or truncated:
                env.reset()
        return seen

    assert episode(1) == episode(1)


def test_transitions_follow_the_probabilities():
    env = MDPEnv("riverswim")
    env.reset(seed=0)
    counts = np.zeros(6)
    for _ in range(20_000):
        env._state = 3
        counts[env.step(np.int64(0))[0]] += 1
    np.testing.assert_allclose(counts / 20_000, [0, 0, 0.1, 0.6, 0.3, 0], atol=0.015)


def test_time_limit_truncates():
    env = gymnasium.make("countless/RiverSwim-v0")
    env.reset(seed=0)
    flags = [env.step(1)[2:4] for _ in range(5000)]
    assert flags[-1] == (False, True)
    assert not any(truncated for _, truncated in flags[:-1])


def test_an_action_that_a_state_does_not_offer():
    mdp = build_mdp("one", ([0, 1, 1], [1, 0, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]), [1.0, 0.0])
    env = MDPEnv(mdp)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [0, 1]
    with pytest.raises(BadInput, match="state 0 does not offer action 0; it offers 1"):
        env.step(np.int64(0))


def test_render():
    env = MDPEnv("fourrooms", render_mode="ansi")
    env.reset(seed=0)
    lines = env.render().split("\n")
    assert len(lines) == 11
    assert lines[0] == "A....#....."
    assert MDPEnv("riverswim").render() is None


def test_pictures():
    """One blue cell, where the agent is; what wrappers and recorders ask for."""
    for name, shape in (("fourrooms", (11, 11)), ("riverswim", (1, 6))):
        env = MDPEnv(name, render_mode="rgb_array")
        state, _ = env.reset(seed=0)
        picture = env.render()
        assert picture.shape == (16 * shape[0], 16 * shape[1], 3)
        agent = (picture[::16, ::16] == [0, 114, 178]).all(axis=2)
        (at,) = np.argwhere(agent)
        layout = env.mdp.layout if name == "fourrooms" else np.arange(6)[None]
        assert layout[tuple(at)] == state
        walls = (picture[::16, ::16] == [90, 90, 90]).all(axis=2)
        np.testing.assert_array_equal(walls, layout < 0)


@pytest.mark.parametrize(
    ("name", "states", "actions"),
    [
        ("FrozenLake-v1", 16, 4),
        ("FrozenLake8x8-v1", 64, 4),
        (TAXI, 500, 6),
        ("CliffWalking-v1", 48, 4),
    ],
)
def test_models_of_gymnasium(name, states, actions):
    mdp = make_mdp(name)
    assert (mdp.n_states, mdp.n_actions) == (states, actions)
    model = gymnasium.make(name).unwrapped.P
    for s in (0, states // 2, states - 1):
        for a in range(actions):
            rows = (mdp.state == s) & (mdp.action == a)
            ours = sorted(
                zip(
                    mdp.probability[rows],
                    mdp.next_state[rows],
                    mdp.reward[rows],
                    mdp.terminated[rows],
                    strict=True,
                )
            )
            theirs = sorted((p, to, r, done) for p, to, r, done in model[s][a] if p > 0)
            assert [tuple(map(float, row)) for row in ours] == [
                tuple(map(float, row)) for row in theirs
            ]


def test_our_own_ids_are_environments_of_the_command_line_too():
    assert make_mdp("countless/RiverSwim-v0").fingerprint == make_mdp("riverswim").fingerprint


def test_any_mdp_by_id():
    env = gymnasium.make("countless/MDP-v0", mdp="chain", size=5)
    assert env.observation_space.n == 5
    check_env(env.unwrapped, skip_render_check=True)


def test_a_model_from_an_environment_object():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = mdp_from_gymnasium(env)
    assert (mdp.probability == 1).all()
    assert mdp.episode_limit == 100
