"""Partitions and files by listing folders."""

import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.listing import StorageListing
from pyhudi.storage.schemes import open_storage
from tests.support.golden import golden_table

FILE, LOG = "a-0_0-1-2_1.parquet", ".a-0_1.log.1_0-1-2"


def table(tmp_path, *paths: str) -> StorageListing:
    for path in paths:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"12345")
    return StorageListing(open_storage(str(tmp_path)))


def test_a_partition_is_a_folder_with_the_metadata_file(tmp_path) -> None:
    listing = table(
        tmp_path,
        "p/.hoodie_partition_metadata",
        f"p/{FILE}",
        "y/m/.hoodie_partition_metadata.parquet",
        f"no/{FILE}",
        ".hoodie/metadata/files/.hoodie_partition_metadata",
    )
    assert listing.partitions() == ("p", "y/m")


def test_a_table_without_partitions_is_one_itself(tmp_path) -> None:
    listing = table(tmp_path, ".hoodie_partition_metadata", FILE, LOG, f"sub/{FILE}")
    assert listing.partitions() == ("",)
    found = listing.files()
    assert [file.path for file in found.base_files] == [FILE]
    assert [(log.path, log.partition) for log in found.log_files] == [(LOG, "")]


@pytest.mark.parametrize("name", [FILE, FILE.replace("parquet", "orc")])
def test_only_base_files_are_files_of_a_partition(tmp_path, name: str) -> None:
    listing = table(
        tmp_path,
        "p/.hoodie_partition_metadata",
        f"p/{name}",
        f"p/.{name}.crc",
        "p/.a-0_1.log.1_0-1-2",
        "p/notes.parquet",
        f"p/{FILE.replace('parquet', 'hfile')}",
    )
    (file,) = listing.files(["p"]).base_files
    assert (file.path, file.partition, file.size_bytes) == (f"p/{name}", "p", 5)
    assert listing.files().base_files == (file,)


def test_a_folder_within_a_partition_is_none(tmp_path) -> None:
    marker = ".hoodie_partition_metadata"
    listing = table(tmp_path, f"p/{marker}", f"p/q/{marker}", f"p/q/{FILE}", f"p-q/{marker}")
    assert (listing.partitions(), listing.files().base_files) == (("p", "p-q"), ())


def test_a_partition_behind_a_link_is_refused_and_what_else_is_linked_left_alone(tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    table(elsewhere, ".hoodie_partition_metadata", FILE)
    listing = table(tmp_path / "table", "p/.hoodie_partition_metadata")
    (tmp_path / "table" / "p" / "linked").symlink_to(elsewhere)
    assert listing.partitions() == ("p",)
    (tmp_path / "table" / "q").symlink_to(elsewhere)
    with pytest.raises(CorruptTableError, match="table/q is a symbolic link"):
        listing.partitions()


def test_a_folder_that_is_not_there_has_no_files(tmp_path) -> None:
    listing = table(tmp_path)
    assert (listing.partitions(), listing.files(["gone"]).base_files) == ((), ())


def test_values_with_a_slash_make_folders_below_folders() -> None:
    listing = StorageListing(open_storage(str(golden_table("v6_cow_odd_partitions_plain"))))
    assert any("/" in path for path in listing.partitions())


def test_log_files_are_found_beside_base_files_in_one_listing(tmp_path) -> None:
    listing = table(
        tmp_path,
        "p/.hoodie_partition_metadata",
        f"p/{FILE}",
        "p/.a-0_1.log.1_0-1-2",
        "p/.a-0_1.log.1_0-1-2.cdc",
        "p/..a-0_1.log.1_0-1-2.crc",
        "q/.hoodie_partition_metadata",
        "q/.b-0_1.log.1_0-1-2",
    )
    found = listing.files()
    logs = found.log_files
    assert [file.path for file in found.base_files] == [f"p/{FILE}"]
    assert [file.path for file in found.cdc_files] == ["p/.a-0_1.log.1_0-1-2.cdc"]
    assert [(log.path, log.partition, log.name.file_id, log.size_bytes) for log in logs] == [
        ("p/.a-0_1.log.1_0-1-2", "p", "a-0", 5),
        ("q/.b-0_1.log.1_0-1-2", "q", "b-0", 5),
    ]
    assert (listing.files(["q"]).base_files, len(listing.files(["q"]).log_files)) == ((), 1)
