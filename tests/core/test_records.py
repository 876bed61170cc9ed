import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from countless.core import durable
from countless.core.durable import atomic_path
from countless.core.errors import BadInput, CountlessError
from countless.core.records import (
    SCHEMA,
    ensure_folder,
    examine_record,
    read_json,
    read_table,
    write_json,
    write_table,
)


def half_written(path):
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise KeyError


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(KeyError):
        half_written(path)
    assert read_json(path)["a"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_tables_come_back_as_they_were(tmp_path):
    path = tmp_path / "t.parquet"
    values = np.array([0.1, -1e300, 3.0])
    write_table(path, pyarrow.table({"return": values}), {"what": "a test"})
    table = read_table(path)
    np.testing.assert_array_equal(table["return"].to_numpy(), values)
    assert json.loads(table.schema.metadata[b"PANDAS_ATTRS"]) == {"what": "a test"}


def test_what_cannot_be_read_is_none(tmp_path):
    assert read_json(tmp_path / "no.json") is None
    assert read_table(tmp_path / "no.parquet") is None
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.parquet").write_text("nope")
    assert read_json(tmp_path / "bad.json") is None
    assert read_table(tmp_path / "bad.parquet") is None


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(BadInput, match="cannot write to the folder"):
        ensure_folder(tmp_path / "f" / "g")


@pytest.mark.parametrize("name", ["x.json", "x.parquet"])
def test_every_flipped_byte_is_found(tmp_path, name):
    path = tmp_path / name
    if name.endswith("json"):
        write_json(path, {"a": 1, "b": [0.5, "text"]})
    else:
        write_table(path, pyarrow.table({"return": [0.1, 2.0]}), {"what": "a test"})
    content = path.read_bytes()
    assert examine_record(path) == "whole"
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        assert examine_record(path) == "damaged", place
    for length in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        assert examine_record(path) == "damaged", length


def test_records_of_before_there_were_seals_are_unverified(tmp_path):
    (tmp_path / "old.json").write_text('{"schema": 2, "frames": 3}')
    assert read_json(tmp_path / "old.json") == {"schema": 2, "frames": 3}
    assert examine_record(tmp_path / "old.json") == "unverified"
    pyarrow.parquet.write_table(pyarrow.table({"return": [1.0]}), tmp_path / "old.parquet")
    assert read_table(tmp_path / "old.parquet")["return"].to_pylist() == [1.0]
    assert examine_record(tmp_path / "old.parquet") == "unverified"


def test_what_is_written_says_its_schema(tmp_path):
    write_json(tmp_path / "x.json", {"a": 1})
    assert read_json(tmp_path / "x.json") == {"schema": SCHEMA, "a": 1}
    assert json.loads((tmp_path / "x.json").read_text())["checksum"].startswith("countless-crc32:")


def test_a_write_is_synced_file_and_folder_before_and_after_the_rename(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(durable, "sync", lambda path: done.append(("sync", path.name)))
    rename = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda path, to: (done.append(("rename", to.name)), rename(path, to))
    )
    write_json(tmp_path / "x.json", {})
    (first, synced), second, third = done
    assert (first, second, third) == ("sync", ("rename", "x.json"), ("sync", tmp_path.name))
    assert synced.startswith(".x.json.")


def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CountlessError, match=r"cannot write .*x.json: Not a directory; what was"):
        write_json(tmp_path / "file" / "x.json", {})


def test_what_is_set_aside_twice_is_kept_twice(tmp_path):
    for text in ("one", "two"):
        (tmp_path / "x.json").write_text(text)
        durable.set_aside(tmp_path / "x.json")
    assert (tmp_path / "x.json.damaged").read_text() == "one"
    assert (tmp_path / "x.json.damaged-2").read_text() == "two"
