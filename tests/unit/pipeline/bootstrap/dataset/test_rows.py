"""Rows of a dataset as a bulk insert reads them: texts that repeat stay encoded."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.bootstrap import BootstrapMode
from pyhudi.pipeline.bootstrap.dataset.listing import list_source
from pyhudi.pipeline.bootstrap.dataset.partitions import TakenPartition
from pyhudi.pipeline.bootstrap.dataset.rows import DatasetRows, dataset_rows
from pyhudi.pipeline.bootstrap.dataset.source import read_source
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from tests.support.datasets import FULL_RECORD, bootstrap, lay_out, people

ROWS = 900
ENCODED = pa.dictionary(pa.int32(), pa.string())


def texts(first: int) -> pa.Table:
    """Rows with one text that repeats, null now and then, and one that never does."""
    rows = people(first, ROWS)
    kinds = ["a kind that is long enough", None, "another kind of rows"]
    rows = rows.append_column("kind", pa.array([kinds[n % 3] for n in range(ROWS)]))
    return rows.append_column("note", pa.array([f"note {first + n}" for n in range(ROWS)]))


def file_bytes(rows: pa.Table) -> bytes:
    """A file of two row groups: in small ones no dictionary pays."""
    sink = io.BytesIO()
    pq.write_table(rows, sink, row_group_size=ROWS // 2)
    return sink.getvalue()


def plain_kind(rows: pa.Table) -> pa.Table:
    """The same rows, whose repeating text differs in every row."""
    kinds = pa.array([f"kind {n} of its own" for n in range(ROWS)])
    return rows.set_column(rows.schema.get_field_index("kind"), "kind", kinds)


def rows_of(folder: Path, schema: pa.Schema) -> DatasetRows:
    runner, storage, kind = InProcessRunner(), open_storage(str(folder)), BaseFileFormat.PARQUET
    source = read_source(runner, storage, kind, list_source(storage, kind), 4)
    taken = TakenPartition(
        source_path="",
        path="",
        mode=BootstrapMode.FULL_RECORD,
        files=source.files,
        values={},
    )
    return dataset_rows(runner, storage, [taken], schema)


def kinds_read(rows: DatasetRows) -> set[pa.DataType]:
    found: set[pa.DataType] = set()

    def look(_: object, batches: object) -> object:
        for batch in batches:  # type: ignore[attr-defined]
            found.add(batch.schema.field("kind").type)
            assert batch.schema.field("note").type == pa.string()
            yield pa.record_batch({"n": pa.array([batch.num_rows])})

    read = rows.map(look, pa.schema([pa.field("n", pa.int64())])).collect()  # type: ignore[arg-type]
    assert sum(row.n for row in read) == 2 * ROWS
    return found


@pytest.mark.parametrize("is_mixed", [False, True], ids=["alike", "one file plain"])
def test_texts_come_encoded_where_all_files_hold_them_so(tmp_path: Path, is_mixed: bool) -> None:
    other = texts(ROWS)
    files = {
        "a.parquet": file_bytes(texts(0)),
        "b.parquet": file_bytes(plain_kind(other) if is_mixed else other),
    }
    rows = rows_of(lay_out(tmp_path, files), other.schema)
    assert kinds_read(rows) == {pa.string()}
    encoded = rows.with_dictionaries(["kind", "ts"])
    assert isinstance(encoded, DatasetRows)
    assert kinds_read(encoded) == ({pa.string()} if is_mixed else {ENCODED})


def test_rows_are_the_same_however_the_files_hold_their_texts(tmp_path: Path) -> None:
    parts = {"part=x/a.parquet": texts(0), "part=y/b.parquet": plain_kind(texts(ROWS))}
    for name, files in {"one": dict([*parts.items()][:1]), "both": parts}.items():
        encoded = {path: file_bytes(rows) for path, rows in files.items()}
        bootstrap(tmp_path / name, lay_out(tmp_path / f"{name}-source", encoded), FULL_RECORD)
        wanted = pa.concat_tables(files.values()).sort_by("id")
        found = pyhudi.read_table(tmp_path / name, columns=wanted.column_names).sort_by("id")
        assert found.to_pylist() == wanted.to_pylist()
