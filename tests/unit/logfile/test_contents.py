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


def parquet(content: bytes | None = None) -> bytes:
    sink = io.BytesIO()
    pq.write_table(ROWS, sink)
    header = {HeaderKey.INSTANT_TIME: "1"}
    return encode_block(BlockKind.PARQUET, header, sink.getvalue() if content is None else content)


def test_rows_of_parquet_blocks_are_read() -> None:
    block, source = only(parquet())
    assert pa.concat_tables(iter_rows(block, source)) == ROWS
    assert pa.concat_tables(iter_rows(block, source, ["ts", "no"])) == ROWS.select(["ts"])


@pytest.mark.parametrize("encode", [avro_block, hfile_block])
def test_rows_of_avro_and_hfile_blocks_are_read(encode: Callable[..., bytes]) -> None:
    block, source = only(encode("1", rows(("a", 1, "x"), ("b", 2, None))))
    found = pa.concat_tables(iter_rows(block, source, ["ts", "no"]))
    assert found.to_pylist() == [{"ts": 1}, {"ts": 2}]


def test_other_formats_are_refused_by_file_and_block() -> None:
    block, source = only(encode_block(BlockKind.CDC, {HeaderKey.INSTANT_TIME: "1"}, b"x"))
    with pytest.raises(UnsupportedError, match=r"CDC block at byte 0 of a\.log"):
        list(iter_rows(block, source))


@pytest.mark.parametrize("kind", [BlockKind.AVRO, BlockKind.HFILE])
def test_a_block_without_a_schema_is_told(kind: BlockKind) -> None:
    block, source = only(encode_block(kind, {HeaderKey.INSTANT_TIME: "1"}, b"x"))
    with pytest.raises(CorruptTableError, match="no schema"):
        list(iter_rows(block, source))


def test_parquet_that_is_none_is_told() -> None:
    block, source = only(parquet(b"PAR1 nonsense PAR1"))
    with pytest.raises(CorruptTableError, match="no whole Parquet file"):
        list(iter_rows(block, source))


def test_a_file_that_shrank_is_told() -> None:
    data = avro_block("1", rows(("a", 1, "x")), SCHEMA)
    block, _ = only(data)
    with pytest.raises(CorruptTableError, match="cut off while it was read"):
        list(iter_rows(block, pa.BufferReader(data[:-30])))
