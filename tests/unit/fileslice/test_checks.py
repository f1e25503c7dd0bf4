"""Whether a file is what commits say: by its size, and within."""

from pathlib import Path

import pytest

from pyhudi.actions.commit import WriteStat
from pyhudi.errors import StorageError
from pyhudi.fileslice.checks import StatedFile, file_problems, size_problem, stated_files
from pyhudi.storage.schemes import open_storage
from tests.support.log_files import avro_block
from tests.support.mor_table import SCHEMA, MorTable, moment, records

BASE = StatedFile(path="f_0-0-0_20260101000000001.parquet", instant="A", is_log=False, size_bytes=9)
LOG = StatedFile(path=".f_20260101000000001.log.1_0-0-0", instant="A", is_log=True, size_bytes=9)


@pytest.mark.parametrize(
    ("stated", "size_bytes", "damage"),
    [
        (BASE, None, "missing file"),
        (BASE, 8, "wrong size"),
        (BASE, 9, None),
        (BASE, 10, "wrong size"),
        (LOG, 8, "wrong size"),
        (LOG, 10, None),
    ],
)
def test_a_file_is_told_by_its_size(stated: StatedFile, size_bytes: int | None, damage) -> None:
    found = size_problem(stated, size_bytes)
    assert (found and found.damage) == damage


def test_a_base_file_whose_size_nobody_noted_may_have_any() -> None:
    assert size_problem(StatedFile(path="f", instant="A", is_log=False), 10) is None


def stat(path: str, size: int, offset: int, written: int) -> WriteStat:
    return WriteStat(
        file_id="f",
        path=path,
        log_files=(path,),
        file_size_bytes=size,
        log_offset=offset,
        total_write_bytes=written,
    )


def test_what_writes_append_to_a_log_file_adds_up() -> None:
    writes = [("A", [stat(LOG.path, 5, 0, 5)]), ("B", [stat(LOG.path, 12, 7, 5)])]
    found = stated_files(writes)[LOG.path]
    assert (found.instant, found.size_bytes) == ("B", 12)
    assert [(each.instant, each.begin, each.end) for each in found.appended] == [
        ("A", 0, 5),
        ("B", 7, 12),
    ]


def test_the_last_write_says_what_a_base_file_has() -> None:
    writes = [
        (at, [WriteStat(file_id="f", path="f", file_size_bytes=n)])
        for at, n in (("A", 1), ("B", 2))
    ]
    assert stated_files(writes)["f"].size_bytes == 2
    assert stated_files([("A", [WriteStat(file_id="")])]) == {}


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, StatedFile]:
    """A log file of one block each of two writes, torn bytes between them."""
    blocks = [avro_block(moment(at), records(at, ("a", 1, "x")), SCHEMA) for at in "AC"]
    torn = b"#HUDI#torn"
    path = MorTable.make(tmp_path / "t").log("f", "A", blocks[0], torn, blocks[1])
    second = len(blocks[0]) + len(torn)
    stated = stated_files(
        [
            (moment("A"), [stat(path.name, second, 0, len(blocks[0]))]),
            (moment("C"), [stat(path.name, second + len(blocks[1]), second, len(blocks[1]))]),
        ]
    )
    return path, stated[path.name]


def problem_of(path: Path, stated: StatedFile):
    found = file_problems(open_storage(str(path.parent)), stated, path.stat().st_size)
    assert len(found) < 2
    return found[0] if found else None


def test_torn_bytes_that_no_write_speaks_of_are_no_problem(log: tuple[Path, StatedFile]) -> None:
    assert problem_of(*log) is None


@pytest.mark.parametrize(("at", "instant"), [(0, moment("A")), (-9, moment("C"))])
def test_bytes_of_a_write_that_make_no_block_are_told_with_it(
    at: int, instant: str, log: tuple[Path, StatedFile]
) -> None:
    path, stated = log
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    found = problem_of(path, stated)
    assert found is not None
    assert found.damage == "unreadable file"
    assert f"which the write {instant} wrote" in found.detail


def test_a_base_file_of_other_rows_than_were_written_is_told(tmp_path: Path) -> None:
    path = MorTable.make(tmp_path / "t").base("f", "A", records("A", ("a", 1, "x"), ("b", 2, "y")))
    size = path.stat().st_size
    for rows, damage in ((0, None), (2, None), (3, "wrong rows")):
        stated = StatedFile(path=path.name, instant="A", is_log=False, size_bytes=size, rows=rows)
        found = problem_of(path, stated)
        assert (found and found.damage) == damage


def test_a_base_file_that_is_none_is_told(tmp_path: Path) -> None:
    path = MorTable.make(tmp_path / "t").base("f", "A", records("A", ("a", 1, "x")))
    path.write_bytes(b"PAR1" * 4)
    found = problem_of(path, StatedFile(path=path.name, instant="A", is_log=False))
    assert found is not None
    assert found.damage == "unreadable file"


def test_a_storage_that_fails_says_nothing_of_the_file(tmp_path: Path) -> None:
    path = MorTable.make(tmp_path / "t").log("f", "A", b"")
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError):
        file_problems(
            open_storage(str(path.parent)), StatedFile(path=path.name, instant="A", is_log=True), 0
        )
