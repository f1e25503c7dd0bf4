"""What a damaged or torn table reads to: what Hudi reads, where that is asked for."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.framing import PREFIX_BYTES
from tests.interop import ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.rows import assert_same_rows
from tests.support.golden import golden_copy

PROPERTIES = ".hoodie/hoodie.properties"


def unguarded(table: Path) -> Path:
    """A table without what else would tell Hudi of the damage.

    That are Hadoop's checksums on local disks, and the listing in the metadata table.
    """
    for path in table.rglob(".*.crc"):
        path.unlink()
    shutil.rmtree(table / ".hoodie" / "metadata", ignore_errors=True)
    lines = (table / PROPERTIES).read_text().splitlines()
    kept = [line for line in lines if not line.startswith("hoodie.table.metadata.partitions")]
    (table / PROPERTIES).write_text("\n".join([*kept, ""]))
    return table


def newest_log(table: Path) -> Path:
    logs = [path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts]
    return max(logs, key=lambda path: (int(path.name.split(".log.")[1].split("_")[0]), path.name))


def newest_base(table: Path) -> Path:
    files = [path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts]
    return max(files, key=lambda path: path.stem.rsplit("_", 1)[-1])


def lose(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_length(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[PREFIX_BYTES - 1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("table", "file", "damage"),
    [
        ("v6_mor_logs_avro", newest_log, lose),
        ("v6_mor_logs_avro", newest_log, cut),
        ("v6_mor_logs_avro", newest_log, empty),
        ("v6_mor_logs_avro", newest_log, flip_length),
        ("v6_mor_logs_parquet", newest_log, cut),
        ("v6_mor_bucket", newest_log, lose),
        ("v6_cow_basic", newest_base, lose),
    ],
)
def test_what_is_left_of_a_damaged_table_is_what_hudi_reads(
    hudi: RealHudi,
    tmp_path: Path,
    table: str,
    file: Callable[[Path], Path],
    damage: Callable[[Path], None],
) -> None:
    path = unguarded(golden_copy(table, tmp_path))
    damaged = file(path)
    damage(damaged)
    with pytest.raises(CorruptTableError, match=damaged.name):
        ours.read(path)
    assert_same_rows(ours.read(path, skip_damaged=True), hudi.read(path))


def torn(text: str) -> str:
    return text[: len(text) // 2]


def with_wrong_checksum(text: str) -> str:
    lines = [line for line in text.splitlines() if "hoodie.table.checksum" not in line]
    return "\n".join([*lines, "hoodie.table.checksum=1", ""])


@pytest.mark.parametrize("change", [torn, with_wrong_checksum])
def test_properties_that_hudi_refuses_are_refused_unless_their_backup_is_whole(
    hudi: RealHudi, tmp_path: Path, change: Callable[[str], str]
) -> None:
    path = unguarded(golden_copy("v6_cow_basic", tmp_path))
    rows, whole = ours.read(path), (path / PROPERTIES).read_text()
    (path / PROPERTIES).write_text(change(whole))
    with pytest.raises(HudiError):
        hudi.read(path)
    with pytest.raises(CorruptTableError):
        ours.read(path)
    (path / f"{PROPERTIES}.backup").write_text(whole)
    assert_same_rows(hudi.read(path), rows)
    assert_same_rows(ours.read(path), rows)


def test_a_newest_commit_that_is_cut_short_is_refused_by_both(
    hudi: RealHudi, tmp_path: Path
) -> None:
    path = unguarded(golden_copy("v6_cow_basic", tmp_path))
    cut(max((path / ".hoodie").glob("*.commit")))
    with pytest.raises(HudiError):
        hudi.read(path)
    with pytest.raises(CorruptTableError, match=r"\.commit"):
        ours.read(path)
