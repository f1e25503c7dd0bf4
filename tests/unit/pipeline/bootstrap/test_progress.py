"""The log says how far a bootstrap has come: by files and bytes, often enough and not too often."""

import logging
import re
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.pipeline.bootstrap.dataset.listing import FoundFile
from pyhudi.pipeline.bootstrap.dataset.source import SourceData, part_name
from pyhudi.pipeline.bootstrap.progress import Progress, RowProgress
from tests.support.datasets import FULL_RECORD, MIXED, bootstrap, dataset, file_bytes, lay_out

MIB = 1 << 20


def source_file(name: str, rows: int, size_bytes: int) -> SourceData:
    found = FoundFile(path=name, size_bytes=size_bytes, modified_ms=0)
    return SourceData(file=found, rows=rows, row_groups=2)


class Clock:
    """A clock of the tests."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_each_tenth_is_said_once_however_often_it_is_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    one, other = source_file("a", 1000, 9 * MIB), source_file("b", 10, MIB)
    progress = Progress("t", [one, other], "read", Clock())
    for rows in range(1, 1001):
        progress.hear(part_name(one, 0), rows)
        progress.hear(part_name(one, 0), rows - 1)
    assert len(caplog.messages) == 9
    assert caplog.messages[0].startswith("t: 0 of 2 files and 1.0 of 10.0 MiB of the source are ")
    assert "1 of 2 files and 9.0 of 10.0 MiB" in caplog.messages[-1]
    assert "read, 1 files and 1.0 MiB are left" in caplog.messages[-1]
    progress.finish([one, other])
    assert (
        "2 of 2 files and 10.0 of 10.0 MiB of the source are read, 0 files and 0.0 MiB are "
        in (caplog.messages[-1])
    )
    assert len(caplog.messages) == 10


def test_a_line_comes_after_some_seconds_where_a_tenth_takes_longer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    clock, large = Clock(), source_file("a", 1_000_000, 1000 * MIB)
    progress = Progress("t", [large], "taken over", clock)
    for second in range(1, 61):
        clock.seconds = second
        progress.hear(part_name(large, 0), second * 1000)
    assert len(caplog.messages) == 12
    assert "60.0 of 1000.0 MiB" in caplog.messages[-1]
    assert caplog.messages[-1].endswith("about 940 s")


def test_parts_of_a_file_count_together_and_a_second_reading_counts_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    file, empty = source_file("a", 10, MIB), source_file("none", 0, 100)
    progress = Progress("t", [file, empty], "read", Clock())
    for _ in range(2):
        progress.hear(part_name(file, 0), 5)
        progress.hear(part_name(file, 1), 4)
    assert "0 of 2 files" in caplog.messages[-1]
    progress.hear(part_name(empty, 0), 0)
    progress.hear(part_name(file, 1), 5)
    assert "2 of 2 files" in caplog.messages[-1]


def test_rows_that_are_written_are_told_with_their_share_of_the_source(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    rows = RowProgress("t", [source_file("a", 100, 10 * MIB)], Clock())
    rows.hear("x", 30)
    rows.hear("y", 40)
    rows.hear("y", 40)
    assert len(caplog.messages) == 2
    assert (
        "70 of 100 rows, about 7.0 of 10.0 MiB of the source, are written to 2 files"
        in (caplog.messages[-1])
    )
    assert "30 rows and 3.0 MiB are left" in caplog.messages[-1]


SORTED = {"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}
STAGED = {"hoodie.datasource.write.insert.drop.duplicates": "true"}
PATHS = {
    "skeletons": ({}, "taken over"),
    "rows": (FULL_RECORD, "taken over"),
    "rows, sorted": ({**FULL_RECORD, **SORTED}, "read"),
    "rows, looked up": ({**FULL_RECORD, **STAGED}, "read"),
    "both": (MIXED, "taken over"),
}


@pytest.mark.parametrize("what", PATHS)
def test_every_path_tells_small_sources_by_tenths(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    options, word = PATHS[what]
    source = lay_out(tmp_path / "source", dataset(files=4))
    caplog.set_level(logging.INFO)
    bootstrap(tmp_path / "table", source, options)
    found = [line for line in caplog.messages if f"of the source are {word}" in line]
    shares = [int(re.search(r"(\d+) of 12 files", line)[1]) for line in found]  # type: ignore[index]
    assert len(shares) >= 9, found
    assert max(after - before for before, after in pairwise(shares)) <= 2
    assert "12 of 12 files" in found[-1]
    ended = [line for line in caplog.messages if "of the source are taken over" in line][-1]
    assert "12 of 12 files" in ended
    assert "0 files and 0.0 MiB are left" in ended
    written = [line for line in caplog.messages if "of 60 rows" in line]
    assert bool(written) == (word == "read")
    assert all("are written to" in line and "are left" in line for line in written)


def test_one_large_file_is_told_by_its_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = pa.array(range(400_000))
    rows = pa.table({"id": numbers.cast(pa.string()), "ts": numbers})
    source = lay_out(tmp_path / "source", {"a.parquet": file_bytes(rows, row_group_rows=100_000)})
    caplog.set_level(logging.INFO)
    for name, options in (("skeletons", {}), ("rows", FULL_RECORD)):
        caplog.clear()
        bootstrap(tmp_path / name, source, options)
        told = [line for line in caplog.messages if "are taken over" in line]
        assert len(told) >= 4, name
        assert "0 of 1 files" in told[0]
        assert "1 of 1 files" in told[-1]
