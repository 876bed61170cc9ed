"""countless watch: a run's folder in, a video and a page out."""

import json

import cv2
import pytest

from countless.cli.main import main
from small_runs import deep_job, execute


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return execute(deep_job(frames=40), tmp_path_factory.mktemp("runs")).folder


def test_a_video_of_a_run(run, capsys):
    assert main(["watch", str(run), "--steps", "12", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    pages = {"video": str(run / "watch.mp4"), "page": str(run / "watch.html")}
    assert told == pages | {"steps": 12}
    assert "<title>Watch dqn-mmc-sr in deepsea-5" in (run / "watch.html").read_text("utf-8")
    assert cv2.VideoCapture(told["video"]).get(cv2.CAP_PROP_FRAME_COUNT) == 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "0"], "--steps must be at least 1"),
        (["--epsilon", "2"], "--epsilon lie in [0, 1]"),
        (
            ["-o", "video.avi"],
            "video.avi is neither a video nor a page: name it video.mp4 or video.html",
        ),
        (["-o", "no-such-folder/video.mp4"], "there is no folder no-such-folder for it"),
    ],
)
def test_bad_input(run, capsys, options, message):
    assert main(["watch", str(run), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_run_says_what_it_holds(run, capsys):
    assert main(["watch", str(run.parent)]) == 2
    assert (
        "is no run with a checkpoint; it holds dqn-mmc-sr-deepsea-5-seed-0-"
        in capsys.readouterr().err
    )
    assert main(["watch", str(run / "events")]) == 2
    assert "events is no run with a checkpoint\n" in capsys.readouterr().err
