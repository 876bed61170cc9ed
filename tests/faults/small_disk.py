"""A deep run and a sweep on a disk that fills up, and on one that can only be read.

python small_disk.py FOLDER     in a mount namespace of its own; prints one JSON document
"""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace as Room

from countless.cli.main import main
from countless.runs import dqn_resources
from countless.runs.verify import verify
from faults.attempts import OPTIONS

DEEP = ["run", "dqn-mmc-sr", "deepsea-5", *OPTIONS, "--device", "cpu", "--frames"]
SWEEP = ["run", "sarsa", "riverswim", "--runs", "2000", "--steps", "50"]


def call(*argv):
    """A command: its exit code, and its errors on stderr; a slow run shows progress there too."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(list(argv))
    lines = said.getvalue().splitlines()
    return code, "\n".join(line for line in lines if line.startswith(("countless:", "Trace")))


def mount(folder, *options):
    subprocess.run(["mount", *options, str(folder)], check=True)


def damage(folder):
    return [line for verdict in verify(folder) for line in verdict.damage]


def run(disk):
    mount(disk, "-t", "tmpfs", "-o", "size=16m", "none")
    out = disk / "out"
    told = {"first": call(*DEEP, "60", "-o", str(out))}
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    told["refused"] = call(*DEEP, "90", "-o", str(out))
    # A disk that fills up only after the run has begun.
    dqn_resources.shutil.disk_usage = lambda path: Room(free=1e12)
    told["full"] = call(*DEEP, "90", "-o", str(out))
    told["full sweep"] = call(*SWEEP, "-o", str(disk / "sweep"))
    told["damage when full"] = damage(disk)
    ballast.unlink()
    mount(disk, "-o", "remount,ro")
    told["read-only"] = call(*DEEP, "90", "-o", str(out))
    mount(disk, "-o", "remount,rw")
    told["again"] = call(*DEEP, "90", "-o", str(out))
    told["sweep again"] = call(*SWEEP, "-o", str(disk / "sweep"))
    told["damage"] = damage(disk)
    (folder,) = out.iterdir()
    told["episodes"] = (folder / "episodes.jsonl").read_text()
    return told


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
