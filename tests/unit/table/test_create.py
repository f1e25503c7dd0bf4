"""Making a table, and switching its metadata table off."""

from dataclasses import replace

import pytest

from pyhudi.config.options.merging import CUSTOM_PAYLOAD, OVERWRITE_PAYLOAD
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.errors import TableMismatchError, UnsupportedError
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.schemes import open_storage
from pyhudi.table.create import create_table
from pyhudi.table.metadata_table import disable
from pyhudi.table.properties_file import load_config
from pyhudi.table.table import open_table
from tests.support.golden import golden_copy, golden_table
from tests.support.orders import OPTIONS, orders, rows_of, write
from tests.support.threads import only_winner


def config(name: str = "t", version: TableVersion = TableVersion.SIX) -> TableConfig:
    return TableConfig(
        name=name,
        table_type=TableType.COPY_ON_WRITE,
        version=version,
        record_key_fields=("id",),
        partition_fields=("p",),
        ordering_fields=("ts",),
        key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
    )


def folders(root) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()}


GOLDEN = {
    TableVersion.SIX: "v6_cow_hive",
    TableVersion.EIGHT: "v8_mor_commit_time",
    TableVersion.NINE: "v9_cow_overwrite_table",
}


@pytest.mark.parametrize("version", GOLDEN)
def test_a_new_table_is_empty_and_has_the_folders_of_hudi(tmp_path, version) -> None:
    made = create_table(open_storage(str(tmp_path)), config(version=version))
    table = open_table(str(tmp_path))
    assert (table.config, len(table.timeline), table.latest_base_files()) == (made, 0, ())
    assert tuple(table.schema().names) == META_FIELDS
    assert table.avro_schema() is None
    theirs = {path for path in folders(golden_table(GOLDEN[version])) if path.startswith(".hoodie")}
    assert folders(tmp_path) == theirs


def test_of_creators_at_once_one_wins_and_its_properties_stay(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    winner = only_winner(6, lambda number: create_table(storage, config(f"t{number}")))
    assert load_config(storage).name == f"t{winner}"


def test_a_rule_that_a_later_version_does_not_name_makes_no_folder(tmp_path) -> None:
    later = replace(config(version=TableVersion.NINE), payload_class=CUSTOM_PAYLOAD)
    with pytest.raises(UnsupportedError, match="Merger"):
        create_table(open_storage(str(tmp_path)), later)
    assert not list(tmp_path.iterdir())


# What Hudi says and we need not: when the table was made, and what it says with its metadata table.
_OWN = {"hoodie.table.name", "hoodie.table.checksum", "hoodie.table.index.defs.path"}


@pytest.mark.parametrize("name", ["v8_cow_overwrite", "v9_cow_overwrite_table"])
def test_a_new_table_of_a_later_version_says_what_hudi_s_own_says(tmp_path, name) -> None:
    theirs = open_table(golden_table(name)).config
    made = create_table(open_storage(str(tmp_path)), config(version=theirs.version))
    said = {key: text for key, text in made.raw.items() if key not in _OWN}
    wanted = {key: text for key, text in theirs.raw.items() if key not in _OWN}
    named = {"hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": "p"}
    off = dict.fromkeys((f"hoodie.table.metadata.partitions{end}" for end in ("", ".inflight")), "")
    assert said == {**wanted, **named, **off}


OVERWRITE = {"hoodie.datasource.write.payload.class": OVERWRITE_PAYLOAD}
BY_COMMIT = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}


@pytest.mark.parametrize("version", ["8", "9"])
@pytest.mark.parametrize("asked", [OVERWRITE, BY_COMMIT, {}], ids=["class", "mode", "nothing"])
def test_a_table_of_a_later_version_names_the_mode_that_it_is_made_with(
    tmp_path, version, asked
) -> None:
    options = {**OPTIONS, **asked, "hoodie.write.table.version": version}
    for row in (("a", "x", 5, "first"), ("a", "x", 1, "last")):
        write(tmp_path / "t", orders(row), "upsert", options)
    made = open_table(str(tmp_path / "t")).config
    name = "COMMIT_TIME" if asked else "EVENT_TIME"
    assert made.raw["hoodie.record.merge.mode"] == f"{name}_ORDERING"
    assert made.merge_mode.name == name
    (row,) = rows_of(tmp_path / "t")
    assert ("last" in row) is bool(asked)


def test_switching_the_metadata_table_off_changes_nothing_else(tmp_path, caplog) -> None:
    copy = golden_copy("v6_cow_metadata_full", tmp_path)
    table = open_table(str(copy))
    changed = disable(table.storage, table.config)
    assert changed.metadata_partitions == ()
    assert not (copy / ".hoodie" / "metadata").exists()
    after = open_table(str(copy))
    assert after.config == changed
    assert after.latest_base_files() == table.latest_base_files()
    assert "metadata table (bloom_filters, column_stats" in caplog.text


def test_a_table_without_metadata_table_is_left_as_it_is(tmp_path) -> None:
    copy = golden_copy("v6_cow_hive", tmp_path)
    properties = copy / ".hoodie" / "hoodie.properties"
    before = properties.read_bytes()
    table = open_table(str(copy))
    assert disable(table.storage, table.config) is table.config
    assert properties.read_bytes() == before


CUSTOM_KEYS = {
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
    "hoodie.datasource.write.partitionpath.field": "part:SIMPLE,value:simple",
}


@pytest.mark.parametrize("version", ["8", "9"])
def test_a_table_of_a_later_version_says_of_which_kind_its_partition_fields_are(
    tmp_path, version
) -> None:
    options = {**OPTIONS, **CUSTOM_KEYS, "hoodie.write.table.version": version}
    write(tmp_path / "t", orders(("a", "x", 5, "first")), "upsert", options)
    made = open_table(str(tmp_path / "t")).config
    assert made.raw["hoodie.table.partition.fields"] == "part:SIMPLE,value:simple"
    assert made.raw["hoodie.table.keygenerator.type"] == "CUSTOM"
    assert made.partition_fields == ("part", "value")
    # What the table says need not be said again, nor may it be contradicted.
    write(tmp_path / "t", orders(("a", "x", 6, "first")), "upsert", {})
    assert [row[2] for row in rows_of(tmp_path / "t")] == [6]
    assert (tmp_path / "t" / "x" / "first").is_dir()
    other = {"hoodie.datasource.write.partitionpath.field": "part:SIMPLE,value:TIMESTAMP"}
    with pytest.raises(TableMismatchError, match="value:simple"):
        write(tmp_path / "t", orders(("a", "x", 7, "first")), "upsert", other)
