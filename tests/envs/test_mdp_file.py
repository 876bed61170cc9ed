import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.envs import build_mdp, domains
from countless.envs.drawing import grid_from_text
from countless.envs.mdp_file import mdp_text, read_mdp

HEADER = "s, a, s', r, p\n"
GOOD = (
    HEADER
    + """
0, 0, 1, 0.0 , 0.3
0, 0, 0, 0.0 , 0.7
0, 1, 0, 5.0 , 1.0

1, 0, 1, 2, 1
start, 0, 1.0
terminal, 1
time_limit, 70
"""
)


def write(tmp_path, text):
    path = tmp_path / "toy.mdp"
    path.write_text(text)
    return path


def test_a_good_file(tmp_path):
    mdp = read_mdp(write(tmp_path, GOOD))
    assert (mdp.name, mdp.n_states, mdp.n_actions, mdp.time_limit) == ("toy", 2, 2, 70)
    assert list(mdp.actions(0)) == [0, 1]
    assert list(mdp.actions(1)) == [0]
    np.testing.assert_array_equal(mdp.next_state, [0, 1, 0, 1])
    np.testing.assert_array_equal(mdp.terminated, [False, True, False, True])


@pytest.mark.parametrize(
    "mdp",
    [
        domains.riverswim(),
        domains.sixarms(),
        domains.deepsea(4),
        domains.fourrooms(),
        grid_from_text("S.#|Sx1|S.."),
    ],
    ids=lambda mdp: mdp.name,
)
def test_written_and_read_again_an_mdp_is_the_same(tmp_path, mdp):
    again = read_mdp(write(tmp_path, mdp_text(mdp)))
    assert again.fingerprint == mdp.fingerprint
    assert again.time_limit == 5000


def test_what_no_file_can_say_is_refused():
    """The same state ends an episode by one way in, and not by the other."""
    rows = ([0, 0, 1], [0, 1, 0], [1, 1, 0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    mdp = build_mdp("half", rows, [1.0, 0.0], terminated=[True, False, False])
    with pytest.raises(BadInput, match="ends episodes in terminal states, and nowhere else"):
        mdp_text(mdp)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no transitions"),
        (HEADER, "there are no transitions"),
        ("0, 0, 0, 0, 1\n", "line 1: the first line must be the header"),
        (HEADER + "0, 0, 0, 1\n", "line 2: has 4 values; a transition is five"),
        (
            HEADER + "x, 0, 0, 0, 1\n",
            "line 2: state must be a whole number from 0 to 10,000,000, not 'x'",
        ),
        (HEADER + "0, -1, 0, 0, 1\n", "line 2: action must be a whole number"),
        (HEADER + "0, 0, 0.5, 0, 1\n", "line 2: next state must be a whole number"),
        (HEADER + "0, 0, 0, nan, 1\n", "line 2: state 0, action 0: reward must be a finite"),
        (HEADER + "0, 0, 0, inf, 1\n", "line 2: state 0, action 0: reward must be a finite"),
        (HEADER + "0, 0, 0, 0, p\n", "line 2: state 0, action 0: probability must be a finite"),
        (HEADER + "0, 0, 0, 0, 1.5\n", r"line 2: state 0, action 0: the probability must lie in"),
        (HEADER + "0, 0, 0, 0, -0.5\n", r"state 0, action 0: the probability must lie in"),
        (
            HEADER + "0, 0, 0, 0, 1\n\n0, 1, 0, 0, .5\nstart, 0, 1\n",
            "line 4: state 0, action 1: the probabilities sum to 0.5",
        ),
        (
            HEADER + "0, 0, 0, 0, 0.5\n0, 0, 0, 0, 0.5\n",
            "line 3: state 0, action 0: the transition to 0 stands already on line 2",
        ),
        (HEADER + "0, 0, 1, 0, 1\nstart, 0, 1\n", "state 1 has no action"),
        (HEADER + "0, 0, 2, 0, 1\n2, 0, 2, 0, 1\nstart, 0, 1", "state 1 has no action"),
        (HEADER + "0, 0, 0, 0, 1\n", "the start probabilities sum to 0; they must sum to 1"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 0, .5\n", "sum to 0.5"),
        (
            HEADER + "0, 0, 0, 0, 1\nstart, 0, 1\nstart, 0, 1\n",
            "line 4: start state 0 is given twice",
        ),
        (HEADER + "99999999999999999999, 0, 0, 0, 1\n", "line 2: state must be a whole number"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 0, 1.5\n", "line 3: start state 0: the probability"),
        (HEADER + "0, 0, 0, 0, " + "1" * 200_000, "is not a CSV file"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 7, 1\n", "start state 7 has no transition"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 0\n", "line 3: has 2 values; the form is `start, STATE"),
        (HEADER + "0, 0, 0, 0, 1\nterminal, 4\nstart, 0, 1", "line 3: terminal state 4"),
        (HEADER + "0, 0, 0, 0, 1\nterminal, 0\nstart, 0, 1", "both a start and a terminal state"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 0, 1\ntime_limit, 0", "time_limit must be at least 1"),
        (HEADER + "0, 0, 0, 0, 1\nstart, 0, 2\nstart, 0, -1", "line 4: start state 0"),
        (
            HEADER + "0, 0, 0, 0, 1\n0, 1, 0, 0, 0\nstart, 0, 1",
            "action 1: the probabilities sum to 0",
        ),
    ],
)
def test_errors_say_where(tmp_path, text, message):
    with pytest.raises(BadInput, match=message) as error:
        read_mdp(write(tmp_path, text))
    assert "toy.mdp" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_terminal_state_may_only_declare_its_actions(tmp_path):
    text = HEADER + "0, 0, 1, 1, 1\n1, 0, 1, 0, 0.0\n1, 1, 0, 0, 0.0\nterminal, 1\nstart, 0, 1\n"
    mdp = read_mdp(write(tmp_path, text))
    assert list(mdp.actions(1)) == [0, 1]
    assert mdp.terminated.all()


def test_files_that_are_none(tmp_path):
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_mdp(tmp_path / "no.mdp")
    (tmp_path / "b.mdp").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(BadInput, match="is not a text file"):
        read_mdp(tmp_path / "b.mdp")
    with pytest.raises(BadInput, match="cannot be read"):
        read_mdp(tmp_path)
