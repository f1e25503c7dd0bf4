"""Clean plans and metadata, with Hudi's own records."""

from dataclasses import replace

import pytest

from pyhudi.actions.clean import CleanedPartition, CleanMetadata, CleanPlan
from pyhudi.actions.container import record_schema
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container, write_container
from tests.support.golden import golden_table

AT = "20261121104903408"
FILE = "d2b5c820-f163-4ddc-8602-9a6d9d1a061d-0_1-1175-1431_20261121104856505.parquet"


def body(suffix: str = "") -> bytes:
    return (golden_table("v6_cow_clean") / ".hoodie" / f"{AT}.clean{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".requested", ".inflight"])
def test_a_plan_of_hudi_is_read_and_written_with_the_same_record(suffix: str) -> None:
    plan = CleanPlan.from_bytes(body(suffix))
    assert plan.names == {"north": (FILE,)}
    assert plan.earliest is not None
    assert plan.earliest.time == "20261121104900321"
    assert read_container(plan.to_bytes()) == read_container(body(suffix))


def test_what_hudi_says_of_its_clean_is_written_with_the_same_record() -> None:
    metadata = CleanMetadata.from_bytes(body())
    assert (metadata.files_deleted, metadata.earliest_retained) == (1, "20261121104900321")
    assert read_container(metadata.to_bytes()) == read_container(body())


def test_a_clean_by_versions_retains_what_was_the_latest_commit_then() -> None:
    metadata = replace(CleanMetadata.from_bytes(body()), earliest="")
    assert CleanMetadata.from_bytes(metadata.to_bytes()).earliest_retained == "20261121104902010"


def test_an_empty_file_says_nothing() -> None:
    assert CleanMetadata.from_bytes(b"") == CleanMetadata(earliest="")


def test_a_plan_of_version_1_names_files_alone() -> None:
    (record,) = read_container(body(".requested"))
    old = {
        **record,
        "version": 1,
        "filesToBeDeletedPerPartition": {"p": ["a.parquet"]},
        "filePathsToBeDeletedPerPartition": None,
        "partitionsToBeDeleted": None,
        "extraMetadata": None,
    }
    plan = CleanPlan.from_bytes(write_container(record_schema("HoodieCleanerPlan"), old))
    assert (plan.names, plan.emptied) == ({"p": ("a.parquet",)}, ())


def test_files_of_the_source_of_a_bootstrap_stand_apart() -> None:
    (record,) = read_container(body(".requested"))
    files = [
        {"filePath": "/t/p/a.parquet", "isBootstrapBaseFile": False},
        {"filePath": "/source/b.parquet", "isBootstrapBaseFile": True},
    ]
    more = {**record, "filePathsToBeDeletedPerPartition": {"p": files}}
    plan = CleanPlan.from_bytes(write_container(record_schema("HoodieCleanerPlan"), more))
    assert plan.names == {"p": ("a.parquet",)}
    assert plan.sources == {"p": ("/source/b.parquet",)}
    assert CleanPlan.from_bytes(plan.to_bytes()) == plan
    cleaned = CleanedPartition(deleted=("a.parquet",), sources=plan.sources["p"])
    done = CleanMetadata(earliest="1", policy=plan.policy, partitions={"p": cleaned})
    assert CleanMetadata.from_bytes(done.to_bytes()) == done
    assert done.files_deleted == 1


@pytest.mark.parametrize("data", [b"", b"Obj", body()[:300], body(".requested")[:-40]])
def test_bytes_that_are_no_plan_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match="a clean plan"):
        CleanPlan.from_bytes(data)
