"""Names of base files."""

import pytest

from pyhudi.filegroup.names import (
    BaseFileName,
    LogFileName,
    base_file_name,
    parse_base_file_name,
    parse_log_file_name,
)

ID = "5746f158-d988-4db5-a781-d74488be0657-0"
NAME = f"{ID}_0-31-33_20261121095347784.parquet"


def test_a_name_of_hudi_has_its_parts_and_is_made_of_them() -> None:
    parsed = parse_base_file_name(NAME)
    assert parsed == BaseFileName(
        file_id=ID, write_token="0-31-33", instant="20261121095347784", extension=".parquet"
    )
    assert str(parsed) == NAME
    assert base_file_name(ID, "0-31-33", "20261121095347784") == NAME


def test_a_bootstrapped_file_has_a_plain_uuid_and_a_short_instant() -> None:
    parsed = parse_base_file_name(f"{ID[:-2]}_1-2-3_00000000000001.parquet")
    assert parsed is not None
    assert (parsed.file_id, parsed.instant) == (ID[:-2], "00000000000001")


@pytest.mark.parametrize(
    "name",
    [
        ".hoodie_partition_metadata",
        ".hoodie_partition_metadata.parquet",
        f".{NAME}.crc",
        f".{ID}_20261121095347784.log.1_0-31-33",
        "part-00000.parquet",
        f"{ID}_0-31-33_2026.parquet.tmp",
        f"{ID}_0-31-33_now.parquet",
        "a_b_c_1.parquet",
        "_SUCCESS",
    ],
)
def test_other_files_are_no_base_files(name: str) -> None:
    assert parse_base_file_name(name) is None


LOG = f".{ID}_20261121095347784.log.12_0-31-33"


def test_a_log_files_name_has_its_parts() -> None:
    parsed = parse_log_file_name(LOG)
    assert parsed == LogFileName(
        file_id=ID, base_instant="20261121095347784", version=12, write_token="0-31-33"
    )


@pytest.mark.parametrize("name", [LOG, f"{LOG}.cdc", LOG.rpartition("_")[0]])
def test_a_log_files_name_is_made_of_its_parts(name: str) -> None:
    parsed = parse_log_file_name(name)
    assert str(parsed) == name
    assert parsed is not None
    assert parsed.is_cdc == name.endswith(".cdc")


@pytest.mark.parametrize(
    "name",
    [NAME, f"{LOG}.crc", f".{LOG}.crc", LOG[1:], f"{LOG}_1", f".{ID}_1.log.x_0-1-2", ".a.log.1"],
)
def test_other_files_are_no_log_files(name: str) -> None:
    assert parse_log_file_name(name) is None
