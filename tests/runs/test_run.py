"""The deep agents from Python."""

import pytest
from countless.runs.deep import make_job, run_deep

import countless
from countless.agents.dqn import agents
from countless.core.errors import BadInput

TINY = {"width": 0.0625, "history": 2, "replay": 500, "warmup": 30, "batch": 8}


def test_a_run_from_python_is_the_run_of_the_command_line(tmp_path):
    told = []
    result = countless.train(
        "dqn-mmc-sr", "deepsea-5", out=tmp_path / "a", frames=80, device="cpu",
        variant="authors", report=told.append, **TINY,
    )  # fmt: skip
    settings = TINY | {"variant": "authors"}
    job = make_job("dqn-mmc-sr", "deepsea-5", frames=80, device="cpu", parameters=settings)
    assert result.job == job
    assert result.episodes == run_deep(job, tmp_path / "b").episodes
    assert told[-1].frames == 80


def test_missing_packages_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(agents, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="deep agents need torch"):
        countless.train("dqn", "Pong", out=tmp_path)


def test_the_function_for_tabular_agents_says_where_deep_ones_are():
    with pytest.raises(BadInput, match=r"dqn is a deep agent: countless\.train runs it"):
        countless.run("dqn", "riverswim")


def test_parameters_without_effect_are_refused(tmp_path):
    with pytest.raises(BadInput, match="beta changes nothing: bonus is off in this dqn"):
        countless.train("dqn", "deepsea-5", out=tmp_path, beta=0.1)
    with pytest.raises(BadInput, match="w_sr changes nothing: sr is off"):
        countless.train("dqn-mmc-sr", "deepsea-5", out=tmp_path, bonus="off", w_sr=2.0)
    with pytest.raises(BadInput, match="bonus_batch changes nothing: it is of the bonus sr, not c"):
        countless.train("dqn-counts", "deepsea-5", out=tmp_path, bonus_batch=3)
    with pytest.raises(BadInput, match="norm changes nothing: dqn has no SR"):
        countless.train("dqn", "deepsea-5", out=tmp_path, norm=2)
    assert not any(tmp_path.iterdir())
