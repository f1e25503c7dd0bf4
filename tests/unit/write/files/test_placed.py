"""Which rows of the base file the log blocks of whole writes name."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.pipeline.batch import matches
from pyhudi.schema.metafields import RECORD_KEY
from tests.support.orders import DUE, NO_SMALL_FILES, compact, many, marked, rows_of, write
from tests.support.record_positions import base_instant_of, positions_in

VERSION = "hoodie.write.table.version"
LATER = {**NO_SMALL_FILES, VERSION: "9"}
FIRST = many(range(60), 1, "v")


def keys_in(block: Block, source: pa.BufferReader) -> list[str]:
    if block.kind is BlockKind.DELETE:
        return list(read_deletes(block, source).keys.to_pylist())
    rows = iter_rows(block, source, {RECORD_KEY})
    return [key for part in rows for key in part.column(RECORD_KEY).to_pylist()]


def positioned(table: Path, instant: str) -> dict[BlockKind, list[str] | None]:
    """The keys of a write's blocks by kind; None where they name no rows of the base file.

    The rows that blocks name must have the keys of their records.
    """
    found: dict[BlockKind, list[str] | None] = {}
    for log in sorted(table.rglob(f".*_{instant}.log.*")):
        if ".hoodie" in log.relative_to(table).parts:
            continue
        source = pa.BufferReader(log.read_bytes())
        for block in iter_blocks(source, log.name):
            keys, positions = keys_in(block, source), positions_in(block)
            if positions is None:
                found[block.kind] = None
                continue
            file_id = log.name[1:].partition("_")[0]
            (base,) = log.parent.glob(f"{file_id}_*_{base_instant_of(block)}.parquet")
            stored = pq.read_table(base, columns=[RECORD_KEY], partitioning=None).column(0)
            assert stored.take(pa.array(positions)).to_pylist() == keys
            found[block.kind] = [*(found.get(block.kind) or []), *keys]
    return found


def upserted(table: Path, options: dict[str, str]) -> dict[BlockKind, list[str] | None]:
    write(table, FIRST, "insert", options)
    changed = many(range(50, 10, -3), 2, "w")
    gone = marked(changed, *(number % 4 == 0 for number in range(changed.num_rows)))
    done = write(table, gone, "upsert", options)
    return positioned(table, done.instant or "")


@pytest.mark.parametrize("version", ["8", "9"])
@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE"])
@pytest.mark.parametrize("at_hand", [True, False])
def test_updates_and_deletes_name_the_rows_that_they_change(
    version: str, index: str, at_hand: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not at_hand:
        monkeypatch.setattr(matches, "MOST_ROWS_AT_HAND", 0)
    options = {**LATER, VERSION: version, "hoodie.index.type": index}
    found = upserted(tmp_path / "table", options)
    assert {kind: len(keys or []) for kind, keys in found.items()} == {
        BlockKind.AVRO: 10,
        BlockKind.DELETE: 4,
    }


def test_a_delete_names_the_rows_that_go(tmp_path: Path) -> None:
    table = tmp_path / "table"
    write(table, FIRST, "insert", LATER)
    done = write(table, many(range(0, 90, 7), 2, ""), "delete", LATER)
    found = positioned(table, done.instant or "")
    assert sorted(found[BlockKind.DELETE] or []) == [f"k{n:04d}" for n in range(0, 60, 7)]


@pytest.mark.parametrize(
    "more",
    [
        {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
        {"hoodie.write.record.positions": "false"},
        {VERSION: "6"},
    ],
    ids=["bucket index", "switched off", "version 6"],
)
def test_no_rows_are_named_where_hudi_names_none(more: dict[str, str], tmp_path: Path) -> None:
    found = upserted(tmp_path / "table", {**LATER, **more})
    assert set(found.values()) <= {None}


def test_no_rows_are_named_below_a_pending_compaction_nor_in_compacted_blocks(
    tmp_path: Path,
) -> None:
    table = tmp_path / "table"
    write(table, FIRST, "insert", LATER)
    for value in ("u", "w"):
        write(table, many(range(20), 2, value), "upsert", LATER)
    blocks = {**LATER, **DUE, "hoodie.log.compaction.blocks.threshold": "2"}
    done = compact(table, blocks, mode="schedule_and_execute", kind="log_compaction")
    assert positioned(table, done.instant or "") == {BlockKind.AVRO: None}
    compact(table, {**LATER, **DUE}, mode="schedule")
    done = write(table, many(range(5), 3, "x"), "upsert", LATER)
    assert positioned(table, done.instant or "") == {BlockKind.AVRO: None}
    compact(table, LATER, mode="execute")
    done = write(table, many(range(9), 4, "y"), "upsert", LATER)
    assert len(positioned(table, done.instant or "")[BlockKind.AVRO] or []) == 9
    assert {row[3] for row in rows_of(table) if row[0] < "k0009"} == {"y"}
