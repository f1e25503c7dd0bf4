"""Base files are opened in one way, wherever their bytes lie, and errors say what happened."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.condition import RowCondition
from pyhudi.errors import CorruptTableError, MissingFileError, StorageError, UnsupportedError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.schema.metafields import RECORD_KEY
from tests.support.memory import MemoryStorage

ROWS = pa.table({"id": ["a", "b", "c", "d"], "n": [1, 2, 3, 4]})
PATH = "p/f-0_0-0-0_20260102030405678.parquet"


def bytes_of(rows: pa.Table = ROWS) -> bytes:
    """A file of two rows a row group, whose pages are not compressed."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=2, compression="none")
    return bytes(sink.getvalue().to_pybytes())


def file_at(path: str = PATH) -> BaseFile:
    found = BaseFile.of(*path.rsplit("/", 1), 1)
    assert found is not None
    return found


def read(storage: MemoryStorage, file: BaseFile, schema: pa.Schema = ROWS.schema, **more) -> list:
    with open_base(storage, file) as base:
        return pa.concat_tables(base.rows(schema, **more)).to_pylist()


def test_rows_come_in_the_columns_and_types_asked_for() -> None:
    storage = MemoryStorage({PATH: bytes_of()})
    schema = pa.schema([("n", pa.float64()), ("added", pa.string())])
    assert read(storage, file_at(), schema)[0] == {"n": 1.0, "added": None}
    assert len(read(storage, file_at(), pa.schema([("added", pa.string())]))) == 4


def test_without_any_column_rows_are_counted() -> None:
    with open_base(MemoryStorage({PATH: bytes_of()}), file_at()) as base:
        assert sum(rows.num_rows for rows in base.rows(pa.schema([]))) == 4


def test_shares_are_of_the_row_groups_that_can_meet_the_condition() -> None:
    storage, file = MemoryStorage({PATH: bytes_of()}), file_at()
    above_2 = RowCondition(expression=pc.field("n") > 2, columns=("n",), schema=ROWS.schema)
    assert [row["id"] for row in read(storage, file, condition=above_2)] == ["c", "d"]
    with open_base(storage, file) as base:
        shares = [base.rows(ROWS.schema, share=slice(n, None, 2)) for n in range(2)]
        found = [pa.concat_tables(share).column("id").to_pylist() for share in shares]
        assert found == [["a", "b"], ["c", "d"]]
        assert not list(base.rows(ROWS.schema, condition=above_2, share=slice(1, None, 2)))


def test_a_file_whose_bytes_lie_outside_the_table_is_opened_there(tmp_path: Path) -> None:
    (tmp_path / "any_name.parquet").write_bytes(bytes_of())
    file = replace(file_at(), location=str(tmp_path / "any_name.parquet"))
    assert read(MemoryStorage(), file) == ROWS.to_pylist()
    gone = replace(file, location=f"file://{tmp_path}/gone.parquet")
    with pytest.raises(MissingFileError, match=rf"{tmp_path}/gone\.parquet is gone"):
        read(MemoryStorage(), gone)


def test_a_file_that_is_gone_or_damaged_is_named_with_its_table() -> None:
    with pytest.raises(MissingFileError, match=r"p/f-0.*is gone: was it cleaned") as gone:
        read(MemoryStorage(), file_at())
    assert gone.value.where == "/memory/table"
    with pytest.raises(CorruptTableError, match=r"p/f-0.*is no Parquet file") as cut:
        read(MemoryStorage({PATH: bytes_of()[:-1]}), file_at())
    assert cut.value.where == "/memory/table"
    with pytest.raises(StorageError, match=r"cannot read .*p/f-0"):
        read(MemoryStorage({PATH: b"PAR1" + b"\xff" * 60 + bytes_of()[64:]}), file_at())


def test_a_file_of_a_format_that_is_not_read_is_refused() -> None:
    other = replace(file_at(), path="p/f-0_0-0-0_20260102030405678.hfile")
    with pytest.raises(UnsupportedError, match=r"p/f-0.*\.hfile is neither a Parquet nor an ORC"):
        read(MemoryStorage({other.path: b""}), other)


# A reader gives 131,072 keys at a time.
KEYS = pa.array([f"{number:06d}" for number in range(300_000)])


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (1, [131_072, 131_072, 37_856]),
        (131_073, [262_144, 37_856]),
        (262_144, [262_144, 37_856]),
        (10**9, [300_000]),
    ],
)
def test_keys_come_in_groups_of_at_least_so_many(rows: int, sizes: list[int]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({RECORD_KEY: KEYS}), sink, row_group_size=200_000)
    storage = MemoryStorage({PATH: sink.getvalue().to_pybytes()})
    with open_base(storage, file_at()) as base:
        found = list(base.keys(None, rows=rows))
    assert [len(group) for group in found] == sizes
    assert pa.concat_arrays([chunk for group in found for chunk in group.chunks]).equals(KEYS)
