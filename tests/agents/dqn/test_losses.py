"""The losses against linear algebra and by hand; which gradients flow where."""

import copy

import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.losses import (
    TransitionTensors,
    compute_losses,
    compute_targets,
    sr_bonus,
    td_loss,
    total_reward,
)
from countless.agents.dqn.network import Network, Spec
from countless.envs.solve import (
    optimal_q,
    successor_representation,
    transition_matrix,
    uniform_policy,
)
from oracles.tables import TENTHS, TableNetwork, all_transitions, tenths_mdp

GAMMA = 0.8
SWEEPS = 120  # 0.8^120 is 2e-12


def losses_of(network, target, batch, config):
    return compute_losses(network, target, batch, config.losses, config.rewards)


def learn(mdp, batch, *, bonus="off", **parameters):
    """Gradient steps on all transitions at once, of a size that makes each a Bellman backup."""
    config = make_config(
        "dqn-mmc-sr",
        parameters={
            "gamma": GAMMA, "tau": 0.0, "w_sr": 1.0, "sr": True, "bonus": bonus,
            "clip_reward": False, "td_loss": "square",
        } | parameters,
    )  # fmt: skip
    table = TableNetwork(mdp.n_states, mdp.n_actions)
    rows, n = len(batch.a_tm1), mdp.n_states
    # Means over rows: d/dq of a pair is 2/rows a row, of psi(s) 2/(rows n) a row and feature.
    rate_q, rate_psi = rows / (2 * TENTHS), rows * n / (2 * TENTHS * mdp.n_actions)
    for _ in range(SWEEPS):
        table.zero_grad()
        losses_of(table, copy.deepcopy(table), batch, config).total.backward()
        with torch.no_grad():
            table.q_table -= rate_q * table.q_table.grad
            table.psi_table -= rate_psi * table.psi_table.grad
    return table.q_table.detach().numpy(), table.psi_table.detach().numpy()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("episodic", [False, True])
def test_psi_becomes_the_successor_representation(seed, episodic):
    mdp = tenths_mdp(seed, episodic=episodic)
    exact = successor_representation(mdp, uniform_policy(mdp), GAMMA)
    _, psi = learn(mdp, all_transitions(mdp))
    np.testing.assert_allclose(psi, exact, atol=1e-8)
    if not episodic:
        np.testing.assert_allclose(psi.sum(1), 1.0 / (1.0 - GAMMA))


def test_the_sr_can_have_a_discount_of_its_own():
    mdp = tenths_mdp(5, episodic=True)
    q, psi = learn(mdp, all_transitions(mdp), gamma_sr=0.5)
    exact = successor_representation(mdp, uniform_policy(mdp), 0.5)
    np.testing.assert_allclose(psi, exact, atol=1e-8)
    np.testing.assert_array_equal(q, learn(mdp, all_transitions(mdp))[0])


def test_the_released_target_leaves_out_the_current_state():
    mdp = tenths_mdp(5)
    matrix = transition_matrix(mdp, uniform_policy(mdp))
    exact = matrix @ np.linalg.inv(np.eye(mdp.n_states) - GAMMA * matrix)
    _, psi = learn(mdp, all_transitions(mdp), sr_target="next")
    np.testing.assert_allclose(psi, exact, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("episodic", [False, True])
def test_q_becomes_optimal(seed, episodic):
    mdp = tenths_mdp(seed, episodic=episodic)
    q, _ = learn(mdp, all_transitions(mdp))
    np.testing.assert_allclose(q, optimal_q(mdp, GAMMA), atol=1e-8)


def test_q_with_a_bonus_is_optimal_for_reward_and_bonus():
    mdp = tenths_mdp(6, episodic=True)
    bonus = np.linspace(0.2, 0.9, mdp.n_states)
    q, _ = learn(mdp, all_transitions(mdp, bonus), bonus="sr", beta=0.7)
    richer = copy.copy(mdp)
    object.__setattr__(richer, "reward", mdp.reward + 0.7 * bonus[mdp.state])
    np.testing.assert_allclose(q, optimal_q(richer, GAMMA), atol=1e-8)
    assert np.abs(q - optimal_q(mdp, GAMMA)).min() > 0.1


def hand(**changes):
    """Three transitions between two states; the last one ends."""
    eye = torch.eye(2, dtype=torch.float64)
    batch = TransitionTensors(
        s=eye[[0, 1, 0, 1, 0, 1]].unsqueeze(1),
        frame_t=eye[[1, 0, 1]],
        a_tm1=torch.tensor([0, 1, 1]),
        r_t=torch.tensor([0.5, -4.0, 3.0], dtype=torch.float64),
        r_int_t=torch.tensor([0.1, 0.2, 100.0], dtype=torch.float64),
        g_tm1=torch.tensor([2.0, -1.0, 0.25], dtype=torch.float64),
        terminal_t=torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64),
    )
    table, target = TableNetwork(2, 2), TableNetwork(2, 2)
    with torch.no_grad():
        table.q_table[:] = torch.tensor([[0.3, -0.2], [1.0, 0.7]])
        target.q_table[:] = torch.tensor([[2.0, 1.0], [-1.0, 4.0]])
        table.psi_table[:] = torch.tensor([[1.0, 0.5], [0.0, 2.0]])
        target.psi_table[:] = torch.tensor([[3.0, 1.0], [0.5, 0.75]])
    settings = {"gamma": 0.5, "sr": True, "bonus": "off"} | changes
    config = make_config("dqn-mmc-sr", parameters=settings)
    table.has_sr = target.has_sr = config.architecture.sr
    return losses_of(table, target, batch, config)


# Clipped rewards 0.5, -1, 1; bootstraps 0.5 * (4, 2, none); q 0.3, 0.7, -0.2.
TD = np.array([0.5 + 2.0 - 0.3, -1.0 + 1.0 - 0.7, 1.0 + 0.0 + 0.2])
MC = np.array([2.0 - 0.3, -1.0 - 0.7, 0.25 + 0.2])


def test_td_errors_by_hand():
    for tau in (0.0, 0.1, 1.0):
        errors = (1 - tau) * TD + tau * MC
        square = hand(tau=tau, td_loss="square").td.item()
        assert square == pytest.approx((errors**2).mean())
        huber = np.where(np.abs(errors) < 1, errors**2 / 2, np.abs(errors) - 0.5)
        assert hand(tau=tau).td.item() == pytest.approx(huber.mean())
    assert hand().q.item() == pytest.approx((0.3 + 0.7 - 0.2) / 3)


def test_with_tau_one_the_target_is_the_monte_carlo_return_alone():
    assert hand(tau=1.0, td_loss="square").td.item() == pytest.approx((MC**2).mean())
    assert hand(tau=1.0, td_loss="square", clip_reward=False, gamma=0.9).td.item() == (
        pytest.approx((MC**2).mean())
    )


def test_sr_errors_by_hand():
    # phi(s) + 0.5 psi(s'; target) - psi(s); the third transition ends: phi(s) alone.
    rows = np.array(
        [
            [1 + 0.25 - 1.0, 0 + 0.375 - 0.5],
            [0 + 1.5 - 0.0, 1 + 0.5 - 2.0],
            [1 - 1.0, 0 - 0.5],
        ]
    )
    assert hand().sr.item() == pytest.approx((rows**2).mean())
    following = np.array(
        [
            [0 + 0.25 - 1.0, 1 + 0.375 - 0.5],
            [1 + 1.5 - 0.0, 0 + 0.5 - 2.0],
            [0 - 1.0, 1 - 0.5],
        ]
    )
    assert hand(sr_target="next").sr.item() == pytest.approx((following**2).mean())


def test_the_total_is_the_weighted_sum():
    losses = hand(w_td=2.0, w_sr=3.0)
    assert losses.total.item() == pytest.approx(2 * losses.td.item() + 3 * losses.sr.item())
    assert hand(w_sr=0.0).sr is None
    assert hand(sr=False).sr is None


def test_the_bonus_enters_the_td_error_once_and_is_limited():
    # beta 0.5: 0.05, 0.1, and 50 limited to 1.
    with_bonus = TD + np.array([0.05, 0.1, 1.0])
    settings = {"bonus": "sr", "beta": 0.5, "tau": 0.0, "td_loss": "square"}
    assert hand(**settings).td.item() == pytest.approx((with_bonus**2).mean())
    released = np.clip([0.55, -0.9, 2.0], -1, 1) - np.array([0.5, -1.0, 1.0])
    assert hand(**settings, clip_total=True).td.item() == pytest.approx(
        ((TD + released) ** 2).mean()
    )


def test_a_bonus_evaluated_when_sampled_is_that_of_the_target_at_the_current_state():
    # Norms of psi(S; target): 4, 1.25, 4.
    again = TD + 0.5 * np.array([1 / 4, 1 / 1.25, 1 / 4])
    settings = {"bonus": "sr", "beta": 0.5, "tau": 0.0, "td_loss": "square"}
    assert hand(**settings, bonus_from="sampled").td.item() == pytest.approx((again**2).mean())


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0.5 + 0.005, -1.0 + 0.05, 1.0 + 1.0]),
        ({"clip_reward": False}, [0.505, -3.95, 8.0]),
        ({"clip_total": True}, [0.505, -0.95, 1.0]),
        ({"clip_reward": False, "clip_total": True}, [0.505, -1.0, 1.0]),
        ({"bonus": "off"}, [0.5, -1.0, 1.0]),
        ({"bonus": "off", "clip_reward": False}, [0.5, -4.0, 7.0]),
        ({"beta": 0.0}, [0.5, -1.0, 1.0]),
    ],
)
def test_total_reward(settings, expected):
    extrinsic = torch.tensor([0.5, -4.0, 7.0])
    intrinsic = torch.tensor([0.1, 1.0, 1000.0])
    config = make_config("dqn-mmc-sr", parameters=settings)
    torch.testing.assert_close(
        total_reward(extrinsic, intrinsic, config.rewards), torch.tensor(expected)
    )


def test_the_released_code_clips_the_sum_alone():
    config = make_config("dqn-mmc-sr", variant="authors")
    lost = torch.tensor([-1.0, -1.0, -5.0])
    bonus = sr_bonus(torch.tensor([0.02, 0.0, 0.5]))  # beta is 0.025
    expected = torch.tensor([-1 + 1.25, 1.0, -0.95])
    torch.testing.assert_close(total_reward(lost, bonus, config.rewards), expected)


def test_where_psi_is_zero_the_bonus_is_finite():
    bonus = sr_bonus(torch.tensor([0.0, 4.0]))
    assert torch.isfinite(bonus).all()
    assert bonus[1] == 0.25
    for beta, expected in ((0.05, 1.0), (0.0, 0.0)):
        config = make_config("dqn-mmc-sr", parameters={"beta": beta})
        assert total_reward(torch.zeros(1), bonus[:1], config.rewards).item() == expected


def test_huber_is_square_inside_and_straight_outside():
    assert td_loss(torch.tensor([0.5, -3.0]), "huber").item() == pytest.approx((0.125 + 2.5) / 2)
    assert td_loss(torch.tensor([0.5, -3.0]), "square").item() == pytest.approx((0.25 + 9.0) / 2)


# Gradients, in a real network.

SPEC = Spec((84, 84), 6, True)


def real(**parameters):
    """A network, its target and a batch: the shared parts are always the same ones."""
    weights = {"w_sr": 7.0, "w_reconstruction": 0.01} | {
        name: value for name, value in parameters.items() if name.startswith("w_")
    }
    settings = {"width": 0.0625, "history": 2} | {
        name: value for name, value in parameters.items() if not name.startswith("w_")
    }
    config = make_config("dqn-mmc-sr", parameters=settings).replace(**weights)
    network, target = Network(SPEC, config.architecture), Network(SPEC, config.architecture)
    torch.manual_seed(0)
    for net in (network, target):
        kept = {
            name: settings[name] for name in ("width", "history", "auxiliary") if name in settings
        }
        complete = make_config("dqn-mmc-sr", parameters=kept)
        whole = Network(SPEC, complete.architecture)
        net.load_state_dict({name: whole.state_dict()[name] for name in net.state_dict()})
    random = np.random.default_rng(0)
    frames = random.random((2, 8, 2, 84, 84), dtype=np.float32)
    batch = TransitionTensors(
        s=torch.from_numpy(frames.reshape(16, 2, 84, 84)),
        frame_t=torch.from_numpy(255 * frames[1, :, -1]),
        a_tm1=torch.from_numpy(random.integers(6, size=8)),
        r_t=torch.from_numpy(random.normal(size=8).astype(np.float32)),
        r_int_t=torch.from_numpy(random.random(8).astype(np.float32)),
        g_tm1=torch.from_numpy(random.normal(size=8).astype(np.float32)),
        terminal_t=torch.from_numpy((random.random(8) < 0.3).astype(np.float32)),
    )
    return network, target, batch, config


def gradients(network, loss):
    network.zero_grad(set_to_none=True)
    loss.backward()
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in network.named_parameters()
    }


def touched(grads):
    """The parts of the network that a gradient reaches."""
    return {name.partition(".")[0] for name, value in grads.items() if value.abs().sum() > 0}


@pytest.mark.parametrize("sr_input", ["normalised", "raw"])
def test_which_loss_reaches_which_part(sr_input):
    network, target, batch, config = real(sr_input=sr_input)
    losses = {
        name: lambda name=name: getattr(losses_of(network, target, batch, config), name)
        for name in ("td", "sr", "reconstruction")
    }
    assert touched(gradients(network, losses["td"]())) == {"encoder", "q_head"}
    assert touched(gradients(network, losses["reconstruction"]())) == {"encoder", "decoder"}
    # Zero features would be a fixed point of the SR: its loss must not shape them.
    assert touched(gradients(network, losses["sr"]())) == {"sr_head"}
    assert all(weight.grad is None for weight in target.parameters())


def test_no_gradient_passes_through_the_targets():
    _, target, batch, config = real(bonus_from="sampled")
    discount_t = config.losses.gamma * (1.0 - batch.terminal_t)
    targets = compute_targets(target, batch, discount_t, config.losses, config.rewards)
    assert not any(x.requires_grad for x in (targets.q_t, targets.psi_tm1, targets.r_int_t))


@pytest.mark.parametrize(
    ("parameters", "dropped"),
    [
        ({"reconstruction": False}, {"reconstruction"}),
        ({"w_reconstruction": 0.0}, {"reconstruction"}),
        ({"w_sr": 0.0}, {"sr"}),
        ({"sr": False, "bonus": "off"}, {"sr"}),
        ({"w_td": 0.0}, {"td"}),
        ({"sr": False, "bonus": "off", "reconstruction": False}, {"sr", "reconstruction"}),
    ],
)
def test_an_ablation_removes_exactly_its_own_terms(parameters, dropped):
    # The bonus is off everywhere, so that the TD terms can be compared.
    network, target, batch, config = real(bonus="off", sr=True)
    weights = {"td": 1.0, "sr": 7.0, "reconstruction": 0.01}
    parts = {}
    for name in weights:
        losses = losses_of(network, target, batch, config)
        parts[name] = gradients(network, weights[name] * getattr(losses, name))
    ablated, target, batch, config = real(**({"bonus": "off", "sr": True} | parameters))
    losses = losses_of(ablated, target, batch, config)
    for name in dropped - {"td"}:
        assert getattr(losses, name) is None
    got = gradients(ablated, losses.total)
    for name, gradient in got.items():
        kept = sum(parts[part][name] for part in weights if part not in dropped)
        torch.testing.assert_close(gradient, kept, rtol=1e-4, atol=1e-6)


def test_dropping_the_sr_and_the_bonus_drops_the_bonus_from_the_reward():
    network, _, batch, config = real(bonus="off")
    assert network.sr_head is None
    assert torch.equal(
        total_reward(batch.r_t, batch.r_int_t, config.rewards), batch.r_t.clamp(-1, 1)
    )


def test_the_reconstruction_is_of_the_newest_next_frame_in_grey_levels():
    network, target, batch, config = real()
    predicted = network.predict(network.features(batch.s_tm1)[1], batch.a_tm1)
    exact = ((predicted - batch.frame_t) ** 2).mean()
    loss = losses_of(network, target, batch, config).reconstruction
    torch.testing.assert_close(loss, exact)
    assert loss > 1000.0


@pytest.mark.parametrize("auxiliary", ["frame", "changes", "features"])
def test_auxiliary_tasks_by_hand(auxiliary):
    network, target, batch, config = real(auxiliary=auxiliary)
    batch.s[8:, -1, :40] = batch.s[:8, -1, :40]
    _, phi = network.features(batch.s_tm1)
    predicted = network.predict(phi, batch.a_tm1)
    if auxiliary == "features":
        goal = target.features(batch.s_t)[1]
        heeded = torch.ones_like(goal)
    else:
        goal = batch.frame_t
        differs = batch.s_t[:, -1] != batch.s_tm1[:, -1]
        assert 0.5 < differs.float().mean() < 0.6
        heeded = differs.float() if auxiliary == "changes" else torch.ones_like(goal)
    assert predicted.shape == goal.shape
    squares = [
        (ours - theirs) ** 2
        for ours, theirs, counts in zip(
            predicted.flatten().tolist(), goal.flatten().tolist(), heeded.flatten().tolist(),
            strict=True,
        )
        if counts
    ]  # fmt: skip
    found = losses_of(network, target, batch, config)
    assert found.reconstruction.item() == pytest.approx(sum(squares) / len(squares), rel=1e-4)
    assert touched(gradients(network, found.reconstruction)) == {"encoder", "decoder"}


def test_where_nothing_changes_there_is_nothing_to_predict():
    network, target, batch, config = real(auxiliary="changes")
    same = batch._replace(s=torch.cat([batch.s_t, batch.s_t]))
    assert losses_of(network, target, same, config).reconstruction.item() == 0.0
