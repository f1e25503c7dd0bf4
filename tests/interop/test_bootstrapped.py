"""Tables that Hudi bootstrapped: both read them, and write onto what lies outside them in turns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, without
from tests.interop.test_merge_on_read import MERGE_ON_READ
from tests.support.orders import clean, compact, write
from tests.support.tree import tree

KEYS = "org.apache.hudi.keygen.SimpleKeyGenerator"
OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "region",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.index.bloom.num_entries": "100",
}
KINDS = {"cow": {}, "mor": {**MERGE_ON_READ, "hoodie.compact.inline": "false"}}
FIRST = "00000000000001"
DELETING = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.clean.delete.bootstrap.base.file": "true",
}


def rows(numbers: range, ts: int, region: str) -> pa.Table:
    """Rows of every kind of column that a source is likely to have."""
    return pa.table(
        {
            "id": pa.array([f"k{n:03d}" for n in numbers], pa.string()),
            "ts": pa.array([ts] * len(numbers), pa.int64()),
            "price": pa.array([n / 4 for n in numbers], pa.float64()),
            "at": pa.array([n * 10**9 for n in numbers], pa.timestamp("us", "UTC")),
            "tags": pa.array([[f"t{n}"] for n in numbers], pa.list_(pa.string())),
            # Hudi 0.15 cannot itself merge onto a source whose path has numbers for a column.
            "region": pa.array([region] * len(numbers), pa.string()),
        }
    )


def lay_down(source: Path) -> None:
    """Two partitions, one of two files, in row groups that no skeleton has."""
    for region, name, numbers in (
        ("north", "a", range(9)),
        ("north", "b", range(9, 14)),
        ("south", "a", range(20, 27)),
    ):
        folder = source / f"region={region}"
        folder.mkdir(parents=True, exist_ok=True)
        own = rows(numbers, 1, region).drop_columns(["region"])
        pq.write_table(own, folder / f"{name}.parquet", row_group_size=2)


def bootstrapped(hudi: RealHudi, folder: Path, kind: str) -> Path:
    """A table of skeletons that Hudi made of a source beside it."""
    table, source = folder / "table", folder / "source"
    lay_down(source)
    asked = {
        **OPTIONS,
        **KINDS[kind],
        "hoodie.bootstrap.base.path": f"file:{source}",
        "hoodie.bootstrap.keygen.class": KEYS,
        "hoodie.datasource.write.keygenerator.class": KEYS,
        "hoodie.bootstrap.parallelism": "2",
        "hoodie.metadata.enable": "false",
        "hoodie.write.table.version": "6",
        "hoodie.bootstrap.mode.selector": (
            "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector"
        ),
    }
    hudi.write(table, rows(range(0), 0, ""), "bootstrap", options=asked, mode="overwrite")
    return table


@pytest.mark.parametrize("kind", KINDS)
def test_hudi_and_we_go_on_from_its_skeletons(hudi: RealHudi, tmp_path: Path, kind: str) -> None:
    table = bootstrapped(hudi, tmp_path, kind)
    source, options = tree(tmp_path / "source"), {**OPTIONS, **KINDS[kind]}
    assert_same_rows(ours.read(table), hudi.read(table))
    assert len(ours.read(table)) == 21

    changed = pa.concat_tables([rows(range(2, 4), 5, "north"), rows(range(40, 42), 5, "north")])
    write(table, changed, "upsert", options)
    write(table, rows(range(4, 5), 6, "north"), "delete", options)
    assert_same_rows(ours.read(table), hudi.read(table))
    assert len(ours.read(table)) == 22
    assert_same_rows(ours.read(table, as_of=FIRST), hudi.read(table, as_of=FIRST))
    assert_same_rows(
        ours.read(table, query_type="incremental", begin=FIRST), hudi.read(table, begin=FIRST)
    )
    assert hudi.failures(table, exercise=False) == []

    hudi.write(table, rows(range(3, 6), 7, "north"), "upsert", options=options)
    hudi.write(table, rows(range(22, 24), 7, "south"), "upsert", options=options)
    assert_same_rows(ours.read(table), hudi.read(table))
    if kind == "mor":
        before = without(hudi.read(table), ["_hoodie_file_name"])
        small = {"hoodie.index.bloom.num_entries": "100"}
        done = compact(table, {**small, "hoodie.compact.inline.max.delta.commits": "1"})
        assert done.status == "committed"
        assert_same_rows(without(hudi.read(table), ["_hoodie_file_name"]), before)
        assert_same_rows(ours.read(table), hudi.read(table))
    assert hudi.failures(table) == []
    assert tree(tmp_path / "source") == source


def test_hudi_compacts_what_we_planned_on_a_skeleton(hudi: RealHudi, tmp_path: Path) -> None:
    table = bootstrapped(hudi, tmp_path, "mor")
    alone = {**OPTIONS, **KINDS["mor"], "hoodie.parquet.small.file.limit": "0"}
    write(table, rows(range(2, 4), 5, "north"), "upsert", alone)
    write(table, rows(range(20, 22), 6, "south"), "delete", alone)
    before = without(hudi.read(table), ["_hoodie_file_name"])
    planned = compact(table, {"hoodie.compact.inline.max.delta.commits": "1"}, mode="schedule")
    assert planned.instant is not None
    hudi.ask("run_compaction", table=str(table), instant=planned.instant)
    assert_same_rows(without(ours.read(table), ["_hoodie_file_name"]), before)
    assert_same_rows(ours.read(table), hudi.read(table))


def test_our_clean_of_a_source_is_one_that_hudi_reads(hudi: RealHudi, tmp_path: Path) -> None:
    table = bootstrapped(hudi, tmp_path, "cow")
    quiet = {**OPTIONS, "hoodie.clean.automatic": "false"}
    for ts in (5, 6, 7):
        write(table, rows(range(20, 22), ts, "south"), "upsert", quiet)
    assert clean(table, DELETING).status == "committed"
    assert [path.name for path in tmp_path.glob("source/region=south/*")] == []
    assert len(list(tmp_path.glob("source/region=north/*"))) == 2
    assert_same_rows(ours.read(table), hudi.read(table))
    assert pc.count(pa.array(ours.read(table))).as_py() == 21
    assert hudi.failures(table) == []
