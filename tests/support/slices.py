"""Base files and file slices of known sizes, as a listing of a table has them."""

from pyhudi.filegroup.slices import BaseFile, FileSlice, LogFile


def base_of(file_id: str, size_bytes: int, partition: str = "p", *, instant: str = "1") -> BaseFile:
    """A base file."""
    found = BaseFile.of(partition, f"{file_id}_0-0-0_{instant}.parquet", size_bytes)
    assert found is not None
    return found


def slice_of(
    file_id: str, base_bytes: int, *log_bytes: int, partition: str = "p", instant: str = "1"
) -> FileSlice:
    """A slice with log files of these sizes; one whose base file has no bytes has none."""
    logs = (
        LogFile.of(partition, f".{file_id}_{instant}.log.{version}_0-0-0", size)
        for version, size in enumerate(log_bytes, 1)
    )
    return FileSlice(
        partition=partition,
        file_id=file_id,
        base_instant=instant,
        base_file=base_of(file_id, base_bytes, partition, instant=instant) if base_bytes else None,
        log_files=tuple(filter(None, logs)),
    )
