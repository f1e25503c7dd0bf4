"""The validation itself: quiet on what real Hudi wrote, loud on each kind of damage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.interop.hudi import RealHudi
from tests.interop.scenarios import SCENARIOS

SCENARIO = next(s for s in SCENARIOS if s.name == "complex_key_sorted")


@pytest.fixture(scope="module")
def written_by_hudi(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp(f"by-hudi-{hudi.version}") / "table"
    options = {**SCENARIO.options, "hoodie.metadata.enable": "false"}
    options["hoodie.datasource.write.payload.class"] = (
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    )
    hudi.write(table, SCENARIO.batch(range(20), 1), "insert", options=options, mode="overwrite")
    hudi.write(table, SCENARIO.batch(range(10, 25), 2), "upsert")
    return table


def test_a_table_of_hudi_passes_every_check(hudi: RealHudi, written_by_hudi: Path) -> None:
    assert hudi.failures(written_by_hudi) == []


def _newest(table: Path) -> Path:
    files = (p for p in table.rglob("*.parquet") if ".hoodie" not in p.parts)
    return max(files, key=lambda path: path.name.rsplit("_", 1)[1])


def _rewrite(path: Path, change: Callable[[dict[bytes, bytes]], object]) -> None:
    held = pq.read_table(path, partitioning=None)
    footer = dict(pq.read_metadata(path).metadata)
    change(footer)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    pq.write_table(held.replace_schema_metadata(footer), path)


def lose_the_bloom_filter(table: Path) -> None:
    _rewrite(_newest(table), lambda footer: footer.pop(b"org.apache.hudi.bloomfilter"))


def hold_the_bloom_filter_of_another_file(table: Path) -> None:
    files = [p for p in table.rglob("*.parquet") if p.parent != _newest(table).parent]
    name = b"org.apache.hudi.bloomfilter"
    other = pq.read_metadata(files[0]).metadata[name]
    _rewrite(_newest(table), lambda footer: footer.update({name: other}))


def hold_a_wrong_smallest_key(table: Path) -> None:
    _rewrite(_newest(table), lambda footer: footer.update({b"hoodie_min_record_key": b"zzz"}))


def move_a_file_to_another_partition(table: Path) -> None:
    path = _newest(table)
    other = next(
        p for p in table.iterdir() if p.is_dir() and p not in (path.parent, table / ".hoodie")
    )
    shutil.copy(path, other / path.name)


def lose_the_partition_metadata(table: Path) -> None:
    for name in (".hoodie_partition_metadata", "..hoodie_partition_metadata.crc"):
        (_newest(table).parent / name).unlink(missing_ok=True)


def leave_a_marker_folder(table: Path) -> None:
    instant = _newest(table).name.rsplit("_", 1)[1].removesuffix(".parquet")
    (table / ".hoodie" / ".temp" / instant).mkdir(parents=True)


def rename_the_file(table: Path) -> None:
    path = _newest(table)
    file_id, _token, rest = path.name.split("_", 2)
    path.rename(path.with_name(f"{file_id}_9-9-9_{rest}"))


DAMAGES = {
    lose_the_bloom_filter: "footers hold the keys",
    hold_the_bloom_filter_of_another_file: "footers hold the keys",
    hold_a_wrong_smallest_key: "footers hold the keys",
    move_a_file_to_another_partition: "meta columns agree with their file",
    lose_the_partition_metadata: "partitions are marked",
    leave_a_marker_folder: "no trace of the write is left",
    rename_the_file: "every base file is listed",
}


@pytest.mark.parametrize("hudi", ["1.1.1"], indirect=True)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_validation_notices_when_files(
    damage: Callable[[Path], None], hudi: RealHudi, written_by_hudi: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    shutil.copytree(written_by_hudi, table)
    damage(table)
    failures = hudi.failures(table, exercise=False)
    assert any(f.startswith(DAMAGES[damage]) for f in failures), failures
