"""Sizes of files as a page shows them."""

from pathlib import Path

from pyhudi.cli.opening import open_to_report
from pyhudi.cli.overview.sizes import sizes
from tests.support.lake import busy, logged


def test_small_files_are_counted_by_partition(tmp_path: Path) -> None:
    busy(tmp_path / "busy")
    found = sizes(open_to_report(str(tmp_path / "busy")))
    files = sorted((tmp_path / "busy").rglob("*.parquet"))
    assert found.fact("small_files") == found.fact("base_files") == 5
    assert [row[:3] for row in found.small.rows] == [(f"p{n}", 1, 1) for n in range(5)]
    older = found.fact("bytes_of_older_slices")
    assert found.fact("base_bytes") + older == sum(file.stat().st_size for file in files)
    assert sum(row[2] for row in found.histogram) == 5


def test_log_files_are_held_against_base_files(tmp_path: Path) -> None:
    logged(tmp_path / "logged")
    found = sizes(open_to_report(str(tmp_path / "logged")))
    logs = [file for file in (tmp_path / "logged").rglob(".*.log.*") if "crc" not in file.name]
    assert found.fact("log_files") == len(logs)
    ratio = found.fact("log_bytes") / found.fact("base_bytes")
    assert found.fact("log_to_base") == round(ratio, 3)
