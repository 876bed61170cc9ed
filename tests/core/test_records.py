import json

import numpy as np
import pyarrow
import pytest

from countless.core.errors import BadInput
from countless.core.records import (
    atomic_path,
    ensure_folder,
    read_json,
    read_lines,
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
    assert read_json(path) == {"a": 1}
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


def test_lines_are_read_up_to_one_that_was_not_written_to_its_end(tmp_path):
    path = tmp_path / "x.jsonl"
    assert read_lines(path) == []
    path.write_text('{"a": 1}\n{"a": 2}\n{"a"')
    assert read_lines(path) == [{"a": 1}, {"a": 2}]
