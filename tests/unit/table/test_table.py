"""Tables of Hudi, opened."""

import json
from collections.abc import Iterator
from datetime import datetime

import pytest

from pyhudi.schema.metafields import META_FIELDS
from pyhudi.table.properties_file import replace_properties
from pyhudi.table.table import Table, load_table, open_table
from tests.support.golden import golden_copy, golden_names, golden_table
from tests.support.in_process import NOW_MS, clock_at, options_of, write
from tests.support.memory import MemoryStorage
from tests.support.object_store import StoreServer


def expected(name: str, file: str) -> str:
    return (golden_table(name).parent / "expected" / file).read_text(encoding="utf-8")


def slices_of(table: Table) -> Iterator[tuple[object, ...]]:
    for each in table.latest_slices():
        base = None if each.base_file is None else each.base_file.name
        logs = [str(log.name) for log in each.log_files]
        yield each.partition, each.file_id, each.base_instant, base, logs


@pytest.mark.parametrize("name", [*golden_names("v6_"), *golden_names("v9_as_v6")])
def test_the_latest_slices_and_base_files_are_those_that_hudi_finds(name: str) -> None:
    table = open_table(str(golden_table(name)))
    slices = [json.loads(line) for line in expected(name, "slices.jsonl").splitlines()]
    # Hudi lists files of change data too, and passes over them when it reads rows.
    logs = [[log for log in s["log_files"] if not log.endswith(".cdc")] for s in slices]
    named = [(s["partition"], s["file_id"], s["base_instant"], s["base_file"]) for s in slices]
    theirs = sorted((*names, of_slice) for names, of_slice in zip(named, logs, strict=True))
    assert list(slices_of(table)) == theirs
    if not any(logs):
        files = table.latest_base_files()
        assert [(f.partition, f.file_id, f.instant, f.name) for f in files] == sorted(named)


def test_properties_are_read_again_when_others_have_changed_them(store: StoreServer) -> None:
    memory = MemoryStorage(now_ms=NOW_MS)
    write(memory, {("x", "a"): (1, "old")}, clock_at(), options=options_of())
    storage = store.filled(memory)
    table = load_table(storage)
    with store.counting() as unchanged:
        assert table.refresh() == table
    others = {"hoodie.table.metadata.partitions": "files"}
    replace_properties(storage, {**table.config.raw, **others})
    latest = table.refresh()
    assert latest.config.metadata_partitions
    with store.counting() as known:
        assert latest.refresh() == latest
    assert (unchanged, known) == ({"list": 1}, {"list": 1})


# Hudi writes v6_cow_custom_keygen_long and cannot read it.
READABLE = [name for name in golden_names("v6_cow_") if name != "v6_cow_custom_keygen_long"]


@pytest.mark.parametrize("name", READABLE)
def test_the_schema_has_the_meta_columns_and_then_the_columns_hudi_reads(name: str) -> None:
    names = open_table(str(golden_table(name))).schema().names
    assert tuple(names[:5]) == META_FIELDS
    theirs = [field["name"] for field in json.loads(expected(name, "schema.json"))["fields"]]
    # Spark moves partition columns to the end.
    assert sorted(names[5:]) == sorted(theirs)


def test_files_of_chosen_partitions_are_files_of_those_alone() -> None:
    table = open_table(str(golden_table("v6_cow_basic")))
    assert table.partitions() == ("north", "south", "west")
    assert [file.partition for file in table.latest_base_files(["west"])] == ["west"]


def test_as_of_an_instant_files_and_schema_are_those_of_then() -> None:
    table = open_table(str(golden_table("v6_cow_evolution")))
    first = table.timeline.completed().first
    assert {file.instant for file in table.latest_base_files(as_of=first.time)} == {first.time}
    assert len(table.schema(as_of=first.time)) < len(table.schema())
    assert table.schema(as_of="00000000000000000") == table.schema()


def test_without_a_schema_in_commits_a_base_file_tells(tmp_path) -> None:
    copy = golden_copy("v6_cow_hive", tmp_path)
    by_commit = open_table(str(copy)).avro_schema()
    for path in (copy / ".hoodie").glob("*.commit"):
        metadata = json.loads(path.read_text())
        del metadata["extraMetadata"]["schema"]
        path.write_text(json.dumps(metadata))
    assert open_table(str(copy)).avro_schema() == by_commit


def test_while_hudi_replaces_the_properties_their_backup_is_read(tmp_path) -> None:
    copy = golden_copy("v6_cow_hive", tmp_path)
    properties = copy / ".hoodie" / "hoodie.properties"
    properties.rename(f"{properties}.backup")
    assert open_table(str(copy)).config.name == "v6_cow_hive"


def test_a_table_stays_as_it_was_when_opened(tmp_path) -> None:
    copy = golden_copy("v6_cow_hive", tmp_path)
    table = open_table(str(copy))
    last = max((copy / ".hoodie").glob("*.commit"))
    last.rename(copy / ".hoodie" / "20991231000000000.commit")
    assert table.timeline.last.time == last.name.removesuffix(".commit")
    assert load_table(table.storage).timeline.last.time == "20991231000000000"


def test_a_time_may_be_written_as_people_write_it() -> None:
    table = open_table(golden_table("v6_cow_evolution"))
    earlier, same = "20261121105213543", datetime(2026, 11, 21, 10, 52, 13, 543000)  # noqa: DTZ001
    assert table.schema(as_of="2026-11-21T10:52:13.543") == table.schema(as_of=earlier)
    assert table.schema(as_of=earlier) != table.schema()
    files = table.latest_base_files(as_of=earlier)
    assert table.latest_base_files(as_of=same) == files != table.latest_base_files()
    assert [each.base_file for each in table.latest_slices(as_of=same)] == [*files]
