"""Inputs to spoil, and the readers that must take whatever comes of it."""

import io
import json
import random
import zlib
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import safetensors.numpy

from countless.agents.dqn.replay import Replay
from countless.bonuses.storage import from_bytes, to_bytes
from countless.core import records
from countless.core.durable import EMPTY_SEAL, SEAL, seal
from countless.core.errors import CountlessError
from countless.core.records import parse_json, parse_table
from countless.core.snapshots import parse_manifest
from countless.envs.mdp_file import parse_mdp
from countless.runs.described import are_records, is_about, is_reached
from countless.runs.groups import groups_of
from countless.runs.job import Outcome
from countless.runs.store import StoredJob
from countless.runs.sweep import parse_grid

MDP = b"""s, a, s', r, p
0, 0, 1, 0.0, 0.5
0, 0, 0, 1e3, 0.5
0, 1, 0, 5, 1
1, 0, 1, -2.5, 1.0
start, 0, 1.0
terminal, 1
time_limit, 5000
"""
GRID = b"""# a comment
alpha = [0.1, 0.25, 0.5]
beta = [10, 100]
norm = 2
update = "executed"
"""
ABOUT = {
    "schema": 2, "id": "9cf7244fa6", "engine": "tabular", "agent": "sarsa", "env": "riverswim",
    "seed": 0, "budget": {"runs": 2, "steps": 50},
    "identity": {"rng": "countless", "settings": [{"alpha": 0.1, "norm": "inf"}]},
    "command": "a test", "date": "2026-01-01T00:00:00+00:00", "versions": {"python": "3.11"},
    "commit": None, "machine": "none",
}  # fmt: skip
REACHED = {
    "schema": 2, "frames": 120, "step": 90, "seconds": 1.5, "steps_per_second": 88.1,
    "features": {"of": 3, "rank": 1.5, "bonus_cv": None}, "solved": {},
}  # fmt: skip
MANIFEST = {
    "schema": 4, "counters": {"step": 3}, "replay": {"written": [7], "opened": [5]},
    "files": {"network.safetensors": ["network.1.safetensors", 123, 4567],
              "replay.0.0.safetensors": ["replay.0.0.1.safetensors", 9, 1]},
}  # fmt: skip
WORDS = [
    b"0", b"-1", b"1e999", b"nan", b"inf", b"9" * 30, b"9" * 5000, b"10000000", b"1.5", b"true",
    b"null", b"[]", b"{}", b'"', b"\\u0000", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b",",
    b"[" * 2000, b'{"a":' * 2000, b"../../x", b"/etc/passwd", b"start", b"terminal", b"time_limit",
    b"'''", b"# ", b"=", b"[[a]]\n", b"18446744073709551616", b"-9223372036854775809", b"1979-05-27",
]  # fmt: skip


def sealed_json(content):
    return seal(json.dumps(content | {records.CHECKSUM: EMPTY_SEAL}).encode())


def parquet():
    table = pyarrow.table(
        {"setting": [0, 0], "run": [0, 1], "return": [1.0, 2.5], "env": ["a", "b"]}
    )
    table = table.replace_schema_metadata({records.CHECKSUM: EMPTY_SEAL})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, compression="zstd")
    return seal(file.getvalue())


def replay():
    made = Replay(1, 16, (3,))
    for i in range(20):
        made.append(0, np.full(3, i, np.uint8), 1, 0.5, 3)
    return made


def reseal(content):
    """With a checksum that fits again: a reader must not rely on it alone."""
    start = content.rfind(SEAL)
    if start < 0:
        return content
    start += len(SEAL)
    blank = content[:start] + b"00000000" + content[start + 8 :]
    return blank[:start] + b"%08x" % zlib.crc32(blank) + blank[start + 8 :]


def read_mdp(content):
    parse_mdp(Path("x.mdp"), content.decode("utf-8-sig", errors="surrogateescape"))


def read_grid(content):
    parse_grid(Path("x.toml"), content.decode("utf-8", errors="replace"))


def read_job(content):
    about = parse_json(content)
    if about is None or not is_about(about):
        return
    table = pyarrow.table({"setting": [0, 0], "run": [0, 1], "return": [1.0, 2.5], "frames": [1, 2],
                           "step": [1, 2]})  # fmt: skip
    if are_records(about, table):
        for group in groups_of([StoredJob(about, None, None, Outcome(table, None, {}))]):
            assert group.returns.dtype == np.float64
            assert group.length


def read_reached(content):
    reached = parse_json(content)
    if reached is not None and is_reached(reached):
        assert StoredJob({}, reached).seconds is not None


def read_manifest(content):
    for kept in parse_manifest(Path("checkpoint/state.json"), parse_json(content)).files.values():
        assert "/" not in kept.name
        assert kept.size >= 0


def read_parquet(content):
    table = parse_table(content)
    if table is not None and are_records({"engine": "tabular"}, table):
        assert table["return"].to_numpy().dtype == np.float64


def read_segment(content):
    into = Replay(1, 16, (3,))
    into.set_counters({"written": [20], "opened": [18]})
    try:
        into.set_segment(0, safetensors.numpy.load(content))
    except (ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise CountlessError(str(error)) from None  # as `Checkpoints.load` does it


def read_bonus(content):
    for array in from_bytes(content).values():
        assert array.dtype != object


# What to spoil, its reader, and how many of a hundred inputs it gets.
READERS = {
    "mdp": (MDP, read_mdp, 22),
    "grid": (GRID, read_grid, 26),
    "job.json": (sealed_json(ABOUT), read_job, 18),
    "finished.json": (sealed_json(REACHED), read_reached, 12),
    "manifest": (sealed_json(MANIFEST), read_manifest, 12),
    "segment": (safetensors.numpy.save(replay().get_segment(0, 0)), read_segment, 4),
    "parquet": (parquet(), read_parquet, 3),
    "bonus": (to_bytes({"beta": 0.5, "counts": np.arange(6).reshape(2, 3)}), read_bonus, 3),
}


def spoil(content, draw):
    """One to four changes: a bit, a slice, a word."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(content) + 1)
        end = min(len(content), at + draw.choice((1, 1, 2, 8, 64)))
        how = draw.randrange(6)
        if how == 0 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            content[at:end] = b""
        elif how == 2:
            content[at:at] = content[end : end + draw.randrange(1, 40)]
        elif how == 3:
            content[at:end] = draw.choice(WORDS)
        elif how == 4:
            content[at:at] = draw.choice(WORDS)
        else:
            content[at:end] = draw.randbytes(end - at)
    return bytes(content)


def inputs(seed, count):
    """`count` spoiled inputs with the names of their readers; half with a checksum that fits."""
    draw = random.Random(seed)
    names = [name for name, (_, _, share) in READERS.items() for _ in range(share)]
    for _ in range(count):
        name = draw.choice(names)
        content = spoil(READERS[name][0], draw)
        yield name, reseal(content) if draw.random() < 0.7 else content
