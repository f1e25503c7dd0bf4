"""Record positions of log blocks: their bytes are those of Hudi, and mean the rows they change."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.positions import encode_positions
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.schema.metafields import RECORD_KEY
from tests.support.golden import golden_names
from tests.support.log_files import golden_logs
from tests.support.record_positions import base_instant_of, decoded, positions_in

LATER = [name for name in golden_names() if not name.startswith("v6")]
# RoaringBitmap 1.2.1, Roaring64NavigableMap.runOptimize and serializePortable.
OF_JAVA = {
    (3,): "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAAAEAAAAAMA",
    (0, 1, 2, 5, 70_000): ("AQAAAAAAAAAAAAAAOjAAAAIAAAAAAAMAAQAAABgAAAAgAAAAAAABAAIABQBwEQ=="),
}


def encoded(numbers: object) -> str:
    return encode_positions(np.array(numbers, dtype=np.int64))


@pytest.mark.parametrize("numbers", OF_JAVA)
def test_the_bytes_are_those_of_java(numbers: tuple[int, ...]) -> None:
    assert encoded(numbers) == OF_JAVA[numbers]


def _sets() -> Iterator[list[int]]:
    chance = random.Random(5)
    top = 1 << 16
    yield list(range(10))
    yield list(range(3 * top + 7))
    yield list(range(0, 2 * top, 2))
    # As many as an array may have, and one more, without any run worth it.
    yield list(range(0, 2 * 4_096, 2))
    yield list(range(0, 2 * 4_097, 2))
    yield [5, 6, 7, top - 1, top, top + 1, 9 * top, (1 << 32) - 1, 1 << 32, (7 << 32) + top]
    for _ in range(20):
        width = chance.choice([100, top, 8 * top, 1 << 36])
        yield sorted({chance.randrange(width) for _ in range(chance.randint(1, 6_000))})


@pytest.mark.parametrize("numbers", list(_sets()))
def test_positions_are_read_as_they_were_meant(numbers: list[int]) -> None:
    assert decoded(encoded(numbers)) == numbers


def positioned(name: str) -> Iterator[tuple[Path, Block, pa.BufferReader]]:
    for path in golden_logs(name):
        source = pa.BufferReader(path.read_bytes())
        for block in iter_blocks(source, path.name):
            if HeaderKey.RECORD_POSITIONS in block.header:
                yield path, block, source


def test_the_golden_tables_have_blocks_of_both_kinds_with_positions() -> None:
    kinds = {block.kind for name in LATER for _, block, _ in positioned(name)}
    assert kinds >= {BlockKind.AVRO, BlockKind.PARQUET, BlockKind.DELETE}


@pytest.mark.parametrize("name", [each for each in LATER if "_mor_" in each])
def test_positions_of_hudi_are_encoded_to_the_same_text(name: str) -> None:
    for path, block, source in positioned(name):
        found = positions_in(block) or []
        assert encoded(found) == block.header[HeaderKey.RECORD_POSITIONS]
        assert keys_at(path, block, found) in (None, keys_of(block, source))


def keys_of(block: Block, source: pa.BufferReader) -> list[str]:
    if block.kind is BlockKind.DELETE:
        return list(read_deletes(block, source).keys.to_pylist())
    rows = iter_rows(block, source, {RECORD_KEY})
    return [key for part in rows for key in part.column(RECORD_KEY).to_pylist()]


def keys_at(log: Path, block: Block, positions: list[int]) -> list[str] | None:
    """The keys of the rows that a block's positions name; None where the file has been cleaned."""
    file_id = log.name.removeprefix(".").partition("_")[0]
    bases = list(log.parent.glob(f"{file_id}_*_{base_instant_of(block)}.parquet"))
    if not bases:
        return None
    keys = pq.read_table(bases[0], columns=[RECORD_KEY]).column(RECORD_KEY)
    return list(keys.take(pa.array(positions)).to_pylist())
