"""Progress: lines where stderr is no terminal, bars where it is, silence where it is asked for."""

import io

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
