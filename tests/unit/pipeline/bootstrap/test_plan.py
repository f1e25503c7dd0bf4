"""Plans by key generator: partition values are those of the source, or none is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import OptionError, RequestError, SourceError
from pyhudi.schema.metafields import PARTITION_PATH, RECORD_KEY
from tests.support.datasets import FULL_RECORD, bootstrap, file_bytes, lay_out, people
from tests.support.orders import write

GENERATOR, TIME = "hoodie.datasource.write.keygenerator.class", "hoodie.keygen.timebased."
PARTITION_BY = "hoodie.datasource.write.partitionpath.field"
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
EPOCH = {
    f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
    f"{TIME}output.dateformat": "yyyy",
    f"{TIME}timezone": "UTC",
}
DAYS = {
    f"{TIME}timestamp.type": "DATE_STRING",
    f"{TIME}input.dateformat": "yyyy-MM-dd",
    f"{TIME}output.dateformat": "yyyy-MM-dd",
}
MODES = pytest.mark.parametrize("mode", [{}, FULL_RECORD], ids=["skeletons", "rows"])
NEW_YEAR_1971 = 31_536_000_000


def by(name: str, *fields: str, **more: str) -> dict[str, str]:
    """Options of a table with a generator and partition fields."""
    return {
        GENERATOR: f"org.apache.hudi.keygen.{name}KeyGenerator",
        **({PARTITION_BY: ",".join(fields)} if fields else {}),
        **more,
    }


def timed(moment: int) -> pa.Table:
    """Rows whose column ``ts`` is of one time, in milliseconds."""
    rows = people(0, 2)
    return rows.set_column(1, "ts", pa.array([moment, moment + 1], pa.int64()))


@dataclass(frozen=True)
class Case:
    """A source in one folder, and what its rows have for a partition path and in a column."""

    folder: str
    rows: pa.Table
    options: Mapping[str, str]
    values: Mapping[str, object] = field(default_factory=dict)


KIND = pa.array([{"of": "x"}] * 2)
FINE = {
    "simple": Case("part=x/", people(0, 2), by("Simple"), {"part": "x"}),
    "simple, plain": Case("x/", people(0, 2), by("Simple", "part"), {"part": "x"}),
    "simple, in a struct": Case(
        "x/",
        people(0, 2).append_column("kind", KIND),
        by("Simple", "kind.of"),
        {"kind": {"of": "x"}},
    ),
    "complex": Case("a=1/b=x/", people(0, 2), by("Complex"), {"a": "1", "b": "x"}),
    "nonpartitioned": Case("", people(0, 2), by("Nonpartitioned")),
    "nonpartitioned, with a column": Case("", people(0, 2), by("Nonpartitioned", "part")),
    "timestamp": Case("1971/", timed(NEW_YEAR_1971), by("TimestampBased", "ts", **EPOCH)),
    "custom": Case(
        "part=x/ts=1971/",
        timed(NEW_YEAR_1971).append_column("part", pa.array(["x", "x"])),
        {**by("Custom", "part:SIMPLE", "ts:TIMESTAMP"), **EPOCH, **HIVE},
        {"part": "x"},
    ),
}


@MODES
@pytest.mark.parametrize("what", FINE)
def test_rows_have_the_values_that_files_or_folders_say_and_are_found_again(
    tmp_path: Path, what: str, mode: dict[str, str]
) -> None:
    case, table = FINE[what], tmp_path / "table"
    source = lay_out(tmp_path / "source", {f"{case.folder}a.parquet": file_bytes(case.rows)})
    options = {**case.options, **mode}
    result = bootstrap(table, source, options, ordering_field="score")
    path = case.folder.rstrip("/")
    assert result.partitions == (path,)
    found = pyhudi.read_table(table)
    assert found[PARTITION_PATH].to_pylist() == [path] * 2
    own = [name for name in found.column_names if not name.startswith("_hoodie_")]
    assert own == [*dict.fromkeys([*case.rows.column_names, *case.values])]
    for name, value in case.values.items():
        assert found[name].to_pylist() == [value] * 2
    # The same rows once more are updates: they are looked for where the bootstrap left them.
    again = case.rows
    for name, value in case.values.items():
        if name not in again.column_names:
            again = again.append_column(name, pa.array([value] * 2))
    later = {name: text for name, text in case.options.items() if path or name != PARTITION_BY}
    assert write(table, again, "upsert", later).records["updated"] == 2
    assert pyhudi.read_table(table)[RECORD_KEY].to_pylist() == ["k0000", "k0001"]


UNTOLD = {
    "timestamp, texts": ("day=2024-01-02/", by("TimestampBased", **DAYS), "values of day"),
    "timestamp, numbers": ("2024/", by("TimestampBased", "moment", **EPOCH), "values of moment"),
    "custom, as it is": (
        "part=x/",
        {**by("Custom", "part:SIMPLE"), **HIVE},
        "CustomKeyGenerator makes partition paths from the values of part",
    ),
    "custom, some": (
        "part=x/ts=1970/",
        {**by("Custom", "part:SIMPLE", "ts:TIMESTAMP"), **EPOCH, **HIVE},
        "values of part, which no file of the source has",
    ),
}


@MODES
@pytest.mark.parametrize("what", UNTOLD)
def test_values_that_only_folders_hold_and_paths_do_not_tell_are_refused(
    tmp_path: Path, what: str, mode: dict[str, str]
) -> None:
    folder, options, message = UNTOLD[what]
    source = lay_out(tmp_path / "source", {f"{folder}a.parquet": file_bytes(people(0, 2))})
    with pytest.raises(OptionError, match=message):
        bootstrap(tmp_path / "table", source, {**options, **mode})
    assert not (tmp_path / "table").exists()


@MODES
@pytest.mark.parametrize("name", ["Nonpartitioned", "GlobalDelete"])
def test_folders_are_refused_where_paths_have_none(
    tmp_path: Path, name: str, mode: dict[str, str]
) -> None:
    source = lay_out(tmp_path / "source", {"part=x/a.parquet": file_bytes(people(0, 2))})
    with pytest.raises(SourceError, match="the table no partition columns"):
        bootstrap(tmp_path / "table", source, {**by(name), **mode})


def test_a_file_without_the_column_that_others_have_lies_where_nulls_belong(tmp_path: Path) -> None:
    """A skeleton's path is held against the rows that a read will give."""
    options = by("TimestampBased", "ts", **EPOCH)
    bare = file_bytes(people(2, 2).drop_columns(["ts"]))
    files = {"1971/a.parquet": file_bytes(timed(NEW_YEAR_1971)), "1970/b.parquet": bare}
    fine = lay_out(tmp_path / "fine", files)
    assert bootstrap(tmp_path / "table", fine, options, ordering_field="score").partitions == (
        "1970",
        "1971",
    )
    files["1971/c.parquet"] = bare
    with pytest.raises(SourceError, match=r"row 0 of .*c\.parquet belongs to the partition '1970'"):
        bootstrap(tmp_path / "other", lay_out(tmp_path / "not", files), options)


def test_a_column_of_structs_that_no_file_has_is_named(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", {"x/a.parquet": file_bytes(people(0, 2))})
    with pytest.raises(RequestError, match=r"'kind\.of' is not a column"):
        bootstrap(tmp_path / "table", source, by("Simple", "kind.of"))
