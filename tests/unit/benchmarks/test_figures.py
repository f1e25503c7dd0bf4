"""What a benchmark says of a table that is written for long: what grows, and by how much."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.figures import file_counts, growth, growth_line, verdict, windows_table


@pytest.mark.parametrize(
    ("windows", "grown"),
    [
        ([9.0, 2, 2, 2, 2], 0.0),  # the first window warms up and fills the table
        ([1.0, 2, 3, 4, 5], 1.5),
        ([1.0, 4, 3, 2, 1], -0.75),
        ([1.0, 2, 2, 9, 2, 2, 2], 0.0),  # one busy minute of the machine
        ([0.0, 0, 0, 0], 0.0),
        ([0.0, 0, 1, 2], 1.0),
    ],
)
def test_growth_is_that_from_the_second_window_to_the_last(
    windows: Sequence[float], grown: float
) -> None:
    assert growth(windows) == grown


def test_what_grows_is_named_with_its_share_but_for_archive_files() -> None:
    windows = [
        {"seconds": 1.0, "hoodie_files": 90 + 20 * number, "archive_files": number}
        for number in range(4)
    ]
    line = growth_line(windows)
    assert line["not_flat"] == ["hoodie_files"]
    assert line["growth"]["archive_files"] == 2.0
    assert verdict(line) == "not flat from the second window to the last: files in .hoodie +36%"


def test_flat_figures_are_called_flat_with_the_one_that_grows_most() -> None:
    windows = [{"seconds": 1.0 + number / 100, "data_files": 44} for number in range(4)]
    assert verdict(growth_line(windows)) == (
        "flat from the second window on; seconds per upsert grow most, +2%"
    )
    still = growth_line([{"seconds": 1.0 - number / 100} for number in range(4)])
    assert verdict(still) == "flat from the second window on; nothing grows"


def test_seconds_that_other_work_took_are_told_by_the_cpu_time() -> None:
    windows = [{"seconds": 1.0 + number, "processor_seconds": 0.5} for number in range(4)]
    assert verdict(growth_line(windows)) == (
        "not flat from the second window to the last: seconds per upsert +100%, while the CPU time "
        "is: look at the load"
    )


def test_the_table_has_a_line_for_each_window_and_dashes_for_what_was_not_measured() -> None:
    ours = {"engine": "pyhudi", "step": "1 to 3", "until": 3, "seconds": 0.5, "calls": 1200.4}
    theirs = {"engine": "hudi", "step": "1 to 3", "until": 3, "seconds": 12.25}
    growths = {"engine": "pyhudi", "step": "all", "growth": {}}
    assert windows_table([ours, growths, theirs]) == [
        ["engine", "upserts", "seconds per upsert", "storage calls per upsert"],
        ["pyhudi", "1 to 3", "0.5", "1,200"],
        ["hudi", "1 to 3", "12.2", "-"],
    ]


def test_files_are_counted_by_what_they_are_whoever_wrote_the_table(tmp_path: Path) -> None:
    for name in (
        *(".hoodie/hoodie.properties", ".hoodie/1.commit", ".hoodie/.1.commit.crc"),
        *(".hoodie/timeline/2_3.commit", ".hoodie/timeline/history/1_2_0.parquet"),
        *(".hoodie/archived/.commits_.archive.1_1-0-1", ".hoodie/metadata/files/f_1.hfile"),
        *("a/.hoodie_partition_metadata", "a/f_0-0-0_1.parquet", "a/.f_1.log.1_0-0-0"),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    assert file_counts(tmp_path) == {
        "hoodie_files": 3,
        "archive_files": 2,
        "metadata_table_files": 1,
        "data_files": 2,
    }
