"""What small tasks need: the scale for them, inputs scaled up, bonuses as they are when sampled."""

import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import AGENTS, FRAMES, SCALES, make_config
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.network import Network, Spec
from countless.agents.dqn.trainer import Trainer
from countless.bonuses import make_bonus
from countless.bonuses.scaled import Scale, Scaling
from countless.core.errors import BadInput
from countless.envs.make import make_frame_env
from small_runs import replay_arrays

TINY = {"width": 0.1, "replay": 2_000, "warmup": 40, "target_period": 50, "epsilon_steps": 100}


def make(agent, env="deepsea-5", **parameters):
    config = make_config(agent, scale="small", parameters=TINY | parameters)
    return Trainer([make_frame_env(env, seed=i) for i in range(config.envs)], config, Device(), 0)


def run(trainer, steps):
    while trainer.step < steps:
        trainer.turn()


def test_every_scale_has_its_frames():
    assert set(SCALES) == set(FRAMES)


def test_a_scale_knows_the_bonus_and_what_is_given_wins():
    assert make_config("dqn-counts", scale="small").beta == 0.1
    assert make_config("dqn-mmc-sr", scale="small", parameters={"bonus": "counts"}).beta == 0.1
    assert make_config("dqn-counts", scale="small", parameters={"beta": 0.7}).beta == 0.7
    assert make_config("dqn-counts").beta == 0.05
    assert make_config("dqn-mmc-sr", scale="small").optimiser == "adam"
    assert make_config("dqn-mmc-sr").optimiser == "rmsprop"
    assert not make_config("dqn-mmc-sr", scale="small").encoder_bias
    assert make_config("dqn-counts", scale="small").encoder_bias


def test_beta_knows_the_width():
    betas = {
        (scale, norm): make_config("dqn-mmc-sr", scale=scale, parameters={"norm": norm}).beta
        for scale in ("laptop", "paper")
        for norm in (1, 2)
    }
    assert betas == {
        ("laptop", 1): 0.005, ("laptop", 2): 0.025, ("paper", 1): 0.05, ("paper", 2): 0.025
    }  # fmt: skip


def test_narrow_networks_have_what_keeps_their_features_alive():
    def of(scale, **given):
        made = make_config("dqn-mmc-sr", scale=scale, parameters=given)
        return made.layer_norm, made.w_reconstruction

    assert {scale: of(scale, norm=1) for scale in SCALES} == {
        "smoke": (True, 0.001), "laptop": (True, 0.001), "paper": (False, 0.001),
        "small": (False, 0.001),
    }  # fmt: skip
    assert {scale: of(scale, norm=2) for scale in SCALES} == {
        "smoke": (False, 0.1), "laptop": (False, 0.1), "paper": (False, 0.001),
        "small": (False, 0.001),
    }  # fmt: skip
    assert of("laptop", layer_norm=False) == (False, 0.001)
    assert of("laptop", norm=2, w_reconstruction=0.001) == (False, 0.001)


@pytest.mark.parametrize("silent", [True, False])
def test_what_was_never_seen_has_a_small_norm(silent):
    """Learning makes psi large where the agent was; without biases it stays small elsewhere."""
    usual = {} if silent else {"encoder_bias": True, "sr_bias": True, "first_weights": 1.0}
    trainer = make("dqn-mmc-sr", width=1.0, **usual)
    run(trainer, 400)
    seen = {
        int(frame.argmax()) for frame in trainer.replay.frames[0, : trainer.step] if frame.any()
    }
    cells = np.zeros((25, 1, 5, 5), np.uint8)
    cells.reshape(25, 25)[np.arange(25), np.arange(25)] = 255
    norms = 1.0 / trainer.learner.sr_bonuses(cells)
    new = [cell for cell in range(25) if cell not in seen]
    assert new  # above the diagonal, at least
    share = norms[new].mean() / norms[list(seen)].mean()
    assert share < 0.2 if silent else share > 0.5


@pytest.mark.parametrize("agent", ["dqn", "dqn-mmc", "dqn-mmc-sr", "dqn-rnd", "dqn-counts"])
@pytest.mark.parametrize("env", ["deepsea-5", "CartPole-v1", "riverswim"])
def test_agents_learn_there_without_another_option(agent, env):
    assert agent in AGENTS
    trainer = make(agent, env, warmup=600, replay=2_000)
    run(trainer, 3)
    assert trainer.updates == 3


def test_the_input_is_multiplied():
    spec = Spec((5, 5), 2, True)
    plain, scaled, own = (
        Network(spec, DQNConfig(network="mlp", history=1, input_scale=scale).architecture)
        for scale in (1.0, 5.0, 0.0)
    )
    scaled.load_state_dict(plain.state_dict())
    own.load_state_dict(plain.state_dict())
    seen = torch.rand(3, 1, 5, 5)
    assert torch.equal(scaled.values(seen), plain.values(seen * 5.0))
    assert own.input_scale == 5.0  # the root of 25 inputs: a one-hot image has a mean square of 1
    assert plain.input_scale == 1.0
    assert not torch.equal(scaled.values(seen), plain.values(seen))


@pytest.mark.parametrize("bonus", ["counts", "sr-norm"])
def test_a_sampled_batch_has_the_bonus_of_now_and_teaches_none(bonus):
    trainer = make("dqn-mmc", bonus=bonus, bonus_from="sampled")
    run(trainer, 100)
    before = {name: value.copy() for name, value in trainer.bonus.get_state().items()}
    trainer.random["replay"] = np.random.default_rng(5)
    stored = trainer.replay.sample(64, np.random.default_rng(5))
    batch = trainer._sample(64)
    np.testing.assert_array_equal(batch.s_tm1, stored.s_tm1)
    np.testing.assert_array_equal(batch.g_tm1, stored.g_tm1)
    paid = stored.r_int_t > 0.0
    assert paid.any()
    assert not paid.all()  # the warm-up's
    assert (batch.r_int_t[~paid] == 0.0).all()
    expected = trainer.bonus.compute(stored.s_tm1)[paid]
    np.testing.assert_allclose(batch.r_int_t[paid], expected, rtol=1e-6)
    assert not np.allclose(batch.r_int_t, stored.r_int_t)
    for name, value in trainer.bonus.get_state().items():
        np.testing.assert_array_equal(value, before[name])


def test_rnd_sees_small_images_as_vectors():
    small = make("dqn-rnd")
    run(small, 5)
    seen = np.stack([small.actors[0].stack] * 3)
    assert seen.shape == (3, 1, 5, 5)
    assert small.bonus.compute(seen).shape == (3,)
    assert make_config("dqn-rnd").bonus_sees == "frames"
    sizes = {
        sees: sum(
            np.asarray(v).size for v in make("dqn-rnd", bonus_sees=sees).bonus.get_state().values()
        )
        for sees in ("vector", "frames")
    }
    assert sizes["vector"] < sizes["frames"]


def test_a_table_of_numbered_observations():
    """`number`: the SR of a table over what was met, in the order of meeting it."""
    trainer = make("dqn-mmc", bonus="sr-norm", bonus_sees="number", sr_terminal="continue")
    numbers, met = [], {}
    observe = trainer.bonus.observe

    def and_tell(actors):
        numbers.append(met.setdefault(actors[0].stack.tobytes(), len(met)))
        observe(actors)

    trainer.bonus.observe = and_tell
    run(trainer, 150)
    table = make_bonus("sr-norm", len(met), beta=1.0)
    for state in numbers:
        table.observe([state])  # each follows the one before, over the ends of episodes
    seen = np.stack([np.frombuffer(row, np.uint8).reshape(1, 5, 5) for row in met])
    np.testing.assert_array_equal(trainer.bonus.compute(seen), table.compute(np.arange(len(met))))
    unseen = np.full((1, 1, 5, 5), 7, np.uint8)
    assert trainer.bonus.compute(unseen) == 1.0 / 0.01  # the bonus of a norm of zero
    assert trainer.bonus.compute(unseen) == 1.0 / 0.01  # being asked about is no meeting


def test_a_table_numbers_few_observations(monkeypatch):
    monkeypatch.setattr("countless.agents.dqn.bonus.MOST_STATES", 4)
    with pytest.raises(BadInput, match=r"bonus_sees='number' is for .* more than 4"):
        run(make("dqn-mmc", bonus="sr-norm", bonus_sees="number"), 60)


def test_after_an_episode_a_bonus_of_transitions_stops_or_continues():
    """One state, then the end: stopped, its last step is never learned."""
    norms = {}
    for terminal in ("stop", "continue"):
        trainer = make("dqn-mmc", bonus="sr-norm", bonus_sees="number", sr_terminal=terminal)
        run(trainer, 100)
        bonus = trainer.bonus.get_state()
        norms[terminal] = bonus["psi"][: len(bonus["sight.met"])]
    deepest = np.array([row.argmax() // 5 == 4 for row in bonus["sight.met"]])
    assert deepest.any()
    assert (norms["stop"][deepest] == 0.0).all()
    assert (norms["continue"][deepest] > 0.0).all()


def test_a_bonus_kept_as_collected_is_sampled_as_stored():
    trainer = make("dqn-counts")
    run(trainer, 60)
    trainer.random["replay"] = np.random.default_rng(5)
    stored = trainer.replay.sample(64, np.random.default_rng(5))
    np.testing.assert_array_equal(trainer._sample(64).r_int_t, stored.r_int_t)


def test_a_bonus_is_scaled_as_around_other_agents():
    trainer = make("dqn-counts", bonus_scale="standardise")
    assert trainer.bonus.bonus.scaling == Scaling("standardise", beta=1.0)  # beta is the agent's
    run(trainer, 1_000)
    paid = trainer.replay.sample(256, np.random.default_rng(0)).r_int_t
    assert paid.min() < 0.0 < paid.max()  # zero on average: it does not pay for staying alive
    assert make("dqn-counts").bonus.bonus.state_dict().keys() == {
        "of",
        "visits",
        "digests",
    }  # unscaled


@pytest.mark.parametrize("envs", [1, 3])
def test_the_bonus_of_the_sr_is_scaled_too(envs):
    """As `ScaledBonus` would scale the same values, whichever of them are evaluated together."""
    scaled = {"bonus_scale": "standardise"}
    stored = []
    for settings in ({"bonus_batch": 1}, scaled | {"bonus_batch": 1}, scaled | {"bonus_batch": 32}):
        trainer = make("dqn-mmc-sr", envs=envs, warmup=10**6, warmup_bonus=True, **settings)
        known = []
        trainer._store = known.extend
        for _ in range(900 // envs):
            trainer.turn()
        stored.append(known + trainer.bonus.flush())
    raw, alone, together = stored
    scale = Scale(Scaling("standardise"))
    for given, found in zip(raw, alone, strict=True):
        row, values = np.array([given.lane]), np.zeros(envs)
        values[given.lane] = given.value
        assert found == given._replace(value=scale.scaled(values[row])[0])
        scale.learn(values, row, None)
    paid, at_once = (np.array([one.value for one in known]) for known in (alone, together))
    assert not paid[:500].any()  # which only feed the statistics
    assert paid[500:].min() < 0.0 < paid[500:].max()
    np.testing.assert_allclose(at_once, paid, atol=1e-3)


TABLE = {"bonus": "sr-norm", "bonus_sees": "number"}


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("dqn-mmc-sr", {}),
        ("dqn-counts", {}),
        ("dqn-counts", {"bonus_scale": "standardise"}),
        ("dqn-mmc", TABLE),
    ],
)
@pytest.mark.parametrize("bonus_from", ["collected", "sampled"])
def test_killed_and_resumed_is_never_killed(agent, settings, bonus_from, tmp_path):
    settings = settings | {"bonus_from": bonus_from}
    if agent == "dqn-mmc-sr" and bonus_from == "collected":
        settings |= {"bonus_scale": "standardise"}
    whole = make(agent, **settings)
    run(whole, 120)
    first = make(agent, **settings)
    run(first, 60)
    Checkpoints(tmp_path / "checkpoint").save(first)
    second = make(agent, **settings)
    Checkpoints(tmp_path / "checkpoint").load(second)
    run(second, 120)
    kept, again = whole.learner.tensors_to_keep(), second.learner.tensors_to_keep()
    assert any(name.endswith(".steps") for name in kept["optimiser"])
    for part, tensors in kept.items():
        for name, value in tensors.items():
            assert torch.equal(value, again[part][name]), (part, name)
    for name, array in replay_arrays(whole.replay).items():
        np.testing.assert_array_equal(array, replay_arrays(second.replay)[name])
    for name, array in whole.bonus.get_state().items():
        np.testing.assert_array_equal(array, second.bonus.get_state()[name])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"optimiser": "adam", "rms_decay": 0.9}, "rms_decay changes nothing"),
        ({"optimiser": "sgd"}, "optimiser must be one of rmsprop, adam"),
        ({"input_scale": -1.0}, "input_scale must lie in"),
        ({"first_weights": 0.0}, "first_weights must lie in"),
        ({"bonus_sees": "vector"}, "bonus_sees changes nothing"),
        ({"bonus_scale": "std", "bonus_from": "sampled"}, "give bonus_from='collected'"),
        (
            {"bonus_scale": "std", "bonus_centre": "mean"},
            "give bonus_scale or bonus_centre, not both",
        ),
        ({"bonus": "counts", "bonus_scale": "unit"}, "bonus_scale must be one of"),
        ({"bonus": "counts", "sr_terminal": "continue"}, "sr_terminal changes nothing"),
        ({"bonus": "off", "bonus_from": "sampled"}, "bonus_from changes nothing"),
        ({"normalise": False, "q_reads": "raw"}, "q_reads changes nothing"),
        ({"normalise": False, "norm_gradient": False}, "norm_gradient changes nothing"),
        (
            {"q_reads": "raw", "reconstruction": False, "norm_gradient": False},
            "norm_gradient changes nothing: no loss",
        ),
        ({"q_hidden": -1}, "q_hidden must lie in"),
    ],
)
def test_bad_input(parameters, message):
    with pytest.raises(BadInput, match=message):
        make_config("dqn-mmc-sr", parameters=parameters)
