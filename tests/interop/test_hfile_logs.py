"""Log files with HFile blocks, which real Hudi writes when it is told to: we read and go on."""

from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.logfile.reader import iter_blocks
from tests.interop import ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.model import TableModel
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_compaction import check_compacted, compact
from tests.interop.test_hudi_tables import payload
from tests.interop.test_merge_on_read import MERGE_ON_READ

BY_NAME = {s.name: s for s in SCENARIOS}
HFILES = {
    **MERGE_ON_READ,
    "hoodie.compact.inline": "false",
    "hoodie.logfile.data.block.format": "hfile",
}
READS_ITS_OWN = "0.15.0"
"""1.1.1 writes such blocks into tables of rows, and cannot read them."""


def kinds_of_blocks(table: Path) -> set[str]:
    logs = [path for path in table.rglob(".*.log.*") if path.suffix != ".crc"]
    return {
        block.kind.name
        for path in logs
        for block in iter_blocks(pa.BufferReader(path.read_bytes()), path.name)
    }


def check(hudi: RealHudi, table: Path, model: TableModel) -> None:
    found = ours.read(table)
    assert_same_rows(user_columns(found), model.rows())
    if hudi.version == READS_ITS_OWN:
        assert_same_rows(found, hudi.read(table))
    else:
        with pytest.raises(HudiError, match=r"cannot be cast to class .*InternalRow"):
            hudi.read(table)


def test_rows_of_every_type_are_read(hudi: RealHudi, tmp_path: Path) -> None:
    if hudi.version != READS_ITS_OWN:
        pytest.skip("records are the same, whoever writes the HFile around them")
    scenario, table = BY_NAME["every_type"], tmp_path / "table"
    options = {**scenario.options, **HFILES, **payload(scenario)}
    model = scenario.model()
    first, second = scenario.batch(range(30), 1), scenario.batch(range(20, 40), 2)
    for rows, operation, mode in ((first, "insert", "overwrite"), (second, "upsert", "append")):
        hudi.write(table, rows, operation, options=options, mode=mode)
        model.upsert(rows)
    check(hudi, table, model)


def test_log_files_with_hfile_blocks_are_gone_on_with(hudi: RealHudi, spark, tmp_path) -> None:
    """Updates newer and older than what is stored, deletes, keys that come back, a compaction."""
    scenario, table = BY_NAME["nonpartitioned"], tmp_path / "table"
    plain = {**scenario.options, **MERGE_ON_READ, **payload(scenario)}
    options = {**plain, **HFILES}
    unpacked = {**options, "hoodie.hfile.compression.algorithm": "NONE"}
    model, batch = scenario.model(), scenario.batch
    first = batch(range(30), 1)
    model.upsert(first)
    instants = [hudi.write(table, first, "insert", options=options, mode="overwrite")]
    for rows, how in ((batch(range(20, 40), 3), options), (batch(range(15, 25), 2), unpacked)):
        model.upsert(rows)
        instants.append(hudi.write(table, rows, "upsert", options=how))
    gone = batch(range(5), 4)
    model.delete(gone)
    hudi.write(table, gone, "delete", options=options)
    assert {"HFILE", "DELETE"} == kinds_of_blocks(table)

    ours_too = batch(range(3, 12), 5)
    model.upsert(ours_too)
    ours.write(spark, table, ours_too, "upsert", plain)
    hudi.write(table, batch(range(10, 14), 6), "upsert", options=options)
    model.upsert(batch(range(10, 14), 6))
    check(hudi, table, model)
    assert kinds_of_blocks(table) == {"HFILE", "DELETE", "AVRO"}
    if hudi.version == READS_ITS_OWN:
        assert_same_rows(ours.read(table, as_of=instants[1]), hudi.read(table, as_of=instants[1]))
        changed = ours.read(table, query_type="incremental", begin=instants[0])
        by_hudi = hudi.read(table, begin=instants[0])
        assert_same_rows(user_columns(changed), user_columns(by_hudi))

    before = ours.read(table)
    assert compact(spark, table).status == "committed"
    check_compacted(hudi, table, before)
    assert hudi.failures(table, exercise=False) == []
    hudi.write(table, batch(range(8, 12), 7), "upsert", options=options)
    model.upsert(batch(range(8, 12), 7))
    check(hudi, table, model)


def test_a_column_named_key_is_the_record_key_as_hudi_has_it(hudi: RealHudi, tmp_path) -> None:
    """Hudi empties a column of this name and reads the record key in its place, whatever it was."""
    for keys, own in (("key", "a"), ("id", "lost")):
        table = tmp_path / keys
        options = {
            "hoodie.table.name": "keyed",
            "hoodie.datasource.write.recordkey.field": keys,
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.write.table.version": "6",
            **HFILES,
            **payload(BY_NAME["nonpartitioned"]),
        }
        for ts, operation, mode in ((1, "insert", "overwrite"), (2, "upsert", "append")):
            rows = pa.table({"id": ["a"], "key": [own], "ts": [ts]})
            hudi.write(table, rows, operation, options=options, mode=mode)
        found = ours.read(table)
        assert user_columns(found) == [{"id": "a", "key": "a", "ts": 2}]
        if hudi.version == READS_ITS_OWN:
            assert_same_rows(found, hudi.read(table))
