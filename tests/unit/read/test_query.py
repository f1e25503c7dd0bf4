"""What is asked of a table: which files answer, and which questions have no answer here."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.config.read import ReadConfig
from pyhudi.errors import CorruptTableError, HudiError, OptionError, RequestError, UnsupportedError
from pyhudi.read.query import plan_read
from tests.support.golden import golden_copy, golden_table


def set_property(table: Path, key: str, value: str) -> None:
    """Change one line of hoodie.properties."""
    path = table / ".hoodie" / "hoodie.properties"
    lines = path.read_text(encoding="latin-1").splitlines()
    kept = [line for line in lines if not line.startswith(f"{key}=")]
    path.write_text("\n".join([*kept, f"{key}={value}"]) + "\n", encoding="latin-1")


def test_a_plan_names_the_files_and_columns_that_answer() -> None:
    table = pyhudi.open_table(str(golden_table("v6_cow_basic")))
    filters = (pc.field("part") == "north") & (pc.field("qty") > 5)
    plan = plan_read(table, ReadConfig(), columns=["price", "id"], filters=filters)
    assert {file.partition for file in plan.files} == {"north"}
    assert (plan.columns, plan.needed) == (("price", "id"), ("id", "part", "qty", "price"))
    assert plan.result_schema.names == ["price", "id"]


CHANGES = {"query_type": "incremental", "begin": "2026-01-01"}
CDC = {**CHANGES, "query_type": "cdc"}


@pytest.mark.parametrize(
    ("name", "query", "kind", "words"),
    [
        ("v6_cow_basic", {"query_type": "incremental"}, RequestError, "begin"),
        ("v6_cow_no_meta_fields", CHANGES, UnsupportedError, "no meta columns"),
        ("v6_cow_basic", {"query_type": "latest"}, OptionError, "(?i)snapshot.*incremental"),
        ("v6_cow_basic", CDC, UnsupportedError, "change data of table v6_cow_basic cannot be read"),
        ("v6_mor_cdc", CDC, UnsupportedError, "change data of table v6_mor_cdc cannot be read"),
    ],
    ids=["no begin", "no meta columns", "no such type", "change data", "change data in logs"],
)
def test_questions_without_an_answer_are_refused(
    name: str, query: dict[str, str], kind: type[HudiError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        pyhudi.read_table(golden_table(name), **query)


def test_a_plan_sets_slices_apart_whose_log_files_are_to_be_read() -> None:
    table = pyhudi.open_table(str(golden_table("v6_mor_rollback")))
    plan = plan_read(table, ReadConfig())
    logs = [(each.partition, len(each.log_files)) for each in plan.slices]
    assert logs == [("north", 4), ("south", 1)]
    assert [file.partition for file in plan.files] == ["north"]
    without = plan_read(table, ReadConfig.of(query_type="read_optimized"))
    assert (without.slices, len(without.files)) == ((), 3)


def test_a_merger_that_a_table_names_is_run_only_when_the_query_names_it(tmp_path: Path) -> None:
    table = golden_copy("v6_mor_basic", tmp_path)
    set_property(table, "hoodie.compaction.payload.class", "pyhudi.merge.custom.Merger")
    set_property(table, "pyhudi.merge.custom.merger", "os:system")
    with pytest.raises(OptionError, match=r"os:system, and the query names none.*read_optimized"):
        pyhudi.read_table(table)
    with pytest.raises(OptionError, match=r"names os:popen"):
        pyhudi.read_table(table, custom_merger="os:popen")
    with pytest.raises(OptionError, match=r"os:system is no class"):
        pyhudi.read_table(table, custom_merger="os:system")
    assert pyhudi.read_table(table, query_type="read_optimized").num_rows


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        pytest.param("hoodie.table.base.file.format", "HFILE", "HFILE", id="hfile"),
        pytest.param("hoodie.table.base.file.format", "LANCE", "LANCE", id="lance"),
    ],
)
def test_tables_that_cannot_be_read_yet_are_named(tmp_path, key: str, value: str, message: str):
    table = golden_copy("v6_cow_basic", tmp_path)
    set_property(table, key, value)
    with pytest.raises(UnsupportedError, match=f"v6_cow_basic.*{message}"):
        pyhudi.read_table(table)


def test_a_skeleton_that_no_index_names_has_keys_and_no_rows(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_bootstrap_full", tmp_path)
    for path in sorted(table.rglob("*00000000000002*")):
        path.rename(path.with_name(path.name.replace("00000000000002", "00000000000001")))
    with pytest.raises(CorruptTableError, match="index does not say which file has its rows"):
        pyhudi.read_table(table, as_of="00000000000001")
    keys = pyhudi.read_table(table, as_of="00000000000001", columns=["_hoodie_record_key"])
    assert keys.num_rows == 24


def test_partition_columns_that_neither_file_nor_path_states_are_refused(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_timestamp_keygen", tmp_path)
    set_property(table, "hoodie.datasource.write.drop.partition.columns", "true")
    with pytest.raises(UnsupportedError, match=r"moment in no file, and the path '2023/11/14'"):
        pyhudi.read_table(table)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param(["id", "prize"], "no column prize; it has _hoodie_commit_time", id="unknown"),
        pytest.param(["id", "id"], "twice", id="twice"),
        pytest.param([], "asked for no column", id="none"),
    ],
)
def test_columns_the_table_has_not_are_refused(columns: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        pyhudi.read_table(golden_table("v6_cow_basic"), columns=columns)


def test_a_time_with_a_zone_is_told_in_that_of_the_timeline(tmp_path: Path) -> None:
    path = golden_copy("v6_cow_evolution", tmp_path)
    set_property(path, "hoodie.table.timeline.timezone", "UTC")
    there = datetime(2026, 11, 21, 11, 52, 14, 132000, timezone(timedelta(hours=1)))
    then = pyhudi.read_table(path, as_of="20261121105214132")
    for as_of in (there, str(there), there.isoformat()):
        assert pyhudi.read_table(path, as_of=as_of) == then
        assert pyhudi.read_batches(path, as_of=as_of).read_all() == then
    assert pyhudi.read_table(path) != then
