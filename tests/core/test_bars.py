"""Progress: lines where stderr is no terminal, bars where it is, silence where it is asked for."""

import io
import re

import pytest

from countless.core import bars
from countless.core.progress import SILENT
from small_runs import Listener


def test_lines_tell_how_far_it_is_and_how_long_it_takes(monkeypatch, capsys):
    clock = iter([0.0, 100.0, 101.0, 150.0, 161.0])
    monkeypatch.setattr(bars.time, "monotonic", lambda: next(clock))
    with bars.Bars().task("sarsa in riverswim (2 of 3)", 200) as task:
        task.advance(50)
        task.advance(10)  # too soon for another line
        task.note("a note")
        task.advance(40)
        task.advance(0)
        task.warn("features [rank] have collapsed")
    assert capsys.readouterr().err.splitlines() == [
        "sarsa in riverswim (2 of 3): 25%, about 0:05:00 left",
        "sarsa in riverswim (2 of 3): 50%, about 0:01:40 left, a note",
        "sarsa in riverswim (2 of 3): 50%, a note",
        "features [rank] have collapsed",
    ]


def test_what_is_quick_shows_nothing(capsys):
    with bars.Bars().task("quick", 1) as task:
        task.advance(1)
    assert capsys.readouterr() == ("", "")


def test_a_bar_for_each_open_task_in_a_terminal(monkeypatch):
    shown = io.StringIO()
    made = bars.Console

    def console(**options):
        return made(file=shown, force_terminal=True, width=120)

    monkeypatch.setattr(bars, "Console", console)
    monkeypatch.setattr(bars, "DELAY", 0.0)
    reporter = bars.Bars()
    with reporter.task("first", 10) as first, reporter.task("second", 10) as second:
        reporter._timer.join()
        first.advance(5)
        second.note("how it stands")
        second.warn("a [warning]")
        reporter._progress.refresh()
    assert reporter._progress is None
    for text in ("first", "50%", "second", "how it stands", "a [warning]"):
        assert text in shown.getvalue()


def test_who_shows_progress():
    own = Listener()
    assert isinstance(bars.reporter_for(True), bars.Bars)
    assert bars.reporter_for(False) is SILENT
    assert bars.reporter_for(own) is own


def rendered(width, notes):
    """The lines of tasks that are half done, one per note; without a note it has not advanced."""
    console = bars.Console(width=width, force_terminal=True, file=io.StringIO(), record=True)
    progress = bars.make_progress(console)
    clock = iter(range(0, 10_000, 10))
    progress.get_time = lambda: float(next(clock))
    for seed, note in enumerate(notes):
        label = f"dqn-mmc-sr in MontezumaRevenge, seed {seed} ({seed + 1} of {len(notes)})"
        task = progress.add_task(label, total=1000, note=note)
        for _ in range(5 if note.startswith("5") else 0):
            progress.advance(task, 100)
    with console.capture() as captured:
        console.print(progress.make_tasks_table(progress.tasks))
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in captured.get().splitlines()]


NOTE = "500 frames, 927/s, 185 episodes, mean of last 100 -0.0055, ε 0.10, bonus 0.013"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_matters_survives_in_a_narrow_terminal(width):
    lines = rendered(width, [NOTE, NOTE])
    assert len(lines) == 2  # nothing goes on in another line
    for seed, line in enumerate(lines):
        assert len(line) <= width
        assert re.search(r" 50%  ?\d+:\d\d left ", line)
        assert f", seed {seed}" in line
        assert "500 fr" in line
        assert line.rstrip().endswith("…")  # the note is cut at its end


@pytest.mark.parametrize("width", [60, 80, 120])
def test_in_the_warm_up_no_time_is_told(width):
    (line,) = rendered(width, ["warm-up, 10 of 400 steps"])
    assert "  0%" in line
    assert "left" not in line
    assert "seed 0" in line
    assert "warm-up" in line


def test_a_long_name_without_a_seed_is_cut_at_its_end():
    assert bars.one_line("a name of many words", "", 10) == "a name of…"
    assert bars.one_line("sarsa-sr in riverswim (3 of 9)", "", 25) == "sarsa-sr in riv… (3 of 9)"
