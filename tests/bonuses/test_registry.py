import dataclasses
import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from countless.bonuses import BonusKind, bonus_names, make_bonus, registry
from countless.bonuses.counts import Counts, CountsParameters
from countless.bonuses.storage import load_state
from countless.core.errors import BadInput
from countless.core.observations import as_reader


@pytest.mark.parametrize(
    ("name", "observations", "parameters", "message"),
    [
        ("count", 3, {}, "unknown bonus 'count'; did you mean 'counts'"),
        (None, 3, {}, "unknown bonus None. Known: counts"),
        ("counts", 3, {"bata": 1}, "counts has no parameter 'bata'; did you mean 'beta'"),
        ("counts", 3, {"beta": -1}, r"beta must lie in \[0, inf\), not -1"),
        ("counts", "x", {}, "observations must be a number of states"),
        ("counts", 0, {}, "observations must be a number of states"),
        ("counts", 3, {"seed": -1}, "seed must be a whole number"),
        ("ssr", (4,), {}, "ssr takes state indices, not vectors"),
        ("ssr", 3, {"key": str}, "ssr takes no key"),
        ("ssr", 3, {"form": "x"}, "form must be one of shifted, inverse"),
    ],
)
def test_bad_input(name, observations, parameters, message):
    with pytest.raises(BadInput, match=message):
        make_bonus(name, observations, **parameters)


def test_spaces():
    assert as_reader(gymnasium.spaces.Discrete(5)).n_states == 5
    assert as_reader(gymnasium.spaces.Box(0, 1, (3,))).kind == "vector"
    assert as_reader(gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)).kind == "image"


def test_a_bonus_of_another_package_plugs_in(monkeypatch):
    kind = BonusKind(
        "mine",
        "counts once more",
        CountsParameters,
        lambda observations, parameters, *, seed, device: Counts(observations, parameters),
    )
    point = importlib.metadata.EntryPoint("mine", "package:KIND", registry.GROUP)
    loaded = SimpleNamespace(name="mine", value="package:KIND", load=lambda: kind)
    monkeypatch.setattr(registry, "entry_points", lambda group: [loaded])
    registry._entry_points.cache_clear()
    try:
        assert bonus_names()[-1] == "mine"
        assert make_bonus("mine", 3).observe([1]).tolist() == [1.0]
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
        registry._entry_points.cache_clear()
        with pytest.raises(BadInput, match="bonus 'mine': package:KIND cannot be loaded"):
            make_bonus("mine", 3)
    finally:
        registry._entry_points.cache_clear()


def test_a_key_of_ones_own():
    bonus = make_bonus("counts", (3,), key=lambda row: round(float(row[0])))
    values = np.array([[0.1, 5, 5], [0.2, 6, 6], [0.9, 0, 0]])
    assert bonus.observe(values).tolist() == pytest.approx([1.0, 0.5**0.5, 1.0])
    assert bonus.counts(values).tolist() == [2, 2, 1]


def test_minus_zero_is_zero():
    bonus = make_bonus("counts", (1,))
    bonus.update(np.array([[0.0]]))
    assert bonus.counts(np.array([[-0.0]])).tolist() == [1]


def test_files_that_hold_no_state(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        load_state(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(BadInput, match="is not the state of a bonus"):
        load_state(tmp_path / "text.npz")
    np.savez(tmp_path / "pickled.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(BadInput, match="is not the state of a bonus"):
        load_state(tmp_path / "pickled.npz")


def test_the_tabular_bonuses_live_without_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from countless.bonuses import make_bonus\n"
        "for name in ('counts', 'sr-norm', 'ssr'):\n"
        "    print(make_bonus(name, 3).observe([1]).shape)\n"
        "for name in ('rnd', 'pixelcnn'):\n"
        "    try:\n"
        "        make_bonus(name, (84, 84))\n"
        "    except Exception as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shapes, rnd, pixelcnn = done.stdout.splitlines()
    assert shapes == ["(1,)"] * 3
    assert rnd == "rnd needs PyTorch: in a clone of the repository, pip install '.[deep]'"
    assert pixelcnn == "pixelcnn needs PyTorch: in a clone of the repository, pip install '.[deep]'"


def test_the_version_of_a_bonus():
    """What changed for vectors alone makes no other job of one on images."""
    nothing = BonusKind("mine", "", CountsParameters, Counts)
    assert nothing.version(images=True, vectors=False) == {}
    images = {"floor": 0.1, "new": 0}
    kind = dataclasses.replace(nothing, bits=4, image_bits=3, images=images, later=("new",))
    assert kind.version(images=False, vectors=True) == {"bonus_bits": 4}
    assert kind.version(images=True, vectors=False) == {
        "bonus_bits": 3,
        "bonus_images": {"floor": 0.1},
    }
    assert kind.version(images=True, vectors=True)["bonus_bits"] == 4
    assert dataclasses.replace(kind, image_bits=None).version(images=True, vectors=False) == {
        "bonus_bits": 4,
        "bonus_images": {"floor": 0.1},
    }
