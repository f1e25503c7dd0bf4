"""What each index does with records that moved, and where the BUCKET index puts them."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import OptionError, TableMismatchError
from pyhudi.filegroup.names import hash_bucket_of
from pyhudi.index.bucket import BucketHash
from pyhudi.pipeline.batch import matches
from tests.support.orders import OPTIONS, many, marked, orders, rows_of, tuples, write

FIRST = many(range(9), 3, "old", parts=3)
# Newer and older rows of known keys in other partitions, a known key in two, a new one in two.
BATCH = orders(
    ("k0000", "p1", 9, "newer"),
    ("k0001", "p2", 1, "older"),
    ("k0002", "p2", 9, "in place"),
    ("k0003", "p0", 9, "first"),
    ("k0003", "p2", 10, "last"),
    ("n1", "p0", 1, "first"),
    ("n1", "p3", 2, "last"),
    ("k0004", "p3", 8, "to a new partition"),
)
MOVED = sorted(
    [
        ("k0000", "p1", 9, "newer"),
        ("k0002", "p2", 9, "in place"),
        ("k0003", "p2", 10, "last"),
        ("n1", "p3", 2, "last"),
        ("k0004", "p3", 8, "to a new partition"),
        *(row for row in tuples(FIRST) if row[0] not in ("k0000", "k0002", "k0003", "k0004")),
    ]
)


def index(name: str, **more: str) -> dict[str, str]:
    return {**OPTIONS, "hoodie.index.type": name, **more}


def bucketed(number: int = 4) -> dict[str, str]:
    return index("BUCKET", **{"hoodie.bucket.index.num.buckets": str(number)})


def places(table: Path) -> set[tuple[str, str]]:
    """Key and partition path of each row."""
    rows = pyhudi.read_table(table).select(["id", "_hoodie_partition_path"]).to_pylist()
    return {tuple(row.values()) for row in rows}


@pytest.mark.parametrize("name", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_global_index_moves_records_to_the_partition_of_their_newest_row(name: str, table: Path):
    write(table, FIRST, "insert", index(name))
    write(table, BATCH, "upsert", index(name))
    assert rows_of(table) == MOVED
    assert places(table) == {row[:2] for row in MOVED}
    # A delete finds its key wherever it lives.
    keys = orders(("k0000", "p7", 0, ""), ("k0005", "p2", 0, "")).select(["id", "part"])
    assert write(table, keys, "delete", index(name)).records["deleted"] == 2
    assert rows_of(table) == [row for row in MOVED if row[0] not in ("k0000", "k0005")]


@pytest.mark.parametrize("name", ["SIMPLE", "GLOBAL_SIMPLE"])
def test_positions_that_are_too_many_for_the_driver_stay_with_the_rows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows move, meet, are updated and inserted as they are with positions at hand."""
    tables = tmp_path / "few" / "t", tmp_path / "many" / "t"
    for table in tables:
        table.parent.mkdir()
        write(table, FIRST, "insert", index(name))
        write(table, BATCH, "upsert", index(name))
        monkeypatch.setattr(matches, "MOST_ROWS_AT_HAND", 0)
    few, many_positions = map(rows_of, tables)
    assert few == many_positions
    assert (few == MOVED) == (name == "GLOBAL_SIMPLE")


def test_records_stay_where_they_are_when_they_are_not_to_move(table: Path) -> None:
    stay = index("GLOBAL_SIMPLE", **{"hoodie.simple.index.update.partition.path": "false"})
    write(table, FIRST, "insert", stay)
    write(table, BATCH, "upsert", stay)
    # The column says what the newest row says, the folder where the record is.
    assert places(table) == {(row[0], row[1]) for row in tuples(FIRST)} | {("n1", "p3")}
    assert [row for row in rows_of(table) if row not in tuples(FIRST)] == sorted(
        row for row in MOVED if row not in tuples(FIRST)
    )


def test_an_index_by_partition_takes_equal_keys_of_two_partitions_for_two_records(table: Path):
    write(table, FIRST, "insert", index("BLOOM"))
    write(table, BATCH, "upsert", index("BLOOM"))
    written = {row[:2] for row in tuples(BATCH)}
    kept = [row for row in tuples(FIRST) if row[:2] not in written]
    assert rows_of(table) == sorted([*tuples(BATCH), *kept])


def test_a_global_insert_combines_and_drops_across_partitions(table: Path) -> None:
    write(table, FIRST, "insert", index("GLOBAL_SIMPLE"))
    drops = {"hoodie.datasource.write.insert.drop.duplicates": "true"}
    write(table, BATCH, "insert", index("GLOBAL_SIMPLE", **drops))
    assert rows_of(table) == sorted([*tuples(FIRST), ("n1", "p3", 2, "last")])


def test_a_bucket_index_puts_each_key_into_the_file_group_of_its_hash(table: Path) -> None:
    write(table, many(range(40), 1, "a", parts=2), "insert", bucketed())
    write(table, many(range(30, 60), 2, "b", parts=2), "upsert", bucketed())
    write(table, many(range(60, 70), 2, "c", parts=2), "bulk_insert", bucketed())
    gone = many(range(0, 80, 7), 9, "", parts=2).select(["id", "part"])
    write(table, gone, "delete", bucketed())
    found = pyhudi.read_table(table).select(["_hoodie_record_key", "_hoodie_file_name"])
    buckets = BucketHash(num_buckets=4, fields=("id",)).buckets_of(found.column(0))
    assert [hash_bucket_of(name.as_py()) for name in found.column(1)] == buckets.tolist()
    assert len(pyhudi.open_table(str(table)).latest_base_files()) <= 8
    kept = many(range(30), 1, "a"), many(range(30, 60), 2, "b"), many(range(60, 70), 2, "c")
    assert rows_of(table) == [row for row in tuples(*kept) if int(row[0][1:]) % 7]
    write(table, many([2, 4], 1, "new", parts=2), "insert_overwrite", bucketed())
    assert [row for row in rows_of(table) if row[1] == "p0"] == tuples(
        many([2, 4], 1, "new", parts=2)
    )


def test_a_table_with_other_buckets_is_refused_and_left_alone(tmp_path: Path) -> None:
    table, plain = tmp_path / "t", tmp_path / "plain"
    write(table, many(range(40), 1, "a"), "insert", bucketed())
    write(plain, FIRST, "insert")
    before = rows_of(table)
    for number in (3, 8):
        with pytest.raises(TableMismatchError, match="buckets"):
            write(table, many(range(3), 2, "b"), "upsert", bucketed(number))
    with pytest.raises(TableMismatchError, match="none of 4 buckets"):
        write(plain, FIRST, "upsert", bucketed())
    hashed = {"hoodie.bucket.index.hash.field": "part"}
    with pytest.raises(OptionError, match=r"hash\.field"):
        write(table, FIRST, "upsert", {**bucketed(), **hashed})
    assert rows_of(table) == before
    assert not list((table / ".hoodie").glob("*.rollback"))


def test_soft_deletes_find_records_in_other_partitions(table: Path) -> None:
    write(table, marked(FIRST, *[False] * 9), "insert", index("GLOBAL_SIMPLE"))
    batch = orders(("k0000", "p1", 9, ""), ("k0001", "p2", 1, ""), ("k0002", "p0", 9, "moved"))
    write(table, marked(batch, True, True, False), "upsert", index("GLOBAL_SIMPLE"))
    kept = [row for row in tuples(FIRST) if row[0] not in ("k0000", "k0002")]
    # The older delete of k0001 does not reach the newer record.
    assert rows_of(table) == sorted([*kept, ("k0002", "p0", 9, "moved")])
