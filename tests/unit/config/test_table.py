"""Table configurations, read from Hudi's tables and written as Hudi writes them."""

import json

import pytest

from pyhudi.config.options.merging import DEFAULT_PAYLOAD, MergeMode, PartialUpdate
from pyhudi.config.properties import parse
from pyhudi.config.table import TableConfig, TableType, TimelineZone
from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.errors import CorruptTableError, UnsupportedError
from tests.support.golden import golden_names, golden_table

MINIMAL = {"hoodie.table.name": "t", "hoodie.table.version": "6"}
MADE = TableConfig(
    name="t",
    table_type=TableType.COPY_ON_WRITE,
    version=TableVersion.SIX,
    record_key_fields=("id",),
    partition_fields=("a", "b"),
    ordering_fields=("ts",),
    key_generator_class="org.apache.hudi.keygen.ComplexKeyGenerator",
    hive_style=True,
)


def properties_of(name: str) -> dict[str, str]:
    path = golden_table(name) / ".hoodie" / "hoodie.properties"
    return parse(path.read_text(encoding="latin-1"))


@pytest.mark.parametrize("name", golden_names("v6_"))
def test_every_table_of_hudi_has_the_configuration_it_was_made_with(name: str) -> None:
    config = TableConfig.from_properties(properties_of(name))
    made = json.loads((golden_table(name).parent / "README.json").read_text())
    assert config.version == made["table_version"]
    assert config.table_type.value == made["table_type"]
    keys, paths = made["record_key_fields"] or "", made["partition_fields"] or ""
    assert config.record_key_fields == tuple(filter(None, keys.split(",")))
    fields = [field.partition(":")[0] for field in paths.split(",") if field]
    assert config.partition_fields == tuple(fields)


@pytest.mark.parametrize("name", ["v6_cow_hive", "v6_cow_nonpart", "v6_cow_multi_hive"])
def test_a_made_table_has_the_properties_of_hudi_and_a_payload_class(name: str) -> None:
    theirs = properties_of(name)
    ours = TableConfig.from_properties(theirs).to_properties()
    assert ours.pop("hoodie.compaction.payload.class") == DEFAULT_PAYLOAD
    assert ours == {"hoodie.table.metadata.partitions.inflight": "", **theirs} | {
        "hoodie.table.metadata.partitions": ""
    }


def test_a_made_configuration_is_read_back_the_same() -> None:
    read = TableConfig.from_properties(MADE.to_properties())
    assert (read.name, read.partition_fields, read.hive_style) == ("t", ("a", "b"), True)
    assert read.payload_class == DEFAULT_PAYLOAD
    assert read.to_properties() == MADE.to_properties()


def test_what_is_absent_has_hudis_defaults() -> None:
    config = TableConfig.from_properties(MINIMAL)
    assert config.table_type is TableType.COPY_ON_WRITE
    assert config.timezone is TimelineZone.LOCAL
    assert config.populate_meta_fields
    assert config.metadata_partitions == ()
    assert config.payload_class is None


def test_a_table_with_ordering_fields_of_a_newer_hudi_has_them() -> None:
    config = TableConfig.from_properties({**MINIMAL, "hoodie.table.ordering.fields": "ts,seq"})
    assert config.ordering_fields == ("ts", "seq")


def test_a_payload_class_with_its_own_rules_is_refused_by_name() -> None:
    properties = {**MINIMAL, "hoodie.compaction.payload.class": "org.x.AWSDmsAvroPayload"}
    with pytest.raises(UnsupportedError, match=r"org\.x\.AWSDmsAvroPayload"):
        _ = TableConfig.from_properties(properties).merge_mode


_MODEL, _MERGING = "org.apache.hudi.common.model.", "hoodie.record.merge."


@pytest.mark.parametrize("version", ["8", "9"])
@pytest.mark.parametrize(
    ("named", "payload", "ordering", "mode"),
    [
        ("COMMIT_TIME_ORDERING", None, "ts", MergeMode.COMMIT_TIME),
        ("EVENT_TIME_ORDERING", None, "ts", MergeMode.EVENT_TIME),
        ("EVENT_TIME_ORDERING", None, "", MergeMode.COMMIT_TIME),
        ("EVENT_TIME_ORDERING", "EventTimeAvroPayload", "ts", MergeMode.EVENT_TIME),
        ("CUSTOM", "PartialUpdateAvroPayload", "ts", MergeMode.PARTIAL_UPDATE),
        ("CUSTOM", "AWSDmsAvroPayload", "ts", MergeMode.DMS),
        ("CUSTOM", "debezium.PostgresDebeziumAvroPayload", "_event_lsn", MergeMode.POSTGRES),
        ("CUSTOM", "debezium.MySqlDebeziumAvroPayload", "_event_seq", MergeMode.MYSQL),
        ("", "OverwriteWithLatestAvroPayload", "ts", MergeMode.COMMIT_TIME),
        ("", None, "ts", MergeMode.EVENT_TIME),
    ],
)
def test_a_table_of_a_later_version_merges_by_the_mode_that_it_names(
    version: str, named: str, payload: str | None, ordering: str, mode: MergeMode
) -> None:
    properties = {
        **MINIMAL,
        "hoodie.table.version": version,
        "hoodie.table.ordering.fields": ordering,
        "hoodie.compaction.payload.class": f"{_MODEL}{payload}" if payload else "",
        **({f"{_MERGING}mode": named} if named else {}),
    }
    assert TableConfig.from_properties(properties).merge_mode is mode


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({f"{_MERGING}strategy.id": "1-2"}, "merge strategy 1-2"),
        ({"hoodie.compaction.payload.class": "org.x.Own"}, r"merged by org\.x\.Own"),
    ],
)
def test_a_rule_of_their_own_is_refused_by_name_in_later_versions(more, message: str) -> None:
    properties = {**MINIMAL, "hoodie.table.version": "9", f"{_MERGING}mode": "CUSTOM", **more}
    with pytest.raises(UnsupportedError, match=message):
        _ = TableConfig.from_properties(properties).merge_mode


def test_a_mode_that_is_none_is_named() -> None:
    properties = {**MINIMAL, "hoodie.table.version": "9", f"{_MERGING}mode": "NEWEST"}
    with pytest.raises(CorruptTableError, match="NEWEST"):
        _ = TableConfig.from_properties(properties).merge_mode


def test_partial_updates_of_version_9_stand_in_its_properties() -> None:
    config = TableConfig.from_properties(properties_of("v9_mor_partial_payload"))
    assert (config.merge_mode, config.partial_update) == (
        MergeMode.EVENT_TIME,
        PartialUpdate.IGNORE_DEFAULTS,
    )
    unavailable = f"{_MERGING}property.hoodie.write.partial.update.unavailable.value"
    debezium = {"hoodie.table.partial.update.mode": "FILL_UNAVAILABLE", unavailable: "__lost"}
    config = TableConfig.from_properties({**MINIMAL, **debezium})
    assert (config.partial_update, config.unavailable_value) == (
        PartialUpdate.FILL_UNAVAILABLE,
        "__lost",
    )
    assert TableConfig.from_properties(MINIMAL).partial_update is None


def test_folders_of_layout_2_are_those_that_its_properties_name() -> None:
    first = TableConfig.from_properties(MINIMAL)
    assert first.archive_path == ".hoodie/archived"
    later = TableConfig.from_properties(
        {**MINIMAL, "hoodie.table.version": "8", "hoodie.archivelog.folder": "archived"}
    )
    assert (later.timeline_folder, later.archive_path) == ("timeline", ".hoodie/timeline/history")
    named = {"hoodie.timeline.path": "t", "hoodie.timeline.history.path": "h"}
    assert TableConfig.from_properties({**later.raw, **named}).archive_path == ".hoodie/t/h"


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"hoodie.table.version": "6"}, "no hoodie.table.name"),
        ({"hoodie.table.name": "t"}, "no hoodie.table.version"),
        ({**MINIMAL, "hoodie.table.type": "COW"}, "hoodie.table.type is 'COW'"),
        ({**MINIMAL, "hoodie.populate.meta.fields": "maybe"}, "'maybe', not true or false"),
        ({**MINIMAL, "hoodie.table.timeline.timezone": "CET"}, "not LOCAL or UTC"),
    ],
)
def test_properties_without_meaning_are_named(properties, problem) -> None:
    with pytest.raises(CorruptTableError, match=problem):
        TableConfig.from_properties(properties, where="/tables/t")


@pytest.mark.parametrize("code", ["5", "7", "10", "six"])
def test_a_version_that_is_not_known_is_refused(code: str) -> None:
    with pytest.raises(UnsupportedError, match=f"format version '{code}'"):
        TableConfig.from_properties({**MINIMAL, "hoodie.table.version": code})


def test_switching_the_metadata_table_off_keeps_every_other_property() -> None:
    found = properties_of("v6_cow_metadata_full")
    config = TableConfig.from_properties(found)
    assert "record_index" in config.metadata_partitions
    off = config.without_metadata_table()
    assert off.metadata_partitions == ()
    changed = {key for key in found if off.raw[key] != found[key]}
    assert changed == {"hoodie.table.metadata.partitions"}


def test_what_a_version_implies() -> None:
    assert TableVersion.SIX.timeline_layout is TimelineLayout.ONE
    assert TableVersion.EIGHT.timeline_layout is TimelineLayout.TWO
    assert [version for version in TableVersion if version.is_written] == [TableVersion.SIX]
