import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.core.records import (
    atomic_path,
    ensure_folder,
    read_json,
    read_table,
    versions,
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
    write_table(path, {"return": values})
    np.testing.assert_array_equal(read_table(path)["return"].to_numpy(), values)


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


def test_versions_name_what_matters():
    assert {"python", "countless", "numpy", "numba"} <= set(versions())
