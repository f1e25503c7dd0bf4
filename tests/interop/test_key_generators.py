"""Keys and partition paths are Hudi's, whatever they are made of, and both go on with them."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.key_cases import CASES, KeyCase, W, batch
from tests.interop.rows import META_COLUMNS, Row, assert_same_rows, without
from tests.interop.test_written_later import VERSION_OF
from tests.support.orders import write

FIRST, LATER = range(24), range(12, 30)
KEY, PATH = "_hoodie_record_key", "_hoodie_partition_path"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables of this engine by case, each written once and copied by who changes it."""
    return {}


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest, hudi: RealHudi) -> KeyCase:
    if hudi.version not in request.param.versions:
        pytest.skip(f"hudi {hudi.version} has no such table")
    return request.param


@pytest.fixture
def table(case: KeyCase, written: dict[str, Path], spark, tmp_path_factory, tmp_path) -> Path:
    """A table of this engine with the first rows."""
    if case.name not in written:
        path = tmp_path_factory.mktemp(case.name) / "table"
        ours.write(spark, path, batch(FIRST, 1), "upsert", case.options)
        written[case.name] = path
    path = tmp_path / "ours"
    shutil.copytree(written[case.name], path)
    return path


def places(table: Path) -> list[tuple[str, ...]]:
    """Key and path of every row as they lie in the files, and the folder of the file."""
    found = []
    for file in pyhudi.open_table(str(table)).latest_base_files():
        rows = pq.ParquetFile(table / file.path).read([KEY, PATH]).to_pylist()
        found.extend((row[KEY], row[PATH], file.partition) for row in rows)
    return sorted(found, key=str)


def generations(rows: list[Row]) -> dict[str, int]:
    found = {row["id"]: row["ts"] for row in rows}
    assert len(found) == len(rows)
    return found


def assert_both_written(table: Path, case: KeyCase, hudi: RealHudi) -> None:
    """First and later rows are there, and both read the same."""
    found = ours.read(table)
    wanted = {row["id"]: 1 for row in batch(FIRST, 1).to_pylist()}
    wanted.update({row["id"]: 2 for row in batch(LATER, 2).to_pylist()})
    assert generations(found) == wanted
    if not case.is_read:
        return
    left_out = (*case.unlike, *(() if case.has_keys else META_COLUMNS))
    assert_same_rows(without(found, left_out), without(hudi.read(table), left_out))


def test_keys_and_paths_are_those_of_hudi_and_we_go_on(
    case: KeyCase, table: Path, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    hudi.write(theirs, batch(FIRST, 1), "upsert", options=_told(case))
    assert places(theirs) == places(table)

    ours.write(spark, theirs, batch(LATER, 2), "upsert", case.options)
    assert_both_written(theirs, case, hudi)


def test_hudi_goes_on_with_our_table(case: KeyCase, table: Path, hudi: RealHudi) -> None:
    hudi.write(table, batch(LATER, 2), "upsert", options=_restated(case))
    assert_both_written(table, case, hudi)
    hudi.write(table, batch(range(10, 14), 3), "delete", options=_restated(case))
    assert len(ours.read(table)) == 26


@pytest.mark.parametrize("name", ["custom_months", "custom_simple"])
def test_a_table_of_a_later_version_says_of_which_kind_its_partition_fields_are(
    name: str, later: RealHudi, tmp_path: Path
) -> None:
    (case,) = [each for each in CASES if each.name == name]
    version = {"hoodie.write.table.version": VERSION_OF[later.version]}
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    write(mine, batch(FIRST, 1), "upsert", {**case.options, **version})
    told = {**_told(case), **version}
    later.write(theirs, batch(FIRST, 1), "upsert", options=told, mode="overwrite")
    assert places(theirs) == places(mine)
    says = [pyhudi.open_table(str(table)).config.raw for table in (mine, theirs)]
    for key in ("hoodie.table.partition.fields", "hoodie.table.keygenerator.type"):
        assert says[0][key] == says[1][key]

    later.write(mine, batch(LATER, 2), "upsert", options=_restated(case))
    unsaid = f"{W}partitionpath.field", f"{W}keygenerator.class"
    rest = {key: value for key, value in case.options.items() if key not in unsaid}
    write(theirs, batch(LATER, 2), "upsert", {**rest, **version})
    for table in (mine, theirs):
        assert_both_written(table, case, later)
    assert places(theirs) == places(mine)


def _told(case: KeyCase) -> dict[str, str]:
    """The options of a first write, and what 1.1 wants to hear of complex keys of one field."""
    return {**case.options, "hoodie.write.complex.keygen.validation.enable": "false"}


def _restated(case: KeyCase) -> dict[str, str]:
    """The options of a later write: 1.1 does not find the timestamp type in its own tables."""
    times = {key: value for key, value in case.options.items() if ".keygen.timebased." in key}
    return {**times, **case.stated}


def test_generated_keys_have_hudis_form_and_both_insert_on(hudi: RealHudi, spark, tmp_path) -> None:
    options = {
        "hoodie.table.name": "generated",
        "hoodie.write.table.version": "6",
        f"{W}partitionpath.field": "num",
    }
    theirs, mine = tmp_path / "theirs", tmp_path / "ours"
    hudi.write(theirs, batch(FIRST, 1), "insert", options=options)
    ours.write(spark, mine, batch(FIRST, 1), "insert", options)
    assert [_row(place) for place in places(mine)] == [_row(place) for place in places(theirs)]

    for path in (theirs, mine):
        ours.write(spark, path, batch(LATER, 2), "bulk_insert", options)
        hudi.write(path, batch(LATER, 3), "insert", options=options)
        ours.write(spark, path, batch(LATER, 4), "upsert", options)
        found = ours.read(path)
        assert len({row[KEY] for row in found}) == len(found) == len(FIRST) + 3 * len(LATER)
        assert_same_rows(found, hudi.read(path))


def _row(place: tuple[str, ...]) -> tuple[str, ...]:
    """A generated key without its instant."""
    return (place[0].partition("_")[2], *place[1:])
