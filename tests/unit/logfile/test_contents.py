"""What the blocks of each kind give."""

import io
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.contents import iter_rows
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from tests.support.hfiles import hfile_block
from tests.support.log_files import SCHEMA, avro_block, rows

ROWS = pa.table({"id": ["a", "b"], "ts": [1, 2]})


def only(data: bytes) -> tuple[Block, pa.NativeFile]:
    source = pa.BufferReader(data)
    (block,) = iter_blocks(source, "a.log")
    return block, source


def test_rows_of_parquet_blocks_are_read() -> None:
    sink = io.BytesIO()
    pq.write_table(ROWS, sink)
    header = {HeaderKey.INSTANT_TIME: "1"}
    block, source = only(encode_block(BlockKind.PARQUET, header, sink.getvalue()))
    assert pa.concat_tables(iter_rows(block, source)) == ROWS
    assert pa.concat_tables(iter_rows(block, source, ["ts", "no"])) == ROWS.select(["ts"])


@pytest.mark.parametrize("encode", [avro_block, hfile_block])
def test_rows_of_avro_and_hfile_blocks_are_read(encode: Callable[..., bytes]) -> None:
    block, source = only(encode("1", rows(("a", 1, "x"), ("b", 2, None))))
    found = pa.concat_tables(iter_rows(block, source, ["ts", "no"]))
    assert found.to_pylist() == [{"ts": 1}, {"ts": 2}]


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (BlockKind.CDC, UnsupportedError, r"CDC block at byte 0 of a\.log"),
        (BlockKind.AVRO, CorruptTableError, "no schema"),
        (BlockKind.HFILE, CorruptTableError, "no schema"),
        (BlockKind.PARQUET, CorruptTableError, "no whole Parquet file"),
    ],
)
def test_contents_that_cannot_be_read_are_told(kind: BlockKind, error: type, message: str) -> None:
    content = b"PAR1 nonsense PAR1"
    block, source = only(encode_block(kind, {HeaderKey.INSTANT_TIME: "1"}, content))
    with pytest.raises(error, match=message):
        list(iter_rows(block, source))


def test_a_file_that_shrank_is_told() -> None:
    data = avro_block("1", rows(("a", 1, "x")), SCHEMA)
    block, _ = only(data)
    with pytest.raises(CorruptTableError, match="cut off while it was read"):
        list(iter_rows(block, pa.BufferReader(data[:-30])))
