"""What becomes of a batch as a whole, from Hudi's own options."""

from __future__ import annotations

import pytest

from pyhudi.config.options.operations import BatchConfig, Operation, StoredKeys
from pyhudi.config.write import WriteConfig
from pyhudi.errors import OptionError, UnsupportedError

W = "hoodie.datasource.write."
DROPS = {f"{W}insert.drop.duplicates": "true"}
POLICY = "hoodie.datasource.insert.dup.policy"
BULK_OVERWRITE = "hoodie.bulkinsert.overwrite.operation.type"


def config(operation: str, **options: str) -> WriteConfig:
    return WriteConfig.from_options({f"{W}operation": operation, **options})


def test_without_options_a_batch_is_upserted_and_nothing_else() -> None:
    assert BatchConfig.from_options({}) == BatchConfig()
    plain = WriteConfig.from_options({})
    assert plain.recorded_operation is Operation.UPSERT
    assert plain.stored_keys is StoredKeys.KEEP
    assert plain.needs_lookup
    assert plain.fills_small_files
    assert not plain.acts_without_rows


def test_every_option_reaches_its_field() -> None:
    found = BatchConfig.from_options(
        {
            BULK_OVERWRITE: "INSERT_OVERWRITE",
            "hoodie.datasource.overwrite.mode": "static",
            "hoodie.static.overwrite.partition.paths": "a,b/c",
            f"{W}partitions.to.delete": "2024/*, x/",
            POLICY: "FAIL",
            "hoodie.allow.empty.commit": "true",
        }
    )
    assert found == BatchConfig(
        bulk_overwrite=Operation.INSERT_OVERWRITE,
        static_partitions=("a", "b/c"),
        partitions_to_delete=("2024/*", "x"),
        stored_keys=StoredKeys.FAIL,
        allow_empty_commit=True,
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (BULK_OVERWRITE, "upsert"),
        (BULK_OVERWRITE, "delete_partition"),
        ("hoodie.datasource.overwrite.mode", "sometimes"),
        (POLICY, "ignore"),
        (f"{W}operation", "overwrite"),
    ],
)
def test_a_value_that_is_none_is_refused(key: str, value: str) -> None:
    with pytest.raises(OptionError, match=key):
        WriteConfig.from_options({key: value})


def test_operations_of_hudi_that_are_not_done_are_named() -> None:
    with pytest.raises(UnsupportedError, match="delete_partition"):
        config("upsert_prepped")


@pytest.mark.parametrize("options", [DROPS, {POLICY: "drop"}, {POLICY: "fail"}])
def test_an_upsert_that_asks_about_stored_keys_is_an_insert(options: dict[str, str]) -> None:
    assert WriteConfig.from_options(options).operation is Operation.INSERT
    assert WriteConfig.from_options({}).operation is Operation.UPSERT


def test_dropping_duplicates_leaves_one_row_a_key() -> None:
    assert config("insert", **DROPS).combines_batch
    assert not config("insert", **{POLICY: "drop"}).combines_batch


@pytest.mark.parametrize(
    ("operation", "options", "needs_lookup", "is_streamed", "fills"),
    [
        ("delete", {}, True, False, False),
        ("insert", {}, False, False, True),
        ("insert", DROPS, True, False, True),
        ("bulk_insert", {}, False, True, False),
        ("bulk_insert", DROPS, True, False, False),
        ("bulk_insert", {POLICY: "drop"}, False, True, False),
        ("bulk_insert", {BULK_OVERWRITE: "insert_overwrite"}, False, True, False),
        ("bulk_insert", {BULK_OVERWRITE: "insert_overwrite", POLICY: "drop"}, False, True, False),
        ("insert_overwrite", {}, False, False, False),
        ("insert_overwrite_table", {POLICY: "fail"}, False, False, False),
    ],
)
def test_an_operation_says_what_it_needs(
    operation: str, options: dict[str, str], needs_lookup: bool, is_streamed: bool, fills: bool
) -> None:
    found = config(operation, **options)
    assert found.needs_lookup == needs_lookup
    assert found.is_streamed == is_streamed
    assert found.fills_small_files == fills


@pytest.mark.parametrize(
    ("operation", "options", "acts"),
    [
        ("insert_overwrite", {}, False),
        ("insert_overwrite", {"hoodie.static.overwrite.partition.paths": "p"}, True),
        ("insert_overwrite_table", {}, True),
        ("bulk_insert", {BULK_OVERWRITE: "insert_overwrite_table"}, True),
        ("upsert", {"hoodie.static.overwrite.partition.paths": "p"}, False),
        ("upsert", {"hoodie.allow.empty.commit": "true"}, True),
    ],
)
def test_a_batch_without_rows_can_still_do_something(
    operation: str, options: dict[str, str], acts: bool
) -> None:
    assert config(operation, **options).acts_without_rows == acts


def test_a_commit_is_named_after_what_it_does() -> None:
    assert config("delete_partition").recorded_operation.commit_name == "DELETE_PARTITION"
    overwriting = config("bulk_insert", **{BULK_OVERWRITE: "insert_overwrite"})
    assert overwriting.recorded_operation.commit_name == "INSERT_OVERWRITE"
    assert overwriting.recorded_operation.replaces
    assert not config("upsert", **{BULK_OVERWRITE: "insert_overwrite"}).recorded_operation.replaces
