"""Bootstraps as they are carried out: in the schema that is asked for, and in bounded memory."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.table.table import open_table
from tests.support import bootstrap_memory
from tests.support.datasets import FULL_RECORD, bootstrap, file_bytes, lay_out, people
from tests.support.orders import write
from tests.support.source_tree import run_python

MODES = pytest.mark.parametrize("mode", [{}, FULL_RECORD], ids=["skeletons", "rows"])


def avro(**columns: str) -> str:
    """A schema of nullable columns, as Avro."""
    fields = [
        {"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()
    ]
    return json.dumps({"type": "record", "name": "people", "fields": fields})


@MODES
def test_rows_come_in_the_types_of_the_schema_that_is_given(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    asked = avro(id="string", ts="long", score="double", more="string", part="int")
    narrow = people(0, 3).set_column(1, "ts", pa.array([7, 8, 9], pa.int32()))
    narrow = narrow.set_column(2, "score", pa.array([0.5, 1.5, 2.5], pa.float32()))
    files = {"part=7/a.parquet": file_bytes(narrow), "part=12/b.parquet": file_bytes(people(3, 2))}
    source = lay_out(tmp_path / "source", files)
    options = {**mode, "hoodie.write.schema": asked}
    assert bootstrap(tmp_path / "table", source, options).status == "committed"
    wanted = pa.schema(
        {
            "id": pa.string(),
            "ts": pa.int64(),
            "score": pa.float64(),
            "more": pa.string(),
            "part": pa.int32(),
        }
    )
    own = pa.schema(list(open_table(tmp_path / "table").schema())[5:])
    assert own.equals(wanted, check_metadata=False)
    rows = pyhudi.read_table(tmp_path / "table", columns=wanted.names).sort_by("id")
    assert rows.schema.equals(wanted, check_metadata=False)
    assert rows.to_pylist()[2:4] == [
        {"id": "k0002", "ts": 9, "score": 2.5, "more": None, "part": 7},
        {"id": "k0003", "ts": 3, "score": 0.75, "more": None, "part": 12},
    ]
    changed = rows.slice(2, 1).set_column(2, "score", pa.array([-1.0]))
    assert write(tmp_path / "table", changed, "upsert", {}).records["updated"] == 1
    again = pyhudi.read_table(tmp_path / "table", columns=["id", "score"]).sort_by("id")
    assert again["score"].to_pylist()[2:4] == [-1.0, 0.75]


@MODES
def test_memory_does_not_grow_with_the_file_that_is_taken_over(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    sizes, peaks = [], []
    for batches in (8, 40):
        folder = tmp_path / f"{batches}"
        sizes.append(bootstrap_memory.make_source(folder / "source", batches))
        done = run_python("-m", "tests.support.bootstrap_memory", str(folder), json.dumps(mode))
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
        (file,) = (folder / "table").glob("*.parquet")
        assert pq.read_metadata(file).num_rows == batches * bootstrap_memory.BATCH
    assert peaks[1] < 1.2 * peaks[0] < sizes[1] / 3, (sizes, peaks)
